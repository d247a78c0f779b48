"""`_dragoman/hub/policy…`: a user adds a rule for a denied request, and removes it again.

The rule is made by the hub of the act that it denied, as "Yes, always" would have made it. A client names the
denial by the command line that its notice shows, and the text of the rule that it was shown; it says no rule
itself. What is no such denial has no rule, and nothing is written.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime

from msgspec import Raw

from dragoman.wire.codes import invalid_request
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, Denial, HubClient
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.session.notes import note
from dragoman_local.workspace.policy.policy_files import HEAD, RememberedRules, cover_text, rule_text
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.policy_paths import policy_paths


class PolicyMethods:
    """The three methods; the gate has checked scopes."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub
        self._lock = asyncio.Lock()

    async def preview(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`policy/preview`: the rule to write, its effect, its file, and whether it exists."""
        session, remedy = await client.session(params), client.text(params, "remedy")
        denial, file = await self._hub.broker.denials.find(session, remedy), policy_paths().remembered_file
        if denial is None:
            return {"rule": "", "covers": "", "file": file, "isKept": False}
        now = datetime.fromtimestamp(time.time(), UTC)
        denial.rule = denial.rule or rule_text(denial.act, "allow", now=now) or ""
        covers = cover_text(denial.act).removeprefix("Always covers ")
        return {"rule": denial.rule, "covers": covers, "file": file, "isKept": denial.is_kept}

    async def allow(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`policy/allow`: write exactly the previewed rule."""
        return await self._change(client, params, keeps=True)

    async def undo(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`policy/undo`: remove the rule."""
        return await self._change(client, params, keeps=False)

    async def _change(self, client: HubClient, params: dict[str, Raw], *, keeps: bool) -> JsonObject:
        """Nothing is written before the audit log has it."""
        session, remedy = await client.session(params), client.text(params, "remedy")
        rule = client.text(params, "rule") if keeps else ""
        async with self._lock:
            denial = await self._hub.broker.denials.find(session, remedy)
            if denial is None or not denial.rule or (keeps and rule != denial.rule):
                return {"isKept": False}
            if denial.is_kept is not keeps:
                name, person = f"_dragoman/hub/policy/{'allow' if keeps else 'undo'}", client.grant.name
                attempts = self._hub.broker.attempts
                await attempts.write_change(session, name, remedy, person=person, kind="policy")
                kept = RememberedRules(policy_paths().remembered_file)
                try:
                    if keeps:
                        await asyncio.to_thread(kept.add, denial.rule, head=HEAD)
                    else:
                        await asyncio.to_thread(kept.take_back, denial.rule)
                except (OSError, PolicyError) as error:
                    attempts.write_refusal(name, str(error), person=person, session=session, title=remedy)
                    raise invalid_request(f"the rule could not be written: {error}") from None
                denial.is_kept = keeps
                self._tell(session, remedy, denial, person=person)
        return {"isKept": denial.is_kept}

    def _tell(self, session: LiveSession, remedy: str, denial: Denial, *, person: str) -> None:
        title = "Allowed in this project:" if denial.is_kept else "No longer allowed in this project:"
        text = f"{cover_text(denial.act).removeprefix('Always covers ')} (by {person})"
        notice = {"sessionUpdate": "notice", "severity": "info", "title": title, "description": text}
        rule = denial.rule if denial.is_kept else ""
        self._hub.tell(session, notice, note=note("ruled", remedy=remedy, rule=rule))

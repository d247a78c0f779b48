"""`_dragoman/hub/policy…`: a user allows a denied request by a rule, takes that back, or allows the next try.

The rule is made by the hub of the act that it denied, as "Yes, always" would have made it. A client names the
denial by the command line that its notice shows, and the text of the rule that it was shown; it says no rule
itself. What is no such denial has no rule, and nothing is written. The next try is that of the action that
the hub has judged; a client sends back by which identity it was shown.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from datetime import UTC, datetime

from msgspec import Raw

from dragoman.errors import Elsewhere
from dragoman.wire.codes import invalid_request
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, Denial, HubClient
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.session.frames import encode_json, value_of
from dragoman_hub.session.notes import note
from dragoman_local.workspace.policy.act import Act
from dragoman_local.workspace.policy.act_view import ActView, view_of
from dragoman_local.workspace.policy.policy_files import HEAD, RememberedRules, cover_text, rule_text
from dragoman_local.workspace.policy.policy_parser import PolicyError
from dragoman_local.workspace.policy.policy_paths import policy_paths


class PolicyMethods:
    """The three methods; the gate has checked scopes."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub
        self._lock = asyncio.Lock()

    async def preview(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`policy/preview`: the rule to write, its effect, its file, and whether it exists; also the whole
        action, if its next try can be allowed.
        """
        session, remedy = await client.session(params), client.text(params, "remedy")
        denial, file = await self._hub.broker.denials.find(session, remedy), policy_paths().remembered_file
        if denial is None:
            return {"rule": "", "covers": "", "file": file, "isKept": False}
        now = datetime.fromtimestamp(time.time(), UTC)
        denial.rule = denial.rule or rule_text(denial.act, "allow", now=now) or ""
        covers = cover_text(denial.act).removeprefix("Always covers ")
        members = {"rule": denial.rule, "covers": covers, "file": file, "isKept": denial.is_kept}
        if denial.may_retry:
            members["act"], members["identity"] = await asyncio.to_thread(_view, denial.act)
        return members

    async def allow(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`policy/allow`: write exactly the previewed rule, or allow the next try of exactly this action."""
        is_once = value_of(params.get("once")) is True
        return await (
            self._allow_once(client, params) if is_once else self._change(client, params, keeps=True)
        )

    async def _allow_once(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        session, remedy = await client.session(params), client.text(params, "remedy")
        identity, person = client.text(params, "identity"), client.grant.name
        async with self._lock:
            denial = await self._hub.broker.denials.find(session, remedy)
            if denial is None or not denial.may_retry:
                return {"isOnce": False}
            act, what = denial.act, str(denial.shown["what"])
            if (await asyncio.to_thread(_view, act))[1] != identity:
                return {"isOnce": False}
            name = "_dragoman/hub/policy/allow"
            await self._hub.broker.attempts.write_change(
                session, name, f"once: {what}", person=person, kind="policy"
            )
            if self._hub.sessions.get(session.id) is not session:
                raise Elsewhere(session.id, "")
            denial.may_retry, denial.is_retried = False, True
            self._hub.broker.judge.allow_retry(session, act, what)
        text = f"{what} (by {person}). The agent is told with your next prompt."
        notice = {
            "sessionUpdate": "notice",
            "severity": "info",
            "title": "Allowed once:",
            "description": text,
        }
        self._hub.tell(session, notice)
        return {"isOnce": True}

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


def _view(act: Act) -> tuple[ActView, str]:
    """The whole action as shown to people, and the identity of what they see."""
    view = view_of(act)
    return view, hashlib.sha256(encode_json(view)).hexdigest()

"""`_dragoman/hub/rewind…`: a user previews going back to before a turn, does it, or undoes it; `…/fork`: a
user continues from there in a new folder.

After a rewind the conversation stays; it says what was done, and the agent is told with its next prompt. What
has begun goes on although its client leaves.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Collection
from functools import partial

from msgspec import Raw, to_builtins

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import invalid_params, invalid_request
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.commit_methods import go_on
from dragoman_hub.clients.session_progress import SessionProgress
from dragoman_hub.engine.forks import fork
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate.table import FORBIDDEN
from dragoman_hub.lending.folder_rewind import HubRewind
from dragoman_hub.session.frames import encode_json, value_of
from dragoman_local.workspace.fork_folder import ForkPlan, remove_fork
from dragoman_local.workspace.rewind import Places, RewindDone

log = logging.getLogger(__name__)


class RewindMethods:
    """The four methods; the gate has checked scopes."""

    def __init__(self, hub: ClientHub, progress: SessionProgress) -> None:
        self._hub = hub
        self._progress = progress
        self._rewind = HubRewind(hub.changes, hub.journal)

    async def preview(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`rewind/preview`: the files, their changes, their authors, and an id of all that."""
        session, turn, places = await self._turn(client, params)
        return await self._rewind.preview(session.state.cwd, turn, places)

    async def rewind(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`rewind`: restore the previewed files, or nothing."""
        session, turn, places = await self._turn(client, params)
        also = value_of(params.get("also"), [])
        if not isinstance(also, list) or not all(isinstance(path, str) for path in also):
            raise invalid_params("also is not a list of texts")
        work = partial(
            self._put_back,
            session,
            turn=turn,
            places=places,
            identity=client.text(params, "identity"),
            also=also,
        )
        return await self._do(client, session, "rewind", f"to before turn {turn}", work)

    async def undo(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`rewind/undo`: undo the last rewind in the session's folders."""
        session = await self._session(client, params)
        places = await self._rewind.last((session.state.cwd, *session.state.folders))
        await self._check_roots(client, places)
        work = partial(self._put_back, session, turn=0, places=places)
        return await self._do(client, session, "rewind/undo", "as before the last rewind", work)

    async def fork(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`fork`: create a session with the messages before a turn, in a folder with the files from then."""
        session, turn, places = await self._turn(client, params)
        plan = await self._rewind.fork_plan(session.id, turn, places)
        await self._check_roots(client, [(os.path.dirname(plan.place), 0)])
        make = partial(self._fork, session, plan, value_of(params.get("before")))
        return await self._do(client, session, "fork", f"from before turn {turn} to {plan.place}", make)

    async def _fork(self, session: LiveSession, plan: ForkPlan, before: object) -> JsonObject:
        await self._rewind.fork(plan)
        folders = {"cwd": Raw(encode_json(plan.folder)), "mcpServers": Raw(b"[]")}
        try:
            made = await fork(self._hub, session, folders, before)
        except BaseException:
            await asyncio.to_thread(remove_fork, plan)
            raise
        about = {"folder": plan.folder, "branch": plan.branch, "files": plan.file_count}
        return {"sessionId": made.id, **about, "left": list(plan.left)}

    async def _put_back(
        self,
        session: LiveSession,
        *,
        turn: int,
        places: Places,
        identity: str | None = None,
        also: Collection[str] = (),
    ) -> JsonObject:
        done = await self._rewind.carry_out(
            session.id, session.state.cwd, turn=turn, places=places, identity=identity, also=also
        )
        log.info("session %s: %d files put back", session.id, len(done.paths))
        self._progress.forget(session.id)
        if done.paths:
            self._hub.tell(session, _notice(done, session.state.cwd))
        return {"turn": done.turn, "paths": done.paths, "failures": to_builtins(done.failures)}

    async def _do(
        self,
        client: HubClient,
        session: LiveSession,
        name: str,
        title: str,
        work: Callable[[], Awaitable[JsonObject]],
    ) -> JsonObject:
        """No file is changed before the audit log has it; what goes wrong has a line, too."""
        return await go_on(
            self._hub.owner.start(self._carry_out(client, session, f"_dragoman/hub/{name}", title, work))
        )

    async def _carry_out(
        self,
        client: HubClient,
        session: LiveSession,
        method: str,
        title: str,
        work: Callable[[], Awaitable[JsonObject]],
    ) -> JsonObject:
        attempts, person = self._hub.broker.attempts, client.grant.name
        await attempts.write_change(session, method, title, person=person, kind="edit")
        try:
            return await work()
        except ErrorAnswer as error:
            attempts.write_refusal(method, error.message, person=person, session=session, title=title)
            raise

    async def _turn(self, client: HubClient, params: dict[str, Raw]) -> tuple[LiveSession, int, Places]:
        session = await self._session(client, params)
        key, number = value_of(params.get("key"), ""), value_of(params.get("turn"))
        if not isinstance(key, str) or not isinstance(number, int | None):
            raise invalid_params("key is not text, or turn is not a number")
        turn, places = await self._rewind.places(session.id, key=key, number=number)
        await self._check_roots(client, places)
        return session, turn, places

    async def _session(self, client: HubClient, params: dict[str, Raw]) -> LiveSession:
        session = await client.session(params)
        if self._hub.changes.far_side(session.id) is not None:
            raise invalid_request("the session's folder is on another machine: its files are not remembered")
        return session

    async def _check_roots(self, client: HubClient, places: Places) -> None:
        """Check the folders as they were when the turns ran, not only the session's present ones."""
        if client.grant.roots:
            await client.grant.look_at([root for root, _ in places])
            if not all(client.grant.may_open(root) for root, _ in places):
                raise ErrorAnswer(
                    FORBIDDEN, "Forbidden: this token may not use that folder", {"scope": "roots"}
                )


def _notice(done: RewindDone, cwd: str) -> JsonObject:
    title, names = done.notice(cwd)
    return {"sessionUpdate": "notice", "severity": "info", "title": title, "description": names}

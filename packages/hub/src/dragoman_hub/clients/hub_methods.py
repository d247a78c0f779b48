"""The hub's extension methods for clients: `_dragoman/hub/…` (docs/hub-protocol.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from msgspec import Raw, Struct, to_builtins

from dragoman.decoders import convert
from dragoman.errors import Elsewhere, ErrorAnswer, LocalMistake
from dragoman.wire.codes import invalid_params, invalid_request, method_not_found
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.blame_methods import BlameMethods
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.commit_methods import CommitMethods
from dragoman_hub.clients.install_methods import InstallMethods
from dragoman_hub.clients.pairing_methods import PairingMethods
from dragoman_hub.clients.policy_methods import PolicyMethods
from dragoman_hub.clients.questions import is_answer
from dragoman_hub.clients.request_checks import check_no_child, checked_cursor, making_key, named_agent
from dragoman_hub.clients.rewind_methods import RewindMethods
from dragoman_hub.clients.session_history import SessionHistory
from dragoman_hub.clients.session_list import archive_filter
from dragoman_hub.clients.session_progress import SessionProgress
from dragoman_hub.clients.views import SessionViews
from dragoman_hub.engine.handovers import first_prompt, hand_to_agent, losses
from dragoman_hub.engine.key_lookup import prompt_refusal
from dragoman_hub.engine.lifecycle import is_made
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.log import STORE_SECONDS
from dragoman_hub.engine.ports import Position
from dragoman_hub.engine.session_reach import reaches
from dragoman_hub.gate.table import HUB, PassedParams
from dragoman_hub.lending.file_search import complete_folder, find_files
from dragoman_hub.lending.file_view import read_file
from dragoman_hub.push.notifier import PushNotifier
from dragoman_hub.session.frames import value_of
from dragoman_hub.session.state import OpenRequest
from dragoman_local.known.lookup import missing_agents
from dragoman_local.workspace.disk_threads import in_disk_thread

Params = PassedParams
HubHandler = Callable[[HubClient, Params], Awaitable[JsonObject]]

PAGE = 500
MOST = 5000


class HubMethods:
    """One handler for each method. `gate` has checked scopes and paths."""

    def __init__(self, hub: ClientHub, views: SessionViews) -> None:
        self._hub = hub
        self._views = views
        self._progress_of = SessionProgress(hub, views)
        self._history_of = SessionHistory(hub)
        self._examining = asyncio.Lock()
        pairing, push = PairingMethods(hub), PushMethods(hub)
        commits, installs = CommitMethods(hub, self._progress_of), InstallMethods(hub)
        rewinds, policies = RewindMethods(hub, self._progress_of), PolicyMethods(hub)
        self._handlers: dict[str, HubHandler] = {
            "sessions": self._sessions,
            "inbox": self._inbox,
            "watch": self._watch,
            "attach": self._attach,
            "detach": self._detach,
            "history": self._history,
            "turns": self._turns,
            "search": self._search,
            "progress": self._progress,
            "answer": self._answer,
            "queue/edit": self._edit,
            "queue/withdraw": self._withdraw,
            "handover": self._handover,
            "agents": self._agents,
            "agents/check": self._check_agent,
            "agents/registry": installs.registry,
            "agents/install": installs.install,
            "agents/install/status": installs.status,
            "agents/install/cancel": installs.cancel,
            "agents/uninstall": installs.uninstall,
            "files": self._files,
            "file": self._file,
            "blame": BlameMethods(hub, views).blame,
            "folders": self._folders,
            "terminal": self._terminal,
            "changes": self._changes,
            "revert": self._revert,
            "commit": commits.commit,
            "commit/preview": commits.preview,
            "fork": rewinds.fork,
            "rewind": rewinds.rewind,
            "rewind/preview": rewinds.preview,
            "rewind/undo": rewinds.undo,
            "policy/preview": policies.preview,
            "policy/allow": policies.allow,
            "policy/undo": policies.undo,
            "status": self._status,
            "pair": pairing.begin,
            "pair/status": pairing.status,
            "pair/withdraw": pairing.withdraw,
            "push": push.describe,
            "push/subscribe": push.subscribe,
            "push/unsubscribe": push.unsubscribe,
        }

    async def call(self, client: HubClient, method: str, params: Params) -> JsonObject:
        handler = self._handlers.get(method.removeprefix(HUB))
        if handler is None:
            raise method_not_found(method)
        return await handler(client, params)

    # Looking.

    async def _folders(self, client: HubClient, params: Params) -> JsonObject:
        path = client.text(params, "path")
        return await in_disk_thread(path, complete_folder, path, grant=client.grant)

    async def _sessions(self, client: HubClient, params: Params) -> JsonObject:
        return await self._views.list_sessions(
            client,
            cursor=_text(params, "cursor"),
            limit=_number(params, "limit", 50, 500),
            agent=_text(params, "agent"),
            cwd=_text(params, "cwd"),
            state=_text(params, "state"),
            archived=archive_filter(params),
        )

    async def _inbox(self, client: HubClient, params: Params) -> JsonObject:
        await self._look_at_sessions(client)
        return {"requests": self._hub.broker.inbox(client), "denials": await self._hub.broker.denied(client)}

    async def _watch(self, client: HubClient, params: Params) -> JsonObject:
        await self._look_at_sessions(client)
        self._views.watch(client, on=value_of(params.get("on"), True) is not False)
        return {}

    async def _look_at_sessions(self, client: HubClient) -> None:
        """Resolve folders of open sessions before a client gets them: its rights depend on the folders."""
        if client.grant.roots:
            sessions = self._hub.sessions.values()
            await client.grant.look_at({place for session in sessions for place in session.state.places})

    async def _attach(self, client: HubClient, params: Params) -> JsonObject:
        session = await client.session(params)
        after = _text(params, "after")
        is_end = after is None or after == "end"
        position = Position(session.last_visible) if is_end else checked_cursor(session, after or "", "after")
        follower = self._hub.attach(client, session, position)
        # The answer must come first; what follows it is told from the next turn of the loop on.
        follower.catch_up(follower.ask_again)
        return {
            "session": self._views.describe(session),
            "snapshot": self._views.snapshot(session),
            "cursor": str(position),
        }

    async def _detach(self, client: HubClient, params: Params) -> JsonObject:
        session = self._hub.sessions.get(client.text(params, "sessionId"))
        if session is not None:
            self._hub.detach(client, session)
        return {}

    async def _history(self, client: HubClient, params: Params) -> JsonObject:
        session = await client.session(params)
        after, limit = _text(params, "after"), _number(params, "limit", PAGE, MOST)
        if after is not None:
            return await self._history_of.page_after(session, after, limit=limit)
        return await self._history_of.page_before(session, _text(params, "before"), limit=limit)

    async def _turns(self, client: HubClient, params: Params) -> JsonObject:
        return await self._history_of.turns(await client.session(params))

    async def _search(self, client: HubClient, params: Params) -> JsonObject:
        text, stream = client.text(params, "text"), _text(params, "sessionId")
        limit = most = _number(params, "limit", 20, 200)
        while True:
            hits = await self._hub.journal.search(text, limit=most, stream=stream)
            visible = [hit for hit in hits if await self._views.may_see(client, hit.stream)]
            if len(visible) >= limit or len(hits) < most or most >= MOST:
                break
            most = min(MOST, 5 * most)  # hits in sessions of others stand before those of this client
        return {
            "found": [
                {
                    "sessionId": hit.stream,
                    "cursor": str(hit.sequence),
                    "kind": hit.kind,
                    "excerpt": hit.excerpt,
                    "title": hit.title,
                }
                for hit in visible[:limit]
            ]
        }

    async def _progress(self, client: HubClient, params: Params) -> JsonObject:
        names = value_of(params.get("sessionIds"))
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise invalid_params("sessionIds is not a list of texts")
        return {"progress": await self._progress_of.describe(client, names)}

    async def _agents(self, client: HubClient, params: Params) -> JsonObject:
        agents: JsonObject = {"agents": self._views.agents(client)}
        if not client.grant.may("admin"):  # whoever could not install one need not know what is missing
            return agents
        missing = await asyncio.to_thread(missing_agents)
        offered = self._hub.pool.seats
        install = [
            {"name": entry.name, "title": entry.title, "install": entry.install}
            for entry in missing
            if entry.name not in offered
        ]
        return {**agents, "missing": install}

    async def _check_agent(self, client: HubClient, params: Params) -> JsonObject:
        """Examine an agent; one at a time, because each starts a process."""
        name = params.agent
        seat = self._hub.pool.seats.get(name)
        if seat is None:
            raise invalid_params(f"the hub has no agent {name!r}")
        if seat.spec.examine is None:
            raise ErrorAnswer(-32002, f"agent {name} cannot be examined from here")
        if self._examining.locked():
            raise ErrorAnswer(-32000, "another agent is being examined: try again when that is done")
        async with self._examining:
            return await seat.spec.examine()

    async def _files(self, client: HubClient, params: Params) -> JsonObject:
        session = await client.session(params)
        if self._hub.changes.far_side(session.id) is not None:
            return {"files": []}  # what lies under that path on this machine is nothing of the session's
        pattern = _text(params, "pattern") or ""
        limit = _number(params, "limit", 50, 500)
        return {
            "files": await in_disk_thread(
                session.state.cwd, find_files, session.state.cwd, pattern.lower(), limit
            )
        }

    async def _file(self, client: HubClient, params: Params) -> JsonObject:
        session = await client.session(params)
        far_side = self._hub.changes.far_side(session.id)
        if far_side is not None:
            raise ErrorAnswer(-32002, f"the files of this session are on {far_side.place}: open them there")
        folders = (session.state.cwd, *session.state.folders)
        path, line = client.text(params, "path"), _number(params, "line", 1, 1_000_000_000)
        return await in_disk_thread(folders[0], read_file, folders, path, line=line, grant=client.grant)

    async def _terminal(self, client: HubClient, params: Params) -> JsonObject:
        session = await client.session(params)
        terminal = self._hub.broker.terminal(session, client.text(params, "terminalId"))
        if terminal is None:
            raise ErrorAnswer(-32002, "the hub has no such terminal")
        return terminal

    async def _changes(self, client: HubClient, params: Params) -> JsonObject:
        session = await client.session(params)
        return await self._hub.changes.changes(session.id)

    async def _status(self, client: HubClient, params: Params) -> JsonObject:
        status: JsonObject = await self._hub.status()
        grant, sessions = client.grant, self._hub.sessions
        if not (grant.agents or grant.roots):
            return status
        await self._look_at_sessions(client)
        status = to_builtins(status)
        visible = {name for name, session in sessions.items() if reaches(grant, session.state)}
        return {
            **status,
            "agents": [agent for agent in status["agents"] if grant.may_use(agent["name"])],
            "sessions": [session for session in status["sessions"] if session["sessionId"] in visible],
        }

    # Acting.

    async def _answer(self, client: HubClient, params: Params) -> JsonObject:
        # An agent that loads a session may need the answer before it can go on.
        session = await client.session(params, may_load=True)
        name, result = client.text(params, "request"), params.get("result")
        if not (name.isascii() and name.isdigit()) or result is None:
            raise invalid_params("request is a number in digits, and result is needed")
        question = session.state.visible_request(int(name))
        if question is None or not question.is_question or _is_other_question(question, params):
            return self._on_stale_answer(client, session)
        if not is_answer(question, result):
            raise invalid_params("the result is not an answer to this request")
        is_settled = await session.answer(int(name), by=client.grant.name, result=Raw(bytes(result)))
        if is_settled:  # said when it is stored: until then it may still come to nothing
            await session.log.flush(STORE_SECONDS)
            if self._hub.sessions.get(session.id) is not session:
                raise Elsewhere(session.id, "")
            return {"settled": True}
        return self._on_stale_answer(client, session)

    def _on_stale_answer(self, client: HubClient, session: LiveSession) -> JsonObject:
        """Ignore a late answer; the audit log names the token that gave it."""
        why = "this question does not exist, or is already answered"
        self._hub.broker.attempts.write_refusal(
            f"{HUB}answer", why, person=client.grant.name, session=session
        )
        return {"settled": False}

    async def _edit(self, client: HubClient, params: Params) -> JsonObject:
        session, key = await self._own(client, params)
        prompt = params.get("prompt")
        if prompt is None or not isinstance(value_of(prompt), list):
            raise invalid_params("prompt is missing")
        session.edit(key, prompt)
        return {}

    async def _withdraw(self, client: HubClient, params: Params) -> JsonObject:
        session, key = await self._own(client, params)
        session.withdraw(key)
        return {}

    async def _handover(self, client: HubClient, params: Params) -> JsonObject:
        source = await client.session(params)
        check_no_child(source)
        agent, text = named_agent(params), _text(params, "text")
        by = client.grant.name
        key = making_key(by, params)
        is_forced = value_of(params.get("force")) is True
        if source.state.is_busy and not is_forced and not await is_made(self._hub, key):
            raise invalid_request(
                "a turn runs in this session: cancel it first, or send force if it does not end"
            )
        if text:
            self._hub.check_rate(client)
        session, is_new = await hand_to_agent(self._hub, source, agent=agent, by=by, key=key)
        await client.grant.look_at(session.state.places)
        client.may_reach(session)
        if is_new:  # whoever asks again gets the same session; what runs in this one since then goes on
            for waiting in source.state.queue:  # the other agent is told of them: nobody does them twice
                source.withdraw(waiting.key)
            source.cancel()
        lost = await losses(self._hub, session, source)
        self._hub.attach(client, session, Position(1)).catch_up()
        if text:
            prompt = first_prompt(session, text, by=by, lends=client.lends())
            refusal = prompt_refusal(session.lookups.add(prompt))
            if refusal is not None:
                raise refusal
        return {"sessionId": session.id, "agent": session.state.agent, "lost": lost}

    async def _revert(self, client: HubClient, params: Params) -> JsonObject:
        session = await client.session(params)
        hunks = value_of(params.get("hunks"))
        numbers = [number for number in hunks if isinstance(number, int)] if isinstance(hunks, list) else None
        await self._hub.changes.revert(session.id, client.text(params, "path"), numbers)
        self._progress_of.forget(session.id)
        return {}

    # Inside.

    async def _own(self, client: HubClient, params: Params) -> tuple[LiveSession, str]:
        """A prompt in the queue, which must be the client's, or it must be an administrator."""
        session = await client.session(params)
        key = client.text(params, "key")
        queued_prompt = next((prompt for prompt in session.state.queue if prompt.key == key), None)
        if queued_prompt is None:
            raise ErrorAnswer(-32002, "there is no such prompt in the queue", {"key": key})
        if queued_prompt.by != client.grant.name and not client.grant.may("admin"):
            raise ErrorAnswer(-32003, "Forbidden: the prompt belongs to another client", {"scope": "admin"})
        return session, key

    def erase(self, session_id: str) -> None:
        self._progress_of.forget(session_id)
        self._history_of.forget(session_id)


def _text(params: Params, name: str) -> str | None:
    value = value_of(params.get(name))
    return value if isinstance(value, str) else None


def _is_other_question(question: OpenRequest, params: Params) -> bool:
    """Whether the answer is for a question of another moment. A session that was deleted and loaded from its
    agent again uses its names anew, and what somebody saw before is not what is asked now.
    """
    moment = value_of(params.get("askedAt"))
    return isinstance(moment, int | float) and moment != question.time


def _number(params: Params, name: str, default: int, most: int) -> int:
    value = value_of(params.get(name))
    return max(1, min(most, value)) if isinstance(value, int) and not isinstance(value, bool) else default


# `_dragoman/hub/push…`: a device asks how to subscribe to Web Push, subscribes, and unsubscribes.

NOT_OFFERED = "this hub sends no push messages"


class _Keys(Struct, frozen=True):
    p256dh: str
    auth: str


class _SubscribeParams(Struct, frozen=True):
    """As browsers write a subscription down."""

    endpoint: str
    keys: _Keys
    answers: bool = False
    """Whether it shows buttons with which permissions are answered."""


class PushMethods:
    """The three methods; the gate has checked scopes."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub

    async def describe(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`push`: return the key for subscribing, or the reason why no messages are sent."""
        push = self._hub.push
        if isinstance(push, PushNotifier):
            return {"key": push.key.public}
        return {"reason": push or NOT_OFFERED}

    async def subscribe(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`push/subscribe`: add a subscription; a repeated one counts once."""
        notifier = self._notifier
        try:
            request = convert({name: value_of(raw) for name, raw in params.items()}, _SubscribeParams)
            await notifier.subscribe(
                client.grant,
                endpoint=request.endpoint,
                p256dh=request.keys.p256dh,
                auth=request.keys.auth,
                answers=request.answers,
            )
        except (LocalMistake, msgspec.ValidationError) as error:
            raise invalid_params(str(error)) from None
        return {}

    async def unsubscribe(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`push/unsubscribe`: return whether there was one."""
        return {"removed": self._notifier.unsubscribe(client.grant, client.text(params, "endpoint"))}

    @property
    def _notifier(self) -> PushNotifier:
        push = self._hub.push
        if not isinstance(push, PushNotifier):
            raise ErrorAnswer(-32603, f"Internal error: {push or NOT_OFFERED}")
        return push

"""Handlers of the protocol's own methods, the same for every agent.

Sessions are listed, loaded, resumed, forked, closed and deleted from the journal, whatever the agent can.
What only the agent knows, such as a change of mode, is passed on to it; so is every extension that is not
ours (see `hub_methods` for those that are).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from msgspec import UNSET, Raw

from dragoman.errors import DragomanError, Elsewhere, ErrorAnswer
from dragoman.runtime.budget import HeldBytes
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman.version import VERSION
from dragoman.wire import error_object, failure, response
from dragoman.wire.codes import INTERNAL_ERROR, invalid_params, invalid_request, method_not_found
from dragoman.wire.envelope import Id
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.clients.hub_methods import HubMethods
from dragoman_hub.clients.request_checks import (
    check_folders,
    check_kinds,
    check_no_child,
    check_open,
    checked_cursor,
    checked_key,
    making_key,
    new_key,
)
from dragoman_hub.clients.session_list import SessionList
from dragoman_hub.clients.steering import STEER_MEMBERS, steer
from dragoman_hub.clients.views import SessionViews
from dragoman_hub.engine.forks import fork
from dragoman_hub.engine.key_lookup import IncomingPrompt, check_owner, prompt_refusal
from dragoman_hub.engine.lifecycle import load, made_once, make, widen
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.ports import Position, read_cursor
from dragoman_hub.engine.session_reach import look_and_reach, reaches
from dragoman_hub.gate.table import HUB, PassedParams
from dragoman_hub.session.frames import encode_json, ours_in, texts_in, value_of, without_ours

Params = PassedParams
Result = dict[str, Any] | bytes | None
Handler = Callable[[HubClient, Params, Id], Awaitable[Result]]

FOLLOWED = ("list", "resume", "close", "delete", "fork", "status", "title", "archive")
"""Session methods of the hub itself, with any agent."""

OF_AGENT = frozenset(
    {"authenticate", "logout", "auth/status", "providers/list", "providers/set", "providers/disable"}
)
"""Methods without a session that only the agent supports."""

MCP_OF_CLIENT = "acp"
"""MCP capabilities of servers inside the client. The hub provides none and offers none."""


class Methods:
    """Finds the handler of a request."""

    def __init__(self, hub: ClientHub, views: SessionViews) -> None:
        self._hub = hub
        self._views = views
        self._ours = HubMethods(hub, views)
        session_list = SessionList(hub, views)
        self._handlers: dict[str, Handler] = {
            "initialize": self._initialize,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": session_list.list,
            "session/fork": self._fork,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/status": session_list.status,
            "session/archive": session_list.archive,
            "session/unarchive": session_list.unarchive,
            "session/set_title": session_list.set_title,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_option,
        }

    async def call(self, client: HubClient, method: str, params: Params, request_id: Id) -> Result:
        """Return the result; None if the answer comes from elsewhere."""
        if method == "initialize":
            return await self._initialize(client, params, request_id)
        if method.startswith(HUB):
            return await self._ours.call(client, method, params)
        if method in OF_AGENT:
            check_kinds(params)
            return await self._ask_agent(method, params)
        handler = self._handlers.get(method)
        if handler is not None:
            check_kinds(params)
            return await handler(client, params, request_id)
        if "sessionId" in params:
            session = await client.session(params)
            if method in STEER_MEMBERS:
                self._hub.check_rate(client)
                return await steer(self._hub, session, method, params, client.grant)
            return bytes(await self._hub.ask(session, method, params))
        if method.startswith("_"):
            return await self._ask_agent(method, params)
        raise method_not_found(method)

    # Introductions.

    async def _initialize(self, client: HubClient, params: Params, request_id: Id) -> Result:
        if client.is_initialized:
            raise invalid_request("initialize comes once")
        ours = self.introduce(client, params)
        answer = await self._introduction(client, lenient=bool(ours), lazy=ours.get("lazy") is True)
        client.is_initialized = True
        self._hub.broker.on_client_arrival(client)
        return answer

    def introduce(self, client: HubClient, params: Params) -> dict[str, Any]:
        """Store the client's name and capabilities."""
        ours = ours_in(params)
        client.agent = params.agent
        client.cursors = ours.get("cursors") is True
        client.events = ours.get("events") is True
        name = ours.get("client")
        client.name = name if isinstance(name, str) and 8 <= len(name) <= 64 else ""
        capabilities = value_of(params.get("clientCapabilities"), {})
        client.capabilities = capabilities if isinstance(capabilities, dict) else {}
        return ours

    async def _introduction(self, client: HubClient, *, lenient: bool, lazy: bool) -> dict[str, Any]:
        try:
            agent = await self._hub.introduction(client.agent, start=not lazy)
        except DragomanError as error:
            if not lenient:
                raise
            agent = {"_meta": {"error": str(error)[:300]}}
        can = _as_written(agent.get("agentCapabilities"), v1.AgentCapabilities) or {}
        auth_methods = agent.get("authMethods")
        with_sessions = can.get("sessionCapabilities")
        sessions = with_sessions if isinstance(with_sessions, dict) else {}
        sessions = {**sessions, **{name: sessions.get(name) or {} for name in FOLLOWED}}
        meta = agent.get("_meta")
        return {
            **agent,
            "protocolVersion": 1,
            "authMethods": auth_methods if isinstance(auth_methods, list) else [],
            "agentInfo": _as_written(agent.get("agentInfo"), v1.Implementation)
            or {"name": "dragoman-hub", "title": "Dragoman hub", "version": VERSION},
            "agentCapabilities": {
                **can,
                **_without_mcp_of_client(can),
                "loadSession": True,
                "sessionCapabilities": sessions,
            },
            "_meta": {
                **(meta if isinstance(meta, dict) else {}),
                "dragoman": self._views.shown_to(client),
            },
        }

    async def _ask_agent(self, method: str, params: Params) -> Result:
        process = await self._hub.pool.ensure_process(params.agent)
        return bytes(await process.call(method, without_ours(params)))

    # Sessions.

    async def _new(self, client: HubClient, params: Params, request_id: Id) -> Result:
        agent = params.agent
        cwd = client.text(params, "cwd")
        check_folders(params)
        key = making_key(client.grant.name, params)

        async def new() -> LiveSession:
            await self._hub.broker.permit_servers(params, agent=agent, cwd=cwd)
            return await make(self._hub, agent, without_ours(params), key=key)

        session, is_new = await made_once(self._hub, key, new)
        if not is_new:
            await client.grant.look_at(session.state.places)
            client.may_reach(session)
        session = await self._hub.session(session.id)  # its agent may have died, and it been forgotten since
        # Behind the note that made it: what the agent has said of it meanwhile follows the answer.
        self._hub.attach(client, session, Position(1)).catch_up()
        return {**self._views.standing(session), "sessionId": session.id}

    async def _load(self, client: HubClient, params: Params, request_id: Id) -> Result:
        session_id = client.text(params, "sessionId")
        check_folders(params)
        session = await load(self._hub, session_id, params, agent=client.agent, grant=client.grant)
        session = await client.session(params) if session is None else session
        await self._bring(client, session, params)
        session = await self._hub.session(session.id)
        after = ours_in(params).get("after")  # by a client that was told a part of it by another node
        position = read_cursor(after) if isinstance(after, str) else None
        if position is None or position.sequence > session.log.last:  # of a stream that was deleted since
            position = Position(0)
        follower = self._hub.attach(client, session, position)

        # Not in the schema: clients over HTTP listen to a session only when something has named it.
        standing = {**self._views.standing(session), "sessionId": session.id}

        def up() -> None:
            client.tell(response(request_id, encode_json(standing)))
            follower.ask_again()

        def on_failure(why: str) -> None:
            client.tell(failure(request_id, error_object(INTERNAL_ERROR, f"Internal error: {why}")))

        follower.catch_up(up, on_failure)
        return None

    async def _resume(self, client: HubClient, params: Params, request_id: Id) -> Result:
        check_folders(params)
        session = await client.session(params)
        await self._bring(client, session, params)
        session = await self._hub.session(session.id)
        ours = ours_in(params)
        position = Position(session.last_visible)
        if isinstance(ours.get("after"), str):
            position = checked_cursor(session, ours["after"], "after")
        prompts = texts_in(ours, "prompts")
        follower = self._hub.attach(client, session, position, own=[*prompts, *texts_in(ours, "wrote")])
        follower.expected_keys |= set(prompts)
        standing = self._views.standing(session)
        if client.cursors:  # it is told nothing of the past, and may come back before it is told anything
            standing["_meta"] = {"dragoman": {"cursor": str(position)}}
        client.send(response(request_id, encode_json(standing)))
        follower.ask_again()
        if position.sequence < session.log.last or position.part:
            follower.catch_up()
        return None

    async def _bring(self, client: HubClient, session: LiveSession, params: Params) -> None:
        """Keep a client's MCP servers for the next process of the agent, if the client may drive one: they
        are commands.
        """
        if not client.grant.may("prompt") or session.state.parent:
            return
        await self._permit_servers(session, params)
        if "mcpServers" in params:
            session.bring_servers(value_of(params["mcpServers"], []))
        if "after" not in ours_in(params):  # who comes back has brought its folders already
            folders = value_of(params.get("additionalDirectories"), [])
            widen(session, folders if isinstance(folders, list) else [])
            await self._part_from_confined(session)

    async def _part_from_confined(self, session: LiveSession) -> None:
        """The session may have a folder now that is outside of the roots of some who follow it."""
        for follower in list(session.followers):
            grant = follower.client.grant
            if grant.roots and not await look_and_reach(grant, session.state):
                follower.detach()

    async def _permit_servers(self, session: LiveSession, params: Params) -> None:
        state = session.state
        await self._hub.broker.permit_servers(params, agent=state.agent, cwd=state.cwd, session=session)

    async def _fork(self, client: HubClient, params: Params, request_id: Id) -> Result:
        check_folders(params)
        source = await client.session(params)
        await self._permit_servers(source, params)
        key, before = making_key(client.grant.name, params), ours_in(params).get("before")
        new = partial(fork, self._hub, source, without_ours(params), before, key=key)
        session, is_new = await made_once(self._hub, key, new)
        if not is_new:
            await client.grant.look_at(session.state.places)
            client.may_reach(session)
        session = await self._hub.session(session.id)
        self._hub.attach(client, session, Position(session.last_visible))
        return {**self._views.standing(session), "sessionId": session.id}

    async def _close(self, client: HubClient, params: Params, request_id: Id) -> Result:
        await (await client.session(params)).close()
        return {}

    async def _delete(self, client: HubClient, params: Params, request_id: Id) -> Result:
        try:
            session = await client.session(params)
        except ErrorAnswer as error:
            if error.code != -32002:
                raise
            return {}  # it is gone, as was asked for
        if session.state.is_busy and ours_in(params).get("onlyIdle") is True:
            raise invalid_request("a turn runs in this session: cancel it first, then forget the session")
        await session.close(deletes=True)
        return {}

    async def _set_mode(self, client: HubClient, params: Params, request_id: Id) -> Result:
        session = await client.session(params)
        check_no_child(session)
        result = await self._change(client, session, "session/set_mode", params)
        self._tell_change(session, "current_mode_update", "currentModeId", value_of(params.get("modeId")))
        return bytes(result)

    async def _set_option(self, client: HubClient, params: Params, request_id: Id) -> Result:
        session = await client.session(params)
        check_no_child(session)
        result = await self._change(client, session, "session/set_config_option", params)
        options = value_of(result, {})
        if isinstance(options, dict) and isinstance(options.get("configOptions"), list):
            self._tell_change(session, "config_option_update", "configOptions", options["configOptions"])
        return bytes(result)

    async def _change(self, client: HubClient, session: LiveSession, method: str, params: Params) -> Raw:
        """Write a change that may affect how much the agent asks to the audit log before the agent
        gets it.
        """
        members = {name: value_of(raw) for name, raw in params.items() if name not in ("sessionId", "_meta")}
        title = " ".join(f"{name}={value}" for name, value in members.items())[:200]
        attempts, person = self._hub.broker.attempts, client.grant.name
        await attempts.write_change(session, method, title, person=person)
        try:
            return await self._hub.ask(session, method, params)
        except (DragomanError, TimeoutError) as error:
            await attempts.write_change(session, method, title, person=person, error=str(error))
            raise

    def _tell_change(self, session: LiveSession, kind: str, name: str, value: object) -> None:
        """Send a client's change to all followers, unless the agent has sent it itself."""
        if value_of(session.state.update(kind.encode()).get(name)) != value:
            self._hub.tell(session, {"sessionUpdate": kind, name: value})

    # Turns.

    def prompt(self, client: HubClient, request_id: Id, params: Params) -> None:
        """Accept a prompt at once, so that later messages find it."""
        self._hub.check_rate(client)
        session = self._hub.sessions.get(client.text(params, "sessionId"))
        is_followed = session is not None and session.id in client.followers
        if (
            session is None
            or session.state.is_incomplete
            or (not is_followed and client.grant.paths_to_look_at(session.state.places))
        ):
            if not client.unanswered_bytes.fits(_size(params)):
                raise invalid_request("too many requests wait for an answer already")
            charge = client.unanswered_bytes.charge(_size(params))
            self._hub.owner.start(self._prompt_later(client, request_id, params, charge))
        else:
            client.may_reach(session)  # also who follows it: it may have got other folders since
            if not is_followed:
                check_open(session)
            self._prompt(client, request_id, params, session)

    async def _prompt_later(
        self, client: HubClient, request_id: Id, params: Params, charge: HeldBytes
    ) -> None:
        """Nobody has this session open; it may still be in the journal."""
        try:
            session = await client.session(params)
            if session.id not in client.followers:
                check_open(session)
            self._prompt(client, request_id, params, session)
        except Elsewhere as error:
            client.elsewhere(request_id, error)
        except ErrorAnswer as error:
            client.tell(failure(request_id, error_object(error.code, error.message, error.data)))
        except DragomanError:
            client.tell(failure(request_id, error_object(INTERNAL_ERROR)))
        finally:
            charge.release()

    def _prompt(self, client: HubClient, request_id: Id, params: Params, session: LiveSession) -> None:
        if not isinstance(value_of(params.get("prompt")), list):
            raise invalid_params("prompt is missing")
        check_no_child(session)
        given_key = checked_key(ours_in(params))
        key, grant = given_key or new_key(), client.grant
        check_owner(session.lookups.owner_of(key) or session.state.owner_of(key), grant)
        follower = client.followers.get(session.id)
        if follower is None:
            follower = self._hub.attach(client, session, Position(session.last_visible))
        follower.own |= {key}
        answer = session.state.answers.get(key)
        if answer is not None and (follower.is_ended or follower.position.sequence >= answer.sequence):
            client.send(answer.to(request_id, usage=client.usage))
        elif session.state.knows_key(key) or key in session.lookups:
            client.wait_for(session.id, key, request_id)
        elif not session.bounds.prompts.fits(_size(params)):
            raise invalid_request(
                "the prompts that wait are too large to take another one; send it when one of them has ended"
            )
        else:
            is_fresh = not given_key or not session.state.has_old_answers
            prompt = IncomingPrompt(
                params=without_ours(params),
                key=key,
                by=grant.name,
                lends=client.lends(),
                is_fresh=is_fresh,
                may_claim=grant.may("admin"),
            )
            refusal = prompt_refusal(session.lookups.add(prompt))
            if refusal is not None:
                raise refusal
            client.wait_for(session.id, key, request_id)
        follower.came_again(key)

    def cancel(self, client: HubClient, params: Params) -> None:
        session = self._followed_session(client, params)
        if session is None:
            return
        if session.state.parent:
            if self._hub.children.may_cancel(session):
                session.cancel()
            return
        mine = [key for (of, key) in client.waiting if of == session.id]
        ours = ours_in(params)
        target_keys = texts_in(ours, "prompts") if "prompts" in ours else None
        withdrawn_keys = [
            key
            for key in (mine if target_keys is None else target_keys)
            if key in mine and session.withdraw(key)
        ]
        turn = session.state.current
        if turn is None:
            return
        if turn.key in (mine if target_keys is None else target_keys) or (
            target_keys is None and not withdrawn_keys
        ):
            session.cancel()
        else:
            client.on_withdrawal(session)

    def cancel_request(self, client: HubClient, params: Params) -> None:
        """Cancel a request: only prompts last long enough."""
        target_id = value_of(params.get("requestId"), UNSET)
        for (session_id, key), waiting in list(client.waiting.items()):
            if target_id in waiting and session_id in self._hub.sessions:
                session = self._hub.sessions[session_id]
                if not session.withdraw(key):
                    session.cancel()

    def on_notification(self, client: HubClient, method: str, params: Params) -> None:
        """Pass on a notification that is not for the hub to the session's agent."""
        session = self._followed_session(client, params)
        if session is not None:
            self._hub.pass_on(session, method, params)

    def _followed_session(self, client: HubClient, params: Params) -> LiveSession | None:
        """The session that a notification is about, if its client follows it and still reaches it."""
        follower = client.followers.get(str(value_of(params.get("sessionId"), "")))
        is_reached = follower is not None and reaches(client.grant, follower.session.state)
        return follower.session if follower is not None and is_reached else None

    def erase(self, session_id: str) -> None:
        """Erase a session completely: another one may get its name."""
        self._views.erase(session_id)
        self._ours.erase(session_id)


def _size(params: Params) -> int:
    """Bytes of a request's members."""
    return sum(memoryview(raw).nbytes for raw in params.values())


def _as_written(value: object, kind: type) -> dict[str, Any] | None:
    """A part of an agent's introduction in its proper form: clients refuse what agents get away with, such as
    null for a capability. None if it is nothing of this kind.
    """
    try:
        found = value_of(Raw(write(read(encode_json(value), kind))))
    except SchemaError:
        return None
    return found if isinstance(found, dict) else None


def _without_mcp_of_client(can: dict[str, Any]) -> dict[str, Any]:
    """The agent's abilities without MCP features that the hub does not pass on."""
    servers = can.get("mcpCapabilities")
    if not isinstance(servers, dict):
        return {}
    return {"mcpCapabilities": {name: value for name, value in servers.items() if name != MCP_OF_CLIENT}}

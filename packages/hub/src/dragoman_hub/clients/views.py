"""The hub as clients see it: the state of sessions, lists of sessions, agents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal, TypeAlias
from weakref import WeakSet

from dragoman.schema.steering import SteeringWay, steering_way
from dragoman.version import VERSION
from dragoman.wire import notification
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.session_reach import in_reach, look_and_reach, reaches
from dragoman_hub.session.frames import encode_json, object_of, value_of
from dragoman_hub.session.notes import parent_in
from dragoman_local.journal import StreamInfo
from dragoman_local.journal.erasure import FORGETTING

PARENTS = 10_000
"""Streams of which it is remembered whether they are children."""

ArchiveFilter: TypeAlias = Literal["exclude", "include", "only"]
"""The filter of a list for archived sessions."""


class SessionViews:
    """Reads the hub and changes nothing."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub
        self._watching: WeakSet[HubClient] = WeakSet()
        self._parents: dict[str, str] = {}  # of streams that are not open

    def shown_to(self, client: HubClient) -> JsonObject:
        """Return the hub's introduction for a client; a token that may only approve sees no paths."""
        is_observer = client.grant.may("observe")
        agents = [
            {
                "name": seat.spec.name,
                "title": seat.spec.title,
                "description": seat.spec.description,
                **({"place": seat.spec.place} if seat.spec.place else {}),
            }
            for seat in self._hub.pool.seats.values()
            if is_observer and client.grant.may_use(seat.spec.name)
        ]
        scopes = sorted(client.grant.scopes)
        most = client.transport.limits.frame
        shown: JsonObject = {"hub": VERSION, "agent": client.agent, "agents": agents, "scopes": scopes}
        folders = {"folder": self._hub.options.folder, "home": self._hub.options.home}
        places = {
            name: path
            for name, path in folders.items()
            if path and is_observer and client.grant.may_open(path)
        }
        return {
            **shown,
            **places,
            "by": client.grant.name,
            "message": most,
            "hubs": list(self._hub.options.hubs),
        }

    # One session.

    def standing(self, session: LiveSession) -> JsonObject:
        """Return the agent's answer from when a session is created or loaded: current modes, options and so
        on.
        """
        state = session.state
        answer: JsonObject = {
            name: raw for name, raw in state.agent_answer.items() if name not in ("sessionId", "_meta")
        }
        mode = value_of(state.update(b"current_mode_update").get("currentModeId"))
        modes = value_of(state.agent_answer.get("modes"))
        if isinstance(modes, dict) and isinstance(mode, str):
            answer["modes"] = {**modes, "currentModeId": mode}
        options = state.update(b"config_option_update").get("configOptions")
        return {**answer, "configOptions": options} if options is not None else answer

    def snapshot(self, session: LiveSession) -> JsonObject:
        """Return everything that a screen needs at once."""
        state = session.state
        standing = self.standing(session)
        turn = state.turn
        queue = [
            {"key": prompt.key, "by": prompt.by, "prompt": object_of(prompt.params).get("prompt")}
            for prompt in state.queue
            if prompt.key != session.state.start
        ]
        usage = state.update(b"usage_update")
        usage.pop("sessionUpdate", None)
        return {
            "modes": standing.get("modes"),
            "configOptions": standing.get("configOptions"),
            "availableCommands": state.update(b"available_commands_update").get("availableCommands"),
            "promptCapabilities": self._prompts(state.agent),
            "steering": self._steering(state.agent),
            "plan": state.update(b"plan").get("entries"),
            "usage": usage or None,
            "remembersFiles": self._remembers_files(session),
            "turn": None if turn is None else {"key": turn.key, "by": turn.by},
            "queue": queue,
            "children": self._hub.children.tree(session),
            "requests": [self._hub.broker.describe(session, request) for request in session.state.questions],
        }

    def _remembers_files(self, session: LiveSession) -> bool:
        """Whether its files can be put back."""
        changes = self._hub.changes
        return changes.is_lasting and changes.far_side(session.id) is None

    def _prompts(self, agent: str) -> Any:
        """The content besides text that the agent accepts, if it has ever announced that."""
        seat = self._hub.pool.seats.get(agent)
        can = seat.initialize_result.get("agentCapabilities") if seat is not None else None
        return can.get("promptCapabilities") if isinstance(can, dict) else None

    def _steering(self, agent: str) -> SteeringWay | None:
        """How the agent is given a message while a turn runs, if it has ever introduced itself."""
        seat = self._hub.pool.seats.get(agent)
        return steering_way(seat.initialize_result) if seat is not None and seat.initialize_result else None

    def describe(self, session: LiveSession) -> JsonObject:
        state = session.state
        turn = state.current
        more: JsonObject = {}
        if turn is not None:
            more = {"turn": {"key": turn.key, "by": turn.by}, "steering": self._steering(state.agent)}
        if state.parent:
            more["parent"] = state.parent
            more["requester"] = self._hub.children.requester(session)
            more["work"] = self._work_of(session)
        return {
            "sessionId": session.id,
            "agent": state.agent,
            "cwd": state.cwd,
            "title": session.title,
            "state": session.shown_state,
            "cursor": str(session.last_visible),
            "queue": len(state.queue),
            "asking": len(state.questions),
            "updatedAt": datetime.now(UTC).isoformat(timespec="seconds"),
            **more,
        }

    def _work_of(self, child: LiveSession) -> JsonObject:
        """The announced work of a child: its state, and how its last turn ended."""
        parent = self._hub.sessions.get(child.state.parent)
        record = None if parent is None else self._hub.children.entry_of(parent, child)
        if record is None or not record.work:
            return {}
        return {"state": record.work} | ({"stopReason": record.stop_reason} if record.stop_reason else {})

    def watch(self, client: HubClient, *, on: bool) -> None:
        """Set whether the client gets a message when any session changes."""
        client.watches = on
        self._watching.add(client)

    def on_change(self, session: LiveSession) -> None:
        """Inform watchers that may observe about a change. Clients that may only answer
        get only questions.
        """
        if not self._watching:
            return
        # Those alone, because this is said of every session whenever it changes, and few of many clients ask.
        watching = [
            client
            for client in self._watching
            if client.watches and client in self._hub.clients and client.grant.may("observe")
        ]
        if not watching:
            return
        block = self._session_news(session)
        for client in watching:
            if client.grant.paths_to_look_at(session.state.places):
                self._hub.owner.start(self._tell_later(client, session))
            elif reaches(client.grant, session.state):
                client.tell(block)

    async def _tell_later(self, client: HubClient, session: LiveSession) -> None:
        if await look_and_reach(client.grant, session.state):
            client.tell(self._session_news(session))

    def _session_news(self, session: LiveSession) -> bytes:
        return notification("_dragoman/hub/session", encode_json({"session": self.describe(session)}))

    # Lists.

    async def list_sessions(
        self,
        client: HubClient,
        *,
        cursor: str | None = None,
        limit: int = 50,
        agent: str | None = None,
        cwd: str | None = None,
        state: str | None = None,
        archived: ArchiveFilter = "exclude",
        with_children: bool = True,
    ) -> JsonObject:
        sessions: list[JsonObject] = []
        while len(sessions) < limit:
            listing = await self._hub.journal.list(
                cursor=cursor, limit=limit - len(sessions), agent=agent, cwd=cwd, state=state
            )
            infos = [
                info
                for info in await in_reach(self._hub, client.grant, filter(_is_listed, listing.streams))
                if (archived == "include" or (archived == "only") == (info.state == "archived"))
            ]
            parents = await self._parents_of([info.stream for info in infos])
            for info, parent in zip(infos, parents, strict=True):
                if with_children or not parent:
                    sessions.append(self._line(info) | ({"parent": parent} if parent else {}))
            cursor = listing.cursor
            if cursor is None:
                break
        return {"sessions": sessions} | ({} if cursor is None else {"nextCursor": cursor})

    async def _parents_of(self, names: Sequence[str]) -> list[str]:
        """The parents of child sessions; empty for any other. The first entry of a stream says it."""
        parents = {name: parent for name in names if (parent := self._known_parent(name)) is not None}
        unknown = [name for name in names if name not in parents]
        if unknown:
            first = await self._hub.journal.first_entries(unknown)
            read = {name: parent_in(first[name].frame if name in first else None) for name in unknown}
            if len(self._parents) + len(read) > PARENTS:
                self._parents.clear()
            self._parents |= read
            parents |= read
        return [parents[name] for name in names]

    def _known_parent(self, name: str) -> str | None:
        session = self._hub.sessions.get(name)
        return self._parents.get(name) if session is None else session.state.parent

    def _line(self, info: StreamInfo) -> JsonObject:
        open_session = self._hub.sessions.get(info.stream)
        more: JsonObject = {"state": info.state, "queue": 0, "asking": 0, "cursor": str(info.last)}
        if open_session is not None:
            more = self.describe(open_session)
        return {
            **more,
            "sessionId": info.stream,
            "agent": info.agent,
            "cwd": info.cwd,
            "title": info.title,
            "createdAt": _when(info.created),
            "updatedAt": _when(info.updated),
        }

    async def may_see(self, client: HubClient, session_id: str) -> bool:
        info = await self._hub.journal.info(session_id)
        return info is not None and _is_listed(info) and bool(await in_reach(self._hub, client.grant, [info]))

    # Agents and the whole.

    def agents(self, client: HubClient) -> list[JsonObject]:
        return [agent for agent in self._agents() if client.grant.may_use(str(agent["name"]))]

    def _agents(self) -> list[JsonObject]:
        agents = []
        for seat in self._hub.pool.seats.values():
            process = seat.process if seat.process is not None and not seat.process.over else None
            state = "up" if process else "starting" if seat.starting.locked() else "stopped"
            if not process and seat.failures > seat.spec.restarts:
                state = "failed"
            more: JsonObject = (
                {} if process is None else {"pid": process.channel.pid, "started": process.start_time}
            )
            if seat.spec.place:
                more["place"] = seat.spec.place
            if seat.spec.sandbox != "off":
                more["sandbox"] = seat.spec.sandbox
            if seat.last_error:
                more["lastError"] = seat.last_error
            if seat.last_end:
                more["lastEnd"] = seat.last_end
            if isinstance(methods := seat.initialize_result.get("authMethods"), list) and methods:
                more["authMethods"] = methods
            if isinstance(info := seat.initialize_result.get("agentInfo"), dict):
                more["version"] = info.get("version")
            sessions = 0 if process is None else len(process.sessions)
            agents.append(
                {
                    "name": seat.spec.name,
                    "title": seat.spec.title,
                    "description": seat.spec.description,
                    "state": state,
                    "sessions": sessions,
                    "restarts": max(0, seat.starts - 1),
                    "invalidFrames": seat.invalid.count,
                    **more,
                }
            )
        return agents

    def status(self) -> JsonObject:
        sessions = [self.describe(session) for session in self._hub.sessions.values()]
        clients = [
            {
                "token": client.grant.name,
                "sessions": len(client.followers),
                "unread": client.transport.pending,
            }
            for client in self._hub.clients
        ]
        return {"version": VERSION, "agents": self._agents(), "sessions": sessions, "connections": clients}

    def erase(self, session_id: str) -> None:
        self._parents.pop(session_id, None)


def _is_listed(info: StreamInfo) -> bool:
    return info.state not in ("", FORGETTING) and info.stream[0] != "@"


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")

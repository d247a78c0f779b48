"""The agent as a client sees it: its name, its capabilities, its sessions, and requests to it.

An `AgentHandle` opens sessions, and each `Session` asks through its handle: prompts go in, typed updates come
out in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import msgspec
from msgspec import UNSET, Raw, Struct

from dragoman.errors import LocalMistake
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.runtime.limits import check_seconds
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.schema.steering import SteerFallback, SteeringWay, SteerOutcome
from dragoman.schema.waits import bound
from dragoman.sdk.capabilities import (
    AGENT_NOTIFICATIONS,
    AGENT_REQUESTS,
    NOTHING,
    Capabilities,
    peer_capabilities,
)
from dragoman.sdk.client.late_updates import Sizes, without_superseded
from dragoman.sdk.client.prompt import PromptTurn
from dragoman.sdk.client.subagents import SubagentTree
from dragoman.sdk.inbound import read_result
from dragoman.sdk.outbound import as_block, as_list, check_text, write_out, write_params
from dragoman.sdk.session_opener import OpenMethod, SessionOpener, SessionPlace

if TYPE_CHECKING:
    import asyncio

    from dragoman.runtime.link import Link
else:
    asyncio = DeferredModule("asyncio")

T = TypeVar("T")

_DEFAULT: Any = object()


class EnvMethod(Struct, frozen=True, kw_only=True):
    """A login by variables that the agent reads from its environment; from a draft of the protocol."""

    id: str
    name: str
    variables: tuple[str, ...] = ()


class SessionRouter(Protocol):
    """The parts of the running client that sessions use; `side.ClientSide` implements it."""

    sessions: dict[str, Session]
    opening: int
    """Open calls that will create a session whose id is still unknown."""
    received_bytes: int
    """The number of received bytes of any kind."""
    deviations: int
    """The number of unreadable notifications."""
    on_deviation: Callable[[str], None] | None
    """Called with the reason for each unreadable notification."""
    subagents: SubagentTree

    def open(self, session: Session) -> None:
        """Route updates for this session id to the session from now on."""

    def forget(self, session: Session) -> None:
        """Forget a closed session."""

    def cancel_permissions(self, session_id: str) -> None:
        """Answer every open permission request of the session and its subagents with `cancelled`."""

    def weigh_backlog(self) -> None:
        """Pause reading while a reader is too far behind."""


LATE_UPDATES = 10_000
"""The most updates outside any turn to keep in `late`; the oldest go first."""

LATE_BYTES = 8 * 1024 * 1024
"""The same limit in bytes on the wire; a single update of any size is kept."""


class Session:
    """A session of an agent, made by `new_session`, `load_session`, `resume_session` or `fork_session`.

        session = await agent.new_session(cwd="/project")
        result = await session.prompt("Fix the failing test")
        await session.close()

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = (
        "_late",
        "_late_sizes",
        "agent",
        "cancelling",
        "config_options",
        "cwd",
        "id",
        "is_closed",
        "late_updates",
        "listener",
        "modes",
        "turn",
        "turn_updates",
    )

    def __init__(self, agent: AgentHandle, session_id: str, *, cwd: str) -> None:
        self.agent = agent
        self.id = session_id
        self.cwd = cwd
        self.modes: v1.SessionModeState | None = None
        self.config_options: Sequence[v1.SessionConfigOption] = ()
        self._late: deque[v1.SessionUpdate] | None = None
        self._late_sizes: Sizes | None = None
        self.listener: asyncio.Event | None = None
        self.turn: PromptTurn | None = None
        self.cancelling = False
        self.is_closed = False
        self.turn_updates: list[v1.SessionUpdate | v1.SessionNotification] = []
        """Updates of the block that is being read, handed over at its end. A subagent's has its id."""
        self.late_updates: list[v1.SessionUpdate | v1.SessionNotification] = []
        """The same for updates that belong to no turn that is being read."""

    @property
    def link(self) -> Link:
        """The connection to the agent."""
        return self.agent.link

    @property
    def capabilities(self) -> Capabilities:
        """The agent's capabilities."""
        return self.agent.capabilities

    @property
    def late(self) -> deque[v1.SessionUpdate]:
        """The updates that arrived outside any turn: before the first turn, between two turns, or after an
        answer.
        """
        if self._late is None:
            self._late = deque(maxlen=LATE_UPDATES)
        return self._late

    async def listen(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        """Yield each update outside any turn, those in `late` first, until the agent is gone or this session
        is closed. Agents send such updates after their answer: a list of commands, the end of a tool, a
        title. Each update goes to one listener, so only one may listen at a time.
        """
        if self.listener is not None:
            raise LocalMistake(
                "this session already has a listener: read it from there, or open a second session"
            )
        loop = asyncio.get_running_loop()
        self.listener = asyncio.Event()
        link_end = loop.create_task(self.link.wait_ended(), name=f"end of session {self.id}")
        link_end.add_done_callback(lambda _: self.wake_listener())
        try:
            while True:
                self.listener.clear()
                while self.late:
                    yield self.late.popleft()
                if self.is_closed or link_end.done():
                    return
                await self.listener.wait()
        finally:
            link_end.cancel()
            await asyncio.wait((link_end,))
            self.listener = None

    def prompt(
        self,
        *content: str | v1.ContentBlock,
        silence: float | None = None,
        keep_text: bool = True,
        meta: Mapping[str, Any] | None = None,
    ) -> PromptTurn:
        """Run one turn. Iterate over the turn for its updates, or await it for the result; nothing is sent
        before that. If you show updates as they arrive and don't need the whole text at the end, set
        `keep_text=False`. `meta` is the `_meta` of the prompt, such as a `traceparent`.
        """
        blocks = [as_block(block, f"content[{at}]") for at, block in enumerate(content)]
        return PromptTurn(self, blocks, silence=silence, keep_text=keep_text, meta=meta)

    @property
    def steering_way(self) -> SteeringWay:
        """The way to send the agent a message while a turn runs."""
        return self.agent.steering_way

    async def steer(
        self, *content: str | v1.ContentBlock, otherwise: SteerFallback = "restart"
    ) -> SteerOutcome:
        """Send a message while a turn runs; see `PromptTurn.steer`."""
        if self.turn is None:
            raise LocalMistake("no turn is running that could be steered; send a prompt")
        return await self.turn.steer(*content, otherwise=otherwise)

    async def cancel(self) -> None:
        """Stop the running turn. Permission requests, also of subagents, are answered with `cancelled`;
        messages that wait for the end of the turn are not sent (`turn.unsent`).
        """
        if self.turn is not None:
            self.turn.forget_messages()
        await self.interrupt()

    async def interrupt(self) -> None:
        """Stop the running turn, which then continues with the user's messages since."""
        self.cancelling = self.turn is not None
        self.agent.side.cancel_permissions(self.id)
        self.agent.link.notify("session/cancel", write(v1.CancelNotification(session_id=self.id)))
        self.agent.link.outbox.flush()

    async def set_mode(self, mode_id: str) -> None:
        """Change the session's mode (`session/set_mode`); `modes` lists the available ones."""
        request = v1.SetSessionModeRequest(session_id=self.id, mode_id=mode_id)
        await self.agent.ask("session/set_mode", request, v1.SetSessionModeResponse, lane=self.id)

    async def set_config_option(self, config_id: str, value: str | bool) -> Sequence[v1.SessionConfigOption]:
        """Change one option; the answer, and `config_options` from then on, is the complete list."""
        request: dict[str, Any] = {"sessionId": self.id, "configId": config_id, "value": value}
        if isinstance(value, bool):
            request["type"] = "boolean"
        answer = await self.agent.ask(
            "session/set_config_option", request, v1.SetSessionConfigOptionResponse, lane=self.id
        )
        self.config_options = answer.config_options
        return answer.config_options

    async def close(self) -> None:
        """Free the session at the agent, which cancels a running turn."""
        self.agent.side.cancel_permissions(self.id)
        request = v1.CloseSessionRequest(session_id=self.id)
        await self.agent.ask("session/close", request, v1.CloseSessionResponse, lane=self.id)
        self.leave()

    def leave(self) -> None:
        """Stop using the session without telling the agent."""
        self.is_closed = True
        self.agent.side.forget(self)
        self.wake_listener()

    @property
    def backlog(self) -> int:
        """The bytes of updates that the reader of the running turn has not taken yet."""
        return 0 if self.turn is None else self.turn.backlog

    def weigh_backlog(self) -> None:
        """Pause or continue reading, because a reader's backlog has changed."""
        self.agent.side.weigh_backlog()

    def turn_ended(self, turn: PromptTurn) -> None:
        """Free the session for its next turn, because the agent has answered or the call was given up."""
        if self.turn is turn:
            self.turn = None
            self.cancelling = False
            self.agent.side.forget(self)
        self.weigh_backlog()

    def inlet(self) -> list[v1.SessionUpdate | v1.SessionNotification]:
        """The list for updates that arrive now."""
        turn = self.turn
        return self.late_updates if turn is None or not turn.listens else self.turn_updates

    def hand_over(self, each: float, block: bytes) -> None:
        """Deliver updates, about `each` bytes each; `block` holds their frames and no others, or nothing."""
        if self.turn_updates:
            turn_updates, self.turn_updates = self.turn_updates, []
            assert self.turn is not None
            self.turn.take(turn_updates, int(each * len(turn_updates)), block)
        if self.late_updates:
            late_updates, self.late_updates = self.late_updates, []
            self.keep(cast("list[v1.SessionUpdate]", late_updates), int(each))  # of this session alone

    def keep(self, updates: Sequence[v1.SessionUpdate], each: int) -> None:
        """Keep updates that arrived outside any turn."""
        late = self.late
        sizes = self._late_sizes = self._late_sizes or Sizes()
        sizes.forget_all_but(len(late))  # somebody may have taken some
        fresh = without_superseded(late, updates)
        sizes.forget_all_but(len(late), newest=True)
        late.extend(fresh)
        sizes.add(len(fresh), each)
        sizes.forget_all_but(len(late))  # they may be too many
        while sizes.total > LATE_BYTES and len(late) > 1:
            late.popleft()
            sizes.forget_all_but(len(late))
        self.wake_listener()

    def wake_listener(self) -> None:
        """Wake the listener, because there is an update or the session has ended."""
        if self.listener is not None:
            self.listener.set()


class AgentHandle(SessionOpener[Coroutine[object, None, Session]]):
    """The other end of a client's connection.

        async with connect("some-agent --acp") as agent:
            session = await agent.new_session(cwd="/project")
            async for stored in agent.list_sessions(cwd="/project"):
                print(stored.session_id, stored.title)

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = (
        "answers_last",
        "auth_methods",
        "capabilities",
        "env_methods",
        "info",
        "is_hub",
        "link",
        "protocol_version",
        "side",
        "steering_way",
    )

    def __init__(self, link: Link, side: SessionRouter) -> None:
        self.link = link
        self.side = side
        self.capabilities = NOTHING
        self.info: v1.Implementation | None = None
        self.auth_methods: Sequence[v1.AuthMethod] = ()
        self.env_methods: Sequence[EnvMethod] = ()
        self.protocol_version = 0
        self.answers_last = False
        """Whether it promises that all updates of a turn come before the turn's answer. The protocol demands
        that, and not every agent does it.
        """
        self.is_hub = False
        """Whether it is a hub that stands before its agents, as `initialize` says."""
        self.steering_way: SteeringWay = "restart"
        """How it is given a message while a turn runs."""

    def introduce(self, answer: v1.InitializeResponse) -> None:
        """Store the agent's name and capabilities from `initialize`."""
        self.capabilities = peer_capabilities(answer.agent_capabilities)
        self.info = answer.agent_info or None
        self.auth_methods = answer.auth_methods or ()
        self.protocol_version = answer.protocol_version
        ours = answer.meta.get("dragoman") if isinstance(answer.meta, dict) else None
        self.answers_last = isinstance(ours, dict) and ours.get("answersLast") is True
        self.is_hub = isinstance(ours, dict) and isinstance(ours.get("hub"), str)

    # Sessions.

    async def open_session(self, place: SessionPlace, how: OpenMethod, session_id: str = "") -> Session:
        """Open a session in one of the three ways; `session_id` is for loading or resuming one."""
        method = f"session/{how}"
        servers = self._servers(place.mcp_servers, method)
        roots = self._roots(place.additional_directories, method)
        if how == "new":
            new = v1.NewSessionRequest(cwd=place.cwd, mcp_servers=servers, additional_directories=roots)
            return await self._open_session(method, new, v1.NewSessionResponse, place.cwd)
        request, result = (
            (v1.LoadSessionRequest, v1.LoadSessionResponse)
            if how == "load"
            else (v1.ResumeSessionRequest, v1.ResumeSessionResponse)
        )
        again = request(
            session_id=session_id, cwd=place.cwd, mcp_servers=servers, additional_directories=roots
        )
        return await self._reopen_session(method, again, result, session_id, place.cwd)

    async def fork_session(self, session_id: str, *, cwd: str) -> Session:
        """Open a new session that starts from the current state of another."""
        request = v1.ForkSessionRequest(session_id=session_id, cwd=cwd)
        return await self._open_session("session/fork", request, v1.ForkSessionResponse, cwd)

    async def list_sessions(self, *, cwd: str | None = None) -> AsyncIterator[v1.SessionInfo]:
        """Return all stored sessions, page by page."""
        cursor: str | None = None
        while True:
            request = v1.ListSessionsRequest(
                cwd=UNSET if cwd is None else cwd, cursor=UNSET if cursor is None else cursor
            )
            page = await self.ask("session/list", request, v1.ListSessionsResponse)
            for session in page.sessions:
                yield session
            if not isinstance(page.next_cursor, str):
                return
            cursor = page.next_cursor

    async def delete_session(self, session_id: str) -> None:
        """Remove a stored session from the agent (`session/delete`)."""
        await self.ask(
            "session/delete", v1.DeleteSessionRequest(session_id=session_id), v1.DeleteSessionResponse
        )

    # Login.

    async def authenticate(self, method_id: str) -> None:
        """Log in with one of `auth_methods` (`authenticate`). No deadline: a person may be involved."""
        await self.ask("authenticate", v1.AuthenticateRequest(method_id=method_id), v1.AuthenticateResponse)

    async def logout(self) -> None:
        """End the login at the agent (`logout`)."""
        await self.ask("logout", v1.LogoutRequest(), v1.LogoutResponse)

    # Anything.

    @property
    def subagents(self) -> SubagentTree:
        """The child sessions that the agent has announced, in all sessions."""
        return self.side.subagents

    async def ask(
        self,
        method: str,
        message: object,
        result: type[T],
        *,
        deadline: float | None = _DEFAULT,
        lane: Hashable | None = None,
    ) -> T:
        """Send a typed request of the protocol. It is refused here if the agent has not announced the
        capability.
        """
        capability = AGENT_REQUESTS[method].capability
        if capability is not None:
            self.capabilities.require(capability, method)
        params = write_out(message, AGENT_REQUESTS[method].params, method)
        return read_result(await self._call(method, params, deadline, lane), result, method)

    async def call(self, method: str, params: object = None, *, deadline: float | None = _DEFAULT) -> Any:
        """Send any other request, such as an extension (`_…`): plain data in, plain data out."""
        check_text(method, "method")
        data = write_params(params, method, AGENT_NOTIFICATIONS | AGENT_REQUESTS)
        return msgspec.json.decode(await self._call(method, data, deadline, None))

    async def notify(self, method: str, params: object = None) -> None:
        """Send any notification, such as an extension."""
        check_text(method, "method")
        self.link.notify(method, write_params(params, method, AGENT_REQUESTS | AGENT_NOTIFICATIONS))
        await self.link.outbox.flow()

    async def _call(
        self, method: str, params: bytes | None, deadline: float | None, lane: Hashable | None
    ) -> Raw:
        is_default = deadline is _DEFAULT
        if is_default:
            deadline = bound(method, self.link.limits.call_seconds, receiver="agent", is_hub=self.is_hub)
        else:
            check_seconds(deadline, "deadline")
        return await self.link.call(method, params, deadline=deadline, lane=lane, is_patient=is_default)

    async def _open_session(self, method: str, request: Any, result: type[Any], cwd: str) -> Session:
        self.side.opening += 1
        try:
            answer = await self.ask(method, request, result)
        finally:
            self.side.opening -= 1
        session = Session(self, answer.session_id, cwd=cwd)
        self.side.open(session)
        return _with_settings(session, answer)

    async def _reopen_session(
        self, method: str, request: object, result: type[object], session_id: str, cwd: str
    ) -> Session:
        check_text(session_id, "session_id")
        session = Session(self, session_id, cwd=cwd)
        previous = self.side.sessions.get(session_id)
        self.side.open(session)  # before the call: the replay comes before its answer
        try:
            answer = await self.ask(method, request, result, lane=session_id)
        except BaseException:
            self.side.sessions.pop(session_id, None)
            if previous is not None:
                self.side.sessions[session_id] = previous
            raise
        return _with_settings(session, answer)

    def _servers(self, servers: Sequence[v1.McpServer], method: str) -> list[v1.McpServer]:
        for server in as_list(servers, "mcp_servers"):
            config = getattr(server, "__struct_config__", None)
            kind = None if config is None else config.tag  # a command has none, and every agent takes it
            if kind is not None:
                self.capabilities.require(f"mcpCapabilities.{kind}", method)
        return list(servers)

    def _roots(self, directories: Sequence[str], method: str) -> Any:
        if not directories:
            return UNSET
        self.capabilities.require("sessionCapabilities.additionalDirectories", method)
        return as_list(directories, "additional_directories")


def _with_settings(session: Session, answer: Any) -> Session:
    session.modes = answer.modes or None
    session.config_options = answer.config_options or ()
    return session

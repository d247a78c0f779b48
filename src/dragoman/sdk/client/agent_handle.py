"""The agent, as a client sees it: who it is, what it can do, its sessions, and how to ask it anything."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Hashable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import UNSET, Raw

from dragoman.runtime import Link
from dragoman.schema import v1
from dragoman.sdk.capabilities import AGENT_REQUESTS, NOTHING, advertised
from dragoman.sdk.client.session import Session
from dragoman.sdk.client.side import ClientSide
from dragoman.sdk.reading import read_result
from dragoman.sdk.session_opener import OpenMethod, SessionOpener, SessionPlace
from dragoman.sdk.writing import as_list, check_text, write_out, write_plain

if TYPE_CHECKING:
    from dragoman.sdk.login import EnvMethod

T = TypeVar("T")

_DEFAULT: Any = object()


class AgentHandle(SessionOpener[Coroutine[object, None, Session]]):
    """The other end of a client's connection.

        async with connect("some-agent --acp") as agent:
            session = await agent.new_session(cwd="/project")
            async for stored in agent.list_sessions(cwd="/project"):
                print(stored.session_id, stored.title)

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = ("auth_methods", "capabilities", "env_methods", "info", "link", "protocol_version", "side")

    def __init__(self, link: Link, side: ClientSide) -> None:
        self.link = link
        self.side = side
        self.capabilities = NOTHING
        self.info: v1.Implementation | None = None
        self.auth_methods: Sequence[v1.AuthMethod] = ()
        self.env_methods: Sequence[EnvMethod] = ()
        self.protocol_version = 0

    def introduce(self, answer: v1.InitializeResponse) -> None:
        """`initialize` told us who it is."""
        self.capabilities = advertised(answer.agent_capabilities)
        self.info = answer.agent_info or None
        self.auth_methods = answer.auth_methods or ()
        self.protocol_version = answer.protocol_version

    # Sessions.

    async def open_session(self, place: SessionPlace, how: OpenMethod, session_id: str = "") -> Session:
        """Open a session in one of the three ways; `session_id` is for those that bring one back."""
        method = f"session/{how}"
        servers = self._servers(place.mcp_servers, method)
        roots = self._roots(place.additional_directories, method)
        if how == "new":
            new = v1.NewSessionRequest(cwd=place.cwd, mcp_servers=servers, additional_directories=roots)
            return await self._opened(method, new, v1.NewSessionResponse, place.cwd)
        request, result = (
            (v1.LoadSessionRequest, v1.LoadSessionResponse)
            if how == "load"
            else (v1.ResumeSessionRequest, v1.ResumeSessionResponse)
        )
        again = request(
            session_id=session_id, cwd=place.cwd, mcp_servers=servers, additional_directories=roots
        )
        return await self._reopened(method, again, result, session_id, place.cwd)

    async def fork_session(self, session_id: str, *, cwd: str) -> Session:
        """A new session that starts where the other one stands."""
        request = v1.ForkSessionRequest(session_id=session_id, cwd=cwd)
        return await self._opened("session/fork", request, v1.ForkSessionResponse, cwd)

    async def list_sessions(self, *, cwd: str | None = None) -> AsyncIterator[v1.SessionInfo]:
        """All stored sessions, page by page."""
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
        """Log in by one of `auth_methods` (`authenticate`). It has no deadline: a person may be asked."""
        await self.ask(
            "authenticate",
            v1.AuthenticateRequest(method_id=method_id),
            v1.AuthenticateResponse,
            deadline=None,
        )

    async def logout(self) -> None:
        """End the login at the agent (`logout`)."""
        await self.ask("logout", v1.LogoutRequest(), v1.LogoutResponse)

    # Anything.

    async def ask(
        self,
        method: str,
        message: object,
        result: type[T],
        *,
        deadline: float | None = _DEFAULT,
        lane: Hashable | None = None,
    ) -> T:
        """A request of the protocol, typed both ways, refused here if the agent did not say that it can do
        it.
        """
        capability = AGENT_REQUESTS[method].capability
        if capability is not None:
            self.capabilities.require(capability, method)
        params = write_out(message, AGENT_REQUESTS[method].params, method)
        return read_result(await self._call(method, params, deadline, lane), result, method)

    async def call(self, method: str, params: object = None, *, deadline: float | None = _DEFAULT) -> Any:
        """Any other request, such as an extension (`_…`): plain data in, plain data out."""
        check_text(method, "method")
        return msgspec.json.decode(await self._call(method, write_plain(params, method), deadline, None))

    async def notify(self, method: str, params: object = None) -> None:
        """Any notification, such as an extension."""
        check_text(method, "method")
        self.link.notify(method, write_plain(params, method))
        await self.link.outbox.flow()

    async def _call(
        self, method: str, params: bytes | None, deadline: float | None, lane: Hashable | None
    ) -> Raw:
        seconds = self.link.limits.call_seconds if deadline is _DEFAULT else deadline
        return await self.link.call(method, params, deadline=seconds, lane=lane)

    async def _opened(self, method: str, request: Any, result: type[Any], cwd: str) -> Session:
        self.side.opening += 1
        try:
            answer = await self.ask(method, request, result)
        finally:
            self.side.opening -= 1
        session = Session(self, answer.session_id, cwd=cwd)
        self.side.open(session)
        return _with_settings(session, answer)

    async def _reopened(
        self, method: str, request: Any, result: type[Any], session_id: str, cwd: str
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

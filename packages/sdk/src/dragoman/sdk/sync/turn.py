"""A turn, a session and a client, as an agent's handler sees them when it is a plain function.

They stand before their namesakes of `sdk.agent.session`, with the same methods and no `await`.
When the client cancels, the call that the handler is in, or makes next, raises `dragoman.errors.Cancelled`;
code that makes no calls polls `turn.cancelled`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from dragoman.sdk.agent.session import AgentSession as AwaitedSession
from dragoman.sdk.agent.session import ClientHandle as AwaitedClient
from dragoman.sdk.agent.session import Turn as AwaitedTurn
from dragoman.sdk.sync.lender import SyncLender
from dragoman.sdk.sync.tools import SyncToolCallReport

if TYPE_CHECKING:
    from dragoman.runtime import Limits
    from dragoman.schema.v1 import (
        ContentBlock,
        Implementation,
        McpServer,
        PromptRequest,
        ResourceLink,
        TextResourceContents,
        ToolCallLocation,
        ToolCallStatus,
        ToolKind,
    )
    from dragoman.sdk.agent.session import SteerMessage
    from dragoman.sdk.capabilities import Capabilities
    from dragoman.sdk.sync.run import Runner

T = TypeVar("T")


class SyncClientHandle:
    """The other end of an agent's connection.

        @agent.prompt
        def reply(turn: Turn) -> None:
            turn.client.notify("_example.com/progress", {"done": 3})

    Specification: https://agentclientprotocol.com/protocol/v1/extensibility
    """

    __slots__ = ("_client", "_run")

    def __init__(self, inner: AwaitedClient, run: Runner) -> None:
        self._client = inner
        self._run = run

    @property
    def capabilities(self) -> Capabilities:
        """The client's capabilities."""
        return self._client.capabilities

    @property
    def info(self) -> Implementation | None:
        """The client's name and version, if it has sent them."""
        return self._client.info

    @property
    def protocol_version(self) -> int:
        """The version of the protocol that both sides agreed on."""
        return self._client.protocol_version

    @property
    def limits(self) -> Limits:
        """The limits of this connection."""
        return self._client.limits

    @property
    def sessions(self) -> Mapping[str, SyncAgentSession]:
        """The client's open sessions by id, including the one that is being loaded or resumed."""
        sessions = tuple(self._client.sessions.items())  # the loop may change them at any moment
        return {name: SyncAgentSession.before(session, self) for name, session in sessions}

    def ask(self, method: str, message: object, result: type[T]) -> T:
        """Send a typed request of the protocol."""
        return self._run(self._client.ask(method, message, result))

    def call(self, method: str, params: object = None) -> Any:
        """Send any other request, such as an extension (`_…`): plain data in, plain data out."""
        return self._run(self._client.call(method, params))

    def notify(self, method: str, params: object = None) -> None:
        """Send any notification, such as an extension."""
        self._run(self._client.notify(method, params))


class SyncAgentSession(SyncLender):
    """A session of an agent, from `session/new` (or load, resume, fork) to `session/close` or the end of the
    connection.

        @agent.prompt
        def reply(turn: Turn) -> None:
            turn.session.title(f"Work in {turn.session.cwd}")

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = ("_session", "client")

    def __init__(
        self,
        client: SyncClientHandle,
        session_id: str,
        *,
        cwd: str,
        additional_directories: list[str],
        mcp_servers: list[McpServer],
    ) -> None:
        session = AwaitedSession(
            client._client,
            session_id,
            cwd=cwd,
            additional_directories=additional_directories,
            mcp_servers=mcp_servers,
        )
        self._stand_before(session, client)

    @classmethod
    def before(cls, inner: AwaitedSession, client: SyncClientHandle) -> SyncAgentSession:
        """Return the blocking face of an existing session."""
        session = cls.__new__(cls)
        session._stand_before(inner, client)
        return session

    def _stand_before(self, inner: AwaitedSession, client: SyncClientHandle) -> None:
        SyncLender.__init__(self, inner, client._run)
        self.client = client
        self._session = inner

    @property
    def id(self) -> str:
        """The client's id of the session."""
        return self._session.id

    @property
    def cwd(self) -> str:
        """The folder that the session works in."""
        return self._session.cwd

    @property
    def additional_directories(self) -> list[str]:
        """Further folders of the session."""
        return self._session.additional_directories

    @property
    def mcp_servers(self) -> list[McpServer]:
        """The MCP servers that the client wants the session to use."""
        return self._session.mcp_servers

    @property
    def data(self) -> dict[str, Any]:
        """The agent's own memory of this session."""
        return self._session.data

    @property
    def roots(self) -> list[str]:
        """All folders of the session; `cwd` is the first."""
        return self._session.roots


class SyncTurn(SyncLender):
    """Sends updates and requests during one prompt, until the prompt is answered.

    The handler ends the turn by returning: nothing for `end_turn`, a stop reason, or a whole
    `PromptResponse`.

        @agent.prompt
        def reply(turn: Turn) -> None:
            with turn.tool("Read the configuration", kind="read") as call:
                call.complete(turn.read_text_file("/project/config.toml"))

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn
    """

    __slots__ = ("_turn", "client", "session")

    def __init__(self, inner: AwaitedTurn, client: SyncClientHandle) -> None:
        super().__init__(inner, client._run)
        self._turn = inner
        self.client = client
        self.session = SyncAgentSession.before(inner.session, client)

    @property
    def request(self) -> PromptRequest:
        """The whole request, with `_meta`."""
        return self._turn.request

    @property
    def prompt(self) -> Sequence[ContentBlock]:
        """The user's prompt, as content blocks."""
        return self._turn.prompt

    @property
    def text(self) -> str:
        """The text blocks of the user's prompt, without embedded text and names of linked resources."""
        return self._turn.text

    @property
    def resources(self) -> list[ResourceLink | TextResourceContents]:
        """The user's attachments: links, and the text of embedded resources."""
        return self._turn.resources

    @property
    def cancelled(self) -> bool:
        """Whether the client has cancelled this turn or is gone; for code that computes
        and makes no calls.
        """
        return self._turn.cancelled or self._run.cancelled

    def take_steering(self) -> list[SteerMessage]:
        """The user's messages since the turn began, or since the last call; see `Turn.take_steering`."""

        async def take() -> list[SteerMessage]:  # in the loop, which waits for it to answer the client
            return self._turn.take_steering()

        return self._run(take())

    def tool(
        self,
        title: str,
        *,
        kind: ToolKind = "other",
        name: str | None = None,
        raw_input: object = None,
        locations: Sequence[ToolCallLocation | str] = (),
        tool_call_id: str | None = None,
        status: ToolCallStatus = "in_progress",
    ) -> SyncToolCallReport:
        """Report a tool call; use it as `with`. Its status is "in progress" from then on; for a call that
        asks the user first, set `status="pending"`.
        """
        report = self._turn.tool(
            title,
            kind=kind,
            name=name,
            raw_input=raw_input,
            locations=locations,
            tool_call_id=tool_call_id,
            status=status,
        )
        return SyncToolCallReport(report, self._run)


def faces(message: object, peer: object, run: Runner) -> tuple[Any, Any]:
    """Return the message and the peer, each as its blocking counterpart if there is one."""
    if isinstance(peer, AwaitedClient):
        client = SyncClientHandle(peer, run)
        return SyncTurn(message, client) if isinstance(message, AwaitedTurn) else message, client
    # Imported here: an agent has no use for the client's side.
    from dragoman.sdk.sync.agent import agent_face

    return message, agent_face(peer, run)

"""The client, its sessions and their turns, as the handlers of an agent see them.

They know each other: a client has sessions, a session makes turns, and a turn speaks in its session.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from msgspec import Struct

from dragoman.schema import v1
from dragoman.sdk.agent.client_calls import ClientCalls
from dragoman.sdk.agent.lender import Lender
from dragoman.sdk.agent.steering import SteeringInbox
from dragoman.sdk.agent.tool_call import ToolCallReport

if TYPE_CHECKING:
    from dragoman.core import RunningTurn
    from dragoman.runtime.link import Link

Outcome: TypeAlias = "v1.StopReason | v1.PromptResponse | None"
"""The return types of a prompt handler. In quotes, so that the types are built only when needed."""


class ClientHandle(ClientCalls):
    """The other end of an agent's connection.

        @agent.prompt
        async def reply(turn: Turn) -> None:
            if "fs.readTextFile" in turn.client.capabilities:
                await turn.say(await turn.read_text_file("/project/README.md"))
            await turn.client.notify("_example.com/progress", {"done": 3})

    Specification: https://agentclientprotocol.com/protocol/v1/extensibility
    """

    __slots__ = ("sessions",)

    def __init__(self, link: Link, sessions: Mapping[str, AgentSession] | None = None) -> None:
        super().__init__(link)
        self.sessions: Mapping[str, AgentSession] = {} if sessions is None else sessions
        """Its open sessions by id. A session that is being loaded or resumed is there too: the agent may
        speak in it.
        """


class Turn(Lender):
    """Sends updates and requests during one prompt, until the prompt is answered.

    The handler ends the turn by returning: nothing for `end_turn`, a stop reason, or a whole
    `PromptResponse`.

        @agent.prompt
        async def reply(turn: Turn) -> StopReason | None:
            async with turn.tool("Read the configuration", kind="read") as call:
                text = await turn.read_text_file("/project/config.toml")
                await call.complete(text)
            return "refusal" if "secret" in text else None

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn
    """

    __slots__ = ("_running", "_tools", "inbox", "request", "session")

    client: ClientHandle

    def __init__(
        self, client: ClientHandle, session: AgentSession, request: v1.PromptRequest, running: RunningTurn
    ) -> None:
        super().__init__(client, session.id)
        self.session = session
        self.request = request
        self._running = running
        self._tools: list[ToolCallReport] = []
        self.inbox: SteeringInbox[SteerMessage] = SteeringInbox()
        """What the user says while the turn runs; see `take_steering`."""

    @property
    def prompt(self) -> Sequence[v1.ContentBlock]:
        """The user's prompt, as content blocks."""
        return self.request.prompt

    @property
    def text(self) -> str:
        """The text blocks of the user's prompt, without embedded text and names of linked resources."""
        return "".join(block.text for block in self.request.prompt if isinstance(block, v1.TextContent))

    @property
    def resources(self) -> list[v1.ResourceLink | v1.TextResourceContents]:
        """The user's attachments: links, and the text of embedded resources."""
        attachments: list[v1.ResourceLink | v1.TextResourceContents] = []
        for block in self.request.prompt:
            if isinstance(block, v1.ResourceLink):
                attachments.append(block)
            elif isinstance(block, v1.EmbeddedResource) and isinstance(
                block.resource, v1.TextResourceContents
            ):
                attachments.append(block.resource)
        return attachments

    @property
    def cancelled(self) -> bool:
        """Whether the client has cancelled this turn. The handler's task is cancelled as well; this is for
        code that polls.
        """
        return self._running.is_cancelled

    def take_steering(self) -> list[SteerMessage]:
        """Return the user's messages since the turn began, or since the last call; for an agent with
        `steering=True`. Answer them in this turn: call this before each request to a model, and once more
        before the turn ends. Messages that you do not take are sent as a prompt after the turn.
        """
        return self.inbox.take()

    def tool(
        self,
        title: str,
        *,
        kind: v1.ToolKind = "other",
        name: str | None = None,
        raw_input: object = None,
        locations: Sequence[v1.ToolCallLocation | str] = (),
        tool_call_id: str | None = None,
        status: v1.ToolCallStatus = "in_progress",
    ) -> ToolCallReport:
        """Report a tool call; use it as `async with`. Its status is "in progress" from then on; for a call
        that asks the user first, set `status="pending"`.
        """
        report = ToolCallReport(
            self,
            title,
            kind=kind,
            name=name,
            raw_input=raw_input,
            locations=locations,
            tool_call_id=tool_call_id,
            status=status,
        )
        self._tools.append(report)
        return report

    def when_sent(self, then: Callable[[], None]) -> None:
        """Call `then` when all updates of the turn have been sent to the client."""
        then()

    def close(self) -> None:
        """Close the turn because its prompt is being answered; later updates would reach the client too late.

        A tool call that nobody has brought to an end by now (its handler was left behind, or its task was
        forgotten) has failed.
        """
        self.inbox.close()
        if self._has_ended:
            return
        for report in self._tools:
            if report.is_open:
                self._put(v1.ToolCallProgress(tool_call_id=report.id, status="failed"))
        self._has_ended = True


class SteerMessage(Struct, frozen=True, kw_only=True):
    """A message of the user while a turn runs.

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for message in turn.take_steering():
            await turn.say(f"You also said: {message.text}")
    """

    turn: Turn
    """The turn that the message belongs to."""
    prompt: Sequence[v1.ContentBlock]

    @property
    def text(self) -> str:
        """The text blocks of the user's message."""
        return "".join(block.text for block in self.prompt if isinstance(block, v1.TextContent))


class AgentSession(Lender):
    """A session of an agent, from `session/new` (or load, resume, fork) to `session/close` or the end of the
    connection.

    It can speak outside turns too: commands, modes, titles, usage.

        @agent.prompt
        async def reply(turn: Turn) -> None:
            count = turn.session.data["count"] = turn.session.data.get("count", 0) + 1
            await turn.session.title(f"{count} prompts in {turn.session.cwd}")

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    __slots__ = ("additional_directories", "closing", "cwd", "data", "id", "mcp_servers")

    client: ClientHandle
    turn_type: ClassVar[type[Turn]] = Turn
    """The type of its turns."""

    def __init__(
        self,
        client: ClientHandle,
        session_id: str,
        *,
        cwd: str,
        additional_directories: list[str],
        mcp_servers: list[v1.McpServer],
    ) -> None:
        super().__init__(client, session_id)
        self.id = session_id
        self.cwd = cwd
        self.additional_directories = additional_directories
        self.mcp_servers = mcp_servers
        self.closing = False  # `session/close` is under way: nothing new is begun in it
        self.data: dict[str, Any] = {}
        """The agent's own memory of this session."""

    @property
    def roots(self) -> list[str]:
        """All folders of the session; `cwd` is the first."""
        return [self.cwd, *self.additional_directories]

"""Declares an agent: its name, the content it accepts, and the handler of each method.

Constructing one starts nothing; `serve` and `connect` run it. One `Agent` may serve any number of
connections at once, so it holds no state of a conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import msgspec

from dragoman.errors import InvalidValue, LocalMistake
from dragoman.schema import v1
from dragoman.schema.steering import STEERING
from dragoman.sdk.handlers import F, Handlers, Hook, extension_hook
from dragoman.sdk.outbound import as_list, check_one_of, check_text, write_plain

if TYPE_CHECKING:
    from dragoman.sdk.agent.session import Outcome, SteerMessage, Turn
    from dragoman.sdk.sync.turn import SyncTurn as BlockingTurn


class AgentTool(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool of an agent, for clients that list tools. The protocol has no such list: it is sent in `_meta`,
    and clients of a dialect with tool lists get it in their form.

        Agent("reader", tools=[AgentTool(name="readFile", description="Reads a file from disk")])
    """

    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    """The JSON schema of the tool's arguments."""


class Agent:
    """An agent, for `serve`.

        agent = Agent("echo", version="1.0.0")

        @agent.prompt
        async def reply(turn: Turn) -> None:
            await turn.say(f"You said: {turn.text}")

        serve(agent)

    Specification: https://agentclientprotocol.com/protocol/v1/overview#agent
    """

    initialize: Hook[v1.InitializeRequest, v1.InitializeResponse | None] = Hook(
        "initialize", "Return the whole answer, or None for the one made from what is declared."
    )
    authenticate: Hook[v1.AuthenticateRequest, v1.AuthenticateResponse | None] = Hook(
        "authenticate", "Log in by the method that the client chose."
    )
    logout: Hook[v1.LogoutRequest, v1.LogoutResponse | None] = Hook("logout", "Forget who is logged in.")
    auth_status: Hook[v1.AuthStatusRequest, v1.AuthStatusResponse] = Hook(
        "auth/status", "Say who is logged in."
    )
    new_session: Hook[v1.NewSessionRequest, v1.NewSessionResponse] = Hook(
        "session/new", "Return the new session's id. Without a handler, sessions get ids of their own."
    )
    load_session: Hook[v1.LoadSessionRequest, v1.LoadSessionResponse | None] = Hook(
        "session/load", "Tell the session's past as updates, then return."
    )
    resume_session: Hook[v1.ResumeSessionRequest, v1.ResumeSessionResponse | None] = Hook(
        "session/resume", "Resume a session without replaying its history."
    )
    fork_session: Hook[v1.ForkSessionRequest, v1.ForkSessionResponse] = Hook(
        "session/fork", "Return the id of a session that begins where another one is."
    )
    list_sessions: Hook[v1.ListSessionsRequest, v1.ListSessionsResponse] = Hook(
        "session/list", "Return one page of the sessions that can be loaded."
    )
    close_session: Hook[v1.CloseSessionRequest, v1.CloseSessionResponse | None] = Hook(
        "session/close", "Free what the session uses; it can still be loaded."
    )
    delete_session: Hook[v1.DeleteSessionRequest, v1.DeleteSessionResponse | None] = Hook(
        "session/delete", "Remove the session."
    )
    archive_session: Hook[v1.ArchiveSessionRequest, v1.ArchiveSessionResponse | None] = Hook(
        "session/archive", "Take the session out of lists."
    )
    unarchive_session: Hook[v1.UnarchiveSessionRequest, v1.UnarchiveSessionResponse | None] = Hook(
        "session/unarchive", "Put the session into lists again."
    )
    session_status: Hook[v1.SessionStatusRequest, v1.SessionStatusResponse] = Hook(
        "session/status", "Say whether the session is at work."
    )
    set_session_title: Hook[v1.SetSessionTitleRequest, v1.SetSessionTitleResponse] = Hook(
        "session/set_title", "Give the session a title."
    )
    set_mode: Hook[v1.SetSessionModeRequest, v1.SetSessionModeResponse | None] = Hook(
        "session/set_mode", "Change the session's mode."
    )
    set_config_option: Hook[v1.SetSessionConfigOptionRequest, v1.SetSessionConfigOptionResponse] = Hook(
        "session/set_config_option", "Change an option of the session, and return all of them."
    )
    list_providers: Hook[v1.ListProvidersRequest, v1.ListProvidersResponse] = Hook(
        "providers/list", "Return the providers of models."
    )
    set_provider: Hook[v1.SetProviderRequest, v1.SetProviderResponse | None] = Hook(
        "providers/set", "Set up a provider of models."
    )
    disable_provider: Hook[v1.DisableProviderRequest, v1.DisableProviderResponse | None] = Hook(
        "providers/disable", "Stop using a provider of models."
    )
    cancel: Hook[v1.CancelNotification, None] = Hook(
        "session/cancel", "It is called for every cancel; the running turn is cancelled in any case."
    )
    mcp_message: Hook[v1.MessageMcpNotification, None] = Hook(
        "mcp/message", "Take a message of an MCP server that the client connects."
    )
    steer: Hook[SteerMessage, bool | None] = Hook(
        STEERING,  # an extension: no version of the protocol has it
        "It is called with each message that the user sends into a running turn, and returns False for one "
        "that it does not take. An agent that asks for messages in its loop needs none: `steering=True` and "
        "`turn.take_steering()`.",
    )

    def __init__(
        self,
        name: str,
        *,
        version: str = "0.0.0",
        title: str | None = None,
        image: bool = False,
        audio: bool = False,
        embedded_context: bool = False,
        mcp_http: bool = False,
        mcp_sse: bool = False,
        additional_directories: bool = False,
        auth_methods: Sequence[v1.AuthMethod] = (),
        tools: Sequence[AgentTool] = (),
        busy: Literal["queue", "refuse"] = "queue",
        steering: bool = False,
    ) -> None:
        check_text(name, "name")
        check_text(version, "version")
        check_text("" if title is None else title, "title")
        check_one_of(busy, ("queue", "refuse"), "busy")
        self.name = name
        self.link_name = f"agent {name}"
        self.version = version
        self.title = title
        self.image = image
        self.audio = audio
        self.embedded_context = embedded_context
        self.mcp_http = mcp_http
        self.mcp_sse = mcp_sse
        self.additional_directories = additional_directories
        self.auth_methods = as_list(auth_methods, "auth_methods")
        self.tools = as_list(tools, "tools")
        for tool in self.tools:
            _check_tool(tool)
        self.busy = busy
        self.steering = steering
        self.handlers = Handlers()

    @overload
    def prompt(self, handler: Callable[[Turn], Awaitable[Outcome]]) -> Callable[[Turn], Any]: ...
    @overload
    def prompt(self, handler: Callable[[BlockingTurn], Outcome]) -> Callable[[BlockingTurn], Any]: ...
    def prompt(self, handler: Callable[..., object] | None = None) -> Callable[..., Any]:
        """Register the function that answers prompts. A plain `def` runs in a thread and gets a blocking
        turn.
        """
        self.handlers.add("session/prompt", handler)
        assert handler is not None  # what parentheses would give is refused
        return handler

    def check_served(self) -> None:
        """Raise `LocalMistake` if no client could use this agent."""
        if "session/prompt" not in self.handlers:
            raise LocalMistake(
                f"the agent {self.name!r} has no function that answers prompts; write one below @agent.prompt"
            )

    @property
    def is_steerable(self) -> bool:
        """Whether the agent accepts messages of the user into a running turn."""
        return self.steering or STEERING in self.handlers

    def extension(self, method: str) -> Callable[[F], F]:
        """Register a handler for a request or notification whose name starts with `_`; params and result are
        plain data.
        """
        return extension_hook(self.handlers, method)


def _check_tool(tool: object) -> None:
    if not isinstance(tool, AgentTool):
        raise InvalidValue("tools", tool, "must be an AgentTool")
    check_text(tool.name, "name")
    check_text(tool.description, "description")
    if not isinstance(tool.input_schema, dict):
        raise InvalidValue("input_schema", tool.input_schema, "must be a dict: a JSON schema")
    write_plain(tool.input_schema, "input_schema")

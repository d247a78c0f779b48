"""An agent, declared: what it is called, what it takes, and which function answers what.

Constructing one starts nothing; `serve` and `connect` run it. One `Agent` may serve any number of
connections at once, so it holds no state of a conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

import msgspec

from dragoman.errors import InvalidValue
from dragoman.schema import v1
from dragoman.schema.steering import STEERING
from dragoman.sdk.handlers import Handlers, Hook
from dragoman.sdk.outbound import as_list, check_one_of, check_text, write_plain

if TYPE_CHECKING:
    from dragoman.sdk.agent.session import Outcome, SteerMessage, Turn
    from dragoman.sdk.sync.turn import SyncTurn as BlockingTurn

F = TypeVar("F", bound=Callable[..., object])

_HOOKS = {
    "initialize": "initialize",
    "authenticate": "authenticate",
    "logout": "logout",
    "auth_status": "auth/status",
    "new_session": "session/new",
    "load_session": "session/load",
    "resume_session": "session/resume",
    "fork_session": "session/fork",
    "list_sessions": "session/list",
    "close_session": "session/close",
    "delete_session": "session/delete",
    "archive_session": "session/archive",
    "unarchive_session": "session/unarchive",
    "session_status": "session/status",
    "set_session_title": "session/set_title",
    "set_mode": "session/set_mode",
    "set_config_option": "session/set_config_option",
    "list_providers": "providers/list",
    "set_provider": "providers/set",
    "disable_provider": "providers/disable",
    "cancel": "session/cancel",
    "mcp_message": "mcp/message",
}


class AgentTool(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """A tool that an agent has, for clients that list them. The protocol has no such list: it goes in
    `_meta`, and clients of a dialect that asks for tools are told of them in its words.

        Agent("reader", tools=[AgentTool(name="readFile", description="Reads a file from disk")])
    """

    name: str
    description: str = ""
    input_schema: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object"})
    """The JSON schema of its arguments."""


class Agent:
    """What `serve` serves.

        agent = Agent("echo", version="1.0.0")

        @agent.prompt
        async def reply(turn: Turn) -> None:
            await turn.say(f"You said: {turn.text}")

        serve(agent)

    Specification: https://agentclientprotocol.com/protocol/v1/overview#agent
    """

    initialize: Hook[v1.InitializeRequest, v1.InitializeResponse | None]
    """Return the whole answer, or None for the one made from what is declared."""
    authenticate: Hook[v1.AuthenticateRequest, v1.AuthenticateResponse | None]
    logout: Hook[v1.LogoutRequest, v1.LogoutResponse | None]
    auth_status: Hook[v1.AuthStatusRequest, v1.AuthStatusResponse]
    new_session: Hook[v1.NewSessionRequest, v1.NewSessionResponse]
    load_session: Hook[v1.LoadSessionRequest, v1.LoadSessionResponse | None]
    resume_session: Hook[v1.ResumeSessionRequest, v1.ResumeSessionResponse | None]
    fork_session: Hook[v1.ForkSessionRequest, v1.ForkSessionResponse]
    list_sessions: Hook[v1.ListSessionsRequest, v1.ListSessionsResponse]
    close_session: Hook[v1.CloseSessionRequest, v1.CloseSessionResponse | None]
    delete_session: Hook[v1.DeleteSessionRequest, v1.DeleteSessionResponse | None]
    archive_session: Hook[v1.ArchiveSessionRequest, v1.ArchiveSessionResponse | None]
    unarchive_session: Hook[v1.UnarchiveSessionRequest, v1.UnarchiveSessionResponse | None]
    session_status: Hook[v1.SessionStatusRequest, v1.SessionStatusResponse]
    set_session_title: Hook[v1.SetSessionTitleRequest, v1.SetSessionTitleResponse]
    set_mode: Hook[v1.SetSessionModeRequest, v1.SetSessionModeResponse | None]
    set_config_option: Hook[v1.SetSessionConfigOptionRequest, v1.SetSessionConfigOptionResponse]
    list_providers: Hook[v1.ListProvidersRequest, v1.ListProvidersResponse]
    set_provider: Hook[v1.SetProviderRequest, v1.SetProviderResponse | None]
    disable_provider: Hook[v1.DisableProviderRequest, v1.DisableProviderResponse | None]
    cancel: Hook[v1.CancelNotification, None]
    """Told of every cancel, besides the running turn being cancelled."""
    mcp_message: Hook[v1.MessageMcpNotification, None]
    steer: Hook[SteerMessage, bool | None]
    """Gets each message that the user sends into a running turn, and returns False for one that it does not
    take. An agent that asks for messages in its loop needs none: `steering=True` and `turn.take_steering()`.
    """

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
        for attribute, method in _HOOKS.items():
            setattr(self, attribute, Hook(self.handlers, method))
        self.steer = Hook(self.handlers, STEERING)  # an extension: no version of the protocol has it

    @overload
    def prompt(self, handler: Callable[[Turn], Awaitable[Outcome]]) -> Callable[[Turn], Any]: ...
    @overload
    def prompt(self, handler: Callable[[BlockingTurn], Outcome]) -> Callable[[BlockingTurn], Any]: ...
    def prompt(self, handler: Callable[..., object]) -> Callable[..., Any]:
        """The function that answers prompts. A plain `def` runs in a thread and gets a blocking turn."""
        self.handlers.add("session/prompt", handler)
        return handler

    @property
    def is_steerable(self) -> bool:
        """Whether it takes messages of the user into a running turn."""
        return self.steering or STEERING in self.handlers

    def extension(self, method: str) -> Callable[[F], F]:
        """Answer a request, or take a notification, whose name starts with `_`; params and result are plain
        data.
        """
        check_text(method, "method")  # a decorator without its name is given the function
        if not method.startswith("_"):
            raise ValueError(f"extension methods start with an underscore, {method!r} does not")

        def register(handler: F) -> F:
            self.handlers.add(method, handler)
            return handler

        return register


def _check_tool(tool: object) -> None:
    if not isinstance(tool, AgentTool):
        raise InvalidValue("tools", tool, "must be an AgentTool")
    check_text(tool.name, "name")
    check_text(tool.description, "description")
    if not isinstance(tool.input_schema, dict):
        raise InvalidValue("input_schema", tool.input_schema, "must be a dict: a JSON schema")
    write_plain(tool.input_schema, "input_schema")

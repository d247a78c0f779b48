"""An agent, declared: what it is called, what it takes, and which function answers what.

Constructing one starts nothing; `serve` and `connect` run it. One `Agent` may serve any number of
connections at once, so it holds no state of a conversation.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from dragoman.sdk.handlers import Handlers, Hook

if TYPE_CHECKING:  # a program that uses few of these need not load them all
    from dragoman.schema.v1 import (
        ArchiveSessionRequest,
        ArchiveSessionResponse,
        AuthenticateRequest,
        AuthenticateResponse,
        AuthMethod,
        AuthStatusRequest,
        AuthStatusResponse,
        CancelNotification,
        CloseSessionRequest,
        CloseSessionResponse,
        DeleteSessionRequest,
        DeleteSessionResponse,
        DisableProviderRequest,
        DisableProviderResponse,
        ForkSessionRequest,
        ForkSessionResponse,
        InitializeRequest,
        InitializeResponse,
        ListProvidersRequest,
        ListProvidersResponse,
        ListSessionsRequest,
        ListSessionsResponse,
        LoadSessionRequest,
        LoadSessionResponse,
        LogoutRequest,
        LogoutResponse,
        MessageMcpNotification,
        NewSessionRequest,
        NewSessionResponse,
        ResumeSessionRequest,
        ResumeSessionResponse,
        SessionStatusRequest,
        SessionStatusResponse,
        SetProviderRequest,
        SetProviderResponse,
        SetSessionConfigOptionRequest,
        SetSessionConfigOptionResponse,
        SetSessionModeRequest,
        SetSessionModeResponse,
        SetSessionTitleRequest,
        SetSessionTitleResponse,
        UnarchiveSessionRequest,
        UnarchiveSessionResponse,
    )
    from dragoman.sdk.blocking_turn import Turn as BlockingTurn
    from dragoman.sdk.turn import Outcome, Turn

F = TypeVar("F", bound=Callable[..., Any])

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


class Agent:
    """What `serve` serves."""

    initialize: Hook[InitializeRequest, InitializeResponse | None]
    """Return the whole answer, or None for the one made from what is declared."""
    authenticate: Hook[AuthenticateRequest, AuthenticateResponse | None]
    logout: Hook[LogoutRequest, LogoutResponse | None]
    auth_status: Hook[AuthStatusRequest, AuthStatusResponse]
    new_session: Hook[NewSessionRequest, NewSessionResponse]
    load_session: Hook[LoadSessionRequest, LoadSessionResponse | None]
    resume_session: Hook[ResumeSessionRequest, ResumeSessionResponse | None]
    fork_session: Hook[ForkSessionRequest, ForkSessionResponse]
    list_sessions: Hook[ListSessionsRequest, ListSessionsResponse]
    close_session: Hook[CloseSessionRequest, CloseSessionResponse | None]
    delete_session: Hook[DeleteSessionRequest, DeleteSessionResponse | None]
    archive_session: Hook[ArchiveSessionRequest, ArchiveSessionResponse | None]
    unarchive_session: Hook[UnarchiveSessionRequest, UnarchiveSessionResponse | None]
    session_status: Hook[SessionStatusRequest, SessionStatusResponse]
    set_session_title: Hook[SetSessionTitleRequest, SetSessionTitleResponse]
    set_mode: Hook[SetSessionModeRequest, SetSessionModeResponse | None]
    set_config_option: Hook[SetSessionConfigOptionRequest, SetSessionConfigOptionResponse]
    list_providers: Hook[ListProvidersRequest, ListProvidersResponse]
    set_provider: Hook[SetProviderRequest, SetProviderResponse | None]
    disable_provider: Hook[DisableProviderRequest, DisableProviderResponse | None]
    cancel: Hook[CancelNotification, None]
    """Told of every cancel, besides the running turn being cancelled."""
    mcp_message: Hook[MessageMcpNotification, None]

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
        auth_methods: Sequence[AuthMethod] = (),
        busy: Literal["queue", "refuse"] = "queue",
    ) -> None:
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
        self.auth_methods = list(auth_methods)
        self.busy = busy
        self.handlers = Handlers()
        for attribute, method in _HOOKS.items():
            setattr(self, attribute, Hook(self.handlers, method))

    @overload
    def prompt(self, handler: Callable[[Turn], Awaitable[Outcome]]) -> Callable[[Turn], Any]: ...
    @overload
    def prompt(self, handler: Callable[[BlockingTurn], Outcome]) -> Callable[[BlockingTurn], Any]: ...
    def prompt(self, handler: Callable[..., Any]) -> Callable[..., Any]:
        """The function that answers prompts. A plain `def` runs in a thread and gets a blocking turn."""
        self.handlers.add("session/prompt", handler)
        return handler

    def extension(self, method: str) -> Callable[[F], F]:
        """Answer a request, or take a notification, whose name starts with `_`; params and result are plain
        data.
        """
        if not method.startswith("_"):
            raise ValueError(f"extension methods start with an underscore, {method!r} does not")

        def register(handler: F) -> F:
            self.handlers.add(method, handler)
            return handler

        return register

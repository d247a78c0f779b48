"""A client, declared: who it is and which functions answer an agent's requests.

Constructing one starts nothing; `connect` uses it. What has no handler is not advertised and is refused
when asked for all the same. Permission is the exception that the protocol makes: every client must answer
it, and one without a handler answers that nothing was chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import UNSET

from dragoman.schema.v1 import (
    AuthCapabilities,
    ClientCapabilities,
    ClientSessionCapabilities,
    CompactionCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
    FileSystemCapabilities,
    NoticeCapabilities,
)
from dragoman.sdk.handlers import Handlers, Hook

if TYPE_CHECKING:  # a program that uses few of these need not load them all
    from dragoman.schema.v1 import (
        AuthStatusUpdateNotification,
        CompleteElicitationNotification,
        CreateElicitationRequest,
        CreateElicitationResponse,
        CreateTerminalRequest,
        CreateTerminalResponse,
        KillTerminalRequest,
        KillTerminalResponse,
        MessageMcpRequest,
        MessageMcpResponse,
        ReadTextFileRequest,
        ReadTextFileResponse,
        ReleaseTerminalRequest,
        ReleaseTerminalResponse,
        RequestPermissionRequest,
        RequestPermissionResponse,
        SessionNotification,
        TerminalOutputRequest,
        TerminalOutputResponse,
        WaitForTerminalExitRequest,
        WaitForTerminalExitResponse,
        WriteTextFileRequest,
        WriteTextFileResponse,
    )

F = TypeVar("F", bound=Callable[..., Any])

_HOOKS = {
    "request_permission": "session/request_permission",
    "read_text_file": "fs/read_text_file",
    "write_text_file": "fs/write_text_file",
    "create_terminal": "terminal/create",
    "terminal_output": "terminal/output",
    "wait_for_terminal_exit": "terminal/wait_for_exit",
    "kill_terminal": "terminal/kill",
    "release_terminal": "terminal/release",
    "elicit": "elicitation/create",
    "mcp_message": "mcp/message",
    "elicitation_completed": "elicitation/complete",
    "auth_status_update": "auth/status_update",
    "update": "session/update",
}

_TERMINAL = (
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
)


class Client:
    """What `connect` connects."""

    request_permission: Hook[RequestPermissionRequest, RequestPermissionResponse]
    read_text_file: Hook[ReadTextFileRequest, ReadTextFileResponse]
    write_text_file: Hook[WriteTextFileRequest, WriteTextFileResponse | None]
    create_terminal: Hook[CreateTerminalRequest, CreateTerminalResponse]
    terminal_output: Hook[TerminalOutputRequest, TerminalOutputResponse]
    wait_for_terminal_exit: Hook[WaitForTerminalExitRequest, WaitForTerminalExitResponse]
    kill_terminal: Hook[KillTerminalRequest, KillTerminalResponse | None]
    release_terminal: Hook[ReleaseTerminalRequest, ReleaseTerminalResponse | None]
    elicit: Hook[CreateElicitationRequest, CreateElicitationResponse]
    mcp_message: Hook[MessageMcpRequest, MessageMcpResponse]
    elicitation_completed: Hook[CompleteElicitationNotification, None]
    auth_status_update: Hook[AuthStatusUpdateNotification, None]
    update: Hook[SessionNotification, None]
    """Every update of every session, in order, also outside turns and while a session is loaded."""

    def __init__(
        self,
        name: str = "dragoman",
        *,
        version: str = "0.0.0",
        title: str | None = None,
        elicitation_modes: tuple[str, ...] = ("form",),
        auth_terminal: bool = False,
    ) -> None:
        self.name = name
        self.link_name = f"client {name}"
        self.version = version
        self.title = title
        self.elicitation_modes = elicitation_modes
        self.auth_terminal = auth_terminal
        self.handlers = Handlers()
        for attribute, method in _HOOKS.items():
            setattr(self, attribute, Hook(self.handlers, method))

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

    def capabilities(self) -> ClientCapabilities:
        """What this client advertises: what it has handlers for."""
        has = self.handlers
        return ClientCapabilities(
            fs=FileSystemCapabilities(
                read_text_file="fs/read_text_file" in has, write_text_file="fs/write_text_file" in has
            ),
            terminal=all(method in has for method in _TERMINAL),
            session=ClientSessionCapabilities(
                notices=NoticeCapabilities(), compaction=CompactionCapabilities()
            ),
            auth=AuthCapabilities(terminal=self.auth_terminal),
            elicitation=self._elicitation() if "elicitation/create" in has else UNSET,
        )

    def _elicitation(self) -> ElicitationCapabilities:
        return ElicitationCapabilities(
            form=ElicitationFormCapabilities() if "form" in self.elicitation_modes else UNSET,
            url=ElicitationUrlCapabilities() if "url" in self.elicitation_modes else UNSET,
        )

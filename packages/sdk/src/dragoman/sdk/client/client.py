"""Declares a client: its name, and which functions answer an agent's requests.

Constructing one starts nothing; `connect` uses it. What has no handler is not advertised and is refused
when asked for all the same. Permission is the exception that the protocol makes: every client must answer
it, and one without a handler answers that nothing was chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import UNSET

from dragoman.schema import v1
from dragoman.sdk.handlers import F, Handlers, Hook, extension_hook
from dragoman.sdk.outbound import as_list, check_one_of, check_text

_TERMINAL = (
    "terminal/create",
    "terminal/output",
    "terminal/wait_for_exit",
    "terminal/kill",
    "terminal/release",
)


class Client:
    """A client, for `connect`.

        client = Client("my-editor", version="1.0.0")

        @client.read_text_file
        async def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
            return ReadTextFileResponse(content=Path(request.path).read_text())

        async with connect("some-agent --acp", client=client) as agent:
            ...

    Specification: https://agentclientprotocol.com/protocol/v1/overview#client
    """

    request_permission: Hook[
        v1.RequestPermissionRequest, v1.RequestPermissionResponse | v1.PermissionOption | bool
    ] = Hook(
        "session/request_permission",
        "Return True to allow it once, False to refuse it once, or one of `request.options`.",
    )
    read_text_file: Hook[v1.ReadTextFileRequest, v1.ReadTextFileResponse] = Hook(
        "fs/read_text_file", "Return the text of a file."
    )
    write_text_file: Hook[v1.WriteTextFileRequest, v1.WriteTextFileResponse | None] = Hook(
        "fs/write_text_file", "Write the text to a file."
    )
    create_terminal: Hook[v1.CreateTerminalRequest, v1.CreateTerminalResponse] = Hook(
        "terminal/create", "Start a command, and return its terminal's id."
    )
    terminal_output: Hook[v1.TerminalOutputRequest, v1.TerminalOutputResponse] = Hook(
        "terminal/output", "Return what the command has printed so far."
    )
    wait_for_terminal_exit: Hook[v1.WaitForTerminalExitRequest, v1.WaitForTerminalExitResponse] = Hook(
        "terminal/wait_for_exit", "Return how the command ended, when it has."
    )
    kill_terminal: Hook[v1.KillTerminalRequest, v1.KillTerminalResponse | None] = Hook(
        "terminal/kill", "End the command; its terminal stays."
    )
    release_terminal: Hook[v1.ReleaseTerminalRequest, v1.ReleaseTerminalResponse | None] = Hook(
        "terminal/release", "End the command, and forget its terminal."
    )
    elicit: Hook[v1.CreateElicitationRequest, v1.CreateElicitationResponse] = Hook(
        "elicitation/create", "Ask the user for something, and return the answer."
    )
    mcp_message: Hook[v1.MessageMcpRequest, v1.MessageMcpResponse] = Hook(
        "mcp/message", "Answer a message to an MCP server of this client."
    )
    elicitation_completed: Hook[v1.CompleteElicitationNotification, None] = Hook(
        "elicitation/complete", "It is called when the agent knows the answer to a question on a web page."
    )
    auth_status_update: Hook[v1.AuthStatusUpdateNotification, None] = Hook(
        "auth/status_update", "It is called when somebody logs in or out."
    )
    update: Hook[v1.SessionNotification, None] = Hook(
        "session/update",
        "It is called for every update of every session, in order, also outside turns and while a session is "
        "loaded.",
    )

    def __init__(
        self,
        name: str = "dragoman",
        *,
        version: str = "0.0.0",
        title: str | None = None,
        elicitation_modes: tuple[str, ...] = ("form",),
        auth_terminal: bool = False,
        subagents: bool = False,
    ) -> None:
        """`subagents` announces that this client shows subagents: then they have their own sessions, see
        `PromptTurn.notifications`. Otherwise they use the session that they work for.
        """
        check_text(name, "name")
        check_text(version, "version")
        check_text("" if title is None else title, "title")
        for mode in as_list(elicitation_modes, "elicitation_modes"):
            check_one_of(mode, ("form", "url"), "elicitation_modes")
        self.name = name
        self.link_name = f"client {name}"
        self.version = version
        self.title = title
        self.elicitation_modes = elicitation_modes
        self.auth_terminal = auth_terminal
        self.subagents = subagents
        self.meta: dict[str, Any] = {}
        """`_meta` of what this client advertises; extension methods are added to it under `dragoman`."""
        self.introduction_meta: dict[str, Any] = {}
        """`_meta` of `initialize`, such as what docs/hub-protocol.md has for hubs."""
        self.handlers = Handlers()

    def extension(self, method: str) -> Callable[[F], F]:
        """Register a handler for a request or notification whose name starts with `_`; params and result are
        plain data.
        """
        return extension_hook(self.handlers, method)

    def capabilities(self) -> v1.ClientCapabilities:
        """The capabilities that this client announces: those with handlers."""
        has = self.handlers
        extensions = sorted(method for method, _ in has.items() if method.startswith("_"))
        ours: dict[str, object] = {"usage": True, **({"extensions": extensions} if extensions else {})}
        return v1.ClientCapabilities(
            meta={**self.meta, "dragoman": ours},
            fs=v1.FileSystemCapabilities(
                read_text_file="fs/read_text_file" in has, write_text_file="fs/write_text_file" in has
            ),
            terminal=all(method in has for method in _TERMINAL),
            session=v1.ClientSessionCapabilities(
                notices=v1.NoticeCapabilities(), compaction=v1.CompactionCapabilities()
            ),
            subagents=v1.SubagentCapabilities() if self.subagents else UNSET,
            auth=v1.AuthCapabilities(terminal=self.auth_terminal),
            elicitation=self._elicitation() if "elicitation/create" in has else UNSET,
        )

    def _elicitation(self) -> v1.ElicitationCapabilities:
        return v1.ElicitationCapabilities(
            form=v1.ElicitationFormCapabilities() if "form" in self.elicitation_modes else UNSET,
            url=v1.ElicitationUrlCapabilities() if "url" in self.elicitation_modes else UNSET,
        )

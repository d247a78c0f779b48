"""The interfaces between the terminal client and its backend.

A `ChatBackend` has agents and opens conversations with them; a `ChatSession` is one of these; a `ChatUser` is
the person at the terminal, who answers questions. The client implements `ChatUser` and `ChatListener`, and is
given a `ChatBackend`. Text in these values is as it came, hostile, unless it says otherwise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Literal, Protocol, TypeAlias

from msgspec import Struct

from dragoman import TurnResult
from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.schema.steering import SteerOutcome
from dragoman_app.tui.model.entries import CommandOutput
from dragoman_app.tui.model.transcript import Transcript

Value: TypeAlias = str | int | float | bool | list[str]


class EndRequest(Protocol):
    """Tells the client to end, from outside: by a signal, or because the terminal is gone."""

    @property
    def end_event(self) -> asyncio.Event:
        """Set when it must end."""

    def listen(self) -> None:
        """Let signals wake the running loop from now on."""

    def hang_up(self) -> None:
        """Note that the terminal is gone. Any thread may call it."""


class AgentChoice(Struct, frozen=True, kw_only=True):
    """An agent that the user can choose by name."""

    name: str
    title: str = ""
    detail: str = ""
    """Its command or address, without secrets."""


class ChatRequest(Struct, frozen=True, kw_only=True):
    """A conversation to open."""

    agent: str
    cwd: str
    session: str | None = None
    """A stored session: its id, or `last` for the latest of this agent in this folder."""
    source: str | None = None
    """The id of another agent's stored session to continue in a new one."""
    words: str = ""
    """Words to search for in it, after opening."""


class SessionRow(Struct, frozen=True, kw_only=True):
    """A stored conversation."""

    request: ChatRequest | None
    """How to open it; None if it can't be opened."""
    title: str
    agent: str
    cwd: str
    when: str
    excerpt: str = ""
    """The matching text, after a search."""


class BoardSession(Struct, frozen=True, kw_only=True):
    """A session on the board, with its progress. Times are seconds since 1970."""

    id: str
    request: ChatRequest | None
    """How to open it; None if it can't be opened."""
    title: str
    agent: str
    cwd: str
    state: str
    """`running`, `waiting`, `failed` or `archived`; any other word means idle."""
    updated: float = 0.0
    turn_started: float | None = None
    """The start of the running turn."""
    line: str = ""
    """Its last line of text."""
    cost: tuple[float, str] | None = None
    """An amount and its currency."""
    changes: str = ""
    """The changes of its last turn on disk, in a few words."""
    questions: int = 0
    """Open questions, including those of its subagents."""


class FileText(Struct, frozen=True, kw_only=True):
    """A text file, or some of its lines."""

    path: str
    text: str
    first: int = 1
    """The number of its first line here."""
    is_whole: bool = True
    is_covered: bool = False
    """Whether a possible secret was hidden."""


class Caution(Struct, frozen=True, kw_only=True):
    """A risk that rules found."""

    severity: str
    """From `critical` to `info`; empty for a remark, such as that no rule was applied."""
    text: str


class PermissionQuestion(Struct, frozen=True, kw_only=True):
    """A permission request. `text` is the whole text, sanitized."""

    text: str
    why: str
    options: tuple[v1.PermissionOption, ...]
    cautions: Callable[[], Awaitable[Sequence[Caution]]] | None = None
    """Its risks, when they are known; requested once, without waiting."""


class BoardQuestion(Struct, frozen=True, kw_only=True):
    """An open question of a session on the board."""

    session_id: str
    """The session that asks: one of the board, or a subagent's."""
    request_id: str
    asked_at: float
    """The time of the question: a session that is deleted and loaded again reuses the ids of its requests."""
    permission: PermissionQuestion | None
    """None for a form, which is only filled in where the session is open."""


class FormField(Struct, frozen=True, kw_only=True):
    """One field of a form."""

    name: str
    title: str
    description: str = ""
    kind: Literal["text", "number", "yes_no", "one", "several", "unknown"]
    choices: Sequence[tuple[str, str]] = ()
    """Values and their titles."""
    default: Value | None = None
    is_required: bool = False
    is_secret: bool = False
    """Whether it seems to ask for a secret, which a form must not do."""


class FieldRefused(LocalMistake):
    """A field refuses a value, with the reason."""


class FormPrompt(Struct, frozen=True, kw_only=True):
    """A question of an agent with fields."""

    agent: str
    message: str
    fields: Sequence[FormField] = ()
    url: str | None = None
    """An address for the user to open, instead of fields."""
    cautions: Sequence[str] = ()
    """Warnings before the answer; from us."""
    check: Callable[[str, Value], Awaitable[Value]]
    """Return the value as it would be sent; raises `FieldRefused`."""


class FormAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a form."""

    action: Literal["accept", "decline", "cancel"]
    values: dict[str, Value] = {}


class ChatEvent(Struct, frozen=True, kw_only=True):
    """An event of the agent or of the connection.

    `away`: the connection is gone, and what is said waits; `unreached`: there was none yet; `back`: it goes
    on where it was.
    """

    kind: Literal[
        "starting",
        "ready",
        "died",
        "restarting",
        "resumed",
        "lost_context",
        "gave_up",
        "noted",
        "away",
        "unreached",
        "back",
    ]
    text: str
    detail: str = ""
    """The last output of a dead agent."""
    seconds: float = 0.0
    """`away`, `unreached`: seconds until the next attempt; `back`: seconds of absence."""


class UpdatesBehind(Struct, frozen=True, kw_only=True):
    """Updates at the hub that are not here yet."""

    updates: int
    or_more: bool


class ReviewedFile(Struct, frozen=True, kw_only=True):
    """A file that changed during the turn."""

    path: str
    kind: str
    diff: str | None
    added_lines: int
    removed_lines: int
    binary: bool


class ChangeReview(Protocol):
    """The changes of a turn on disk."""

    @property
    def files(self) -> Sequence[ReviewedFile]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    async def revert(self, path: str) -> None:
        """Revert one file; raises `LocalMistake` with the reason if that is refused."""


class RewoundFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file to restore, with the numbers of added and removed lines."""

    path: str
    act: str
    """`restore`, `remove` or `change`."""
    is_persons: bool
    """Whether the user or an unknown program changed it since: then it stays, unless it is chosen."""
    had_command: bool = False
    """Whether it changed while a command ran: what the user typed meanwhile goes, too."""
    added: int
    removed: int


class RewindPreview(Struct, frozen=True, kw_only=True, rename="camel"):
    """The changes of going back to before a turn."""

    turn: int
    is_busy: bool
    """Whether a turn runs in the folder, so that no file can be restored now."""
    files: list[RewoundFile]
    left: list[str]
    """Files that differ but stay, because their content is not stored."""
    identity: str
    """An id of this preview."""


class FileNotPutBack(Struct, frozen=True, kw_only=True):
    """A file that could not be restored."""

    path: str
    why: str


class RewindResult(Struct, frozen=True, kw_only=True):
    """The restored files."""

    turn: int
    """0 after undoing a rewind."""
    paths: list[str]
    failures: list[FileNotPutBack]


class ChatRewinds(Protocol):
    """Rewinds in the folder of a session. Each method raises `DragomanError` with the reason."""

    async def preview(self, turn: int | None) -> RewindPreview:
        """Return the changes; without a number, those of the last turn."""

    async def carry_out(self, preview: RewindPreview, also: Sequence[str]) -> RewindResult:
        """Do exactly what the preview showed, or nothing; of files that the user changed since, restore only
        those in `also`.
        """

    async def undo(self) -> RewindResult:
        """Undo the last rewind."""


class ChatUser(Protocol):
    """The user at the terminal. Cancelling the awaiting task withdraws the question."""

    async def ask(self, question: PermissionQuestion) -> str | None:
        """Ask the user; return the id of the chosen option, or None."""

    async def fill(self, form: FormPrompt) -> FormAnswer: ...


class ChatHost(Protocol):
    """The application around a conversation. These calls come when a pause of the process does no harm."""

    def before_opening(self) -> None:
        """A conversation is about to be opened, perhaps with all of its history."""

    def after_opening(self) -> None:
        """The conversation is open, or opening it failed."""

    def after_turn(self) -> None:
        """A turn is over, and no caller waits."""

    def fail(self, error: BaseException) -> None:
        """Handle a bug of ours: the application ends and reports it."""


class ChatListener(Protocol):
    """Receives the events of a conversation. No method may wait."""

    def on_update(self, update: v1.SessionUpdate | Unknown) -> None: ...
    def on_chat_event(self, event: ChatEvent) -> None: ...
    def on_subagents(self, tree: str) -> None:
        """The current subagents, one per line."""


class Shell(CommandOutput, Protocol):
    """A command of the user, running or ended."""

    async def wait(self) -> None: ...
    async def kill(self) -> None: ...


class ChatSession(Protocol):
    """A conversation with an agent."""

    @property
    def agent(self) -> str:
        """The agent's name here."""

    @property
    def cwd(self) -> str: ...
    @property
    def is_local(self) -> bool:
        """Whether the agent works on this machine's files."""

    @property
    def sandbox(self) -> str:
        """Our sandbox around the agent; `off` if there is none."""

    @property
    def modes(self) -> v1.SessionModeState | None: ...
    @property
    def options(self) -> Sequence[v1.SessionConfigOption]: ...
    @property
    def request(self) -> ChatRequest:
        """The request that opens it again."""

    def turn(self, blocks: Sequence[v1.ContentBlock]) -> Awaitable[TurnResult]:
        """Run one turn; its updates go to the listener."""

    async def allow(self) -> str:
        """Ask the user about the last denied action; return a sentence about what holds now."""

    async def steer(self, blocks: Sequence[v1.ContentBlock]) -> SteerOutcome:
        """Send a message while the turn runs; return its outcome. Raises `LocalMistake` if no turn runs."""

    async def cancel(self) -> None: ...
    async def set_mode(self, mode_id: str) -> None: ...
    async def set_option(self, option_id: str, value: str | bool) -> None: ...
    async def restart(self) -> None:
        """Restart a dead agent now, and restore the session."""

    async def earlier(self) -> Transcript | None:
        """Return the page of messages before all shown ones; None if there is no more."""

    @property
    def behind(self) -> UpdatesBehind | None:
        """Return how many updates are missing after a lost connection; None if none are."""

    def terminal(self, terminal_id: str) -> CommandOutput | None:
        """Return a command that the agent runs here."""

    def shell(self, line: str) -> Shell:
        """Run a command of the user; raises `LocalMistake` where that is impossible."""

    async def files(self, query: str) -> Sequence[str]:
        """Return paths in the folder that match a few letters, the best first."""

    async def read_file(self, path: str, line: int = 0) -> FileText:
        """Return a text file of the session, or the lines around one of a large file.
        Raises `DragomanError`.
        """

    async def set_title(self, title: str) -> None:
        """Set the title. Raises `DragomanError` if titles are not stored."""

    async def archive(self) -> None:
        """Archive the session. Raises `DragomanError` if there is no archive."""

    async def attachments(self, paths: Sequence[str]) -> Sequence[v1.ContentBlock]:
        """Return the existing files that a prompt names, in a form that the agent accepts."""

    async def look(self) -> None:
        """Remember the state of the folder before a turn."""

    async def review(self) -> ChangeReview | None:
        """Return the changes of the turn; None if unknown, or if there are none."""

    @property
    def rewinds(self) -> ChatRewinds:
        """Return the rewinds. Raises `LocalMistake` if the files of this session are not stored."""


class SessionBoard(Protocol):
    """All sessions of a backend, kept up to date while it is open."""

    @property
    def sessions(self) -> Sequence[BoardSession]: ...
    @property
    def trouble(self) -> str:
        """The reason why the shown sessions may be out of date; empty if they are current."""

    @property
    def can_archive(self) -> bool: ...
    def show_archived(self, on: bool) -> None:
        """Include archived sessions in `sessions` from the next listing on."""

    def question(self, session_id: str) -> BoardQuestion | None:
        """Return the oldest open question of this session."""

    async def answer(self, question: BoardQuestion, option_id: str) -> bool:
        """Answer a question; False if another answer was faster. Raises `DragomanError`."""

    async def set_title(self, session_id: str, title: str) -> None:
        """Set the title. Raises `DragomanError`."""

    async def archive(self, session_id: str, *, on: bool) -> None:
        """Archive a session or restore it. Raises `DragomanError`."""


class ChatBackend(Protocol):
    """Opens conversations."""

    @property
    def cwd(self) -> str: ...
    async def agents(self) -> Sequence[AgentChoice]: ...
    def open(
        self, request: ChatRequest, person: ChatUser, listener: ChatListener
    ) -> AbstractAsyncContextManager[ChatSession]:
        """Open a conversation for the length of an `async with`; raises `DragomanError`."""

    async def hand_over(self, request: ChatRequest, agent: str) -> ChatRequest:
        """Return the request that continues a conversation with another agent; raises `DragomanError`."""

    async def sessions(self, query: str) -> Sequence[SessionRow]:
        """Return stored conversations, the latest first; with words, only those that contain them."""

    def board(self, on_change: Callable[[], None]) -> AbstractAsyncContextManager[SessionBoard]:
        """Return all sessions for the length of an `async with`. `on_change` is called
        when one has changed.
        """

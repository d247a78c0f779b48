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
    """Tells that the client is to end, from outside: by a signal, or because the terminal is gone."""

    @property
    def end_event(self) -> asyncio.Event:
        """Set once it is to end."""

    def listen(self) -> None:
        """From now on a signal wakes the loop that runs here."""

    def hang_up(self) -> None:
        """The terminal is gone. Any thread may call it."""


class AgentChoice(Struct, frozen=True, kw_only=True):
    """An agent that can be chosen by its name."""

    name: str
    title: str = ""
    detail: str = ""
    """Its command or address, without secrets."""


class ChatRequest(Struct, frozen=True, kw_only=True):
    """A conversation that somebody wants."""

    agent: str
    cwd: str
    session: str | None = None
    """A stored one: its id, or `last` for the latest of this agent in this folder."""
    source: str | None = None
    """A stored one of another agent that goes on in a new one: its id."""
    words: str = ""
    """What to search for in it, once it is open."""


class SessionRow(Struct, frozen=True, kw_only=True):
    """A stored conversation."""

    request: ChatRequest | None
    """How to open it; None if it cannot be."""
    title: str
    agent: str
    cwd: str
    when: str
    excerpt: str = ""
    """What was found in it, where something was looked for."""


class BoardSession(Struct, frozen=True, kw_only=True):
    """A session on the board, and how it gets on. Times are seconds since 1970."""

    id: str
    request: ChatRequest | None
    """How to open it; None if it cannot be."""
    title: str
    agent: str
    cwd: str
    state: str
    """`running`, `waiting`, `failed` or `archived`; any other word is for one that rests."""
    updated: float = 0.0
    turn_started: float | None = None
    """While a turn runs, since when."""
    line: str = ""
    """The last line that was said in it."""
    cost: tuple[float, str] | None = None
    """An amount and its currency."""
    changes: str = ""
    """What its last turn changed on disk, in a few words."""
    questions: int = 0
    """Questions that wait for somebody, also those of its subagents."""


class FileText(Struct, frozen=True, kw_only=True):
    """A text file, or the lines of it that were wanted."""

    path: str
    text: str
    first: int = 1
    """The number of its first line here."""
    is_whole: bool = True
    is_covered: bool = False
    """Whether something that looks like a secret was covered."""


class Caution(Struct, frozen=True, kw_only=True):
    """Something that rules found risky."""

    severity: str
    """From `critical` to `info`; nothing for a remark, such as that nothing was judged."""
    text: str


class PermissionQuestion(Struct, frozen=True, kw_only=True):
    """A permission that is asked for. `text` is all of it, sanitized."""

    text: str
    why: str
    options: tuple[v1.PermissionOption, ...]
    cautions: Callable[[], Awaitable[Sequence[Caution]]] | None = None
    """What is risky about it, as soon as that is known; asked for once, and nobody waits for it."""


class BoardQuestion(Struct, frozen=True, kw_only=True):
    """Something that a session on the board waits for."""

    session_id: str
    """The session that asks: one of the board, or a subagent's."""
    request_id: str
    asked_at: float
    """A session that is deleted and loaded again uses the ids of its requests anew, at another time."""
    permission: PermissionQuestion | None
    """None for a form, which is filled in where the session is open."""


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
    """Seems to ask for what a form must not."""


class FieldRefused(LocalMistake):
    """A value that a field does not take; says why."""


class FormPrompt(Struct, frozen=True, kw_only=True):
    """A question of an agent that wants more than a yes."""

    agent: str
    message: str
    fields: Sequence[FormField] = ()
    url: str | None = None
    """An address that the person is asked to open, in place of fields."""
    cautions: Sequence[str] = ()
    """What to look at before; ours."""
    check: Callable[[str, Value], Awaitable[Value]]
    """The value as it would be sent; raises `FieldRefused`."""


class FormAnswer(Struct, frozen=True, kw_only=True):
    """The answer to a form."""

    action: Literal["accept", "decline", "cancel"]
    values: dict[str, Value] = {}


class ChatEvent(Struct, frozen=True, kw_only=True):
    """Something that happened to the agent, or to the way there.

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
    """The last words of a dead agent."""
    seconds: float = 0.0
    """`away`, `unreached`: until the next attempt; `back`: how long it was away."""


class UpdatesBehind(Struct, frozen=True, kw_only=True):
    """What was said elsewhere and is not here yet."""

    updates: int
    or_more: bool


class ReviewedFile(Struct, frozen=True, kw_only=True):
    """A file that is not as it was before the turn."""

    path: str
    kind: str
    diff: str | None
    added_lines: int
    removed_lines: int
    binary: bool


class ChangeReview(Protocol):
    """What a turn changed on disk."""

    @property
    def files(self) -> Sequence[ReviewedFile]: ...
    @property
    def notes(self) -> Sequence[str]: ...
    async def revert(self, path: str) -> None:
        """Put one file back; raises `LocalMistake` with the reason if that is refused."""


class RewoundFile(Struct, frozen=True, kw_only=True, rename="camel"):
    """A file that would be put back, and the lines that this adds to it and removes."""

    path: str
    act: str
    """`restore`, `remove` or `change`."""
    is_persons: bool
    """Whether a person changed it since, or nobody knows who: then it stays, unless it is named."""
    added: int
    removed: int


class RewindPreview(Struct, frozen=True, kw_only=True, rename="camel"):
    """What going back to before a turn would change."""

    turn: int
    is_busy: bool
    """Whether a turn runs in the folder, so that nothing can be put back now."""
    files: list[RewoundFile]
    left: list[str]
    """Files that differ and stay, because their content is not kept."""
    identity: str
    """Names all of that."""


class FileNotPutBack(Struct, frozen=True, kw_only=True):
    """A file that could not be put back."""

    path: str
    why: str


class RewindResult(Struct, frozen=True, kw_only=True):
    """What was put back."""

    turn: int
    """0 if a rewind was undone."""
    paths: list[str]
    failures: list[FileNotPutBack]


class ChatRewinds(Protocol):
    """The way back in the folder of a session. Each raises `DragomanError` with the reason."""

    async def preview(self, turn: int | None) -> RewindPreview:
        """What would change; without a number, before the last turn."""

    async def carry_out(self, preview: RewindPreview, also: Sequence[str]) -> RewindResult:
        """Do what was shown, or nothing; of the files that a person changed since, only those of `also`."""

    async def undo(self) -> RewindResult:
        """Take the last one back."""


class ChatUser(Protocol):
    """Whoever sits at the terminal. Cancelling what is awaited takes the question back."""

    async def ask(self, question: PermissionQuestion) -> str | None:
        """The id of the chosen option; None if nothing was chosen."""

    async def fill(self, form: FormPrompt) -> FormAnswer: ...


class ChatHost(Protocol):
    """The application around a conversation. It hears when nobody would notice a pause of the process."""

    def before_opening(self) -> None:
        """A conversation is about to be opened, perhaps with all of its history."""

    def after_opening(self) -> None:
        """The conversation is open, or cannot be opened."""

    def after_turn(self) -> None:
        """A turn is over, and nobody waits for anything."""

    def fail(self, error: BaseException) -> None:
        """A mistake of ours: the application ends and reports it."""


class ChatListener(Protocol):
    """Whoever looks at a conversation. No method may wait."""

    def on_update(self, update: v1.SessionUpdate | Unknown) -> None: ...
    def on_chat_event(self, event: ChatEvent) -> None: ...
    def on_subagents(self, tree: str) -> None:
        """Who works for whom, a line each, as it stands now."""


class Shell(CommandOutput, Protocol):
    """A command of the person, running or not."""

    async def wait(self) -> None: ...
    async def kill(self) -> None: ...


class ChatSession(Protocol):
    """A conversation with an agent."""

    @property
    def agent(self) -> str:
        """What it is called here."""

    @property
    def cwd(self) -> str: ...
    @property
    def is_local(self) -> bool:
        """Whether the agent works on this machine's files."""

    @property
    def sandbox(self) -> str:
        """The sandbox around the agent, as far as it is ours; `off` if there is none."""

    @property
    def modes(self) -> v1.SessionModeState | None: ...
    @property
    def options(self) -> Sequence[v1.SessionConfigOption]: ...
    @property
    def request(self) -> ChatRequest:
        """How to come back to it."""

    def turn(self, blocks: Sequence[v1.ContentBlock]) -> Awaitable[TurnResult]:
        """One turn; what is said in it goes to the listener."""

    async def steer(self, blocks: Sequence[v1.ContentBlock]) -> SteerOutcome:
        """Say something while the turn runs; what becomes of it. Raises `LocalMistake` if none runs."""

    async def cancel(self) -> None: ...
    async def set_mode(self, mode_id: str) -> None: ...
    async def set_option(self, option_id: str, value: str | bool) -> None: ...
    async def restart(self) -> None:
        """Start a dead agent again, now, and bring the session back."""

    async def earlier(self) -> Transcript | None:
        """What was said before all that was shown, a page at a time; None if there is no more."""

    @property
    def behind(self) -> UpdatesBehind | None:
        """How far we are behind the agent after we were away; None if we are not."""

    def terminal(self, terminal_id: str) -> CommandOutput | None:
        """A command that the agent runs here."""

    def shell(self, line: str) -> Shell:
        """Run a line of the person's own; raises `LocalMistake` where that cannot be."""

    async def files(self, query: str) -> Sequence[str]:
        """Paths in the folder that fit a few letters, the best first."""

    async def read_file(self, path: str, line: int = 0) -> FileText:
        """A text file of the session, or what stands around a line of a large one. Raises `DragomanError`."""

    async def set_title(self, title: str) -> None:
        """Raises `DragomanError` where nobody keeps titles."""

    async def archive(self) -> None:
        """Put the session into the archive. Raises `DragomanError` where there is none."""

    async def attachments(self, paths: Sequence[str]) -> Sequence[v1.ContentBlock]:
        """Files that a prompt names, as far as they exist, in a form that the agent takes."""

    async def look(self) -> None:
        """A turn is about to begin: remember how the folder is."""

    async def review(self) -> ChangeReview | None:
        """What the turn has changed; None if nobody can say, or nothing has."""

    @property
    def rewinds(self) -> ChatRewinds:
        """The way back. Raises `LocalMistake` if files of this session are not kept."""


class SessionBoard(Protocol):
    """All sessions of a backend, kept up to date while it is open."""

    @property
    def sessions(self) -> Sequence[BoardSession]: ...
    @property
    def trouble(self) -> str:
        """Why what is shown may be old; nothing if it is not."""

    @property
    def can_archive(self) -> bool: ...
    def show_archived(self, on: bool) -> None:
        """Whether `sessions` has archived ones as well, from the next time that they are listed."""

    def question(self, session_id: str) -> BoardQuestion | None:
        """What this session has waited for longest."""

    async def answer(self, question: BoardQuestion, option_id: str) -> bool:
        """Answer it; False if somebody was faster. Raises `DragomanError`."""

    async def set_title(self, session_id: str, title: str) -> None:
        """Raises `DragomanError`."""

    async def archive(self, session_id: str, *, on: bool) -> None:
        """Put it into the archive, or take it out. Raises `DragomanError`."""


class ChatBackend(Protocol):
    """Where conversations are opened."""

    @property
    def cwd(self) -> str: ...
    async def agents(self) -> Sequence[AgentChoice]: ...
    def open(
        self, request: ChatRequest, person: ChatUser, listener: ChatListener
    ) -> AbstractAsyncContextManager[ChatSession]:
        """A conversation for the length of an `async with`; raises `DragomanError`."""

    async def hand_over(self, request: ChatRequest, agent: str) -> ChatRequest:
        """How to go on with a conversation with another agent; raises `DragomanError`."""

    async def sessions(self, query: str) -> Sequence[SessionRow]:
        """Stored conversations, the latest first; with words, those in which they were said."""

    def board(self, on_change: Callable[[], None]) -> AbstractAsyncContextManager[SessionBoard]:
        """All sessions, for the length of an `async with`. `on_change` is called whenever one moved."""

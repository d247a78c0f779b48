"""Keys and commands: one table for the help, the palette and the page.

`packages/app/tests/tui/test_keys.py` compares it with the bindings of the screens and with docs/chat.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple


class KeyRow(NamedTuple):
    """A key, or some keys with the same action."""

    keys: str
    """The keys as people write them."""
    does: str
    bound: str = ""
    """The names in Textual, separated by commas; empty for keys that a widget reads by itself."""


class KeySection(NamedTuple):
    """Keys for one place."""

    title: str
    rows: Sequence[KeyRow]


class ChatCommand(NamedTuple):
    """An item of the palette."""

    title: str
    detail: str
    action: str
    """An action of Textual: `app.…`, or an action of the conversation."""
    key: str = ""
    needs_chat: bool = True


KEYS: Final[Sequence[KeySection]] = (
    KeySection(
        "Saying something",
        (
            KeyRow("Enter", "send; while a turn runs, it waits in the queue"),
            KeyRow("Ctrl+J", "a new line"),
            KeyRow("/", "a command of the agent; Tab or Enter completes"),
            KeyRow("@", "a file of the folder, found by a few letters"),
            KeyRow("!", "a line of shell, run by you and not by the agent"),
            KeyRow("/allow", "allow what was denied last, once or always"),
            KeyRow("/handover NAME", "continue with another agent, which gets a summary"),
            KeyRow("/rewind [TURN]", "put files back to before a turn, or the last one"),
            KeyRow("/rewind undo", "undo that"),
            KeyRow("Up, Down", "your earlier prompts"),
        ),
    ),
    KeySection(
        "While a turn runs",
        (
            KeyRow("Esc", "stop it; Ctrl+C does the same", "escape,ctrl+c"),
            KeyRow("Ctrl+S", "steer: send your text into the running turn", "ctrl+s"),
            KeyRow("Up", "in an empty box: take the last queued prompt back"),
        ),
    ),
    KeySection(
        "Sessions",
        (
            KeyRow("Ctrl+P", "everything by its name: commands, sessions, agents, themes", "ctrl+p"),
            KeyRow("F4", "the board: all sessions by state", "f4"),
            KeyRow("Ctrl+O, Ctrl+R", "earlier sessions, and search in all of them", "ctrl+o,ctrl+r"),
            KeyRow("Ctrl+N", "a new session: choose agent and folder", "ctrl+n"),
            KeyRow("Shift+Tab", "the next mode", "shift+tab"),
            KeyRow("F2", "modes and options", "f2"),
            KeyRow("Ctrl+G", "what the last turn changed: keep or put back", "ctrl+g"),
            KeyRow("F5", "start a dead agent again", "f5"),
            KeyRow("F1, ?", "these keys", "f1"),
            KeyRow("Ctrl+Q", "leave", "ctrl+q"),
        ),
    ),
    KeySection(
        "Reading",
        (
            KeyRow("PageUp, PageDown", "scroll; more is fetched at the top", "pageup,pagedown"),
            KeyRow("Ctrl+F", "search in this session: Enter and Up go back, Down goes forward", "ctrl+f"),
            KeyRow("Ctrl+E", "a file of the session, read only", "ctrl+e"),
            KeyRow("Ctrl+T", "unfold all thoughts, or fold them", "ctrl+t"),
            KeyRow("F3", "copy the last answer", "f3"),
            KeyRow("Tab", "into the conversation, and back", "tab"),
        ),
    ),
    KeySection(
        "In the conversation (Tab)",
        (
            KeyRow("Up, Down, k, j", "choose an entry", "up,k,down,j"),
            KeyRow("Enter, Space", "fold or unfold it", "enter,space"),
            KeyRow("o", "all of it; a picture as large as it can be", "o"),
            KeyRow("f", "the files that it names, at the line; a click on one does the same", "f"),
            KeyRow("g, G", "to the first entry, to the last", "g,G"),
            KeyRow("/", "search in this session", "slash"),
            KeyRow("b", "the board", "b"),
        ),
    ),
    KeySection(
        "On the board",
        (
            KeyRow("Up, Down, k, j", "choose a session", "up,k,down,j"),
            KeyRow("Left, Right, h, l", "the column beside", "left,h,right,l"),
            KeyRow("Home, End, g, G", "the first, the last", "home,g,end,G"),
            KeyRow("Enter", "open it; a second click does the same", "enter"),
            KeyRow("A", "the whole question; the keys of its dialog answer it", "A"),
            KeyRow("r", "set its title", "r"),
            KeyRow("x, v", "into the archive or out of it; show archived sessions", "x,v"),
            KeyRow("/", "filter by words of title, agent or folder", "slash"),
            KeyRow("n", "a new session", "n"),
            KeyRow("Esc, q, b", "close", "escape,q,b,f4"),
        ),
    ),
    KeySection(
        "In a file",
        (
            KeyRow("j, k, Space", "scroll; arrows do as well", "k,j,space"),
            KeyRow("g, G", "to the beginning, to the end", "g,G"),
            KeyRow("/, n, N", "search; the next, the one before", "slash,n,N"),
            KeyRow("Esc, q", "close", "escape,q"),
        ),
    ),
    KeySection(
        "When the agent asks",
        (
            KeyRow("1 2 3 …", "choose an answer by its number"),
            KeyRow("y, a, n", "yes once, yes always, no"),
            KeyRow("Esc", "choose nothing", "escape"),
        ),
    ),
)

COMMANDS: Final[Sequence[ChatCommand]] = (
    ChatCommand("Board", "all sessions by state", "app.board", "F4", needs_chat=False),
    ChatCommand("Sessions", "earlier ones, and search in all", "app.sessions", "Ctrl+O", needs_chat=False),
    ChatCommand("New session", "choose an agent and a folder", "app.new", "Ctrl+N"),
    ChatCommand("Search in this session", "text of messages", "find", "Ctrl+F"),
    ChatCommand("Open a file", "of the session, read only", "open_file", "Ctrl+E"),
    ChatCommand("Review changes", "keep or put back what the last turn changed", "review", "Ctrl+G"),
    ChatCommand("Put files back", "to before the last turn, or an earlier one", "rewind('')"),
    ChatCommand("Undo the last rewind", "files are as they were before it", "rewind('undo')"),
    ChatCommand("Modes and options", "of this session", "settings", "F2"),
    ChatCommand("Next mode", "of this session", "next_mode", "Shift+Tab"),
    ChatCommand("Set the title", "of this session", "rename"),
    ChatCommand("Archive this session", "of a hub; the next prompt brings it back", "archive"),
    ChatCommand("Stop the turn", "queued prompts stay queued", "stop_turn", "Esc"),
    ChatCommand("Steer", "send your text into the running turn", "steer", "Ctrl+S"),
    ChatCommand("Copy the last answer", "to the clipboard", "copy", "F3"),
    ChatCommand("Unfold or fold all thoughts", "", "thoughts", "Ctrl+T"),
    ChatCommand("To the beginning of the session", "earlier pages are fetched", "edge(-1)"),
    ChatCommand("To the end of the session", "and stay there", "edge(1)"),
    ChatCommand("Start the agent again", "and bring the session back", "restart", "F5"),
    ChatCommand("Keys", "which key does what", "app.help", "F1", needs_chat=False),
    ChatCommand("Leave", "", "app.leave", "Ctrl+Q", needs_chat=False),
)


def keys_markdown() -> str:
    """Return the tables of docs/chat.md."""
    return "\n".join(_tables())


def _tables() -> Iterator[str]:
    for section in KEYS:
        yield from (f"**{section.title}**", "", "| key | |", "|---|---|")
        for row in section.rows:
            keys = row.keys.replace("|", "\\|")
            yield f"| {keys} | {row.does} |"
        yield ""

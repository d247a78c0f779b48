"""The lines above and below the conversation: agent, folder, state and cost."""

from __future__ import annotations

import os
import time

from textual.content import Content

from dragoman.text.sanitize import sanitize_line
from dragoman_app.tui.conversation import Away, ChatConversation
from dragoman_app.tui.model.facts import Facts
from dragoman_app.tui.text.lines import cut, line, plain

SHORTEST_PATH = 12
"""The fewest cells of a folder's path to show beside a long title."""

_STATES = {
    "starting": ("◌", "starting the agent", "$text-warning"),
    "idle": ("●", "ready", "$text-success"),
    "running": ("◐", "working", "$text-warning"),
    "cancelling": ("◐", "stopping", "$text-warning"),
    "dead": ("✗", "the agent has ended", "$text-error"),
    "failed": ("✗", "not started", "$text-error"),
}


def heading(agent: str, cwd: str, facts: Facts, width: int, *, sandbox: str = "off") -> Content:
    """Return the heading: agent, folder and sandbox."""
    mode = sanitize_line(facts.mode_name)
    right = plain(cut(mode, width // 3), "$text-accent") if mode else Content("")
    room = width - right.cell_length - 1
    names = [sanitize_line(agent), *([sanitize_line(facts.title)] if facts.title else ())]
    if sandbox != "off":
        names.insert(1, f"sandbox {sandbox}")
    taken_cells = sum(Content(name).cell_length + 3 for name in names)
    path, width_left = short_path(cwd), max(room - taken_cells, SHORTEST_PATH)
    # The end of a path says more than its beginning.
    names.insert(1, path if len(path) <= width_left else f"…{path[1 - width_left :]}")
    left = plain(cut(" · ".join(names), room), "dim")
    return _apart(left, right, width)


def footer(conversation: ChatConversation, width: int) -> Content:
    """Return the footer: state, possible keys, cost."""
    pieces = _describe_state(conversation) if conversation.away is None else _absence(conversation.away)
    right = plain(usage(conversation.transcript.facts), "dim")
    left = line(pieces)
    if left.cell_length + right.cell_length + 1 > width:
        left = left.truncate(max(width - right.cell_length - 1, len(pieces[0][0])), ellipsis=True)
    return _apart(left, right, width).truncate(width)


def _describe_state(conversation: ChatConversation) -> list[tuple[str, str]]:
    mark, words, style = _STATES[conversation.state]
    pieces = [(f"{mark} {words}", style)]
    if conversation.is_busy:
        pieces.append((f" {time.monotonic() - conversation.began:.0f} s", "dim"))
        done_count, steps = conversation.transcript.facts.steps_done
        if steps:
            pieces.append((f" · plan {done_count}/{steps}", "dim"))
    behind = None if conversation.chat is None else conversation.chat.behind
    if behind is not None:
        words = f"behind by {behind.updates:,}{' or more' if behind.or_more else ''} updates"
        pieces.append((f" · {words}", "$text-warning"))
    hint = _hint(conversation)
    if hint:
        pieces.append((f" · {hint}", "dim"))
    return pieces


def _absence(away: Away) -> list[tuple[str, str]]:
    """No connection: since when, until when, and why."""
    now = time.monotonic()
    words = f"away {now - away.since:.0f} s" if away.was_there else "no connection yet"
    seconds_left = away.again - now
    again = f"trying again in {seconds_left:.0f} s" if seconds_left >= 0.5 else "trying again"
    return [(f"◌ {words}, {again}", "$text-warning"), (f" · {sanitize_line(away.why)}", "dim")]


def _hint(conversation: ChatConversation) -> str:
    match conversation.state:
        case "running":
            return "esc stops"
        case "dead" | "failed":
            return "F5 starts it again"
        case "idle" if conversation.queue and conversation.is_held:
            return "enter sends your queued text"
        case "idle" if conversation.review is not None:
            return "ctrl+g reviews changes"
        case "idle":
            return "? help"
    return ""


def usage(facts: Facts) -> str:
    parts = []
    if facts.size:
        parts.append(f"{_short(facts.used)}/{_short(facts.size)} {100 * facts.used // facts.size}%")
    elif facts.tokens_in or facts.tokens_out:
        parts.append(f"{_short(facts.tokens_in)} in {_short(facts.tokens_out)} out")
    if facts.cost:
        parts.append(sanitize_line(facts.cost))
    return " · ".join(parts)


def short_path(path: str) -> str:
    """Return a path with ~ for the home folder."""
    home = os.path.expanduser("~")
    if home != "/" and (path == home or path.startswith(home + os.sep)):
        path = "~" + path[len(home) :]
    return sanitize_line(path)


def _short(number: int) -> str:
    if number >= 1_000_000:
        return f"{number / 1_000_000:.1f}M"
    return f"{number / 1000:.1f}k" if number >= 10_000 else f"{number}"


def _apart(left: Content, right: Content, width: int) -> Content:
    return left + " " * max(1, width - left.cell_length - right.cell_length) + right

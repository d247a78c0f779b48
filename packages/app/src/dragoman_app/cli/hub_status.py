"""`dragoman hub status`: the state of a hub, for people or as JSON.

This is the command line and the conversation with the hub; what a person sees is in `hub_status_text`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from dragoman.errors import CallFailed, DragomanError, LinkClosed, LocalMistake
from dragoman.text.cells import fit
from dragoman.text.sanitize import sanitize_line
from dragoman_app.apps.console import say, say_json
from dragoman_app.apps.files import authorization
from dragoman_app.cli.hub_client import (
    HubNotAnswered,
    JsonObject,
    address_file,
    find_hub,
    open_hub,
    socket_address,
)

FORBIDDEN = -32003

WANTED = (
    "the hub needs a token. Set DRAGOMAN_TOKEN, or use --token-file. Create a token: dragoman hub token "
    "add status --scope admin"
)


def run(args: argparse.Namespace) -> int:
    try:
        headers = authorization(args.token_file)
        if not headers:
            raise LocalMistake(WANTED)
        url = socket_address(args.url) if args.url else find_hub(address_file())
        return asyncio.run(_watch(args, url, headers))
    except KeyboardInterrupt:
        return 0


# Asking.


async def _watch(args: argparse.Namespace, url: str, headers: dict[str, str]) -> int:
    was_shown = False
    while True:
        try:
            status = await _ask_and_show(args, url, headers, again=was_shown)
        except HubNotAnswered as error:
            if not was_shown or error.status != 9:  # a hub that was there may come back
                raise
            say(f"dragoman hub status: {error}; trying again", file=sys.stderr)
            status = 9
        if not args.watch:
            return status
        was_shown = True
        await asyncio.sleep(args.every)


async def _ask_and_show(args: argparse.Namespace, url: str, headers: dict[str, str], *, again: bool) -> int:
    fields, whole = await ask_hub(url, headers)
    if args.json:
        say_json(fields)
    else:
        text = show(fields) if whole else show_agents(fields)
        clear = "\x1b[H\x1b[J" if args.watch and sys.stdout.isatty() else "\n" * again
        sys.stdout.write(clear + text)
    sys.stdout.flush()
    if not whole:
        print("This token can't see more. The whole status needs the scope admin.", file=sys.stderr)
    return 0 if whole else 1


async def ask_hub(url: str, headers: dict[str, str]) -> tuple[JsonObject, bool]:
    """Return a hub's status, and whether it is the whole status or only that of its agents."""
    try:
        async with open_hub(url, headers) as hub:
            try:
                return await hub.call("_dragoman/hub/status"), True
            except CallFailed as error:
                if error.code != FORBIDDEN:
                    raise
                return await hub.call("_dragoman/hub/agents"), False
    except CallFailed as error:
        raise HubNotAnswered(f"{url} refused: {error.message}", status=1) from None
    except DragomanError as error:
        words = str(error)
        is_refused = isinstance(error, LinkClosed) and "refused the connection with status 4" in words
        why = words if url in words else f"{url}: {words}"
        raise HubNotAnswered(why, status=1 if is_refused else 9) from None


# The status of a hub as tables of at most eighty columns. Pure: the hub's answer in, text out.
#
# Titles and names are sanitized, and cut to their column. A hub of another version may tell other things:
# what is missing is left empty.

WIDTH = 80
LINES = 20
"""The most sessions and connections to show; the others are counted."""

StatusFields: TypeAlias = Mapping[str, Any]
Column: TypeAlias = tuple[str, int]
"""A heading and its width; a negative width aligns at the right."""

AGENTS: tuple[Column, ...] = (
    ("AGENT", 13), ("STATE", 10), ("PID", -7), ("SESS", -4), ("PROC", -4),
    ("RSS", -7), ("CPU", -7), ("RST", -3), ("TOKENS", -6), ("COST", -10),
)  # fmt: skip
SESSIONS: tuple[Column, ...] = (
    ("SESSION", 12), ("STATE", 8), ("AGENT", 12), ("QUEUE", -5),
    ("ASKS", -4), ("WAITS", -6), ("HERE", -4), ("TITLE", 22),
)  # fmt: skip
NODES: tuple[Column, ...] = (("NODE", 20), ("STATE", 9), ("TURNS", -5), ("SESSIONS", -8), ("LABELS", 34))
CONNECTIONS: tuple[Column, ...] = (("TOKEN", 30), ("TRANSPORT", 12), ("SESSIONS", -8), ("UNSENT", -10))


def show(status: StatusFields) -> str:
    """Show the whole status."""
    now = _number(status.get("now"))
    parts = [
        _heading(status, now),
        _table(NODES, map(_node, _dicts(status.get("nodes")))) if status.get("nodes") else "",
        show_agents(status),
        _several(
            SESSIONS,
            [_session(session, now) for session in _dicts(status.get("sessions"))],
            _counts(status, "sessions"),
        ),
        _several(
            CONNECTIONS,
            [_connection(connection) for connection in _dicts(status.get("connections"))],
            _counts(status, "connections"),
        ),
    ]
    return "\n".join(part for part in parts if part)


def show_agents(status: StatusFields) -> str:
    """Show only the agents, and why some of them do not run."""
    agents = _dicts(status.get("agents"))
    errors = [sanitize_line(_text(agent.get("lastError"))) for agent in agents]
    return _table(AGENTS, map(_agent, agents)) + "".join(f"{error}\n" for error in errors if error)


def _heading(status: StatusFields, now: float) -> str:
    up = _span(now - _number(status.get("started"))) if status.get("started") else ""
    hub, journal = _dict(status.get("hub")), _dict(status.get("journal"))
    first = [f"dragoman hub {_text(status.get('version'))}", _text(status.get("health"))]
    first += [f"process {_text(status.get('pid'))}", f"up {up}" if up else "", _text(status.get("url"))]
    second = [f"memory {_size(hub.get('rss'))}", f"cpu {_time(hub.get('cpu'))}"]
    second += [f"{_text(hub.get('descriptors'))} open files"]
    third = [
        f"journal {_size(journal.get('size'))}",
        f"{_number(journal.get('entries')):,.0f} entries written",
    ]
    third += [f"p50 {_milli(journal.get('appendP50'))}", f"p99 {_milli(journal.get('appendP99'))}"]
    lines = [first, *([second] if hub.get("rss") is not None else []), *([third] if journal else [])]
    safe_lines = [sanitize_line(" · ".join(filter(None, line))) for line in lines]
    return "".join(f"{fit(line, WIDTH).rstrip()}\n" for line in safe_lines)


def _node(node: StatusFields) -> list[str]:
    labels = node.get("labels")
    return [
        _text(node.get("name")),
        _text(node.get("state")),
        _text(node.get("busy")),
        _text(node.get("sessions")),
        ", ".join(map(_text, labels)) if isinstance(labels, list) else "",
    ]


def _agent(agent: StatusFields) -> list[str]:
    tokens, costs = _dict(agent.get("tokens")), _dict(agent.get("costs"))
    spent = [f"{_money(_number(amount))} {currency}" for currency, amount in costs.items()]
    return [
        _text(agent.get("name")),
        _text(agent.get("state")),
        _text(agent.get("pid")),
        _text(agent.get("sessions")),
        _text(agent.get("processes")),
        _size(agent.get("rss")),
        _time(agent.get("cpu")),
        _text(agent.get("restarts")),
        _short(tokens.get("totalTokens")),
        " ".join(spent),
    ]


def _session(session: StatusFields, now: float) -> list[str]:
    asked_at = session.get("asked")
    return [
        _text(session.get("sessionId")),
        _text(session.get("state")),
        _text(session.get("agent")),
        _text(session.get("queue")),
        _text(session.get("asking")),
        _span(now - _number(asked_at)) if asked_at else "",
        _text(session.get("clients")),
        _text(session.get("title")),
    ]


def _connection(connection: StatusFields) -> list[str]:
    return [
        _text(connection.get("token")),
        _text(connection.get("transport")),
        _text(connection.get("sessions")),
        _size(connection.get("lag")),
    ]


def _counts(status: StatusFields, what: str) -> dict[str, int]:
    counts = _dict(_dict(status.get("totals")).get(what))
    return {_text(name): int(_number(count)) for name, count in counts.items()}


# Tables.


def _several(columns: Sequence[Column], rows: list[list[str]], counts: Mapping[str, int]) -> str:
    """The first of them, and how many there are of each kind."""
    if not rows:
        return ""
    table = _table(columns, rows[:LINES])
    every = sum(counts.values())
    if every <= len(rows[:LINES]):
        return table
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    return table + fit(sanitize_line(f"… {every} in all: {kinds}"), WIDTH).rstrip() + "\n"


def _table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    lines = [[name for name, _ in columns], *rows]
    return "".join(f"{_row(columns, line)}\n" for line in lines)


def _row(columns: Sequence[Column], cells: Sequence[str]) -> str:
    fitted_cells = [fit(sanitize_line(cell), width) for (_, width), cell in zip(columns, cells, strict=True)]
    return " ".join(fitted_cells).rstrip()


# Numbers, as a person reads them.


def _size(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    number, unit = float(value), "B"
    for unit in ("B", "KB", "MB", "GB", "TB"):  # noqa: B007  # the last one is used behind the loop
        if number < 1000:
            break
        number /= 1000
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.1f} {unit}"


def _short(value: object) -> str:
    number = _number(value)
    if not number:
        return ""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount < 100 else f"{amount:.0f}"


def _time(value: object) -> str:
    if not isinstance(value, int | float):
        return ""
    return f"{value:.1f}s" if value < 1000 else _span(float(value))


def _milli(value: object) -> str:
    return f"{value * 1000:.1f} ms" if isinstance(value, int | float) else "-"


def _span(seconds: float) -> str:
    """In its two largest units."""
    remaining = max(0, int(seconds))
    parts: list[str] = []
    for unit, size in (("d", 86_400), ("h", 3600), ("m", 60), ("s", 1)):
        if remaining >= size or parts or unit == "s":
            parts.append(f"{remaining // size}{unit}")
            remaining %= size
    return "".join(parts[:2])


# Whatever a hub of another version tells.


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []

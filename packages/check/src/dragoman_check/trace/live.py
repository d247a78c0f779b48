"""Shows a recording to a person while it grows: one line per event, with its duration.

Requests are shown with their answers, streamed text is gathered into one line, open permissions and the end
of turns stand out. It is told entries and gives lines; it does no IO. What peers said is sanitized:
control characters would let them write to the terminal.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from dragoman.text.sanitize import sanitize_line
from dragoman.wire.decode import read_value
from dragoman.wire.envelope import Json, JsonObject, id_key
from dragoman_local.journal.contract import Entry

WIDTH = 100
"""The most characters of a message to show."""

_ARROWS = {"to_agent": "──▶", "to_client": "◀──"}


class _Open(Struct):
    method: str
    at: float
    id: Json


class Live:
    """Formats a growing recording: `tell` returns the lines for one more entry."""

    def __init__(self, *, width: int = WIDTH) -> None:
        self._width = width
        self._open: dict[tuple[str, Json], _Open] = {}
        self._text: dict[tuple[str, str], list[str]] = {}  # streamed text by session and kind, not yet shown
        self.turns = 0

    def tell(self, entry: Entry) -> Iterator[str]:
        clock = time.strftime("%H:%M:%S", time.localtime(entry.time)) + f".{int(entry.time % 1 * 1000):03}"
        if entry.direction == "note":
            yield from self._note_lines(clock, read_value(entry.frame))
            return
        message = read_value(entry.frame)
        arrow = _ARROWS[entry.direction]
        if not isinstance(message, dict):
            yield from self._flush_texts()
            yield f"{clock} {arrow} not a message: {self._short(entry.frame.decode(errors='replace'))}"
        elif message.get("method") == "session/update":
            yield from self._update_lines(clock, arrow, message)
        else:
            yield from self._flush_texts()
            yield f"{clock} {arrow} {self._message_line(entry, message)}"

    def rest(self) -> Iterator[str]:
        """Return the messages that are not shown yet, and open questions."""
        yield from self._flush_texts()
        for request in self._open.values():
            yield f"still open: {sanitize_line(request.method)} (id {self._short(str(request.id))})"

    def _message_line(self, entry: Entry, message: JsonObject) -> str:
        method, request_id = message.get("method"), message.get("id")
        if method is not None and "id" in message:
            self._open[entry.direction, id_key(request_id)] = _Open(str(method), entry.time, request_id)
            detail = _detail(str(method), message.get("params"))
            return f"{sanitize_line(str(method))} (id {self._short(str(request_id))}){self._about(detail)}"
        if method is not None:
            return f"{sanitize_line(str(method))}{self._about(_detail(str(method), message.get('params')))}"
        request = self._open.pop((_back(entry.direction), id_key(request_id)), None)
        took = (
            f" after {(entry.time - request.at) * 1000:.0f} ms" if request else ", which was never requested"
        )
        name = sanitize_line(request.method) if request else "an answer"
        if request is not None and request.method == "session/prompt":
            self.turns += 1
        if "error" in message:
            return f"{name}: ERROR {self._short(_error(message['error']))}{took}"
        return f"{name}: {self._short(_outcome(message.get('result')))}{took}"

    def _update_lines(self, clock: str, arrow: str, message: JsonObject) -> Iterator[str]:
        params = message.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        if not isinstance(update, dict):
            yield f"{clock} {arrow} session/update without an update"
            return
        session, kind = str(params.get("sessionId")), str(update.get("sessionUpdate"))  # type: ignore[union-attr]
        content = update.get("content")
        text = content.get("text") if isinstance(content, dict) else None
        if kind.endswith("_chunk") and isinstance(text, str):
            yield from self._flush_texts(but=(session, kind))
            self._text.setdefault((session, kind), []).append(text)
            return
        yield from self._flush_texts()
        yield f"{clock} {arrow} {sanitize_line(kind)}{self._about(_update_detail(update))}"

    def _flush_texts(self, *, but: tuple[str, str] | None = None) -> Iterator[str]:
        """Gathered text of all streams but one."""
        for key in [key for key in self._text if key != but]:
            pieces = self._text.pop(key)
            kind, text = sanitize_line(key[1].removesuffix("_chunk")), self._short("".join(pieces))
            yield f"             ◀── {kind}: {text} ({len(pieces)} pieces)"

    def _note_lines(self, clock: str, note: object) -> Iterator[str]:
        yield from self._flush_texts()
        event = note.get("event", "note") if isinstance(note, dict) else "note"
        rest = (
            {name: value for name, value in note.items() if name != "event"}
            if isinstance(note, dict)
            else note
        )
        yield f"{clock}  ·  {sanitize_line(str(event))}: {self._short(_flat(rest))}"

    def _about(self, detail: str) -> str:
        return f": {self._short(detail)}" if detail else ""

    def _short(self, text: str) -> str:
        text = sanitize_line(text)
        return text if len(text) <= self._width else text[: self._width - 1] + "…"


def _detail(method: str, params: object) -> str:
    params = params if isinstance(params, dict) else {}
    if method == "session/request_permission":
        call = params.get("toolCall")
        title = call.get("title") or call.get("toolCallId") if isinstance(call, dict) else ""
        return f"PERMISSION for {title}"
    if method == "session/prompt":
        blocks = params.get("prompt")
        first = blocks[0] if isinstance(blocks, list) and blocks else {}
        return str(first.get("text", "")) if isinstance(first, dict) else ""
    return " ".join(str(params[name]) for name in ("path", "command", "cwd", "sessionId") if name in params)


def _update_detail(update: JsonObject) -> str:
    names = ("toolCallId", "title", "status", "currentModeId", "used", "size")
    details = [str(update[name]) for name in names if update.get(name) is not None]
    entries = update.get("entries")
    if isinstance(entries, list):
        details.append(f"{len(entries)} entries")
    return " ".join(details)


def _outcome(result: object) -> str:
    if not isinstance(result, dict):
        return _flat(result)
    outcome = result.get("outcome")
    if isinstance(outcome, dict):
        return f"{outcome.get('outcome')} {outcome.get('optionId', '')}".strip()
    for name in ("stopReason", "sessionId", "protocolVersion", "terminalId"):
        if name in result:
            return f"{name} {result[name]}"
    return "done"


def _error(error: object) -> str:
    return f"{error.get('code')} {error.get('message')}" if isinstance(error, dict) else _flat(error)


def _flat(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _back(direction: str) -> str:
    return "to_client" if direction == "to_agent" else "to_agent"

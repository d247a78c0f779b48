"""Builds the page as one file: markup, style, script, and the recording as data.

Whatever peers said is data in a block that no browser runs, with every `<` escaped; the script that shows it
makes text nodes of it. A content security policy names the only script and the only style by their hashes,
and forbids everything else, the network first of all.
"""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable
from importlib.resources import files

import msgspec

from dragoman.wire.decode import read_value
from dragoman.wire.envelope import Json, JsonObject, as_object, id_key
from dragoman_local.journal.contract import Entry
from dragoman_local.journal.conversation import SubagentNames

SCRIPTS = ("dom.js", "markdown.js", "blocks.js", "rows.js", "pages.js", "frames.js", "lanes.js", "main.js")


def make_page(entries: Iterable[Entry], *, title: str, findings: Iterable[JsonObject] = ()) -> bytes:
    """Return the whole HTML file."""
    model = join_pieces(make_model(entries, title=title, findings=findings))
    data = msgspec.json.encode(model).decode().replace("<", "\\u003c").replace("\u2028", "\\u2028")
    style = _part("page.css")
    script = '"use strict";\n(() => {\n' + "\n".join(map(_part, SCRIPTS)) + "\n})();\n"
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src 'sha256-{_hash(script)}'",
            f"style-src 'sha256-{_hash(style)}'",
            "img-src data:",
            "media-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    page = _part("page.html").replace("<!--title-->", html.escape(title))
    parts = {
        "policy": html.escape(policy),
        "style": style,
        "data": data,
        "script": script,
    }
    for name, text in parts.items():
        page = page.replace(f"<!--{name}-->", text, 1)
    return page.encode(errors="replace")


def _part(name: str) -> str:
    return files("dragoman_check.trace.view").joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# A recording as the page shows it: rows for people, and the frames behind them.
#
# Streamed pieces become one message, a tool call is one row however often it was reported, a question is one
# row with its answer and how long that took. Rows name frames by their numbers; nothing else is kept twice.

_SIDES = {"to_agent": 0, "to_client": 1, "note": 2}


GATHERED = ("stderr", "note")
"""Kinds of notes that share a row if they follow each other."""


class ViewModel(msgspec.Struct):
    """The data embedded in the page."""

    title: str
    start: float
    frames: list[tuple[int, int, str, str]]
    """Milliseconds since the start, side (0 to the agent, 1 to the client, 2 a note), a name, the text."""
    rows: list[JsonObject]
    findings: list[JsonObject]


def make_model(entries: Iterable[Entry], *, title: str, findings: Iterable[JsonObject] = ()) -> ViewModel:
    """Return the model. `findings` have `frame`, `rule`, `level` and `why`; frames are counted from 1,
    without notes.
    """
    builder = _ModelBuilder()
    start: float | None = None
    numbers: list[int] = []  # of a frame as rules count it → its place among all entries
    for place, entry in enumerate(entries):
        start = entry.time if start is None else start
        if entry.direction != "note":
            numbers.append(place)
        builder.entry(place, entry, max(0, round((entry.time - start) * 1000)))
    placed_findings = [
        {**finding, "frame": numbers[finding["frame"] - 1]}
        for finding in findings
        if 0 < finding["frame"] <= len(numbers)
    ]
    return ViewModel(
        title=title, start=start or 0.0, frames=builder.frames, rows=builder.rows, findings=placed_findings
    )


class _ModelBuilder:
    def __init__(self) -> None:
        self.frames: list[tuple[int, int, str, str]] = []
        self.rows: list[JsonObject] = []
        self._open: dict[tuple[int, Json], JsonObject] = {}  # questions by asker and id
        self._calls: dict[tuple[str, str], JsonObject] = {}  # tool calls by session and id
        self._message: JsonObject | None = None  # the message that is growing
        self._subagents = SubagentNames()

    def entry(self, place: int, entry: Entry, at: int) -> None:
        side = _SIDES[entry.direction]
        message = read_value(entry.frame)
        text = entry.frame.decode(errors="replace")
        if side == 2:
            self.frames.append((at, side, _event(message), text))
            self._add_note(place, at, _event(message), _note_text(message, text))
            return
        if not isinstance(message, dict):
            self.frames.append((at, side, "not a message", text))
            self._row("broken", place, at, side=side, text=text[:2000])
            return
        method = message.get("method")
        if not isinstance(method, str):
            self.frames.append((at, side, self._add_answer(place, at, side, message), text))
        elif "id" in message:
            self.frames.append((at, side, method, text))
            self._add_request(place, at, side, method, message)
        else:
            self.frames.append((at, side, self._add_notification(place, at, side, method, message), text))

    def _row(self, kind: str, place: int, at: int, **more: object) -> JsonObject:
        row = {"kind": kind, "frame": place, "at": at, **more}
        if requester := self._subagents.requester(str(more.get("session", ""))):
            row["requester"] = requester
        self.rows.append(row)
        self._message = None
        return row

    def _add_note(self, place: int, at: int, event: str, text: str) -> None:
        """Complaints come line by line, and are read together."""
        last = self.rows[-1] if self.rows else {}
        if event in GATHERED and last.get("kind") == "note" and last["event"] == event:
            last["text"] += f"\n{text}"
            last["last"], last["end"] = place, at
        else:
            self._row("note", place, at, event=event, text=text)

    # Questions and answers.

    def _add_request(self, place: int, at: int, side: int, method: str, message: JsonObject) -> None:
        params = as_object(message.get("params"))
        session_member = {"session": params["sessionId"]} if isinstance(params.get("sessionId"), str) else {}
        if method == "session/prompt":
            row = self._row("prompt", place, at, blocks=_list(params.get("prompt")), **session_member)
        elif method == "session/request_permission":
            call = as_object(params.get("toolCall"))
            options = [as_object(option) for option in _list(params.get("options"))]
            row = self._row("permission", place, at, call=call, options=options, **session_member)
        else:
            row = self._row("call", place, at, side=side, method=method, **session_member)
        self._open[side, id_key(message.get("id"))] = row

    def _add_answer(self, place: int, at: int, side: int, message: JsonObject) -> str:
        row = self._open.pop((1 - side, id_key(message.get("id"))), None)
        self._message = None
        if row is None:
            self._row("stray", place, at, side=side)
            return "answer to nothing"
        row["answer"], row["took"] = place, at - row["at"]
        if isinstance(message.get("error"), dict):
            row["error"] = message["error"]
        result = as_object(message.get("result"))
        if row["kind"] == "prompt":
            row["stop"] = result.get("stopReason")
            stop = result.get("stopReason") or ("error" if "error" in row else "")
            self._row("end", place, at, stop=stop, took=row["took"], prompt=row["frame"])
            return "session/prompt answered"
        if row["kind"] == "permission":
            row["outcome"] = as_object(result.get("outcome"))
            return "session/request_permission answered"
        return f"{row['method']} answered"

    # Updates.

    def _add_notification(self, place: int, at: int, side: int, method: str, message: JsonObject) -> str:
        params = as_object(message.get("params"))
        update = as_object(params.get("update"))
        if method != "session/update" or not update:
            self._row("told", place, at, side=side, method=method)
            return method
        session, kind = str(params.get("sessionId", "")), str(update.get("sessionUpdate", "?"))
        if child := self._subagents.learn(session, update):
            self._add_subagent(place, at, session, child, update)
        elif kind.endswith("_chunk"):
            self._grow(place, at, session, kind, update)
        elif kind in ("tool_call", "tool_call_update"):
            self._tool(place, at, session, update)
        elif kind == "plan":
            self._row("plan", place, at, session=session, entries=_list(update.get("entries")))
        else:
            self._row("update", place, at, session=session, update=kind)
        return kind

    def _add_subagent(self, place: int, at: int, session: str, child: str, update: JsonObject) -> None:
        """Read an agent's update about a child: `state` is a word in the draft and an object in the
        schema.
        """
        state = update.get("state")
        members = as_object(state)
        word = members.get("stopReason") or members.get("state") or (state if isinstance(state, str) else "")
        name = self._subagents.requester(child) or child
        self._row("subagent", place, at, session=session, child=child, name=name, state=word)

    def _grow(self, place: int, at: int, session: str, kind: str, update: JsonObject) -> None:
        block = as_object(update.get("content"))
        growing = self._message
        same = growing is not None and (growing["session"], growing["update"]) == (session, kind)
        if not same or growing is None or growing.get("message") != update.get("messageId"):
            growing = self._row(
                "message", place, at, session=session, update=kind, message=update.get("messageId"), blocks=[]
            )
            growing["count"] = 0
        blocks = growing["blocks"]
        text = block.get("text")
        if block.get("type") == "text" and blocks and blocks[-1]["type"] == "text" and isinstance(text, str):
            blocks[-1]["pieces"].append(text)
        elif block.get("type") == "text" and isinstance(text, str):
            blocks.append({"type": "text", "pieces": [text]})
        else:
            blocks.append(block or {"type": "?"})
        growing["count"] += 1
        growing["last"], growing["end"] = place, at
        self._message = growing

    def _tool(self, place: int, at: int, session: str, update: JsonObject) -> None:
        key = (session, str(update.get("toolCallId", "")))
        row = self._calls.get(key)
        if row is None:
            row = self._calls[key] = self._row("tool", place, at, session=session, id=key[1], reports=0)
        self._message = None
        for name in ("title", "kind", "status", "name", "content", "locations", "rawInput", "rawOutput"):
            if update.get(name) is not None:
                row["tool" if name == "kind" else name] = update[name]
        row["reports"] += 1
        row["last"], row["end"] = place, at


def join_pieces(model: ViewModel) -> ViewModel:
    """Join the pieces of messages, once at the end."""
    for row in model.rows:
        for block in row.get("blocks", ()) if row["kind"] == "message" else ():
            if "pieces" in block:
                block["text"] = "".join(block.pop("pieces"))
    return model


def _event(note: object) -> str:
    return str(note.get("event", "note")) if isinstance(note, dict) else "note"


def _note_text(note: object, text: str) -> str:
    if isinstance(note, dict):
        if isinstance(note.get("text"), str):
            return str(note["text"])
        rest = {name: value for name, value in note.items() if name != "event"}
        return msgspec.json.encode(rest).decode() if rest else ""
    return text


def _list(value: object) -> list[Json]:
    return value if isinstance(value, list) else []

"""Reads a stream of frames as a conversation: messages, tool calls, and how each turn ended.

Chunks of one speaker that follow each other become one moment, so that a word cut in two by the stream is
whole again. Frames that say nothing to a reader give no moment, and frames that make no sense are passed
over: this is for looking at, not for judging. It knows the few names of the protocol that it shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from dragoman_local.journal.contract import StoredEntry
from dragoman_local.secrets.search import redact

Kind: TypeAlias = Literal[
    "prompt", "message", "thought", "tool", "plan", "permission", "mode", "end", "error", "note"
]

LONGEST = 64 * 1024
"""The most characters of one moment; a longer message is shown as several, to limit memory."""

LONGEST_OUTPUT = 16 * 1024
"""The most searchable characters of one tool call's output: an index must not outgrow its journal."""

MOST_OUTPUTS = 64
"""The most tool calls whose output is kept until they end; if more run at once, the oldest are dropped."""

MOST_SUBAGENTS = 1024
"""The most subagents of one stream to distinguish."""

ANNOUNCEMENTS = ("subagent_update", "subagent_spawned", "subagent_state_update")
"""Updates about child sessions; all except the first are from an early draft that agents use."""

CHUNKS: dict[str, Kind] = {
    "agent_message_chunk": "message",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "prompt",
}

_LOOKED_AT = (b'"session/', b'"stopReason"', b'"error"', b'"outcome"')


class Moment(Struct, frozen=True, kw_only=True):
    """One event in a conversation, from its first to its last entry."""

    kind: Kind
    text: str
    first: int
    last: int
    time: float
    output: str = ""
    """The output of a tool by its end: searched, but not shown."""
    requester: str = ""
    """The subagent of this moment, with its parents; empty for the agent of the session itself."""

    @property
    def search_text(self) -> str:
        return f"{self.text}\n{self.output}" if self.output else self.text


def moments(entries: Iterable[StoredEntry]) -> Iterator[Moment]:
    """Return all moments of these entries."""
    fold = MomentFold()
    for entry in entries:
        yield from fold.add(entry)
    yield from fold.finish()


class SubagentNames:
    """The parents of the child sessions that an agent announces in one recording."""

    def __init__(self) -> None:
        self._requesters: dict[str, str] = {}

    def learn(self, parent: str, update: dict[str, object]) -> str:
        """Read an update of a session; return the child that it announces or changes, if any."""
        if update.get("sessionUpdate") not in ANNOUNCEMENTS:
            return ""
        child = text_or_empty(update.get("sessionId")) or text_or_empty(update.get("subagentSessionId"))
        name = (
            " ".join((text_or_empty(update.get("title")) or text_or_empty(update.get("name"))).split())[:80]
            or child
        )
        is_news = child not in self._requesters and child != parent
        if is_news and len(self._requesters) < MOST_SUBAGENTS:
            self._requesters[child] = f"{name}, for {self._requesters.get(parent, 'main session')}"
        return child

    def requester(self, session_id: str) -> str:
        """Return a text such as `linter, for reviewer, for main session`; empty for an
        unannounced session.
        """
        return self._requesters.get(session_id, "")


class EntryText(NamedTuple):
    """The text of one entry. Consecutive entries with the same `run` are one moment."""

    kind: Kind
    text: str
    run: str | None = None
    output: str = ""
    requester: str = ""


class MomentFold:
    """Folds entries into moments as they arrive."""

    def __init__(self) -> None:
        self._first: Moment | None = None  # how an unfinished moment began
        self._last = 0
        self._run: str | None = None
        self._parts: list[str] = []
        self._size = 0
        self._titles: dict[str, str] = {}
        self._outputs: dict[str, str] = {}  # of tool calls that have not ended
        self._options: dict[str, str] = {}  # permission options by id, as a person reads them
        self._subagents = SubagentNames()

    def add(self, entry: StoredEntry) -> Iterator[Moment]:
        """Read one entry; return the moments that it completes."""
        for entry_text in self._read(entry):
            if entry_text.run is None or entry_text.run != self._run or self._size >= LONGEST:
                yield from self.finish()
            if self._first is None:
                self._first = Moment(
                    kind=entry_text.kind,
                    text="",
                    first=entry.sequence,
                    last=entry.sequence,
                    time=entry.time,
                    output=entry_text.output,
                    requester=entry_text.requester,
                )
                self._run = entry_text.run
            self._last = entry.sequence
            self._parts.append(entry_text.text)
            self._size += len(entry_text.text)
            if entry_text.run is None:
                yield from self.finish()

    def finish(self) -> Iterator[Moment]:
        """End the open moment, if there is one."""
        if self._first is not None:
            # A secret that the stream had cut in two is whole again, too.
            text = self._parts[0] if len(self._parts) == 1 else redact("".join(self._parts))
            yield msgspec.structs.replace(self._first, text=text, last=self._last)
        self._first, self._run, self._parts, self._size = None, None, [], 0

    @property
    def open_since(self) -> int | None:
        """The first entry of the unfinished moment."""
        return None if self._first is None else self._first.first

    def _read(self, entry: StoredEntry) -> Iterator[EntryText]:
        if entry.direction == "note":
            yield EntryText("note", entry.frame.decode(errors="replace"))
            return
        if not any(mark in entry.frame for mark in _LOOKED_AT):
            return
        try:
            envelope = msgspec.json.decode(entry.frame)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return  # what makes no sense cannot be shown as if it did
        if isinstance(envelope, dict):
            requester = self._subagents.requester(
                text_or_empty(dict_or_empty(envelope.get("params")).get("sessionId"))
            )
            for entry_text in self._envelope(envelope):
                if entry_text.text:
                    run = entry_text.run and f"{entry_text.run} {requester}"
                    yield entry_text._replace(run=run, requester=requester)

    def _envelope(self, envelope: dict[str, object]) -> Iterator[EntryText]:
        params = dict_or_empty(envelope.get("params"))
        match envelope.get("method"):
            case "session/update":
                self._subagents.learn(
                    text_or_empty(params.get("sessionId")), dict_or_empty(params.get("update"))
                )
                yield from self._update(dict_or_empty(params.get("update")))
            case "session/prompt":
                yield EntryText("prompt", "".join(map(_content, list_or_empty(params.get("prompt")))))
            case "session/request_permission":
                yield self._permission(params)
            case None:
                yield from self._answer(envelope)

    def _update(self, update: dict[str, object]) -> Iterator[EntryText]:
        tag = text_or_empty(update.get("sessionUpdate"))
        if tag in CHUNKS:
            run = f"{tag} {update.get('messageId')}"
            yield EntryText(CHUNKS[tag], _content(update.get("content")), run)
        elif tag in ("tool_call", "tool_call_update"):
            yield from self._tool(update)
        elif tag == "plan":
            yield EntryText("plan", "\n".join(map(plan_entry, list_or_empty(update.get("entries")))))
        elif tag == "current_mode_update":
            yield EntryText("mode", text_or_empty(update.get("currentModeId")))

    def _tool(self, update: dict[str, object]) -> Iterator[EntryText]:
        ident, title, status = (text_or_empty(update.get(key)) for key in ("toolCallId", "title", "status"))
        known_title = self._titles.get(ident)
        # Content is sent whole with every update; what counts is what it was in the end.
        if content := "\n".join(map(_tool_content, list_or_empty(update.get("content")))):
            self._outputs[ident] = content[:LONGEST_OUTPUT]
            if len(self._outputs) > MOST_OUTPUTS:
                del self._outputs[next(iter(self._outputs))]
        is_over = status in ("completed", "failed")
        output = self._outputs.pop(ident, "") if is_over else ""
        if title and title != known_title:
            self._titles[ident] = title
            yield EntryText("tool", f"{title} ({status})" if status else title, output=output)
        elif is_over:
            yield EntryText("tool", f"{known_title or ident}: {status}", output=output)

    def _permission(self, params: dict[str, object]) -> EntryText:
        tool = dict_or_empty(params.get("toolCall"))
        ident = text_or_empty(tool.get("toolCallId"))
        for option in map(dict_or_empty, list_or_empty(params.get("options"))):
            self._options[text_or_empty(option.get("optionId"))] = text_or_empty(option.get("name"))
        return EntryText(
            "permission", f"may it: {text_or_empty(tool.get('title')) or self._titles.get(ident) or ident}?"
        )

    def _answer(self, envelope: dict[str, object]) -> Iterator[EntryText]:
        error, result = dict_or_empty(envelope.get("error")), dict_or_empty(envelope.get("result"))
        outcome = dict_or_empty(result.get("outcome"))
        if error:
            yield EntryText("error", f"{error.get('code')}: {text_or_empty(error.get('message'))}")
        elif outcome:
            option = text_or_empty(outcome.get("optionId"))
            answer = self._options.get(option) or option or text_or_empty(outcome.get("outcome"))
            yield EntryText("permission", answer)
        elif isinstance(reason := result.get("stopReason"), str):
            yield EntryText("end", reason)


def _content(block: object) -> str:
    """A content block, as text or as a mention of its content."""
    match block:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri)}:
            return f"[{uri}]"
        case {"type": "resource", "resource": {"uri": str(uri)}}:
            return f"[{uri}]"
        case {"type": str(kind)}:
            return f"[{kind}]"
        case _:
            return ""


def _tool_content(part: object) -> str:
    """The readable part of a tool's content: text, or a file as it is after a change."""
    match part:
        case {"type": "content", "content": content}:
            return _content(content)
        case {"type": "diff", "newText": str(text)}:
            return text
        case _:
            return ""


def plan_entry(entry: object) -> str:
    fields = dict_or_empty(entry)
    return f"[{text_or_empty(fields.get('status')) or 'pending'}] {text_or_empty(fields.get('content'))}"


def dict_or_empty(value: object) -> dict[str, object]:
    """Return a JSON object; an empty one for any other value."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[object]:
    """Return a JSON array; an empty one for any other value."""
    return value if isinstance(value, list) else []


def text_or_empty(value: object) -> str:
    """Return a JSON string; an empty one for any other value."""
    return value if isinstance(value, str) else ""

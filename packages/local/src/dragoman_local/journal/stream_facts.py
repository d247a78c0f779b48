"""Reads a stream's description from its frames: agent, folder, session, title, state.

The title is the agent's if it gives one, else the beginning of the first prompt. A conversation that goes on
from another one keeps the title of that: its first prompt begins with a brief, and so do titles that agents
make of it. It looks at few frames, and a frame that makes no sense teaches nothing.
"""

from __future__ import annotations

import msgspec

from dragoman_local.journal.contract import Entry
from dragoman_local.journal.redaction import redact

TITLE = 80
"""The most characters of a title from a prompt."""

_TO_AGENT = (b'"session/new"', b'"session/load"', b'"session/resume"', b'"session/fork"', b'"session/prompt"')
_TO_CLIENT = (b'"agentInfo"', b'"sessionId"', b'"session_info_update"', b'"stopReason"', b'"error"')
_UPDATE = b'"session/update"'


class StreamFacts:
    """Reads facts. Remembers the open requests and the known facts."""

    def __init__(self) -> None:
        self._request_methods: dict[object, str] = {}
        self._facts: dict[str, str] = {}
        self._has_agent_title = False  # the agent gave a title; a prompt's beginning is no better
        self._keeps_title = False  # it has the title of the conversation from which it goes on

    def read(self, entry: Entry) -> dict[str, str]:
        """Return the facts that this entry adds or changes."""
        if not self._has_facts(entry):
            return {}
        try:
            message = msgspec.json.decode(redact(entry.frame))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}
        if not isinstance(message, dict):
            return {}
        readers = {"note": self._read_note, "to_agent": self._read_to_agent}
        facts = readers.get(entry.direction, self._read_to_client)(message)
        changes = {name: value for name, value in facts.items() if value and self._facts.get(name) != value}
        self._facts |= changes
        return changes

    def _has_facts(self, entry: Entry) -> bool:
        if entry.direction == "to_agent":
            return b'"initialize"' in entry.frame or any(name in entry.frame for name in _TO_AGENT)
        if entry.direction == "note":
            return b'"continues"' in entry.frame
        if _UPDATE in entry.frame and b'"session_info_update"' not in entry.frame:
            return False
        return any(name in entry.frame for name in _TO_CLIENT)

    def _read_note(self, note: dict[str, object]) -> dict[str, str]:
        match note:
            case {"continues": {"title": str(title)}} if title:
                self._keeps_title = True
                return {"title": title}
        return {}

    def _read_to_agent(self, message: dict[str, object]) -> dict[str, str]:
        method, params = message.get("method"), message.get("params")
        if not isinstance(method, str) or not isinstance(params, dict):
            return {}
        if isinstance(message.get("id"), str | int):
            self._request_methods[message["id"]] = method
        if method == "session/prompt":
            has_title = self._keeps_title or self._has_agent_title or "title" in self._facts
            return {"state": "running"} | ({} if has_title else {"title": _title(params.get("prompt"))})
        return {"cwd": _text(params.get("cwd")), "session": _text(params.get("sessionId"))}

    def _read_to_client(self, message: dict[str, object]) -> dict[str, str]:
        if message.get("method") == "session/update":
            return self._read_update(message.get("params"))
        ident = message.get("id")
        method = self._request_methods.pop(ident, None) if isinstance(ident, str | int) else None
        result = message.get("result")
        fields: dict[str, object] = result if isinstance(result, dict) else {}
        match method:
            case "initialize":
                info = fields.get("agentInfo")
                return {"agent": _text(info.get("name"))} if isinstance(info, dict) else {}
            case "session/prompt":
                return {"state": "failed" if "error" in message else _text(fields.get("stopReason"))}
            case "session/new" | "session/fork":
                return {"session": _text(fields.get("sessionId"))}
        return {}

    def _read_update(self, params: object) -> dict[str, str]:
        match params:
            case {"update": {"sessionUpdate": "session_info_update", "title": str(title)}} if title.strip():
                if self._keeps_title:
                    return {}
                self._has_agent_title = True
                return {"title": " ".join(title.split())}
        return {}


def _title(prompt: object) -> str:
    blocks = prompt if isinstance(prompt, list) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and _text(block.get("text"))]
    line = " ".join(" ".join(texts).split())
    return line if len(line) <= TITLE else line[: TITLE - 1] + "…"


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""

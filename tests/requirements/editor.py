"""The client's half of a recorded conversation: files, terminals and answers to questions, by hand.

Files are on the disk, with unsaved texts above them. A terminal's command is not run: it has said `out` and
has ended. Whatever is held is left without an answer until the scene gives it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EVERYTHING = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "auth": {"terminal": True},
    "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
    "elicitation": {"form": {}, "url": {}},
}


@dataclass
class Editor:
    """Answers the agent's requests; None holds an answer back."""

    choice: str = "allow_once"
    """The kind of the option that is chosen, or one of the words in `_decide`."""
    unsaved: dict[str, str] = field(default_factory=dict)
    holding: str = ""
    """A method whose requests are not answered."""
    held: list[Any] = field(default_factory=list)
    open_terminals: set[str] = field(default_factory=set)
    made: int = 0

    def answer(self, frame: Any) -> dict[str, Any] | None:
        if frame["method"] == self.holding:
            self.held.append(frame)
            return None
        return self.answer_now(frame)

    def answer_now(self, frame: Any) -> dict[str, Any]:
        method, params = frame["method"], frame["params"]
        if method == "session/request_permission":
            return self._decide(params)
        if method.startswith("fs/"):
            return self._file(method, params)
        if method.startswith("terminal/"):
            return self._terminal(method, params)
        return {"error": {"code": -32601, "message": "Method not found"}}

    def _decide(self, params: Any) -> dict[str, Any]:
        if self.choice == "cancelled":
            return {"result": {"outcome": {"outcome": "cancelled"}}}
        if self.choice == "error":
            return {"error": {"code": -32603, "message": "The dialog has failed"}}
        if self.choice == "unknown option":
            return {"result": {"outcome": {"outcome": "selected", "optionId": "nobody-offered-this"}}}
        if self.choice == "unknown outcome":
            return {"result": {"outcome": {"outcome": "_perhaps", "optionId": "allow"}}}
        options = [option for option in params["options"] if option["kind"] == self.choice]
        return {"result": {"outcome": {"outcome": "selected", "optionId": options[0]["optionId"]}}}

    def _file(self, method: str, params: Any) -> dict[str, Any]:
        path = Path(params["path"])
        if method == "fs/write_text_file":
            path.write_text(params["content"])
            self.unsaved.pop(str(path), None)
            return {"result": None}  # as the stable page has it; the schema has an object
        if str(path) not in self.unsaved and not path.is_file():
            return {"error": {"code": -32002, "message": "Resource not found"}}
        text = self.unsaved.get(str(path)) or path.read_text()
        lines = text.splitlines(keepends=True)[(params.get("line") or 1) - 1 :]
        limit = params.get("limit")
        return {"result": {"content": "".join(lines if limit is None else lines[:limit])}}

    def _terminal(self, method: str, params: Any) -> dict[str, Any]:
        if method == "terminal/create":
            self.made += 1
            terminal = f"terminal-{self.made}"
            self.open_terminals.add(terminal)
            return {"result": {"terminalId": terminal}}
        if method == "terminal/release":
            self.open_terminals.discard(params["terminalId"])
        ended = {"exitCode": 0, "signal": None}
        return {
            "result": {
                "terminal/output": {"output": "out\n", "truncated": False, "exitStatus": ended},
                "terminal/wait_for_exit": ended,
            }.get(method, {})
        }

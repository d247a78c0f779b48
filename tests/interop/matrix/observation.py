"""What a trial of an agent looks at: its turns, its frames, the requests of its model, its processes."""

from __future__ import annotations

from pathlib import Path

import msgspec

from dragoman import PromptTurn, TurnResult
from dragoman.testing.models import ModelRequest
from tests.interop.matrix.stage import MatrixStage


async def drain(turn: PromptTurn) -> TurnResult:
    return await turn


def mentions(request: ModelRequest, word: str) -> bool:
    return any(word in message.text for message in request.messages)


def is_answer(line: bytes) -> bool:
    try:
        value = msgspec.json.decode(line)
    except msgspec.DecodeError:
        return False
    return isinstance(value, dict) and value.get("id") == 1 and "method" not in value


def last_tool_frame(stage: MatrixStage) -> str:
    for direction, frame in reversed(stage.frames):
        if direction == "to_client" and b"tool_call" in frame:
            return frame.decode(errors="replace").strip()
    return stage.last_frame()


def command_line(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return "a process that has ended"
    return b" ".join(words).decode(errors="replace")[:120]

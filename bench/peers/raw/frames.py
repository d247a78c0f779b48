"""Frames made by hand and lines read by hand: the floor that every SDK stands on.

Nothing here is validated. What a pipe and an interpreter can do at best is measured with it, nothing else.
"""

from __future__ import annotations

import json
import os
from typing import Any

BLOCK = 65536


def frame(**fields: Any) -> bytes:
    return (
        json.dumps({"jsonrpc": "2.0", **fields}, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    )


def update_frame(text: str) -> bytes:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return frame(method="session/update", params={"sessionId": "bench", "update": update})


def write_all(fd: int, data: bytes | memoryview) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(fd, left) :]


class Lines:
    """Whole lines from a descriptor, a block at a time."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._tail = b""

    def block(self) -> bytes:
        """Every whole line there is, waiting for at least one; empty at the end."""
        pieces = [self._tail]
        while True:
            data = os.read(self._fd, BLOCK)
            cut = data.rfind(b"\n") + 1
            if cut or not data:
                break
            pieces.append(data)
        pieces.append(data[:cut])
        self._tail = data[cut:]
        return b"".join(pieces) if cut else b""

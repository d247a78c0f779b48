"""Plays one party of a recorded conversation to an end of ours, frame by frame, and checks what comes back.

What is written down for our side is a pattern: members that are not mentioned may be anything, and `"*"`
fits everything. Ids are whatever our side gives.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from dragoman.transport.contract import Transport
from tests.interop.recordings import Conversation, Party, Recorded


class Replay:
    """The other party. It is a sink of the transport that it speaks through."""

    def __init__(self, talk: Conversation, transport: Transport, *, ours: Party) -> None:
        self._talk = talk
        self._transport = transport
        self._ours = ours
        self._heard: asyncio.Queue[Any] = asyncio.Queue()
        self._ids: dict[Any, Any] = {}

    async def play(self) -> None:
        self._transport.start(self)
        for frame in self._talk.frames:
            if frame.to == self._ours:
                self._transport.write(self._addressed(frame) + b"\n")
            else:
                self._check(frame, await self._heard.get())

    def _addressed(self, frame: Recorded) -> bytes:
        """An answer goes to the id that our side has given; all else goes as it stands."""
        if frame.verbatim:
            return frame.raw
        content = json.loads(frame.raw)
        if "method" not in content and content.get("id") in self._ids:
            content["id"] = self._ids[content["id"]]
        return json.dumps(content).encode()

    def _check(self, frame: Recorded, heard: Any) -> None:
        expected = json.loads(frame.raw)
        if "method" in expected and "id" in expected:
            self._ids[expected.pop("id")] = heard["id"]
        assert fits(expected, heard), f"line {frame.line} of the fixture: heard {heard}"

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            self._heard.put_nowait(json.loads(line))

    def on_oversized(self, size: int) -> None:
        raise AssertionError

    def on_end(self, reason: BaseException | None) -> None:
        pass


def fits(pattern: Any, value: Any) -> bool:
    if pattern == "*":
        return True
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            name in value and fits(part, value[name]) for name, part in pattern.items()
        )
    if isinstance(pattern, list):
        same = isinstance(value, list) and len(value) == len(pattern)
        return same and all(map(fits, pattern, value))
    return bool(pattern == value)

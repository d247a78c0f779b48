"""Watches the frames of a conversation: keeps them as evidence, and separates messages from noise.

Bounded: so many frames, each cut to so many characters; what was left out is counted. Texts are kept as they
were; whoever shows them takes the secrets out first.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dragoman.wire import MalformedFrame, Response, decode
from dragoman_local.known.doctor.findings import SeenFrame

FRAMES = 60
"""The most frames: enough for a handshake and a session with all its announcements."""

LONGEST = 2_000
"""The most characters of a frame; a list of commands may have half a million."""

NOISE = 10


class FrameWatch:
    """Records frames as a tap (see `transport.tapped_transport`)."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._start = clock()
        self.frames: list[SeenFrame] = []
        self.omitted_count = 0
        self.noise: list[str] = []
        """Lines of standard output that are not JSON-RPC."""
        self.noise_count = 0
        self.first: float | None = None
        """Seconds until the first line came."""
        self.echoes = False
        """Whether a frame of ours came back as it was."""
        self.initialize: dict[str, Any] = {}
        """The result of the first answer, as it came."""

    def __call__(self, direction: str, block: bytes) -> None:
        now = self._clock() - self._start
        for line in block.split(b"\n"):
            if line.strip():
                self._take(direction, line, now)

    def _take(self, direction: str, line: bytes, now: float) -> None:
        text = line.decode(errors="replace")
        if direction == "to_client":
            self.first = now if self.first is None else self.first
            self._sort(line, text)
            sent = (frame.text for frame in self.frames if frame.direction == "to_agent")
            self.echoes = self.echoes or cut(text) in sent
        if len(self.frames) >= FRAMES:
            self.omitted_count += 1
            return
        self.frames.append(SeenFrame(seconds=now, direction=direction, text=cut(text)))

    def _sort(self, line: bytes, text: str) -> None:
        envelope = decode(line)
        if isinstance(envelope, MalformedFrame):
            self.noise_count += 1
            if len(self.noise) < NOISE:
                self.noise.append(cut(text, 200))
        elif isinstance(envelope, Response) and not self.initialize:
            result = json.loads(bytes(envelope.result))
            self.initialize = result if isinstance(result, dict) else {}


def cut(text: str, longest: int = LONGEST) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text)} characters)"

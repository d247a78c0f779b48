"""Requests of an agent that were answered without being stored, by their frame numbers.

What is stored says itself whether it has an answer. A refusal is in no stream: the agent's host counts it
with the frame that it answers, until that frame is acknowledged. A hub that comes back hears frames again
that nobody has acknowledged, and does not answer twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

PREFIX = "\n"
"""The prefix of names under which a host counts refusals; no session's stream has it."""


class Refusals:
    """The refused requests of one process. `taken` are the numbers known to its host."""

    def __init__(self, taken: Mapping[str, int]) -> None:
        self._last = {stream: last for stream, last in taken.items() if stream.startswith(PREFIX)}

    def add(self, name: str, number: int) -> str:
        """Return the name under which the host counts the refusal of this frame, which is about the session
        `name`; empty if it already counts that frame or a later one.
        """
        stream = _stream_of(name)
        if number <= self._last.get(stream, 0):
            return ""
        self._last[stream] = number
        return stream

    def has(self, name: str, number: int) -> bool:
        """Whether the request in this frame is answered."""
        return bool(self._last) and number <= self._last.get(_stream_of(name), 0)

    def take_acknowledged(self, number: int) -> list[str]:
        """Return the names up to an acknowledged frame: the host can forget them, because the frames are not
        sent again.
        """
        streams = [stream for stream, last in self._last.items() if last <= number]
        for stream in streams:
            del self._last[stream]
        return streams


def _stream_of(name: str) -> str:
    """Short, whatever an agent calls its sessions."""
    return PREFIX + (blake2b(name.encode(errors="surrogatepass"), digest_size=16).hexdigest() if name else "")

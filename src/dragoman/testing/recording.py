"""A transport that notes every frame which passes through it, and changes nothing."""

from __future__ import annotations

from dragoman.testing.transcript import Party, Passed, Transcript, other
from dragoman.transport.contract import Limits, Sink, Transport


class RecordingTransport:
    """Stands in front of `inner`, at the end of `party`, and writes into `transcript`."""

    def __init__(self, inner: Transport, transcript: Transcript, *, party: Party) -> None:
        self._inner = inner
        self._transcript = transcript
        self._party = party

    def start(self, sink: Sink) -> None:
        self._inner.start(_RecordingSink(sink, self._transcript, self._party))

    def write(self, block: bytes | bytearray | memoryview) -> None:
        _note(self._transcript, other(self._party), bytes(block))
        self._inner.write(block)

    @property
    def pending(self) -> int:
        return self._inner.pending

    @property
    def limits(self) -> Limits:
        return self._inner.limits

    async def drain(self) -> None:
        await self._inner.drain()

    def pause(self) -> None:
        self._inner.pause()

    def resume(self) -> None:
        self._inner.resume()

    async def aclose(self) -> None:
        await self._inner.aclose()


class _RecordingSink:
    def __init__(self, sink: Sink, transcript: Transcript, party: Party) -> None:
        self._sink = sink
        self._transcript = transcript
        self._party = party

    def feed(self, block: bytes) -> None:
        _note(self._transcript, self._party, block)
        self._sink.feed(block)

    def oversized(self, size: int) -> None:
        self._sink.oversized(size)

    def ended(self, reason: BaseException | None) -> None:
        self._sink.ended(reason)


def _note(transcript: Transcript, to: Party, block: bytes) -> None:
    transcript.extend(Passed(to, line) for line in block.split(b"\n") if line)

"""A transport that notes every frame which passes through it, and changes nothing."""

from __future__ import annotations

from dragoman.testing.transcript import Party, Passed, Transcript, other
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing import PassingTransport


class RecordingTransport(PassingTransport):
    """Stands in front of `inner`, at the end of `party`, and writes into `transcript`."""

    def __init__(self, inner: Transport, transcript: Transcript, *, party: Party) -> None:
        super().__init__(inner)
        self._transcript = transcript
        self._party = party

    def start(self, sink: Sink) -> None:
        self.inner.start(_RecordingSink(sink, self._transcript, self._party))

    def write(self, block: bytes | bytearray | memoryview) -> None:
        _note(self._transcript, other(self._party), bytes(block))
        self.inner.write(block)


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

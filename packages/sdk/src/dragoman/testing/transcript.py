"""The frames between two peers, in the order in which one observer saw them.

`RecordingTransport` notes every frame that passes through it, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing_transport import PassingTransport

Party: TypeAlias = Literal["agent", "client"]


class TranscriptFrame(NamedTuple):
    """One frame on its way, without its newline.

        frame = TranscriptFrame("agent", b'{"jsonrpc":"2.0","id":0,"method":"initialize"}')

    As a text it shows where it goes.
    """

    to: Party
    frame: bytes

    def __str__(self) -> str:
        arrow = "client → agent" if self.to == "agent" else "agent → client"
        return f"{arrow}  {self.frame.decode(errors='replace')}"


Transcript: TypeAlias = list[TranscriptFrame]


def other_party(party: Party) -> Party:
    return "client" if party == "agent" else "agent"


def show(transcript: Sequence[TranscriptFrame], *, last: int = 12) -> str:
    """Format the last frames, for debugging."""
    lines = [_shorten(str(frame)) for frame in transcript[-last:]]
    left_out = len(transcript) - len(lines)
    return "\n".join([f"({left_out} frames before)", *lines] if left_out else lines)


def _shorten(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


class RecordingTransport(PassingTransport):
    """Wraps `inner`, at the end of `party`, and writes into `transcript`.

        transcript = []
        ours, theirs = memory_pair()
        recording = RecordingTransport(ours, transcript, party="client")

    What passes is written down and passed on as it is.
    """

    def __init__(self, inner: Transport, transcript: Transcript, *, party: Party) -> None:
        super().__init__(inner)
        self._transcript = transcript
        self._party = party

    def start(self, sink: Sink) -> None:
        self.inner.start(_RecordingSink(sink, self._transcript, self._party))

    def write(self, block: bytes | bytearray | memoryview) -> None:
        _note(self._transcript, other_party(self._party), bytes(block))
        self.inner.write(block)


class _RecordingSink:
    def __init__(self, sink: Sink, transcript: Transcript, party: Party) -> None:
        self._sink = sink
        self._transcript = transcript
        self._party = party

    def feed(self, block: bytes) -> None:
        _note(self._transcript, self._party, block)
        self._sink.feed(block)

    def on_oversized(self, size: int) -> None:
        self._sink.on_oversized(size)

    def on_end(self, reason: BaseException | None) -> None:
        self._sink.on_end(reason)


def _note(transcript: Transcript, to: Party, block: bytes) -> None:
    transcript.extend(TranscriptFrame(to, line) for line in block.split(b"\n") if line)

from __future__ import annotations

from dragoman.testing import RecordingTransport, Transcript, TranscriptFrame, check_transport
from dragoman.testing.transcript import other_party, show
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair


def test_the_last_frames_are_shown_and_the_others_counted() -> None:
    transcript = [TranscriptFrame("agent" if n % 2 else "client", b"%d" % n) for n in range(20)]
    lines = show(transcript, last=2).splitlines()
    assert lines == ["(18 frames before)", "agent → client  18", "client → agent  19"]
    assert show(transcript[:1]) == "agent → client  0"


def test_a_long_frame_is_shortened_and_odd_bytes_are_shown() -> None:
    assert show([TranscriptFrame("agent", b"\xff" + b"x" * 1000)]).endswith("… (1017 characters)")


def test_each_party_has_an_other() -> None:
    assert (other_party("agent"), other_party("client")) == ("client", "agent")


async def test_every_frame_is_noted_in_the_order_it_passed() -> None:
    transcript: Transcript = []
    left, right = memory_pair()
    ours, sink = RecordingTransport(left, transcript, party="client"), SinkRecorder()
    ours.start(sink)
    right.start(SinkRecorder())
    ours.write(b"1\n2\n")
    right.write(b"3\n")
    await sink.until_size(2)
    ours.write(b"4\n")
    assert transcript == [
        *(
            TranscriptFrame("agent", b"1"),
            TranscriptFrame("agent", b"2"),
            TranscriptFrame("client", b"3"),
            TranscriptFrame("agent", b"4"),
        ),
    ]
    await ours.aclose()
    await right.aclose()


async def test_a_recording_transport_keeps_the_promises_of_the_one_behind_it() -> None:
    async def pair() -> tuple[RecordingTransport, RecordingTransport]:
        left, right = memory_pair()
        return RecordingTransport(left, [], party="client"), RecordingTransport(right, [], party="agent")

    await check_transport(pair)

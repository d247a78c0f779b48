from dragoman.testing import Passed, RecordingTransport, Transcript, check_transport
from dragoman.testing.transports import Recorder
from dragoman.transport.memory import memory_pair


async def test_every_frame_is_noted_in_the_order_it_passed() -> None:
    transcript: Transcript = []
    left, right = memory_pair()
    ours, sink = RecordingTransport(left, transcript, party="client"), Recorder()
    ours.start(sink)
    right.start(Recorder())
    ours.write(b"1\n2\n")
    right.write(b"3\n")
    await sink.until_size(2)
    ours.write(b"4\n")
    assert transcript == [
        *(Passed("agent", b"1"), Passed("agent", b"2"), Passed("client", b"3"), Passed("agent", b"4")),
    ]
    await ours.aclose()
    await right.aclose()


async def test_a_recording_transport_keeps_the_promises_of_the_one_behind_it() -> None:
    async def pair() -> tuple[RecordingTransport, RecordingTransport]:
        left, right = memory_pair()
        return RecordingTransport(left, [], party="client"), RecordingTransport(right, [], party="agent")

    await check_transport(pair)

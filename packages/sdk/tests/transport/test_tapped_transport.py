"""A tap sees every frame before it has an effect, and stops none."""

import pytest

from dragoman import Agent, Turn, connect
from dragoman.testing import check_transport
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair
from dragoman.transport.tapped_transport import Direction, TappedTransport


async def test_every_block_is_seen_in_the_order_it_passed() -> None:
    seen: list[tuple[Direction, bytes]] = []
    left, right = memory_pair()
    ours, sink = TappedTransport(left, lambda *block: seen.append(block)), SinkRecorder()
    ours.start(sink)
    right.start(SinkRecorder())
    ours.write(bytearray(b"1\n2\n"))
    right.write(b"3\n")
    await sink.until_size(2)
    ours.write(b"4\n")
    assert seen == [("to_agent", b"1\n2\n"), ("to_client", b"3\n"), ("to_agent", b"4\n")]
    assert ours.inner is left
    await ours.aclose()
    await right.aclose()


async def test_at_an_agents_end_the_directions_are_turned_round() -> None:
    seen: list[tuple[Direction, bytes]] = []
    left, right = memory_pair()
    ours, sink = TappedTransport(left, lambda *block: seen.append(block), peer="client"), SinkRecorder()
    ours.start(sink)
    right.start(SinkRecorder())
    ours.write(b"1\n")
    right.write(b"2\n")
    await sink.until_size(2)
    assert seen == [("to_client", b"1\n"), ("to_agent", b"2\n")]
    await ours.aclose()
    await right.aclose()


async def test_a_tap_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(_direction: Direction, _block: bytes) -> None:
        raise ValueError("no room")

    left, right = memory_pair()
    ours, heard = TappedTransport(left, fail), SinkRecorder()
    ours.start(SinkRecorder())
    right.start(heard)
    ours.write(b"1\n")
    await heard.until_size(2)
    assert heard.stream == b"1\n"
    assert "the tap failed" in caplog.text
    await ours.aclose()
    await right.aclose()


async def test_a_tapped_transport_keeps_the_promises_of_the_one_behind_it() -> None:
    async def pair() -> tuple[TappedTransport, TappedTransport]:
        left, right = memory_pair()
        return TappedTransport(left, _ignore), TappedTransport(right, _ignore, peer="client")

    await check_transport(pair)


def _ignore(_direction: Direction, _block: bytes) -> None: ...


async def test_connect_taps_the_whole_conversation() -> None:
    agent = Agent("echo")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say("You said: " + turn.text)

    seen: list[tuple[Direction, bytes]] = []
    async with connect(agent, tap=lambda *block: seen.append(block)) as handle:
        session = await handle.new_session(cwd="/tmp")
        await session.prompt("Hello")
    told = b"".join(block for direction, block in seen if direction == "to_agent")
    heard = b"".join(block for direction, block in seen if direction == "to_client")
    assert all(method in told for method in (b'"initialize"', b'"session/new"', b'"session/prompt"'))
    assert b"You said: " in heard
    assert b'"stopReason":"end_turn"' in heard

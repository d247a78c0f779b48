"""The hub's end of the socket, with an agent host that says what the test wants it to say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from dragoman.errors import LinkClosed
from dragoman_hub.agents.host import lease, records
from dragoman_hub.agents.host.host_connection import HostedAgent
from tests.hub.agents.host.raw_hub import Journal, a_socketpair


class Scene:
    """An agent that has been started, its sink, and the agent host's end."""

    def __init__(self, path: Path) -> None:
        ours, self.host = a_socketpair()
        self.agent = HostedAgent(ours, path=path)
        self.sink = Journal()
        self.agent.start(self.sink)

    def say(self, *said: bytes) -> None:
        self.host.send(b"".join(said))

    def heard(self) -> list[int]:
        """The kinds of what the hub has said so far."""
        kinds: list[int] = []
        records.Records(lambda kind, *_: kinds.append(kind)).receive(self.host)
        return kinds


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    scene = Scene(tmp_path / "a.sock")
    yield scene
    scene.host.close()
    await scene.agent.leave()


def frames(first: int, block: bytes) -> bytes:
    return records.record(records.FRAMES, first, block)


def ended(reason: str, exit_status: int | None) -> bytes:
    how = records.AgentEndRecord(reason=reason, exit_status=exit_status)
    return records.record(records.ENDED, payload=msgspec.json.encode(how))


class PausesAtOnce(Journal):
    def feed(self, first: int, block: bytes) -> None:
        super().feed(first, block)
        assert self.agent is not None
        self.agent.pause()


async def test_what_is_on_its_way_when_the_sink_pauses_waits_for_it(tmp_path: Path) -> None:
    ours, host = a_socketpair()
    agent = HostedAgent(ours, path=tmp_path / "a.sock")
    agent.start(sink := PausesAtOnce(agent))
    host.send(frames(1, b"one\n") + frames(2, b"two\n") + frames(3, b"three\n") + ended("done", 0))
    await sink.until(1)
    for count in (2, 3):
        assert len(sink.frames) == count - 1
        agent.resume()
        await sink.until(count)
    assert sink.end is None
    host.close()
    agent.resume()
    assert await sink.until_ended() == ("done", 0)
    assert sink.frames == [b"one", b"two", b"three"]
    await agent.leave()


async def test_a_sink_that_pauses_an_agent_which_is_being_ended_hears_its_end() -> None:
    ours, host = a_socketpair()
    agent = HostedAgent(ours, path=None)
    agent.start(sink := PausesAtOnce(agent))
    closing = asyncio.create_task(agent.aclose())
    await asyncio.sleep(0)
    host.send(frames(1, b"one\n") + frames(2, b"two\n") + ended("done", 0))
    host.close()
    await closing
    assert sink.end == ("done", 0)
    assert sink.frames == [b"one"]


async def test_an_agent_host_that_vanishes_is_told_after_what_it_said(scene: Scene) -> None:
    scene.say(frames(1, b"one\n"), frames(2, b"torn\n")[:-1])
    scene.host.close()
    reason, status = await scene.sink.until_ended()
    assert "agent host" in reason
    assert status is None
    assert scene.sink.frames == [b"one"]
    with pytest.raises(LinkClosed):
        scene.agent.write(b"anybody?\n")


async def test_an_agent_host_that_is_out_of_step_is_let_go(scene: Scene) -> None:
    scene.say(records.HEADER.pack(records.FRAMES, 2**60, 1))
    reason, _ = await scene.sink.until_ended()
    assert "agent host" in reason


async def test_a_skipped_frame_is_told_with_its_number_and_size(scene: Scene) -> None:
    scene.say(records.record(records.OVERSIZED, 1, records.SIZE.pack(10**10)), ended("done", None))
    await scene.sink.until_ended()
    assert scene.sink.skipped == [(1, 10**10)]


async def test_standard_error_is_not_kept_during_a_pause(scene: Scene) -> None:
    scene.agent.pause()
    scene.say(*(records.record(records.STDERR, payload=b"complaint %d" % n) for n in range(100)))
    scene.say(frames(1, b"one\n"), records.record(records.STDERR, payload=b"the last"))
    while scene.sink.lines[-1:] != [b"the last"]:  # noqa: ASYNC110  # a line wakes nobody
        await asyncio.sleep(0)
    assert len(scene.sink.lines) == 101
    assert not scene.sink.frames
    scene.agent.resume()
    await scene.sink.until(1)


async def test_pauses_are_told_once(scene: Scene) -> None:
    scene.agent.pause()
    scene.agent.pause()
    scene.agent.resume()
    scene.agent.resume()
    assert scene.heard() == [records.START, records.PAUSE, records.RESUME]


async def test_a_lease_is_told_as_the_moment_of_its_end(scene: Scene) -> None:
    heard: list[tuple[int, int]] = []
    scene.agent.lease(5.0, since=100.0)
    scene.agent.lease(-7.0, since=1.0)
    before = lease.now()
    scene.agent.lease(3.0)
    records.Records(lambda kind, number, _: heard.append((kind, number))).receive(scene.host)
    assert heard[1:3] == [(records.LEASE, 105_000), (records.LEASE, 0)]
    kind, number = heard[3]
    assert kind == records.LEASE
    assert (before + 3.0) * 1000 - 1 <= number <= (lease.now() + 3.0) * 1000


async def test_a_wait_for_the_agent_ends_when_the_agent_does(scene: Scene) -> None:
    scene.agent.write(b"x" * (scene.agent.limits.low + 1))
    waiting = asyncio.ensure_future(scene.agent.drain())
    await asyncio.sleep(0)
    scene.say(ended("done", 1))
    with pytest.raises(LinkClosed):
        await waiting


async def test_nothing_is_fed_after_leaving(scene: Scene) -> None:
    scene.say(frames(1, b"one\n"))
    await scene.agent.leave()
    await asyncio.sleep(0)
    assert (scene.sink.frames, scene.sink.end) == ([], None)
    scene.host.setblocking(True)
    assert scene.heard() == [records.START]
    with pytest.raises(ConnectionError):
        scene.host.send(b"more")


async def test_whoever_waits_for_a_write_to_be_taken_hears_of_it(scene: Scene) -> None:
    scene.agent.write(b"{}\n", stream="s", last=7)
    waiting = asyncio.ensure_future(scene.agent.wait_until_taken("s", 7))
    scene.say(records.record(records.TAKEN, 0, msgspec.json.encode({"s": 6})))
    scene.say(frames(1, b"one\n"))
    await scene.sink.until(1)
    assert not waiting.done(), "another write was taken"
    scene.say(records.record(records.TAKEN, 3, msgspec.json.encode({"s": 7})))
    await waiting


async def test_whoever_waits_for_a_write_to_be_taken_hears_that_it_never_will(scene: Scene) -> None:
    waiting = asyncio.ensure_future(scene.agent.wait_until_taken("s", 7))
    scene.say(ended("killed", 9))
    with pytest.raises(LinkClosed):
        await waiting

"""Agents behind real agent hosts, as a hub uses them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from dragoman.errors import LinkClosed, LocalMistake, SpawnFailed
from dragoman_hub.agents.host import place, records
from dragoman_hub.agents.host.agent_host import ATTACHED, HostOrder
from dragoman_hub.agents.host.host_connection import HostedAgent
from dragoman_hub.agents.host.hosted_agents import find_hosted, host_agent
from tests.house import children
from tests.hub.agents.host.raw_hub import Journal, RawHub, attach, raw_hub, round_trips, until_gone

# Each may start processes on a machine that is busy with other tests.
pytestmark = pytest.mark.bound(30)


async def test_what_an_agent_says_is_heard_with_numbers(echo: Path) -> None:
    agent, journal = await attach(echo)
    agent.write(b"one\ntwo\n")
    agent.write(b"three\n")
    await journal.until(3)
    assert journal.frames == [b"one", b"two", b"three"]
    await agent.leave()


async def test_a_frame_comes_again_until_it_is_acknowledged(echo: Path) -> None:
    first, journal = await attach(echo)
    journal.agent = None
    first.write(b"one\ntwo\nthree\n")
    await journal.until(3)
    assert journal.base is not None
    first.acknowledge(journal.base + 2)
    await first.leave()
    agent = await find_hosted(echo)
    assert agent is not None
    again = Journal(agent, base=journal.base + 2)
    agent.start(again)
    await again.until(1)
    assert again.frames == [b"three"]
    await agent.leave()


async def test_what_a_hub_has_already_is_not_sent_again_if_it_says_so_before_the_start(echo: Path) -> None:
    first, journal = await attach(echo)
    journal.agent = None
    first.write(b"known\n")
    await journal.until(1)
    await first.leave()
    agent, later = await attach(echo)
    agent.write(b"new\n")
    await later.until(1)
    assert later.frames == [b"new"]
    await agent.leave()


async def test_a_write_is_taken_once_and_a_later_hub_knows(echo: Path) -> None:
    first, journal = await attach(echo)
    first.write(b"1\n", stream="once", last=1)
    first.write(b"2\n", stream="once", last=2)
    first.write(b"2\n", stream="once", last=2)
    first.write(b"other\n", stream="other", last=7)
    await journal.until(3)
    await first.leave()
    agent, again = await attach(echo)
    assert {name: agent.taken_numbers[name] for name in ("once", "other")} == {"once": 2, "other": 7}
    agent.write(b"2\n", stream="once", last=2)
    agent.write(b"3\n", stream="once", last=3)
    await round_trips(agent, 1)
    assert agent.taken_numbers["once"] == 3
    await again.until(2)
    assert (journal.words, again.words) == ([b"1", b"2", b"other"], [b"3"])
    await agent.leave()


async def test_what_was_written_before_leaving_reaches_the_agent(echo: Path) -> None:
    first, journal = await attach(echo)
    first.write(b"first\n")
    await journal.until(1)
    for number in range(5):
        first.write(b"%d\n" % number)
    await first.leave()
    agent = await find_hosted(echo)
    assert agent is not None
    agent.start(later := Journal(agent, base=journal.last))
    await later.until(5)
    assert later.frames == [b"0", b"1", b"2", b"3", b"4"]
    await agent.leave()


async def test_a_large_write_is_pending_until_the_agent_reads_it(echo: Path) -> None:
    agent, journal = await attach(echo)
    size = 16 * agent.limits.high
    agent.write(b"x" * size + b"\n", stream="large", last=1)
    assert agent.pending == size + 1
    await agent.drain()
    assert agent.pending <= agent.limits.low
    assert agent.taken_numbers["large"] == 1
    await journal.until(1)
    assert journal.frames == [b"x" * size]
    await agent.leave()


async def test_nothing_is_fed_while_paused_and_writes_still_go_through(echo: Path) -> None:
    agent, journal = await attach(echo)
    agent.pause()
    agent.write(b"held\n")
    await round_trips(agent, 3)
    assert journal.frames == []
    agent.resume()
    await journal.until(4)
    assert journal.words == [b"held"]
    await agent.leave()


async def test_the_hub_that_came_last_has_the_agent(echo: Path) -> None:
    first, before = await attach(echo)
    second, after = await attach(echo)
    assert await before.until_ended() == ("another hub has taken the agent over", None)
    assert first.is_replaced
    with pytest.raises(LinkClosed):
        first.write(b"too late\n")
    await first.aclose()  # ends nothing: the agent is another's
    second.write(b"mine\n")
    await after.until(1)
    assert after.frames == [b"mine"]
    await second.leave()
    assert after.end is None


async def test_the_pause_of_a_hub_ends_with_it(echo: Path) -> None:
    first, _ = await attach(echo)
    first.pause()
    await round_trips(first, 1)
    second, journal = await attach(echo)
    second.write(b"said\n")
    await journal.until_word(b"said")
    await first.leave()
    await second.leave()


@pytest.mark.parametrize(
    ("secret", "version", "why"), [(b"guess", records.VERSION, b"secret"), (None, 99, b"version")]
)
async def test_who_cannot_prove_itself_is_refused_and_disturbs_nobody(
    echo: Path, secret: bytes | None, version: int, why: bytes
) -> None:
    agent, journal = await attach(echo)
    stranger = RawHub(echo, secret=secret, version=version)
    await round_trips(agent, 2)
    kind, _, text = stranger.read()
    assert kind == records.REFUSED
    assert why in text
    with pytest.raises(EOFError):
        stranger.read()
    stranger.close()
    agent.write(b"still mine\n")
    await journal.until_word(b"still mine")
    await agent.leave()


async def test_a_hub_without_the_secret_is_told_so(echo: Path) -> None:
    secret = place.secret_of(echo)
    kept = secret.read_bytes()
    secret.unlink()
    try:
        with pytest.raises(LocalMistake, match=r"secret is wrong; end process \d+"):
            await find_hosted(echo)
    finally:
        secret.write_bytes(kept)
        secret.chmod(0o600)


async def test_an_agent_host_of_another_version_is_ended_and_its_agent_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    agent = await host_agent(HostOrder(command=["cat"], socket=tmp_path / "a.sock"))
    await agent.leave()
    assert HostedAgent.introduce.__kwdefaults__ is not None
    monkeypatch.setitem(HostedAgent.introduce.__kwdefaults__, "version", records.VERSION + 1)
    assert await find_hosted(tmp_path / "a.sock") is None
    await until_gone(agent.pid)
    await until_gone(agent.host_pid)
    assert f"speaks version {records.VERSION}: it is ended, and its agent with it" in caplog.text
    assert list(tmp_path.iterdir()) == []


async def test_a_second_agent_does_not_take_the_place_of_a_first(echo: Path) -> None:
    with pytest.raises(SpawnFailed, match="already"):
        await host_agent(HostOrder(command=["cat"], socket=echo))
    agent, _ = await attach(echo)
    await agent.leave()


async def test_nothing_is_found_where_nothing_was(tmp_path: Path) -> None:
    assert await find_hosted(tmp_path / "none.sock") is None


async def test_a_command_that_cannot_start_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(SpawnFailed, match="no such file"):
        await host_agent(HostOrder(command=["/nonexistent/agent"], socket=tmp_path / "a.sock"))
    assert list(tmp_path.iterdir()) == []


async def test_a_start_that_nobody_waits_for_leaves_nothing_behind(tmp_path: Path) -> None:
    starting = asyncio.ensure_future(host_agent(HostOrder(command=["cat"], socket=tmp_path / "a.sock")))
    before = children()
    while not (started := children().keys() - before):  # noqa: ASYNC110  # nobody tells of a process
        await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    while started & children().keys():  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert await find_hosted(tmp_path / "a.sock") is None


async def test_an_agent_gets_its_folder_and_environment_and_its_agent_host_shows_neither(
    tmp_path: Path,
) -> None:
    script = 'pwd; echo "$SECRET"; read end; sleep 1000 & exec cat'
    path = tmp_path / "a.sock"
    agent = await host_agent(
        HostOrder(
            command=["sh", "-c", script], socket=path, cwd="/usr", env={**os.environ, "SECRET": "quiet"}
        )
    )
    journal = Journal(agent)
    agent.start(journal)
    await journal.until(2)
    assert journal.frames == [b"/usr", b"quiet"]
    for shown in ("environ", "cmdline"):
        assert b"quiet" not in Path(f"/proc/{agent.host_pid}/{shown}").read_bytes()
    agent.write(b"end\nlast words\n")
    await agent.aclose()  # its whole tree is gone by then, the sleep included
    assert journal.frames[2:] == [b"last words"]
    assert journal.end == ("sh ended with exit status 0", 0)
    assert list(tmp_path.iterdir()) == []
    assert await find_hosted(path) is None
    await agent.aclose()


async def test_an_agent_that_ends_alone_is_explained_to_every_hub_that_comes(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    agent = await host_agent(
        HostOrder(command=["sh", "-c", "read go; echo last; printf trouble >&2; exit 3"], socket=path)
    )
    agent.write(b"go\n")
    await agent.leave()
    await until_gone(agent.pid)
    for lines in ([b"trouble"], []):  # complaints are told once, the rest until it is acknowledged
        hub = await find_hosted(path)
        assert hub is not None
        journal = Journal()
        hub.start(journal)
        assert await journal.until_ended() == ("sh ended with exit status 3", 3)
        assert (journal.frames, journal.lines) == ([b"last"], lines)
        with pytest.raises(LinkClosed):
            hub.write(b"anybody?\n")
        with pytest.raises(LinkClosed):
            await hub.drain()
        await hub.leave()
    last = await find_hosted(path)
    assert last is not None
    last.start(journal := Journal())
    await journal.until_ended()
    following = await host_agent(
        HostOrder(command=["cat"], socket=path)
    )  # takes the place of one that we know has ended
    closing = asyncio.ensure_future(following.aclose())
    await asyncio.sleep(0)
    one_more = await host_agent(HostOrder(command=["cat"], socket=path))  # or that is about to
    await closing
    one_more.start(journal := Journal())
    one_more.pause()
    await one_more.aclose()  # even who does not listen any more is told how it ended
    assert journal.end == ("cat ended with exit status 0", 0)
    assert list(tmp_path.iterdir()) == []


async def test_without_a_hub_the_agent_and_its_agent_host_end_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    agent = await host_agent(HostOrder(command=["cat"], socket=path, linger=0.01))
    await agent.leave()
    await until_gone(agent.pid)
    await until_gone(agent.host_pid)
    assert list(tmp_path.iterdir()) == []
    assert await find_hosted(path) is None  # and our child has been buried


async def test_an_agent_host_that_is_asked_to_end_ends_its_agent(tmp_path: Path) -> None:
    agent = await host_agent(HostOrder(command=["cat"], socket=tmp_path / "a.sock"))
    journal = Journal(agent)
    agent.start(journal)
    os.kill(agent.host_pid, signal.SIGTERM)
    assert await journal.until_ended() == ("cat ended with exit status 0", 0)
    await agent.aclose()
    assert list(tmp_path.iterdir()) == []


async def test_the_agent_of_a_killed_agent_host_dies_and_leaves_no_place(tmp_path: Path) -> None:
    path = tmp_path / "a.sock"
    agent = await host_agent(
        HostOrder(command=["sh", "-c", "sleep 1000 </dev/null & echo $!; wait"], socket=path)
    )
    journal = Journal(agent)
    agent.start(journal)
    await journal.until(1)
    os.kill(agent.host_pid, signal.SIGKILL)
    reason, status = await journal.until_ended()
    assert "agent host" in reason
    assert status is None
    await until_gone(agent.pid)
    await until_gone(int(journal.frames[0]))
    assert path.exists()
    assert await find_hosted(path) is None
    await agent.aclose()
    assert list(tmp_path.iterdir()) == []


LOUD = """
import pathlib, sys
for _ in range(192):
    sys.stdout.write("x" * 65535 + "\\n")
sys.stdout.flush()
pathlib.Path(sys.argv[1]).touch()
sys.stdin.read()
"""


async def test_a_hub_that_stores_slowly_slows_the_agent_down_and_its_agent_host_keeps_more_when_it_is_gone(
    tmp_path: Path,
) -> None:
    path, done = tmp_path / "a.sock", tmp_path / "done"
    agent = await host_agent(
        HostOrder(command=[sys.executable, "-c", LOUD, str(done)], socket=path, buffer=2 * ATTACHED)
    )
    journal = Journal()
    agent.start(journal)
    await journal.until(int(0.9 * ATTACHED / 65536))
    await round_trips(agent, 20)
    assert len(journal.frames) * 65536 <= ATTACHED + 2 * 65536
    assert not done.exists()
    await agent.leave()
    while not done.exists():  # noqa: ASYNC110 -- nothing else tells of it
        await asyncio.sleep(0.01)
    agent, journal = await attach(path)
    await agent.aclose()


async def test_an_agent_that_floods_stops_at_the_bound_and_goes_on(tmp_path: Path) -> None:
    path, bound = tmp_path / "a.sock", 1 << 20
    agent = await host_agent(HostOrder(command=["yes", "x" * 239], socket=path, buffer=bound))
    await round_trips(agent, 20)  # nobody hears it yet
    journal = Journal()
    agent.start(journal)
    # An entry is charged a little more than its bytes; and the last block read may lie across the bound.
    await journal.until(int(0.9 * bound / 240))
    await round_trips(agent, 20)
    assert len(journal.frames) * 240 <= bound + (1 << 16)
    journal.agent = agent
    agent.acknowledge(journal.last)
    await journal.until(4 * bound // 240)
    # A hub that hangs, with its socket full, does not lock its successor out.
    hanging, _ = await raw_hub(path)
    hanging.socket.sendall(records.record(records.START))
    await journal.until_ended()
    assert agent.is_replaced
    successor = await find_hosted(path)
    assert successor is not None
    successor.start(again := Journal(successor, base=journal.last))
    await again.until(bound // 240)
    hanging.close()
    os.kill(successor.pid, signal.SIGKILL)  # `yes` does not look at its input, and would be waited for
    await successor.aclose()
    assert list(tmp_path.iterdir()) == []


async def test_an_agent_host_forgets_the_streams_of_closed_sessions(echo: Path) -> None:
    first, journal = await attach(echo)
    for number in range(100):
        first.write(b"%d\n" % number, stream=f"s{number}", last=number + 1)
    await journal.until(100)
    for number in range(1, 100):
        await first.wait_until_taken(f"s{number}", number + 1)
        first.forget(f"s{number}")
    assert [name for name in first.taken_numbers if name.startswith("s")] == ["s0"]
    await first.leave()
    agent, again = await attach(echo)
    assert [name for name in agent.taken_numbers if name.startswith("s")] == ["s0"]
    agent.write(b"0\n", stream="s0", last=1)
    agent.write(b"new\n", stream="s7", last=1)  # a session of this name that was made anew
    await again.until(1)
    assert again.words == [b"new"]
    await agent.leave()

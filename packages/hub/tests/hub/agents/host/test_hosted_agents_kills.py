"""Hubs die at any moment, between any two bytes: the agent and what was said stay whole."""

from __future__ import annotations

import asyncio
import random
import signal
import sys
from pathlib import Path

import pytest

from dragoman_hub.agents.host import records
from dragoman_hub.agents.host.hosted_agents import find_hosted
from tests.hub.agents.host.raw_hub import Journal, attach, raw_hub, until_gone

pytestmark = pytest.mark.bound(40)

ROUNDS = 150
STREAM = "numbers"


def numbers(first: int, last: int) -> bytes:
    return b"".join(b"%d\n" % number for number in range(first, last + 1))


async def test_everything_passes_exactly_once_however_hubs_come_and_go(echo: Path) -> None:
    chance = random.Random(19)
    agent, journal = await attach(echo)
    agent.write(b"0\n")
    await journal.until(1)
    await agent.leave()
    said = 0
    for _ in range(ROUNDS):
        said += chance.randrange(40)
        await chance.choice((listen_and_vanish, tear_a_write))(echo, journal, said, chance)
    final = await find_hosted(echo)
    assert final is not None
    journal.agent = final
    final.start(journal)
    taken = final.taken_numbers[STREAM]
    final.write(numbers(taken + 1, said), stream=STREAM, last=said)
    await journal.until(said + 1)
    final.write(b"end\n")
    await journal.until(said + 2)
    assert journal.frames == [*numbers(0, said).split(), b"end"]
    await final.leave()


def writes(taken: int, said: int, chance: random.Random) -> list[tuple[int, bytes]]:
    """What is new or was not taken yet, in pieces."""
    pieces = []
    while taken < said:
        upto = min(said, taken + chance.randrange(1, 20))
        pieces.append((upto, numbers(taken + 1, upto)))
        taken = upto
    return pieces


async def listen_and_vanish(path: Path, journal: Journal, said: int, chance: random.Random) -> None:
    """Say what there is to say, hear a little, acknowledge some of it, and be gone."""
    agent = await find_hosted(path)
    assert agent is not None
    journal.agent = None
    agent.start(journal)
    for last, block in writes(agent.taken_numbers.get(STREAM, 0), said, chance):
        agent.write(block, stream=STREAM, last=last)
    for _ in range(chance.randrange(4)):
        await asyncio.sleep(0)
    if chance.random() < 0.5:
        await journal.until(1 + chance.randrange(agent.taken_numbers.get(STREAM, 0) + 1))
    if chance.random() < 0.7:
        agent.acknowledge(max(0, journal.last - chance.randrange(5)))
    agent._let_go()  # as the system does it for the dead


async def tear_a_write(path: Path, journal: Journal, said: int, chance: random.Random) -> None:
    """Die in the middle of a record, acknowledging nothing that was heard."""
    raw, welcome = await raw_hub(path)
    text = records.record(records.START)
    for last, block in writes(welcome.taken.get(STREAM, 0), said, chance):
        text += records.write_head(STREAM, last, len(block)) + block
    raw.socket.sendall(text[: chance.randrange(len(text) + 1)])
    raw.close()


async def test_a_killed_hub_is_followed_by_another_that_goes_on(tmp_path: Path) -> None:
    chance = random.Random(7)
    path, stored, total = tmp_path / "a.sock", tmp_path / "journal", 20_000
    for _ in range(4):
        await run_and_kill(path, stored, total, chance)
    agent = await find_hosted(path)
    assert agent is not None
    before = stored.read_bytes()
    said = agent.taken_numbers["numbers"]
    agent.write(numbers(said + 1, total), stream=STREAM, last=total)
    journal = Journal(agent, base=before.count(b"\n"))
    agent.start(journal)
    await journal.until(total - before.count(b"\n"))
    assert before.split() + journal.frames == numbers(1, total).split()
    await agent.aclose()
    await until_gone(agent.host_pid)
    assert list(tmp_path.iterdir()) == [stored]


async def run_and_kill(path: Path, stored: Path, total: int, chance: random.Random) -> None:
    """Let a hub store a few blocks, and kill it while it stores the next ones."""
    words = [
        sys.executable,
        str(Path(__file__).with_name("mortal_hub.py")),
        str(path),
        str(stored),
        str(total),
    ]
    hub = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    assert hub.stdout is not None
    for _ in range(chance.randrange(1, 12)):
        if await hub.stdout.readline() in (b"said\n", b""):
            break
    hub.send_signal(signal.SIGKILL)
    await hub.stdout.read()
    assert await hub.wait() == -signal.SIGKILL

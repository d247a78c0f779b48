"""The drop test at full length, by hand: python tests/hub/sessions/run_drops.py --frames 5000 --crashes 1000

First, one conversation of so many messages whose connection is cut after every single one of them. Then
conversations in which connections are cut and the hub is killed at random moments, until it was killed often
enough. What the client heard is compared with what it hears undisturbed. `tests/hub/test_hub_killed.py` does
the same with real processes: DRAGOMAN_KILLS=1000.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from itertools import chain, repeat
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[5]))

from tests.hub.sessions.drops import Trial, agents
from tests.hub.sessions.stage import Slow, staged

HANDSHAKE = 2
"""Messages of a connection before anything of the session comes: two answers."""


def turns_of(frames: int) -> list[str]:
    """A conversation of about so many messages, a twentieth of it about permissions."""
    return [word for _ in range(max(1, frames // 105)) for word in ("say 95", "ask", "read /file", "ask")]


async def heard(trial: Trial, turns: list[str], seed: int | None = None) -> list[bytes]:
    journal = None if seed is None else Slow(random.Random(seed), 6)
    async with staged(agents(trial.gate), journal=journal) as stage:
        told = await trial.run(stage, turns)
    assert trial.gate.prompts == turns, "a prompt was lost, or run twice"
    return told


async def cut_everywhere(frames: int) -> None:
    turns = turns_of(frames)
    expected = await heard(Trial(iter(()), iter(())), turns)
    trial = Trial(repeat(HANDSHAKE + 1), iter(()))
    began = time.monotonic()
    assert await heard(trial, turns) == expected
    print(
        f"{len(expected)} messages, {trial.connections} connections, {time.monotonic() - began:.1f} s: equal"
    )


async def crash_at_random(crashes: int) -> None:
    turns = turns_of(210)
    expected = await heard(Trial(iter(()), iter(())), turns)
    done = seed = connections = 0
    began = time.monotonic()
    while done < crashes:
        seed += 1
        chance = random.Random(seed)
        cuts = (chance.randint(1, 40) for _ in range(60))
        killed = (chance.random() < 0.5 for _ in range(60))
        ticks = (chance.randint(1, 600) for _ in range(25))
        trial = Trial(chain(cuts, repeat(None)), chain(killed, repeat(False)), ticks)
        assert await heard(trial, turns, seed) == expected, f"seed {seed}"
        done += trial.crashed
        connections += trial.connections
    spent = time.monotonic() - began
    print(f"{seed} conversations, {connections} connections, {done} crashes, {spent:.1f} s: equal")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=5000)
    parser.add_argument("--crashes", type=int, default=1000)
    chosen = parser.parse_args()
    asyncio.run(cut_everywhere(chosen.frames))
    asyncio.run(crash_at_random(chosen.crashes))


if __name__ == "__main__":
    main()

"""Faults on purpose: decided by the seed alone, in order, and nothing that a pipe or a peer could not do."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.transport.memory import memory_pair
from dragoman_check.trace.chaos.faults import (
    PROFILES,
    ChaosFault,
    FaultScript,
    Kind,
    RandomFaults,
    read_script,
    shrink,
    write_script,
)
from dragoman_check.trace.chaos.relay import UNKNOWN, Chaos, disturb
from tests.forks import DRAGOMAN

NOTE = b'{"jsonrpc":"2.0","method":"session/update","params":{}}\n'
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{}}\n'

kinds = st.sampled_from(get_args(Kind))


def fault(kind: Kind, amount: float = 0.5) -> ChaosFault:
    return ChaosFault(kind, "to_client", 1, amount)


def sent(frame: bytes, *faults: ChaosFault) -> bytes:
    return b"".join(piece.block for piece in disturb(frame, list(faults)).pieces)


@given(st.integers(), st.sampled_from(list(PROFILES)), st.integers(1, 500))
def test_a_seed_decides_everything(seed: int, profile: Any, frame: int) -> None:
    first, second = RandomFaults(seed, profile), RandomFaults(seed, profile)
    assert first.at("to_client", frame) == second.at("to_client", frame)
    assert all(one.kind in PROFILES[profile] for one in first.at("to_agent", frame))


def test_each_profile_strikes_with_all_its_faults() -> None:
    for profile, rates in PROFILES.items():
        struck = {
            one.kind for frame in range(2000) for one in RandomFaults(5, profile).at("to_client", frame)
        }
        assert struck == set(rates)


@given(
    st.lists(
        st.builds(
            ChaosFault, kinds, st.sampled_from(["to_agent", "to_client"]), st.integers(1, 99), st.just(0.5)
        )
    )
)
def test_a_script_is_read_as_it_was_written(faults: list[ChaosFault]) -> None:
    assert read_script(write_script(faults)) == faults


@pytest.mark.parametrize("frame", [NOTE, ANSWER, REQUEST])
@given(chosen=st.lists(st.builds(fault, kinds, st.floats(0, 1)), max_size=4))
def test_what_is_sent_are_whole_messages_and_requests_are_never_touched(
    frame: bytes, chosen: list[ChaosFault]
) -> None:
    lines = sent(frame, *chosen).splitlines(keepends=True)
    for line in lines:
        json.loads(line)
        assert line.endswith(b"\n")
    if frame == REQUEST:
        assert lines == [frame]


def test_each_fault_does_what_it_is_called() -> None:
    assert sent(NOTE, fault("duplicate")) == NOTE * 2
    assert sent(NOTE, fault("flood", 3)) == NOTE * 4
    assert sent(NOTE, fault("unknown")) == NOTE + UNKNOWN
    assert sent(ANSWER, fault("drop answer")) == b""
    assert json.loads(sent(ANSWER, fault("fail answer")))["error"]["code"] == -32603
    assert [len(piece.block) for piece in disturb(NOTE, [fault("split")]).pieces] == [28, 28]
    assert disturb(NOTE, [fault("delay")]).pieces[0].wait == 0.5
    assert disturb(NOTE, [fault("late")]).later == [NOTE]
    assert disturb(NOTE, [fault("drop answer")]).struck == []


class Hearing:
    def __init__(self) -> None:
        self.heard = b""
        self.news = asyncio.Event()

    def feed(self, block: bytes) -> None:
        self.heard += block
        self.news.set()

    def on_oversized(self, size: int) -> None:
        raise AssertionError

    def on_end(self, reason: BaseException | None) -> None:
        self.news.set()

    async def until(self, wanted: bytes) -> None:
        while not self.heard.endswith(wanted):
            self.news.clear()
            await self.news.wait()


async def test_frames_keep_their_order_whatever_strikes() -> None:
    client, near_client = memory_pair()
    agent, near_agent = memory_pair()
    hearing = Hearing()
    client.start(hearing)
    agent.start(Hearing())
    plan = FaultScript(
        [
            ChaosFault("delay", "to_client", 2, 0.02),
            ChaosFault("split", "to_client", 3, 0.5),
            ChaosFault("late", "to_client", 4),
        ]
    )
    notes = [NOTE.replace(b"{}", b'{"n":%d}' % number) for number in range(1, 6)]
    async with Chaos(near_client, near_agent, plan) as chaos:
        agent.write(b"".join([*notes, ANSWER]))
        await hearing.until(notes[3])
        assert hearing.heard == b"".join([*notes[:3], notes[4], ANSWER, notes[3]])
        assert [one.kind for one in chaos.struck] == ["delay", "split", "late"]
    await client.aclose()
    await agent.aclose()


async def test_a_script_is_shrunk_to_what_matters() -> None:
    tried = 0

    async def fails(items: list[int]) -> bool:
        nonlocal tried
        tried += 1
        return {3, 17} <= set(items)

    assert await shrink(range(20), fails) == [3, 17]
    assert tried < 60


@pytest.mark.bound(30)
async def test_as_a_command(tmp_path: Path) -> None:
    """A test that fails when one of the faults strikes: the script is shrunk to that one."""
    script = tmp_path / "faults.ndjson"
    faults = [
        ChaosFault("delay", "to_client", 1, 0.001),
        ChaosFault("drop answer", "to_client", 1),
        ChaosFault("split", "to_agent", 1, 0.5),
    ]
    script.write_bytes(write_script(faults))
    test = tmp_path / "test.py"
    test.write_text(
        "import subprocess, sys\n"
        "said = subprocess.run(sys.argv[1], shell=True, capture_output=True,\n"
        '    input=b\'{"jsonrpc":"2.0","id":1,"method":"x"}\\n\').stdout\n'
        "sys.exit(0 if b'\"id\":1' in said else 1)\n"
    )
    agent = [sys.executable, "-I", "-S", "-c", 'input(); print(\'{"jsonrpc":"2.0","id":1,"result":{}}\')']
    words = [
        "chaos",
        "--script",
        str(script),
        "--shrink",
        f"{sys.executable} -I -S {test} {{agent}}",
        "--",
        *agent,
    ]
    process = await asyncio.create_subprocess_exec(
        *DRAGOMAN,
        *words,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    assert process.returncode == 0, err
    assert b"1 of 3 faults" in out
    assert read_script((tmp_path / "faults.min.ndjson").read_bytes()) == [faults[1]]

"""How messages are cut out of what an agent prints, and what its JSON may do to a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.faults.client.cases import cases, fault
from tests.faults.client.faulty_run import AT_ONCE, IN_TIME, WELL, Result, complete, complete_in_fork, running
from tests.faults.watch import MEBIBYTE
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide(3)

NOISE = [
    *("CFR-X03", "CFR-X05", "CFR-X06", "CFR-X09", "CFR-X10", "CFR-X15", "CFR-X16", "CFR-X17"),
    *("CFR-X18", "CFR-X20", "CFR-X21", "CFR-X22"),
]
ALONE = [
    *("CFR-01", "CFR-02", "CFR-04", "CFR-05", "CFR-09", "CFR-11", "CFR-12"),
    *("CFR-X02", "CFR-X07", "CFR-X24", "CFR-X25"),
]


@cases(dict.fromkeys(ALONE, WELL))
@together
async def test_the_turn_completes_and_its_text_is_shown(fault: str, case: str, tmp_path: Path) -> None:
    run = await complete_in_fork("framing", fault, tmp_path)
    assert run.text == case
    assert (run.status, run.outcome) == (0, "end_turn")
    assert b"MARK" not in b"".join(run.out)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """One turn with all kinds of noise in it."""
    return asyncio.run(complete_in_fork("framing", "CFR-noise", tmp_path_factory.mktemp("noise")))


@cases(dict.fromkeys(NOISE, (0, "end_turn")))
def test_noise_costs_only_itself(fault: str, case: tuple[int, str], noisy: Result) -> None:
    assert (noisy.status, noisy.outcome) == case
    assert f"[{fault}]" in noisy.text
    # Noise is told as such, so that a person can see why an agent does not work, and taken for nothing else.
    notes = [line for line in noisy.out if json.loads(line)["event"] == "note"]
    assert b"MARK" in b"".join(notes)
    assert b"MARK" not in b"".join(line for line in noisy.out if line not in notes)


@cases({"CFR-07": 8, "CFR-X14": 24}, slow=("CFR-X14",))
@together
async def test_a_large_update_is_shown_whole(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete("framing", fault, tmp_path)
    assert run.status == 0
    assert len(run.text) == case * MEBIBYTE
    assert run.growth < case * 6 + 20


@fault("CFR-08")
@together
async def test_a_line_of_256_mebibytes_costs_no_memory(fault: str, tmp_path: Path) -> None:
    run = await complete("framing", fault, tmp_path)
    assert run.folder.noted("sent") == 256
    assert run.growth <= 128
    assert (run.outcome, run.text) in (("end_turn", WELL), ("protocol_error", ""))


@fault("CFR-X23")
@together
async def test_an_endless_line_instead_of_an_introduction_ends_with_the_deadline(
    fault: str, tmp_path: Path
) -> None:
    run = await complete("framing", fault, tmp_path, "--start-timeout", f"{patience(2)}", *AT_ONCE)
    assert (run.status, run.outcome) == (124, "timeout")
    assert run.took_at_most(IN_TIME)
    assert run.growth <= 128


@fault("CFR-15")
@together
async def test_half_a_surrogate_pair_does_not_end_the_turn(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("framing", fault, tmp_path)
    assert run.status == 0
    assert not set(run.text) & {"\ud83d"}


@cases({"CFR-X04": "é😀漢", "CFR-X08": "all\u2028is\u2029well\u0085\u000b\u000c!"})
@together
async def test_characters_come_through_one_by_one(fault: str, case: str, tmp_path: Path) -> None:
    run = await complete_in_fork("framing", fault, tmp_path)
    assert run.status == 0
    assert run.text == case


@fault("CFR-X01")
@together
async def test_half_a_message_is_not_shown_and_the_death_is_reported(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("framing", fault, tmp_path)
    assert (run.status, run.outcome) == (9, "agent_died")
    assert run.text == "all "
    assert run.took_at_most(IN_TIME)


@fault("CFR-X12")
@together
async def test_an_answer_without_its_newline_counts_at_the_end_of_the_output(
    fault: str, tmp_path: Path
) -> None:
    run = await complete_in_fork("framing", fault, tmp_path)
    assert run.text == WELL
    assert run.status == 0


@cases({"CFR-X11": 12, "CFR-X19": 26})
@together
async def test_lines_that_say_nothing_cost_nothing(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete("framing", fault, tmp_path)
    assert (run.status, run.text) == (0, WELL)
    assert run.growth <= case


@fault("CFR-X13")
@together
async def test_people_see_the_text_and_not_the_noise(tmp_path: Path) -> None:
    async with running("framing", "CFR-02", tmp_path, format_="text") as run:
        run.peer.close_stdin()
        await run.done()
    assert run.status == 0
    assert b"".join(run.out) == WELL.encode()

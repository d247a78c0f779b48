"""Answers to nothing, twice, in the wrong shape, and updates in somebody else's name."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.faults.client.cases import cases, fault
from tests.faults.client.faulty_run import AT_ONCE, IN_TIME, WELL, Result, complete, complete_in_fork
from tests.together import SideBySide

pytestmark = pytest.mark.bound(60)
together = SideBySide(3)

UNHARMED = [
    *("CEN-01", "CEN-02", "CEN-04", "CEN-05", "CEN-07", "CEN-08", "CEN-10", "CEN-17", "CEN-19"),
    *("CEN-X02", "CEN-X03", "CEN-X16", "CEN-X19", "CEN-X21", "CEN-X33", "CEN-X37"),
]
DANGEROUS = [chr(code) for code in (*range(9), *range(11, 32), *range(127, 160), 0x202E)]


@cases(dict.fromkeys(UNHARMED, WELL))
@together
async def test_the_turn_completes_and_its_text_is_shown(fault: str, case: str, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path)
    assert run.text == case
    assert (run.status, run.outcome) == (0, "end_turn")
    assert run.events[-1]["sessionId"] == "s-1"
    said = b"".join(run.out)
    assert not any(word in said for word in (b"MARK", b"STRANGER", b"BATCHED"))
    if fault == "CEN-07":
        asked = [message for message in run.folder.noted("heard") if "method" in message]
        assert [message["method"] for message in asked] == ["initialize", "session/new", "session/prompt"]
        assert len(run.folder.noted("heard")) == len(asked) + 1
    if fault == "CEN-19":
        ids = [note["ids"] for note in run.folder.notes if "ids" in note]
        assert ids == [[kind, True, kind] for kind in ("str", "int", "int", "str", "str")]


@cases(
    {
        "CEN-11": {11, 10},
        "CEN-X09": {10, 11},
        "CEN-X10": {10, 11},
        "CEN-X11": {11},
        "CEN-X29": {8},
        "CEN-X38": {11},
        "CEN-X41": {10},
    }
)
@together
async def test_an_error_of_any_shape_is_reported(fault: str, case: set[int], tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path, format_="text")
    assert run.status in case
    assert run.took_at_most(IN_TIME)
    assert run.err.startswith("dragoman run: ")
    assert not set(run.err) & set(DANGEROUS)


@cases({"CEN-13": 10, "CEN-14": 8, "CEN-15": 10, "CEN-X22": 10, "CEN-X23": 10, "CEN-X24": 10, "CEN-X26": 10})
@together
async def test_an_introduction_that_is_none_ends_the_run(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path)
    assert run.status == case
    assert run.took_at_most(IN_TIME)
    assert run.events[-1]["message"]
    assert [note for note in run.folder.notes if "session_opened" in note] == []


@cases(dict.fromkeys(["CEN-X07", "CEN-X08", "CEN-X30"], 10))
@together
async def test_a_session_without_a_name_is_none(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path)
    assert (run.status, run.outcome) == (case, "protocol_error")


@cases({"CEN-X05": 10, "CEN-X06": 10, "CEN-X27": 130, "CEN-X28": 5, "CEN-X31": 3, "CEN-X32": 4})
@together
async def test_every_end_of_a_turn_has_its_status(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path)
    assert run.status == case
    assert run.text == WELL


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """One turn in which the agent asks for all sorts of things."""
    return asyncio.run(complete_in_fork("envelope", "CEN-X12", tmp_path_factory.mktemp("asking")))


@cases(
    {
        "CEN-X12": -32601,
        "CEN-X13": -32602,
        "CEN-X14": ["d", "d"],
        "CEN-X15": True,
        "CEN-X17": "behind",
        "CEN-X18": -32601,
        "CEN-X34": -32600,
        "CEN-X35": -32602,
        "CEN-X36": -32601,
    }
)
def test_what_an_agent_asks_is_answered_or_refused(fault: str, case: object, asking: Result) -> None:
    assert (asking.status, asking.text) == (0, WELL)
    assert asking.folder.noted(fault) == case


@fault("CEN-20")
@together
async def test_updates_behind_the_answer_are_shown(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path)
    assert run.status == 0
    assert run.text == WELL + "".join(f" late{n}" for n in range(20))


@fault("CEN-X25")
@together
async def test_an_agent_that_goes_on_for_ever_after_its_answer_is_left(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path, *AT_ONCE)
    assert run.status == 0
    assert run.took_at_most(10)


@fault("CEN-X01")
@together
async def test_what_is_said_before_the_session_is_open_is_shown(fault: str, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", fault, tmp_path)
    assert (run.status, run.text) == (0, f"early {WELL}")


@cases({"CEN-X20": 64})
@together
async def test_updates_of_other_sessions_cost_nothing(fault: str, case: int, tmp_path: Path) -> None:
    run = await complete("envelope", fault, tmp_path)
    assert (run.status, run.text) == (0, WELL)
    assert run.growth <= case


@cases({"CEN-22": "text", "CEN-X39": "quiet", "CEN-X40": "json"})
@together
async def test_no_escape_sequence_reaches_the_terminal(case: str, tmp_path: Path) -> None:
    run = await complete_in_fork("envelope", "CEN-22", tmp_path, "--verbose", format_=case)
    shown = "\n".join(text.decode() for text in (*run.out, run.unfinished)) + run.err
    assert run.status == 0
    assert "before" in shown
    assert "behind" in shown
    assert not set(shown) & set(DANGEROUS)
    assert "agent: " in run.err or case == "json"

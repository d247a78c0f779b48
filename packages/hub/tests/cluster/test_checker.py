"""The checker finds what was planted, and says where; it finds nothing where nothing is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_local.journal import MemoryJournal, StoredEntry
from tests.cluster.calm import SESSION, WALL, calm_storm
from tests.cluster.checker import check, gathered
from tests.cluster.checker_service import longest_pauses
from tests.cluster.digest import digest
from tests.cluster.findings import Finding
from tests.cluster.planted_faults import PLANTED, drop_told, entries
from tests.cluster.records import (
    Blow,
    Cancelled,
    Ended,
    Joined,
    Left,
    Prompted,
    Told,
    read_agent,
    read_client,
    written,
)


def kinds_of(findings: list[Finding]) -> set[str]:
    return {finding.kind for finding in findings}


def test_nothing_is_found_where_nothing_is_wrong() -> None:
    assert check(calm_storm()) == []


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_fault_is_found(name: str) -> None:
    kinds, plant = PLANTED[name]
    storm = calm_storm()
    plant(storm)
    findings = check(storm)
    assert kinds_of(findings) == kinds, "\n".join(map(str, findings))


def test_a_finding_says_where_and_when() -> None:
    storm = calm_storm()
    drop_told(storm, "other", "12")
    (finding,) = check(storm)
    assert str(finding) == "not told: session s at 12: other was never told the update k2#0"


def test_a_turn_that_somebody_cancelled_may_end_so_before_it_began() -> None:
    storm = calm_storm()
    entries(storm).append(StoredEntry(21, "note", b'{"hub":"queued","key":"k4"}', 45 + WALL))
    ended = b'{"hub":"turn_ended","key":"k4","result":{"stopReason":"cancelled"}}'
    entries(storm).append(StoredEntry(22, "note", ended, 46 + WALL))
    storm.clients["one"].append(Cancelled(t=45, session=SESSION))
    assert check(storm) == []


def test_who_has_left_need_not_be_told_more_and_may_come_back_anywhere() -> None:
    storm = calm_storm()
    told = [line for line in storm.clients["other"] if isinstance(line, Told)]
    left, joined = Left(t=15, session=SESSION), Joined(t=27.5, session=SESSION, after="9")
    storm.clients["other"] = [Joined(t=2, session=SESSION, after=""), *told[:2], left, joined, *told[4:]]
    assert check(storm) == []


def test_a_prompt_that_was_refused_is_no_loss() -> None:
    storm = calm_storm()
    storm.clients["one"].append(Prompted(t=50, session=SESSION, key="k9"))
    storm.clients["one"].append(Ended(t=51, session=SESSION, key="k9", outcome="error: not now"))
    assert check(storm) == []


def test_a_blow_that_another_one_follows_is_not_judged_by_itself() -> None:
    storm = calm_storm()
    storm.blows.insert(0, Blow(t=14.5, how="kill", target="hub-b", over=14.6))
    assert check(storm) == []


def test_time_that_others_had_the_processors_for_is_not_counted() -> None:
    storm = calm_storm()
    PLANTED["a_session_was_served_too_late"][1](storm)
    storm.stalls = [(12.0, 0.5), (14.0, 0.5)]
    assert check(storm) == []


def test_pauses_are_reported_by_kind() -> None:
    storm = calm_storm()
    digests = {SESSION: digest(SESSION, entries(storm))}
    assert longest_pauses(storm, digests) == {"kill hub-a": pytest.approx(6.01)}


def test_lines_are_read_back_as_they_were_written_but_for_one_that_was_cut(tmp_path: Path) -> None:
    storm = calm_storm()
    for lines, read in ((storm.clients["one"], read_client), (storm.agents["a-1"], read_agent)):
        path = tmp_path / "lines"
        path.write_bytes(b"".join(map(written, lines)) + b'{"what":"beat","t":1')
        assert read(path) == lines


async def test_streams_are_gathered_from_any_journal() -> None:
    journal = MemoryJournal()
    stored = entries(calm_storm())
    await journal.append(SESSION, [one.entry for one in stored])
    assert await gathered(journal, [SESSION]) == {SESSION: stored}

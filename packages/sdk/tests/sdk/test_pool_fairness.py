"""Nobody waits for all of somebody else's jobs."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman.sdk.pool import FairQueue


def drained(queue: FairQueue[str]) -> list[str]:
    found = []
    while (job := queue.take()) is not None:
        found.append(job)
    return found


def test_groups_take_turns() -> None:
    queue: FairQueue[str] = FairQueue()
    for job in ("a1", "a2", "a3", "b1", "c1", "c2"):
        queue.put(job[0], job)
    assert len(queue) == 6
    assert drained(queue) == ["a1", "b1", "c1", "a2", "c2", "a3"]
    assert len(queue) == 0


def test_a_job_can_be_taken_back() -> None:
    queue: FairQueue[str] = FairQueue()
    queue.put("a", "a1")
    queue.put("a", "a2")
    assert queue.remove("a", "a1")
    assert not queue.remove("a", "a1")
    assert not queue.remove("b", "b1")
    assert queue.take_all() == ["a2"]
    assert queue.take() is None


@given(st.lists(st.sampled_from("abc")))
def test_nothing_is_lost_and_each_group_keeps_its_order(groups: list[str]) -> None:
    queue: FairQueue[str] = FairQueue()
    put = [f"{group}{number}" for number, group in enumerate(groups)]
    for job in put:
        queue.put(job[0], job)
    taken = drained(queue)
    assert sorted(taken) == sorted(put)
    for group in "abc":
        assert [job for job in taken if job[0] == group] == [job for job in put if job[0] == group]

"""PLAN: plans are told whole."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.every import every


def entry(content: str, status: str = "pending", **more: Any) -> dict[str, Any]:
    return {"content": content, "priority": "high", "status": status, **more}


def plan(*entries: Any) -> Said:
    return update("s", "plan", entries=list(entries))


def turn(*frames: Said) -> Talk:
    return Talk().new("s").prompt("s", *frames)


def planned() -> Said:
    return update("s", "tool_call", toolCallId="p", title="x", name="update_plan", status="completed")


def test_plan_01_a_plan_is_told() -> None:
    keeps("PLAN-01", turn(planned(), plan(entry("a"))))
    breaks("PLAN-01", turn(planned()))
    says_nothing("PLAN-01", turn())


@every("wrong", [5, {}, entry("a", "done"), entry("a", priority="urgent"), entry(5)])  # type: ignore[arg-type]
def test_plan_02_and_07_entries_are_whole(wrong: Any) -> None:
    keeps("PLAN-02", turn(plan(entry("a"), entry("b", "completed"))))
    breaks("PLAN-02", turn(plan(entry("a"), wrong)))
    ping = agent("_ping", {}, id=9)
    keeps("PLAN-07", turn(plan(wrong), ping, client(id=9, result={})), "client")
    breaks("PLAN-07", turn(plan(wrong), ping), "client")


def test_plan_03_an_update_is_the_whole_plan() -> None:
    a, b = entry("a"), entry("b")
    keeps("PLAN-03", turn(plan(a, b), plan({**a, "status": "completed"}, b)))
    keeps("PLAN-03", turn(plan(a, b), plan(b), plan(b)))
    breaks("PLAN-03", turn(plan(a, b), plan(b), plan(a, b)))


def test_plan_05_progress_is_told() -> None:
    keeps("PLAN-05", turn(plan(entry("a")), plan(entry("a", "completed"))))
    breaks("PLAN-05", turn(planned(), plan(entry("a")), planned()))
    says_nothing("PLAN-05", turn(plan(entry("a"))))


def test_plan_06_entries_may_change() -> None:
    keeps("PLAN-06", turn(plan(entry("a")), plan(entry("a"), entry("b"))))
    says_nothing("PLAN-06", turn(plan(entry("a"))))


def test_plans_of_version_2_have_open_statuses() -> None:
    def told(*entries: Any) -> Talk:
        items = {"type": "items", "planId": "main", "entries": list(entries)}
        return Talk(version=2).new("s").add(update("s", "plan_update", plan=items))

    keeps("PLAN-02", told(entry("a", "cancelled")))
    breaks("PLAN-02", told({"content": "a"}))

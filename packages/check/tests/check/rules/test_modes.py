"""MODE: modes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update

MODES: dict[str, Any] = {
    "currentModeId": "a",
    "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B", "description": None}],
}


def moded(**changes: Any) -> Talk:
    return Talk().new("s", result={"modes": {**MODES, **changes}})


def set_mode(mode: str, *, code: int = 0, talk: Talk | None = None) -> Talk:
    talk = moded() if talk is None else talk
    return talk.call("session/set_mode", {"sessionId": "s", "modeId": mode}, code=code)


@pytest.mark.parametrize("requirement", ["MODE-01", "MODE-02"])
def test_modes_are_whole(requirement: str) -> None:
    keeps(requirement, moded())
    wrongs: list[Any] = [{"currentModeId": None}, {"availableModes": {}}, {"availableModes": [{"id": "a"}]}]
    for wrong in wrongs:
        breaks(requirement, moded(**wrong))
    says_nothing(requirement, Talk().new("s", result={"modes": None}))


def test_mode_03_the_current_mode_is_one_of_the_modes() -> None:
    keeps("MODE-03", moded())
    breaks("MODE-03", moded(currentModeId="c"))


def test_mode_04_a_mode_that_is_set_was_offered() -> None:
    keeps("MODE-04", set_mode("b"), "client")
    breaks("MODE-04", set_mode("c"), "client")


def test_mode_05_a_mode_can_be_set_at_any_time() -> None:
    keeps("MODE-05", set_mode("b"))
    breaks("MODE-05", set_mode("b", code=-32603))
    keeps("MODE-05", set_mode("b", talk=moded().begin_prompt("s", "go")))
    says_nothing("MODE-05", set_mode("c", code=-32602))


def test_mode_06_an_unknown_mode_is_refused() -> None:
    keeps("MODE-06", set_mode("c", code=-32602))
    breaks("MODE-06", set_mode("c"))


def test_mode_07_a_mode_that_changes_is_told() -> None:
    told = update("s", "current_mode_update", currentModeId="b")
    keeps("MODE-07", moded().add(told))
    breaks("MODE-07", moded().add(update("s", "current_mode_update", currentModeId="c")))
    load = {"sessionId": "s", "cwd": "/w", "mcpServers": []}
    changed = {"modes": {**MODES, "currentModeId": "b"}}
    breaks("MODE-07", moded().call("session/load", load, changed))
    keeps("MODE-07", moded().add(told).call("session/load", load, changed))
    keeps("MODE-07", set_mode("b").call("session/load", load, changed))


def test_mode_08_a_tool_that_switches_modes_says_so() -> None:
    def call(**fields: Any) -> Talk:
        return moded().add(update("s", "tool_call", toolCallId="c", title="x", **fields))

    keeps("MODE-08", call(kind="switch_mode"))
    breaks("MODE-08", call(kind="other", name="ExitPlanMode"))
    says_nothing("MODE-08", call(kind="read", name="read"))


def test_mode_09_without_modes_none_can_be_set() -> None:
    keeps("MODE-09", set_mode("a", code=-32601, talk=Talk().new("s")))
    breaks("MODE-09", set_mode("a", talk=Talk().new("s")))
    says_nothing("MODE-09", set_mode("a"))

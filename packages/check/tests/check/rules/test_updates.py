"""UPD: kinds of updates."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import Said, agent
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update

WANTS: dict[str, Any] = {"session": {"notices": {}, "compaction": {}}}
TEXT = {"type": "text", "text": "x"}


def told(*frames: Said, wants: Any = None) -> Talk:
    return Talk(wants=wants).new("s").add(*frames)


def compacted(status: str, **more: Any) -> Said:
    return update("s", "compaction_update", **{"compactionId": "c", "status": status, **more})


def test_upd_01_an_update_names_its_session_and_its_kind() -> None:
    keeps("UPD-01", told(says("s", "a")))
    for wrong in (
        {"update": {"sessionUpdate": "plan"}},
        {"sessionId": "s"},
        {"sessionId": "s", "update": {}},
    ):
        breaks("UPD-01", told(agent("session/update", wrong)))
    breaks("UPD-01", told(agent("session/update", {"sessionId": "s", "update": {}}, id=5)))


def test_upd_02_a_chunk_holds_one_block() -> None:
    keeps("UPD-02", told(says("s", "a")))
    for wrong in ([TEXT], "text", {"text": "x"}, None):
        breaks("UPD-02", told(update("s", "agent_message_chunk", content=wrong)))


def test_upd_03_a_change_of_mode_has_its_name() -> None:
    keeps("UPD-03", told(update("s", "current_mode_update", currentModeId="m")))
    breaks("UPD-03", told(update("s", "current_mode_update", modeId="m")))


def test_upd_04_lists_are_whole() -> None:
    keeps("UPD-04", told(update("s", "available_commands_update", availableCommands=[])))
    breaks("UPD-04", told(update("s", "available_commands_update", commands=[])))
    breaks("UPD-04", told(update("s", "config_option_update", configOptions={})))


def test_upd_05_and_10_notices_and_compactions_are_for_those_who_want_them() -> None:
    notice = update("s", "notice", severity="info", title="x")
    keeps("UPD-05", told(notice, wants=WANTS))
    breaks("UPD-05", told(notice))
    keeps("UPD-10", told(compacted("completed"), wants=WANTS))
    breaks("UPD-10", told(compacted("completed"), wants={"session": {"compaction": None}}))


def test_upd_06_a_notice_has_a_severity_and_a_title() -> None:
    keeps("UPD-06", told(update("s", "notice", severity="_x", title="x")))
    for wrong in ({"title": " "}, {"severity": None}, {"description": 5}):
        breaks("UPD-06", told(update("s", "notice", **{"severity": "info", "title": "x", **wrong})))


@pytest.mark.parametrize(
    ("requirement", "odd", "usual"),
    [
        (
            "UPD-07",
            update("s", "notice", severity="_x", title="x"),
            update("s", "notice", severity="info", title="x"),
        ),
        ("UPD-16", compacted("_paused"), compacted("completed")),
    ],
)
def test_a_client_lives_with_what_it_does_not_know(requirement: str, odd: Said, usual: Said) -> None:
    keeps(requirement, told(odd).prompt("s"), "client")
    breaks(requirement, told(odd).died(), "client")
    says_nothing(requirement, told(usual).prompt("s"), "client")


def test_upd_11_ids_of_compactions_are_not_used_again() -> None:
    keeps("UPD-11", told(compacted("in_progress"), compacted("completed")))
    breaks("UPD-11", told(compacted("completed"), compacted("in_progress")))
    breaks("UPD-11", told(update("s", "compaction_update", status="completed")))


def test_upd_12_a_compaction_ends_once() -> None:
    keeps("UPD-12", told(compacted("in_progress"), compacted("failed")))
    breaks("UPD-12", told(compacted("in_progress"), compacted("failed"), compacted("completed")))
    says_nothing("UPD-12", told(compacted("in_progress")).prompt("s"))
    breaks("UPD-12", told(compacted("in_progress")).prompt("s").prompt("s"))


def test_upd_13_a_summary_comes_while_the_compaction_runs() -> None:
    chunk = update("s", "compaction_summary_chunk", compactionId="c", content=TEXT)
    keeps("UPD-13", told(compacted("in_progress"), chunk, compacted("completed")))
    breaks("UPD-13", told(compacted("in_progress"), compacted("completed"), chunk))
    breaks("UPD-13", told(chunk, compacted("in_progress")))


def test_upd_15_summaries_are_for_success_and_errors_for_failure() -> None:
    keeps("UPD-15", told(compacted("completed", summary=[TEXT])))
    keeps("UPD-15", told(compacted("failed", error={"code": 1, "message": "x"})))
    breaks("UPD-15", told(compacted("in_progress", summary=[TEXT])))
    breaks("UPD-15", told(compacted("completed", error={"code": 1, "message": "x"})))
    says_nothing("UPD-15", told(compacted("in_progress", summary=[])))

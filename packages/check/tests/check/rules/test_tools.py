"""TOOL: how tool calls are told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def call(status: Any = "pending", id: str = "c", **more: Any) -> Said:
    return update("s", "tool_call", **{"toolCallId": id, "title": "Read", "status": status, **more})


def now(status: Any = None, id: str = "c", **more: Any) -> Said:
    fields = {"toolCallId": id, "status": status, **more}
    return update(
        "s", "tool_call_update", **{name: value for name, value in fields.items() if value is not None}
    )


def asked(chosen: str = "yes", id: str = "c") -> tuple[Said, Said]:
    params = {"sessionId": "s", "toolCall": {"toolCallId": id}, "options": OPTIONS}
    outcome = {"outcome": {"outcome": "selected", "optionId": chosen}}
    return agent("session/request_permission", params, id=77), client(id=77, result=outcome)


def turn(*frames: Said, reason: str = "end_turn") -> Talk:
    return Talk().new("s").prompt("s", *frames, reason=reason)


GOOD = turn(call(), now("in_progress"), now(content=[]), now("completed"))


def test_tool_01_a_tool_with_effects_is_told() -> None:
    write = agent("fs/write_text_file", {"sessionId": "s", "path": "/w/a", "content": ""}, id=8)
    keeps("TOOL-01", GOOD)
    keeps("TOOL-01", turn(call(), write, client(id=8, result={}), now("completed")))
    breaks("TOOL-01", turn(write, client(id=8, result={})))
    says_nothing("TOOL-01", turn())


def test_tool_02_and_06_calls_have_ids_and_titles() -> None:
    keeps("TOOL-02", GOOD)
    keeps("TOOL-06", GOOD)
    breaks("TOOL-02", turn(call(title=None)))
    breaks("TOOL-02", turn(call(id=5)))  # type: ignore[arg-type]
    breaks("TOOL-06", turn(call(), update("s", "tool_call_update", status="completed")))


@pytest.mark.parametrize(
    ("requirement", "member", "right", "wrong"),
    [
        ("TOOL-04", "kind", ["read", "switch_mode", None], ["zap", 5, {}]),
        ("TOOL-05", "status", ["failed", "in_progress", None], ["cancelled", 5, []]),
    ],
)
def test_tool_04_and_05_kinds_and_statuses_are_known(
    requirement: str, member: str, right: list[Any], wrong: list[Any]
) -> None:
    for value in right:
        keeps(requirement, turn(call(**{"kind": "other", member: value}), now("completed", kind="read")))
    for value in wrong:
        breaks(
            requirement, turn(call(), update("s", "tool_call_update", **{"toolCallId": "c", member: value}))
        )


def test_tool_03_an_id_is_used_once() -> None:
    keeps("TOOL-03", turn(call(), now("completed"), call(id="d"), now("completed", id="d")))
    breaks("TOOL-03", turn(call(), call(), now("completed")))
    breaks("TOOL-03", turn(call(), now("completed"), call()))


def test_tool_03_a_replay_tells_calls_again() -> None:
    talk = turn(call(), now("completed")).begin(
        "session/load", {"sessionId": "s", "cwd": "/w", "mcpServers": []}
    )
    keeps("TOOL-03", talk.add(call("completed")).answer())


def test_tool_08_a_pending_call_is_in_progress_before_it_is_completed() -> None:
    keeps("TOOL-08", GOOD)
    breaks("TOOL-08", turn(call(), now("completed")))
    says_nothing("TOOL-08", turn(call("completed")))
    says_nothing("TOOL-08", turn(call(), now("failed")))


def test_tool_09_progress_shows() -> None:
    keeps("TOOL-09", GOOD)
    says_nothing("TOOL-09", turn(call(), now("completed")))


def test_tool_10_a_call_ends_with_its_turn() -> None:
    keeps("TOOL-10", GOOD)
    breaks("TOOL-10", turn(call(), now("in_progress")))
    says_nothing("TOOL-10", turn(call(), now("in_progress"), reason="cancelled"))
    says_nothing("TOOL-10", turn(call(), *asked("no")))
    breaks("TOOL-10", turn(call(), *asked("yes")))


def test_tool_10_a_turn_that_was_cancelled_may_leave_calls_open() -> None:
    cancel = client("session/cancel", {"sessionId": "s"})
    says_nothing("TOOL-10", turn(call(), cancel))


def test_tool_17_the_name_of_a_tool_stays() -> None:
    keeps("TOOL-17", turn(call(name="read_file"), now("completed", name="read_file")))
    breaks("TOOL-17", turn(call(name="read_file"), now("completed", name="other")))
    says_nothing("TOOL-17", GOOD)


def test_tool_22_a_call_is_announced_first() -> None:
    keeps("TOOL-22", GOOD)
    breaks("TOOL-22", turn(now("in_progress"), call()))
    breaks("TOOL-22", turn(*asked(), now("completed")))


def test_tool_19_20_and_21_a_client_lives_with_odd_calls() -> None:
    odd = {
        "TOOL-19": call(rawInput="text"),
        "TOOL-20": call(kind="zap", locations=[{}]),
        "TOOL-21": now("in_progress"),
    }
    ping = agent("_ping", {}, id=9)
    pong = client(id=9, error={"code": -32601, "message": "No."})
    for requirement, frame in odd.items():
        keeps(requirement, turn(frame, ping, pong), "client")
        breaks(requirement, turn(frame, ping), "client")
    keeps("TOOL-19", turn(call(rawInput=[1], rawOutput={})))


def test_what_version_2_calls_otherwise_is_not_judged() -> None:
    talk = Talk({"session": {}}, version=2).new("s").begin_prompt("s", "a").answer({"messageId": "m"})
    talk.add(now("in_progress"), now("paused"), now("_own", kind="_own"), now("completed"))
    talk.add(update("s", "state_update", state="idle", stopReason="end_turn"))
    for requirement in ("TOOL-01", "TOOL-04", "TOOL-05", "TOOL-10"):
        keeps(requirement, talk)
    for requirement in ("TOOL-02", "TOOL-03", "TOOL-22"):
        says_nothing(requirement, talk)


def test_in_version_2_a_call_in_the_background_outlives_its_turn() -> None:
    def ended(**more: Any) -> Talk:
        talk = Talk({"session": {}}, version=2).new("s").begin_prompt("s", "a").answer({"messageId": "m"})
        return talk.add(
            now("in_progress"), update("s", "state_update", state="idle", stopReason="end_turn", **more)
        )

    breaks("TOOL-10", ended())
    says_nothing("TOOL-10", ended(background=[{"type": "tool_call", "toolCallId": "c"}]))

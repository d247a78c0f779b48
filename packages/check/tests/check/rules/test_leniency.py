"""LEN: lenient readers, strict writers."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_check.examination_control import blame_once
from dragoman_check.verdict import judge
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update

NEW: dict[str, Any] = {"cwd": "/w", "mcpServers": []}
LISTS: dict[str, Any] = {"sessionCapabilities": {"list": {}}}


def prompted(**more: Any) -> dict[str, Any]:
    return {"sessionId": "s", "prompt": [{"type": "text", "text": "hi", **more}]}


def test_len_01_bad_values_count_as_absent() -> None:
    keeps("LEN-01", Talk().new().call("session/prompt", prompted(annotations=5), {"stopReason": "end_turn"}))
    breaks("LEN-01", Talk().new().call("session/prompt", prompted(annotations=5), code=-32602))
    says_nothing("LEN-01", Talk().new().call("session/prompt", prompted(), code=-32602))
    says_nothing("LEN-01", Talk().new().call("session/prompt", prompted(annotations=5), code=-32603))


def test_len_03_null_counts_as_empty() -> None:
    keeps("LEN-03", Talk().call("session/new", {**NEW, "mcpServers": None}, {"sessionId": "s"}))
    breaks("LEN-03", Talk().call("session/new", {**NEW, "mcpServers": None}, code=-32602))


@pytest.mark.parametrize(
    ("requirement", "odd"),
    [
        ("LEN-01", says("s", "hi", messageId=5)),
        ("LEN-02", update("s", "available_commands_update", availableCommands=[5])),
        ("LEN-04", update("s", "plan", entries="none")),
    ],
)
def test_a_client_lives_with_odd_updates(requirement: str, odd: Any) -> None:
    keeps(requirement, Talk().new().prompt("s", odd).prompt(), "client")
    breaks(requirement, Talk().new().add(odd).facts(exit=1), "client")
    says_nothing(requirement, Talk().new().add(odd).facts(exit=0), "client")


def test_an_agent_that_is_ended_has_not_died_of_an_odd_answer() -> None:
    output = {"output": "", "truncated": False, "exitStatus": 5}
    odd = Talk().new().ask("terminal/output", {"sessionId": "s", "terminalId": "t"}, output)
    says_nothing("LEN-01", odd.facts(exit=-9))
    keeps("LEN-01", odd.call("session/list"))


def test_len_05_everything_else_is_strict() -> None:
    keeps("LEN-05", Talk().call("session/new", {"cwd": "/w"}, code=-32602))
    keeps("LEN-05", Talk().call("session/new", {"cwd": "/w"}, code=-32603))
    breaks("LEN-05", Talk().call("session/new", {"cwd": "/w"}, {"sessionId": "s"}))
    breaks("LEN-05", Talk().call("session/new", {"cwd": 5, "mcpServers": []}, {"sessionId": "s"}))
    says_nothing("LEN-05", Talk().new())
    says_nothing("LEN-05", Talk().call("session/new", {"cwd": "/w"}, code=-32000))


def test_len_05_what_an_earlier_schema_forgave_is_not_judged() -> None:
    says_nothing("LEN-05", Talk().new(mcpServers=[{"name": "a"}]))
    says_nothing("LEN-05", Talk().new(additionalDirectories="/w"))


def test_len_06_what_is_written_is_strictly_right() -> None:
    keeps("LEN-06", Talk().new().prompt("s", says("s", "hi")))
    breaks("LEN-06", Talk().new().add(update("s", "agent_message_chunk")))
    breaks("LEN-06", Talk().new().add(says("s", "hi", messageId=5)))
    breaks("LEN-06", Talk().call("session/new", {"cwd": "/w"}, code=-32602), "client")
    keeps("LEN-06", Talk().new().add(says("s", "hi", bogus=1)))


def test_a_request_that_was_wrongly_taken_is_one_finding() -> None:
    talk = Talk().call("session/new", {"cwd": "/w"}, {"sessionId": "s"})
    verdicts = judge([talk.recording], "agent", only=["SES-03", "LEN-05"])
    blame_once(verdicts, [talk.recording])
    assert [(one.requirement, one.status) for one in verdicts] == [
        ("SES-03", "warned"),
        ("LEN-05", "recorded"),
    ]


def test_what_an_agent_repeats_of_its_clients_mistakes_is_not_its_own() -> None:
    listed = {"sessions": [{"sessionId": "s", "cwd": "src"}]}
    echoed = Talk(LISTS).call("session/new", {"cwd": "src", "mcpServers": []}, {"sessionId": "s"})
    says_nothing("RPC-24", echoed.call("session/list", {}, listed))
    breaks("RPC-24", Talk(LISTS).new("s").call("session/list", {}, listed))

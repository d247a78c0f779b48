"""PERM: what happens after a no."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.check.rules.test_permission import CANCELLED, ask, chosen, turn
from tests.every import every

DIFF = {"type": "diff", "path": "/w/a", "newText": "x"}
CALL = update("s", "tool_call", toolCallId="c", title="x", content=[DIFF])
WRITE = agent("fs/write_text_file", {"sessionId": "s", "path": "/w/a", "content": "x"}, id=80)


def ends(status: str) -> Said:
    return update("s", "tool_call_update", toolCallId="c", status=status)


@pytest.mark.parametrize("answer", [chosen("no"), client(id=77, result=CANCELLED)])
def test_perm_09_a_refused_tool_does_not_run(answer: Said) -> None:
    keeps("PERM-09", turn(CALL, ask(), answer, ends("failed")))
    keeps("PERM-09", turn(CALL, ask(), answer))
    breaks("PERM-09", turn(CALL, ask(), answer, ends("completed")))
    breaks("PERM-09", turn(CALL, ask(), answer, WRITE))


def test_perm_09_what_was_allowed_later_may_run() -> None:
    keeps("PERM-09", turn(CALL, ask(), chosen("no"), ask(78), chosen("yes", id=78), WRITE, ends("completed")))
    says_nothing("PERM-09", turn(CALL, ask(), chosen("yes"), ends("completed")))


ODD: list[dict[str, Any]] = [
    {"result": {"outcome": {"outcome": "selected", "optionId": "nobody's"}}},
    {"result": {"outcome": {"outcome": "_perhaps", "optionId": "yes"}}},
    {"result": {}},
    {"error": {"code": -32603, "message": "No."}},
]


@every("answer", ODD)
def test_perm_10_what_is_no_yes_is_a_no(answer: dict[str, Any]) -> None:
    keeps("PERM-10", turn(CALL, ask(), client(id=77, **answer), ends("failed")))
    breaks("PERM-10", turn(CALL, ask(), client(id=77, **answer), ends("completed")))


def test_perm_09_and_10_files_of_an_examination_are_left_alone() -> None:
    def examined(way: str, answer: Said, changed: list[str]) -> Talk:
        talk = turn(CALL, ask(), answer).mark(f"edit, {way}", last=5)
        talk.known[f"changed after {way}"] = changed
        return talk

    keeps("PERM-09", examined("reject_once", chosen("no"), []))
    breaks("PERM-09", examined("reject_once", chosen("no"), ["app.py"]))
    breaks("PERM-10", examined("error", client(id=77, **ODD[3]), ["app.py"]))

from __future__ import annotations

from typing import Any

import pytest

from tests.dialect.crow.frames import PROMPT, SESSION, Frame
from tests.dialect.crow.stage import answer, crow_agent, crow_client, failure, judged, request
from tests.every import every
from tests.interop.judges import refused_by_python


def read(end: Frame) -> tuple[Frame, list[str]]:
    """A crow agent's answer to a prompt, in v1; and what the ledger says."""
    side = crow_agent()
    side.take(request(3, "session/prompt", {"sessionId": SESSION, "prompt": []}))
    ((toward, said),) = side.hear(end)
    assert (toward, said["id"]) == ("inside", 3)
    assert refused_by_python([judged(said, "session/prompt")]) == []
    return said, side.repaired + side.lost


def write(end: Frame) -> tuple[Frame, list[str]]:
    """A v1 agent's answer to a prompt, in crow."""
    side = crow_client()
    side.hear(PROMPT)
    ((toward, said),) = side.take(end)
    assert (toward, said["id"]) == ("peer", 3)
    return said, side.repaired + side.lost


@pytest.mark.parametrize("stop", ["end_turn", "cancelled"])
def test_what_both_know_is_carried_without_a_word(stop: str) -> None:
    assert read(answer(3, {"stop_reason": stop})) == (answer(3, {"stopReason": stop}), [])
    assert write(answer(3, {"stopReason": stop})) == (answer(3, {"stop_reason": stop}), [])


@pytest.mark.parametrize("stop", ["max_tokens", "max_turn_requests", "refusal"])
def test_stop_reasons_that_crow_lacks_are_told_as_they_are(stop: str) -> None:
    said, ledger = write(answer(3, {"stopReason": stop}))
    assert said["result"] == {"stop_reason": stop}
    assert ledger == ["a stop reason that crow does not know"]
    assert read(said)[0]["result"] == {"stopReason": stop}


def test_a_turn_that_crow_ends_with_an_error_is_an_error() -> None:
    said, ledger = read(answer(3, {"stop_reason": "error"}))
    assert said["error"]["code"] == -32603
    assert said["error"]["data"] == {"stop_reason": "error"}
    assert ledger == ["stop reason error"]
    assert write(said)[0]["result"] == {"stop_reason": "error"}


@every("code", [-32603, -32099, 1, 500])
def test_an_error_that_ends_a_turn_is_a_stop_reason_and_comes_back_as_it_was(code: int) -> None:
    failed = failure(3, code, "out of seeds")
    said, ledger = write(failed)
    assert said["result"]["stop_reason"] == "error"
    assert ledger == ["an error that ended a turn"]
    assert read(said)[0] == failed


@every("code", [-32700, -32600, -32601, -32000, -32002])
def test_an_error_about_the_request_itself_is_an_error_in_both(code: int) -> None:
    failed = failure(3, code)
    assert read(failed) == (failed, [])
    assert write(failed) == (failed, [])


def test_an_error_in_meta_cannot_pass_for_one_about_the_request() -> None:
    kept = {"name": "crow", "raw": {"error": {"code": -32000, "message": "log in here"}}}
    said, _ = read(answer(3, {"stop_reason": "error", "_meta": {"dragoman/dialect": kept}}))
    assert said["error"]["code"] == -32603


def test_a_request_that_was_cancelled_is_a_turn_that_was() -> None:
    assert write(failure(3, -32800))[0]["result"] == {"stop_reason": "cancelled"}


@every("stop", ["tired", 7, None, [], {}])
def test_a_stop_reason_that_v1_lacks_is_the_end_of_the_turn_and_comes_back(stop: Any) -> None:
    said, ledger = read(answer(3, {"stop_reason": stop}))
    assert said["result"]["stopReason"] == "end_turn"
    assert ledger == ["a stop reason that v1 does not know"]
    assert write(said)[0]["result"] == {"stop_reason": stop}


def test_usage_is_carried_in_each_ones_spelling() -> None:
    usage = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
    said, _ = write(answer(3, {"stopReason": "end_turn", "usage": usage}))
    assert said["result"]["usage"] == {"total_tokens": 3, "input_tokens": 1, "output_tokens": 2}
    assert read(said)[0]["result"] == {"stopReason": "end_turn", "usage": usage}


def test_more_than_v1_can_hold_comes_back() -> None:
    end = answer(3, {"stop_reason": "end_turn", "eggs": 4})
    said, ledger = read(end)
    assert ledger == ["members that v1 does not name"]
    assert write(said)[0] == end


@every("odd", [None, 7, "x", [], {}, {"code": "x", "message": "y"}, {"code": 1}])
def test_an_error_that_is_none_is_one_afterwards(odd: Any) -> None:
    said, ledger = read({"jsonrpc": "2.0", "id": 3, "error": odd})
    assert said["error"]["code"] == -32603
    assert ledger == ["an error without code or message"]


@every("odd", [None, 7, "x", {}, {"stopReason": 7}])
def test_an_answer_of_v1_that_makes_no_sense_is_an_error(odd: Any) -> None:
    said, ledger = write(answer(3, odd))
    assert said["error"]["code"] == -32603
    assert ledger == ["an answer that makes no sense"]

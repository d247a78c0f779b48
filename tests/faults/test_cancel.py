"""Cancels: in time, too late, too many, for nobody. Each turn has exactly one answer."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import (
    CANCELLED,
    UNKNOWN,
    Message,
    Talk,
    cancel,
    cancel_request,
    code,
    line,
    notification,
    prompt,
    request,
)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.bound(30)]

STOPPED = {"stopReason": "cancelled"}
ODD_IDS: list[Any] = ["zz", 99, None, 1.5, True, [], {}]
ODD_PARAMS: list[Any] = [None, [], 7, {}, {"requestid": "turn"}, {"id": "turn"}]


def answers(talk: Talk, request_id: Any, *, since: int) -> list[Message]:
    return [m for m in talk.heard[since:] if "method" not in m and m["id"] == request_id]


@fault("CAN-01")
async def test_a_turn_that_is_cancelled_ends_in_time(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt("turn", shared.session, "/wait 60"))
    await shared.replies()
    await shared.peer.send(cancel(shared.session))
    assert (await shared.answer_to("turn", since=since, seconds=2))["result"] == STOPPED


@fault("CAN-X1")
async def test_a_turn_that_streams_is_cancelled_and_says_no_more(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt("turn", shared.session, "/stream 100000000 20"))
    await shared.said("10 ")
    await shared.peer.send(cancel(shared.session))
    assert (await shared.answer_to("turn", since=since, seconds=2))["result"] == STOPPED
    assert await shared.replies() == []


@fault("CAN-X2")
async def test_prompt_and_cancel_in_one_write_are_taken_in_order(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(line(prompt("turn", shared.session, "/wait 60")) + line(cancel(shared.session)))
    assert (await shared.answer_to("turn", since=since, seconds=2))["result"] == STOPPED


@fault("CAN-02")
async def test_a_cancel_without_a_turn_cancels_nothing(shared: Talk) -> None:
    assert await shared.replies(*[cancel(shared.session)] * 3) == []
    await shared.echoes()


@fault("CAN-X3")
async def test_a_cancel_just_before_the_prompt_is_too_early_for_it(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(line(cancel(shared.session)) + line(prompt("turn", shared.session, "hello")))
    assert (await shared.answer_to("turn", since=since))["result"] == {"stopReason": "end_turn"}


@fault("CAN-04")
async def test_a_hundred_cancels_are_one(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt("turn", shared.session, "/wait 60"), line(cancel(shared.session)) * 100)
    await shared.answer_to("turn", since=since, seconds=2)
    await shared.echoes()
    assert [answer["result"] for answer in answers(shared, "turn", since=since)] == [STOPPED]


@cases(
    {
        "CAN-05": [
            cancel("zz"),
            notification("session/cancel"),
            notification("session/cancel", {"sessionId": 7}),
        ],
        "CAN-X4": [cancel_request(n) for n in ODD_IDS]
        + [notification("$/cancel_request", params) for params in ODD_PARAMS],
    }
)
async def test_a_cancel_for_nobody_is_ignored(shared: Talk, case: list[Message]) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt("turn", shared.session, "/wait 0.3"))
    assert await shared.replies(*case) == []
    assert (await shared.answer_to("turn", since=since))["result"] == {"stopReason": "end_turn"}


@fault("CAN-X5")
async def test_a_cancel_in_one_session_leaves_the_others_alone(shared: Talk) -> None:
    other = await shared.new_session()
    since = len(shared.heard)
    await shared.peer.send(prompt("a", shared.session, "/wait 60"), prompt("b", other, "/wait 0.3"))
    await shared.peer.send(cancel(shared.session))
    assert (await shared.answer_to("a", since=since, seconds=2))["result"] == STOPPED
    assert (await shared.answer_to("b", since=since))["result"] == {"stopReason": "end_turn"}


@fault("CAN-07")
async def test_a_prompt_behind_a_cancel_is_not_cancelled(shared: Talk) -> None:
    since = len(shared.heard)
    frames = [
        prompt("a", shared.session, "/wait 60"),
        cancel(shared.session),
        prompt("b", shared.session, "go"),
    ]
    await shared.peer.send(b"".join(map(line, frames)))
    assert (await shared.answer_to("a", since=since))["result"] == STOPPED
    assert (await shared.answer_to("b", since=since))["result"] == {"stopReason": "end_turn"}
    assert shared.words(since=since) == "You said: go"


@fault("CAN-X6")
async def test_a_cancel_reaches_the_turns_that_wait_as_well(shared: Talk) -> None:
    since = len(shared.heard)
    frames = [prompt(n, shared.session, "/wait 60") for n in range(5)]
    await shared.peer.send(b"".join(map(line, [*frames, cancel(shared.session)])))
    for n in range(5):
        assert (await shared.answer_to(n, since=since, seconds=2))["result"] == STOPPED
    await shared.echoes()


@fault("CAN-08")
async def test_a_request_is_taken_back_by_its_id(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt("turn", shared.session, "/wait 60"), cancel_request("turn"))
    answer = await shared.answer_to("turn", since=since, seconds=3)
    assert code(answer) == CANCELLED or answer["result"] == STOPPED
    await shared.echoes()


@fault("CAN-X7")
async def test_a_waiting_prompt_is_taken_back_alone(shared: Talk) -> None:
    since = len(shared.heard)
    frames = [prompt("a", shared.session, "/wait 0.3"), prompt("b", shared.session, "/wait 60")]
    await shared.peer.send(b"".join(map(line, [*frames, cancel_request("b")])))
    answer = await shared.answer_to("b", since=since, seconds=3)
    assert code(answer) == CANCELLED or answer["result"] == STOPPED
    assert (await shared.answer_to("a", since=since))["result"] == {"stopReason": "end_turn"}


@fault("CAN-10")
async def test_an_id_of_another_type_takes_nothing_back(shared: Talk) -> None:
    for request_id, wrong in (
        (5, ["5", 5.0, [5]]),
        (1, [True, "1", 1.0]),
        ("7", [7, "07", " 7"]),
        (0, [False, None]),
    ):
        since = len(shared.heard)
        await shared.peer.send(prompt(request_id, shared.session, "/wait 0.1"))
        assert await shared.replies(*map(cancel_request, wrong)) == []
        answer = await shared.answer_to(request_id, since=since)
        assert answer["result"] == {"stopReason": "end_turn"}, request_id


@fault("CAN-X8")
async def test_a_request_that_was_answered_cannot_be_taken_back(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt("done", shared.session, "hello"))
    await shared.answer_to("done", since=since)
    assert await shared.replies(cancel_request("done"), cancel(shared.session)) == []
    assert len(answers(shared, "done", since=since)) == 1


@fault("CAN-X9")
async def test_a_cancel_sent_as_a_request_is_refused_and_cancels_nothing(shared: Talk) -> None:
    since = len(shared.heard)
    await shared.peer.send(prompt("turn", shared.session, "/wait 0.3"))
    for method, params in (
        ("session/cancel", {"sessionId": shared.session}),
        ("$/cancel_request", {"requestId": "turn"}),
    ):
        assert code(await shared.ask(method, params)) == UNKNOWN
    assert (await shared.answer_to("turn", since=since))["result"] == {"stopReason": "end_turn"}


@fault("CAN-X10")
async def test_both_cancels_at_once_are_one(shared: Talk) -> None:
    since = len(shared.heard)
    frames = [prompt("turn", shared.session, "/wait 60"), cancel_request("turn"), cancel(shared.session)]
    await shared.peer.send(b"".join(map(line, [*frames, cancel_request("turn")])))
    await shared.answer_to("turn", since=since, seconds=3)
    await shared.echoes()
    assert len(answers(shared, "turn", since=since)) == 1


@fault("CAN-13")
async def test_a_hundred_races_have_a_hundred_answers(shared: Talk) -> None:
    dice = random.Random(13)
    for race in range(100):
        since = len(shared.heard)
        await shared.peer.send(
            prompt(race, shared.session, dice.choice(["/wait 0.01", "/stream 50", "hello"]))
        )
        await asyncio.sleep(dice.uniform(0, 0.02))  # this is the fault: the cancel comes at any moment
        await shared.peer.send(cancel(shared.session))
        answer = await shared.answer_to(race, since=since, seconds=3)
        assert answer["result"]["stopReason"] in ("cancelled", "end_turn")
    await shared.echoes()


@fault("CAN-X11")
async def test_races_of_prompts_cancels_and_closings_leave_no_request_open(shared: Talk) -> None:
    dice = random.Random(11)
    since, open_ids = len(shared.heard), []
    for race in range(100):
        session = await shared.new_session()
        open_ids += [("p", race), ("q", race), ("c", race)]
        frames = [
            prompt(f"p{race}", session, dice.choice(["/wait 0.02", "/stream 20", "hello", "/plan"])),
            prompt(f"q{race}", session, "second"),
            cancel(session),
            cancel_request(f"q{race}"),
            request(f"c{race}", "session/close", {"sessionId": session}),
        ]
        dice.shuffle(frames)
        await shared.peer.send(b"".join(map(line, frames)))
    for kind, race in open_ids:
        await shared.answer_to(f"{kind}{race}", since=since, seconds=3)

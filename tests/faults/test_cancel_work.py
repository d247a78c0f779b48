"""Cancels that meet work which does not want to stop, asks for permission, or has processes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.faults.cases import cases, fault
from tests.faults.talk import cancel, opening, prompt
from tests.faults.trial_agents import Command, forked
from tests.faults.watch import eventually

pytestmark = pytest.mark.bound(30)

STOPPED = {"stopReason": "cancelled"}
GRANTED = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}


@fault("CAN-11")
async def test_a_cancel_while_permission_is_pending_runs_nothing(agent: Command, tmp_path: Path) -> None:
    async with opening(forked(agent)) as talk:
        await talk.peer.send(prompt("ask", talk.session, f"/ask {tmp_path}/made"))
        asked = await talk.asked("session/request_permission")
        await talk.peer.send(
            cancel(talk.session),
            {"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}},
        )
        assert (await talk.answer_to("ask", seconds=2))["result"] == STOPPED
        await talk.echoes()
        assert not (tmp_path / "made").exists()


@fault("CAN-X12")
async def test_a_cancel_needs_no_answer_to_the_permission(agent: Command, tmp_path: Path) -> None:
    async with opening(forked(agent)) as talk:
        await talk.peer.send(prompt("ask", talk.session, f"/ask {tmp_path}/made"))
        asked = await talk.asked("session/request_permission")
        await talk.peer.send(cancel(talk.session))
        assert (await talk.answer_to("ask", seconds=2))["result"] == STOPPED
        taken_back = [m["params"]["requestId"] for m in talk.heard if m.get("method") == "$/cancel_request"]
        assert taken_back == [asked["id"]]
        await talk.echoes()


@fault("CAN-X13")
async def test_a_permission_that_comes_after_the_cancel_runs_nothing(agent: Command, tmp_path: Path) -> None:
    async with opening(forked(agent)) as talk:
        await talk.peer.send(prompt("ask", talk.session, f"/ask {tmp_path}/made"))
        asked = await talk.asked("session/request_permission")
        granted = {"jsonrpc": "2.0", "id": asked["id"], "result": GRANTED}
        await talk.peer.send(cancel(talk.session), granted)
        assert (await talk.answer_to("ask", seconds=2))["result"] == STOPPED
        await talk.replies(granted)
        await talk.echoes()
        assert not (tmp_path / "made").exists()


@fault("CAN-X14")
async def test_a_cancel_ends_the_processes_of_the_turn(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("child", talk.session, "/child 60"))
        await talk.said("Started")
        await eventually(lambda: len(talk.peer.processes()) >= 4)
        await talk.peer.send(cancel(talk.session))
        assert (await talk.answer_to("child", seconds=2))["result"] == STOPPED
        await eventually(lambda: talk.peer.processes() == [talk.peer.pid], seconds=2)


@cases({"CAN-X15": "raise", "CAN-X16": "finish", "CAN-X17": "swallow"}, stage="stubborn")
async def test_whatever_a_handler_makes_of_its_cancel_the_answer_is_cancelled(
    agent: Command, case: str
) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("turn", talk.session, case))
        await talk.said("started")
        await talk.peer.send(cancel(talk.session))
        assert (await talk.answer_to("turn", seconds=2))["result"] == STOPPED
        since = len(talk.heard)
        answer, _ = await talk.turn("pause")  # long enough for the one that was left behind to speak up
        assert answer["result"] == {"stopReason": "end_turn"}
        assert talk.words(since=since) == "startedpaused"
        talk.peer.send_signal(signal.SIGKILL)  # how one that swallows ends is the matter of SUP-X10


@fault("CAN-X18", stage="blocking")
async def test_a_handler_that_blocks_its_thread_does_not_hold_the_answer(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("turn", talk.session, "block"))
        await talk.replies()
        await talk.peer.send(cancel(talk.session))
        assert (await talk.answer_to("turn", seconds=2))["result"] == STOPPED
        talk.peer.send_signal(signal.SIGKILL)  # how one that blocks ends is the matter of SUP-X12

"""Version 2: what comes before what, of turns, questions, replays and terminals."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.check.rules.test_version2 import CANCEL, HELLO, RUNNING, idle, prompted, second, told, turn

WAITING = update("s", "state_update", state="requires_action")
START = {"replayFrom": {"type": "start"}}


def test_turn_27_work_is_announced_before_it_ends() -> None:
    keeps("TURN-27", turn(RUNNING, HELLO, idle()))
    breaks("TURN-27", turn(HELLO, idle()))
    says_nothing("TURN-27", turn(idle(None)))
    keeps("TURN-27", prompted(second().add(RUNNING), idle()))


def test_turn_28_every_prompt_has_a_message_id_of_its_own() -> None:
    keeps("TURN-28", prompted(turn(RUNNING, idle()), RUNNING, idle(), message="u2"))
    breaks("TURN-28", prompted(turn(RUNNING, idle()), RUNNING, idle(), message="u1"))


def test_turn_29_waiting_for_an_answer_is_told() -> None:
    def asked(*before: Said) -> Talk:
        outcome = {"outcome": {"outcome": "cancelled"}}
        talk = turn(RUNNING, *before).ask("session/request_permission", {"sessionId": "s"}, outcome)
        return talk.add(RUNNING, idle())

    keeps("TURN-29", asked(WAITING))
    breaks("TURN-29", asked())


def replayed(*frames: Said, talk: Talk | None = None, late: tuple[Said, ...] = ()) -> Talk:
    begun = (talk or second()).begin("session/resume", {"sessionId": "s", "cwd": "/w", **START})
    return begun.add(*frames).answer().add(*late)


def test_res_08_a_replay_comes_before_its_answer() -> None:
    keeps("RES-08", replayed(told(), idle(None)).call("session/list", {}, {"sessions": []}))
    breaks("RES-08", replayed(idle(None), late=(told(),)))
    says_nothing("RES-08", replayed(idle(None)))


def test_res_09_a_replayed_prompt_has_its_id() -> None:
    before = turn(RUNNING, idle())
    keeps("RES-09", replayed(told("u1"), idle(None), talk=before))
    breaks("RES-09", replayed(told("u9"), idle(None), talk=turn(RUNNING, idle())))
    says_nothing("RES-09", replayed(told("u9"), idle(None)))


def test_res_10_a_replayed_message_begins_as_a_whole() -> None:
    def whole(message: str) -> Said:
        return update("s", "agent_message", messageId=message, content=[])

    keeps("RES-10", replayed(whole("a1"), HELLO, idle(None)))
    breaks("RES-10", replayed(HELLO, idle(None)))
    breaks("RES-10", replayed(whole("a2"), HELLO, idle(None)))


def terminal(**fields: Any) -> Said:
    return update("s", "terminal_update", terminalId="t1", **fields)


def test_tool_23_a_terminal_stays_in_its_folder() -> None:
    keeps("TOOL-23", turn(RUNNING, terminal(cwd="/w"), terminal(cwd="/w"), idle()))
    breaks("TOOL-23", turn(RUNNING, terminal(cwd="w"), idle()))
    breaks("TOOL-23", turn(RUNNING, terminal(cwd="/w"), terminal(cwd="/v"), idle()))


def test_tool_24_output_of_a_terminal_is_base64() -> None:
    keeps("TOOL-24", turn(RUNNING, terminal(output={"data": "aGk="}), idle()))
    breaks("TOOL-24", turn(RUNNING, terminal(output={"data": "hi"}), idle()))
    chunk = update("s", "terminal_output_chunk", terminalId="t1", data="aGk")
    breaks("TOOL-24", turn(RUNNING, chunk, idle()))


def test_can_16_a_cancel_may_have_meta() -> None:
    cancel = client("session/cancel", {"sessionId": "s", "_meta": {}})
    keeps("CAN-16", turn(RUNNING, cancel, idle("cancelled")))
    says_nothing("CAN-16", turn(RUNNING, CANCEL, idle("cancelled")))

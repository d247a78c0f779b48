"""TURN: messages and usage."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update


def turn(*frames: Any) -> Talk:
    return Talk().new("s").prompt("s", *frames)


def test_turn_08_ids_of_messages_are_texts() -> None:
    keeps("TURN-08", turn(says("s", "a", messageId="m")))
    breaks("TURN-08", turn(says("s", "a", messageId=5)))
    says_nothing("TURN-08", turn(says("s", "a", messageId=None)))


def test_turn_09_an_id_stays_with_its_message() -> None:
    chunk = says("s", "a", messageId="m")
    keeps("TURN-09", turn(chunk, chunk).prompt("s", says("s", "b", messageId="n")))
    breaks("TURN-09", turn(chunk).prompt("s", chunk))


def test_turn_11_an_id_is_on_every_chunk_of_a_message() -> None:
    chunk = says("s", "a", messageId="m")
    keeps("TURN-11", turn(chunk, chunk))
    breaks("TURN-11", turn(chunk, says("s", "b")))
    tool = update("s", "tool_call", toolCallId="c", title="x")
    says_nothing("TURN-11", turn(chunk, tool, says("s", "b")))


@pytest.mark.parametrize("requirement", ["TURN-13", "TURN-26"])
def test_usage_is_whole(requirement: str) -> None:
    def usage(**fields: Any) -> Talk:
        return turn(update("s", "usage_update", **{"used": 1, "size": 2, **fields}))

    keeps(requirement, usage(cost={"amount": 0.5, "currency": "USD"}))
    for wrong in ({"used": -1}, {"size": "2"}, {"used": True}, {"cost": {"amount": 1}}, {"cost": 5}):
        breaks(requirement, usage(**wrong))


def test_turn_14_usage_has_a_size() -> None:
    keeps("TURN-14", turn(update("s", "usage_update", used=1, size=2)))
    breaks("TURN-14", turn(update("s", "usage_update", used=1, size=0)))


def test_turn_21_a_client_lives_with_updates_that_it_does_not_know() -> None:
    strange = update("s", "future_kind", content=5)
    broken = update("s", "agent_message_chunk", content=5)
    keeps("TURN-21", turn(strange, broken).prompt("s"), "client")
    breaks("TURN-21", turn(strange).died(), "client")
    says_nothing("TURN-21", turn(says("s", "a")).prompt("s"), "client")


def test_turn_22_a_client_takes_updates_outside_of_a_turn() -> None:
    idle = update("s", "available_commands_update", availableCommands=[])
    keeps("TURN-22", Talk().new("s").add(idle).prompt("s"), "client")
    breaks("TURN-22", Talk().new("s").add(idle).died(), "client")
    says_nothing("TURN-22", turn(idle).prompt("s"), "client")

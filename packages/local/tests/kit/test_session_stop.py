"""Every stop reason can be reached, from everywhere in a turn."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Agent, Kit, KitTurn, StopTurn
from dragoman.schema import v1
from dragoman_local.journal import MemoryJournal
from tests.kit.kit_agents import listening

REASONS: list[v1.StopReason] = ["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


def stopping() -> Agent:
    """Ends each turn with the stop reason that is asked for: `raise X`, `return X`, `deep X`."""
    agent = Agent("stopping")
    kit = Kit(agent, journal=MemoryJournal(), titles="none")

    async def deep(reason: Any) -> None:
        raise StopTurn(reason)

    @kit.prompt
    async def stop(turn: KitTurn[None]) -> Any:
        how, reason = turn.text.split()
        await turn.say(how)
        if how == "raise":
            raise StopTurn(reason)  # type: ignore[arg-type]
        if how == "deep":
            turn.start(deep(reason))
            return None
        return reason

    return agent


@pytest.mark.parametrize("how", ["raise", "return", "deep"])
@pytest.mark.parametrize("reason", REASONS)
async def test_every_stop_reason_can_be_reached(how: str, reason: str) -> None:
    async with listening(stopping()) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt(f"{how} {reason}")
        assert (result.stop_reason, result.text) == (reason, how)


def test_what_is_no_stop_reason_cannot_be_raised() -> None:
    with pytest.raises(ValueError, match="not a stop reason"):
        StopTurn("bored")  # type: ignore[arg-type]


async def test_one_request_too_many_ends_the_turn() -> None:
    agent = Agent("asking")
    kit = Kit(agent, journal=MemoryJournal(), max_turn_requests=3)

    @kit.prompt
    async def ask(turn: KitTurn[None]) -> None:
        while True:
            turn.count_request()
            await turn.say(".")

    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        for _ in range(2):  # each turn has its own count
            result = await session.prompt("go")
            assert (result.stop_reason, result.text) == ("max_turn_requests", "...")

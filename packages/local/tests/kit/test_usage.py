"""What a session uses is summed, told and kept."""

from __future__ import annotations

from pathlib import Path

from dragoman import Agent, Kit, KitTurn
from dragoman.schema import v1
from dragoman_local.kit.usage import SessionUsage, TokenUsage
from tests.kit.kit_agents import listening


def test_amounts_of_two_currencies_are_not_added() -> None:
    spent = TokenUsage(cost=1.0)
    spent.add(TokenUsage(cost=0.5))
    assert (spent.cost, spent.currency) == (1.5, "USD")
    spent.add(TokenUsage(cost=2.0, currency="EUR"))
    assert (spent.cost, spent.currency) == (2.0, "EUR")
    spent.add(TokenUsage(input_tokens=3))
    assert (spent.cost, spent.total_tokens) == (2.0, 3)


def test_nothing_is_told_while_the_size_of_the_context_is_unknown() -> None:
    assert SessionUsage(spent=TokenUsage(input_tokens=5)).update() is None


async def test_usage_and_cost_are_summed_over_the_session_and_told(tmp_path: Path) -> None:
    agent = Agent("spending")
    kit = Kit(agent, journal=tmp_path / "s.db", titles="none")

    @kit.prompt
    async def spend(turn: KitTurn[None]) -> None:
        await turn.spend(input_tokens=100, output_tokens=10, cost=0.25, context_used=110, context_size=1000)
        await turn.spend(input_tokens=50, thought_tokens=5)

    async with listening(agent) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        for number in (1, 2):
            turn = session.prompt("go")
            updates = [update async for update in turn]
            assert isinstance(updates[-1], v1.UsageUpdate)
            assert updates[-1].cost == v1.Cost(amount=0.25 * number, currency="USD")
            usage = turn.result.usage
            assert usage
            assert (usage.total_tokens, usage.input_tokens, usage.thought_tokens) == (160, 150, 5)
    async with listening(agent) as (handle, heard):
        session = await handle.resume_session(session.id, cwd="/tmp")
        assert heard.updates(session.id) == [
            v1.UsageUpdate(used=110, size=1000, cost=v1.Cost(amount=0.5, currency="USD"))
        ]
        updates = [update async for update in session.prompt("go")]
        assert updates[-1].cost.amount == 0.75  # type: ignore[union-attr]

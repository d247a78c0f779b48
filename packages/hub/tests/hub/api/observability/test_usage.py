"""What turns cost, read from frames and added up."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_hub.api.observability.usage import (
    MOST_SESSIONS,
    AgentUsage,
    Cost,
    Tokens,
    UsageTotals,
    usage_of,
)


def update(**members: object) -> bytes:
    params = {
        "sessionId": "s1",
        "update": {"sessionUpdate": "usage_update", "used": 10, "size": 100, **members},
    }
    return msgspec.json.encode({"jsonrpc": "2.0", "method": "session/update", "params": params})


def answer(**usage: object) -> bytes:
    result = {"stopReason": "end_turn", "usage": usage}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 3, "result": result})


def test_an_update_tells_of_the_context_and_the_cost_so_far() -> None:
    assert usage_of(update(cost={"amount": 0.25, "currency": "USD"})) == AgentUsage(
        session="s1", cost=Cost(0.25, "USD"), context_used=10, context_size=100
    )


def test_an_answer_tells_of_tokens() -> None:
    assert usage_of(
        answer(totalTokens=30, inputTokens=10, outputTokens=20, thoughtTokens=None)
    ) == AgentUsage(tokens=Tokens(total=30, input=10, output=20))


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
        b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"usage_update"}}}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":null}}',
        b'{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn","usage":{"inputTokens":-1}}}',
        b'{"jsonrpc":"2.0","id":1,"result":["usage"]}',
        b'{"usage"',
        b"",
        b"usage \xff",
    ],
)
def test_everything_else_tells_nothing(frame: bytes) -> None:
    assert usage_of(frame) is None


@pytest.mark.parametrize("cost", [{"amount": -1, "currency": "USD"}, {"amount": 1, "currency": ""}])
def test_a_cost_that_makes_no_sense_is_none(cost: object) -> None:
    told = usage_of(update(cost=cost))
    assert told is not None
    assert told.cost is None


@given(st.binary(max_size=60))
def test_no_bytes_make_it_raise(noise: bytes) -> None:
    usage_of(b'{"usage":' + noise)


def test_tokens_are_added_by_agent_and_by_session() -> None:
    spending = UsageTotals()
    for session, count in (("a", 1), ("a", 2), ("b", 4)):
        spending.saw("coder", session, AgentUsage(tokens=Tokens(total=count, input=count, thought=1)))
    spending.saw("other", "c", AgentUsage(tokens=Tokens(total=100)))
    assert spending.of_agent("coder").tokens == Tokens(
        total=7, input=7, thought=3, cached_read=0, cached_write=0
    )
    assert spending.of_session("a").tokens.total == 3
    assert spending.of_agent("nobody").tokens.total == 0


def test_a_cost_is_a_sessions_so_far_and_is_not_added_twice() -> None:
    spending = UsageTotals()
    for session, amount in (("a", 0.5), ("a", 0.75), ("b", 1.0), ("a", 0.75)):
        spending.saw("coder", session, AgentUsage(cost=Cost(amount, "USD")))
    assert spending.of_agent("coder").costs == {"USD": 1.75}
    assert spending.of_session("a").costs == {"USD": 0.75}


def test_an_agent_that_lost_count_begins_anew() -> None:
    spending = UsageTotals()
    for amount in (2.0, 0.5):
        spending.saw("coder", "a", AgentUsage(cost=Cost(amount, "USD")))
    assert spending.of_agent("coder").costs == {"USD": 2.5}


def test_currencies_are_kept_apart() -> None:
    spending = UsageTotals()
    spending.saw("coder", "a", AgentUsage(cost=Cost(2.0, "USD")))
    spending.saw("coder", "a", AgentUsage(cost=Cost(3.0, "credits")))
    assert spending.of_agent("coder").costs == {"USD": 2.0, "credits": 3.0}


def test_what_was_spent_before_the_start_is_not_spent_again() -> None:
    spending = UsageTotals()
    assert not spending.knows("a")
    spending.remember("a")
    assert spending.knows("a")
    spending.remember("a", Cost(5.0, "USD"))
    spending.saw("coder", "a", AgentUsage(cost=Cost(5.25, "USD")))
    assert spending.of_agent("coder").costs == {"USD": 0.25}
    assert spending.of_session("a").costs == {"USD": 5.25}
    spending.forget("a")
    assert spending.of_session("a").costs == {}


def test_sessions_that_are_silent_longest_are_forgotten_first() -> None:
    spending = UsageTotals()
    for number in range(MOST_SESSIONS):
        spending.remember(str(number))
    spending.saw("coder", "0", AgentUsage(cost=Cost(1.0, "USD")))
    spending.remember("one more")
    assert spending.knows("0")
    assert not spending.knows("1")
    assert spending.knows("2")

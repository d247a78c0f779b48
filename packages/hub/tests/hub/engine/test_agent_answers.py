"""How long the hub waits for an agent, in time that does not pass."""

from __future__ import annotations

import asyncio

import pytest

from dragoman_hub.engine.agent_answers import answer_within, nobody
from tests.runtime.clock import virtually


def test_an_agent_that_says_nothing_is_given_up_in_time() -> None:
    async def play() -> None:
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        with pytest.raises(TimeoutError):
            await answer_within(future, 12.0, waits_for_person=nobody)
        assert asyncio.get_running_loop().time() == pytest.approx(12.0)
        assert future.cancelled()

    virtually(play())


def test_the_time_in_which_a_person_is_asked_does_not_count() -> None:
    async def play() -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        loop.call_later(86_404.0, future.set_result, "done")
        answer = await answer_within(future, 12.0, waits_for_person=lambda: 6 < loop.time() < 86_400)
        assert answer == "done"

    virtually(play())


def test_what_has_no_bound_is_waited_for() -> None:
    async def play() -> None:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()
        loop.call_later(86_400.0, future.set_result, "done")
        assert await answer_within(future, None, waits_for_person=nobody) == "done"

    virtually(play())

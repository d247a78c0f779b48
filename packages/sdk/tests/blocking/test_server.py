"""The blocking server, driven by bytes: threads, cancels, queues, ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from dragoman.blocking import Agent, serve
from dragoman.errors import LocalMistake
from tests.blocking.ends import ROOT, command, forked_command
from tests.faults.talk import Talk, cancel, cancel_request, code, line, opening, prompt, request
from tests.together import SideBySide

pytestmark = pytest.mark.bound(20)
together = SideBySide()


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    async with opening(forked_command(), cwd=ROOT) as talk:
        yield talk


def reason(answer: dict[str, object]) -> object:
    assert code(answer) is None, answer
    result = answer["result"]
    assert isinstance(result, dict)
    return result["stopReason"]


@together
async def test_a_cancel_is_heard_while_the_handler_computes() -> None:
    async with talking() as talk:
        await talk.peer.send(prompt("p", talk.session, "compute"))
        await talk.said("computing")
        await talk.peer.send(cancel(talk.session))
        assert reason(await talk.answer_to("p", seconds=10)) == "cancelled"


@together
async def test_other_requests_are_answered_while_the_handler_computes() -> None:
    async with talking() as talk:
        await talk.peer.send(prompt("p", talk.session, "compute"))
        await talk.said("computing")
        assert (await talk.ask("_double", 4))["result"] == 8
        await talk.peer.send(cancel_request("p"))
        assert reason(await talk.answer_to("p", seconds=10)) == "cancelled"


@together
async def test_a_handler_of_another_request_can_be_cancelled_too() -> None:
    async with talking() as talk:
        await talk.peer.send(request("h", "_hang"))
        await talk.until(lambda message: message.get("method") == "_tick")
        await talk.peer.send(cancel_request("h"))
        assert code(await talk.answer_to("h", seconds=10)) == -32800


@together
async def test_prompts_of_one_session_wait_for_each_other() -> None:
    async with talking() as talk:
        orders = [prompt(number, talk.session, f"stop {reason}") for number, reason in enumerate(REASONS)]
        await talk.peer.send(*orders)
        answers = await talk.answers_to(range(len(orders)))
        assert [reason(answer) for answer in answers] == REASONS


REASONS = ["end_turn", "max_tokens", "refusal"] * 5


@together
async def test_a_cancel_hits_what_waits_and_nothing_that_comes_after_it() -> None:
    async with talking() as talk:
        session = talk.session
        await talk.peer.send(prompt("runs", session, "compute"), prompt("waits", session, "compute"))
        await talk.said("computing")
        await talk.peer.send(cancel(session), prompt("after", session, "stop refusal"))
        answers = await talk.answers_to(["runs", "waits", "after"], seconds=10)
        assert [reason(answer) for answer in answers] == ["cancelled", "cancelled", "refusal"]


@together
async def test_a_session_that_is_closed_ends_its_turn_first() -> None:
    async with talking() as talk:
        await talk.peer.send(prompt("p", talk.session, "compute"))
        await talk.said("computing")
        assert (await talk.ask("session/close", {"sessionId": talk.session}))["result"] == {}
        assert reason(await talk.answer_to("p")) == "cancelled"
        assert code(await talk.ask("session/prompt", {"sessionId": talk.session, "prompt": []})) == -32002


@together
async def test_a_thousand_requests_in_one_write_are_all_answered() -> None:
    async with talking() as talk:
        await talk.peer.send(b"".join(line(request(number, "_double", number)) for number in range(1000)))
        answers = await talk.answers_to(range(1000))
        assert [answer["result"] for answer in answers] == [2 * number for number in range(1000)]


@together
async def test_a_hundred_turns_at_once_do_not_keep_other_requests_out() -> None:
    async with talking() as talk:
        sessions = [await talk.new_session() for _ in range(100)]
        await talk.peer.send(*(prompt(name, name, "wait") for name in sessions))
        assert (await talk.ask("_double", 3))["result"] == 6
        await talk.peer.send(*(cancel(name) for name in sessions))
        answers = await talk.answers_to(sessions)
        assert {reason(answer) for answer in answers} == {"cancelled"}


@together
async def test_a_client_that_does_not_read_does_not_fill_the_memory() -> None:
    async with opening(command(), cwd=ROOT) as talk:  # itself, because its memory is looked at
        before = resident(talk.peer.pid)
        talk.peer.pause()
        talk.peer.send_soon(line(prompt("p", talk.session, "chatter")))
        await asyncio.sleep(1.0)  # time in which it could
        assert resident(talk.peer.pid) - before < 8 * 1024
        talk.peer.resume()
        await talk.peer.send(cancel(talk.session))
        assert reason(await talk.answer_to("p", seconds=15)) == "cancelled"


def resident(pid: int) -> int:
    """Kilobytes."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0])


@together
async def test_work_that_came_with_the_end_of_input_is_finished() -> None:
    async with talking() as talk:
        await talk.peer.send(prompt("p", talk.session, "count 3"))
        talk.peer.close_stdin()
        assert reason(await talk.answer_to("p")) == "end_turn"
        assert talk.words() == "0 1 2 "
        assert await talk.peer.wait(seconds=12) == 0


@pytest.mark.parametrize("order", ["compute", "chatter", "wait", "ignore 60"])
@pytest.mark.parametrize("how", [None, signal.SIGTERM, signal.SIGINT], ids=["eof", "term", "int"])
@together
async def test_it_ends_in_time_whatever_its_handler_does(order: str, how: int | None) -> None:
    async with talking() as talk:
        await talk.peer.send(prompt("p", talk.session, order))
        await talk.until(lambda message: message.get("method") == "session/update")
        if how is None:
            talk.peer.close_stdin()
        else:
            talk.peer.send_signal(how)
        await talk.peer.wait(seconds=12)
        assert "Traceback" not in talk.peer.stderr


@together
async def test_it_ends_when_nobody_reads_any_more() -> None:
    async with talking() as talk:
        await talk.peer.send(prompt("p", talk.session, "chatter"))
        await talk.until(lambda message: message.get("method") == "session/update")
        talk.peer.close_stdout()
        await talk.peer.wait(seconds=12)


def test_an_agent_with_async_handlers_is_refused_before_anything_starts() -> None:
    agent = Agent("async")

    @agent.cancel
    async def cancelled(note: object) -> None:
        return None

    with pytest.raises(LocalMistake, match="session/cancel"):
        serve(agent)

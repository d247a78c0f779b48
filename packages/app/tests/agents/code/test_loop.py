"""A turn of the coder, over real HTTP in both wire formats."""

import asyncio
import os
from pathlib import Path

import pytest

from dragoman.schema.v1 import AgentMessageChunk, AgentThoughtChunk, SessionInfoUpdate, UsageUpdate
from dragoman.testing.models import TokenUsage, call, endless, fail, hold, think, turn
from dragoman_app.agents.code.config import Price
from tests.agents.code.coder_runs import Person, calls, coding, status, text_of
from tests.kit.kit_agents import alive

pytestmark = [pytest.mark.bound(30), pytest.mark.in_turn("api")]

APIS = pytest.mark.parametrize("api", ["openai", "responses", "anthropic"])


@APIS
async def test_text_and_thoughts_come_as_they_come(api: str, tmp_path: Path) -> None:
    async with coding([turn(think("Well."), "Hel", hold(), "lo")], tmp_path, api=api) as coder:
        heard: list[str] = []
        running = coder.session.prompt("Hi")
        async for update in running:
            if isinstance(update, AgentMessageChunk | AgentThoughtChunk):
                heard.append(text_of([update]))
            if heard == ["Well.", "Hel"]:
                coder.model.release()
    assert heard == ["Well.", "Hel", "lo"]
    assert running.result.stop_reason == "end_turn"


@APIS
async def test_a_tool_is_run_and_its_result_told(api: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    async with coding([turn(call("read", path="a.py")), turn("It sets x.")], tmp_path, api=api) as coder:
        stop, updates = await coder.prompt("What is in a.py?")
    assert (stop, text_of(updates)) == ("end_turn", "It sets x.")
    assert status(calls(updates)["Read a.py"]) == "completed"
    (result,) = coder.model.requests[1].results.values()
    assert result.text == "     1\tx = 1"


@APIS
async def test_calls_that_only_look_run_at_the_same_time(api: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    both = turn(call("read", path="a"), call("read", path="b"))
    async with coding([both, turn("Done.")], tmp_path, api=api) as coder:
        _, updates = await coder.prompt("Read both")
    happened = calls(updates)
    order = [update for update in updates if update in happened["Read a"] + happened["Read b"]]
    begun = order.index(happened["Read b"][0])
    assert begun < order.index(happened["Read a"][-1]), "the second began before the first had ended"
    assert [result.text for result in coder.model.requests[1].results.values()] == ["     1\t1", "     1\t2"]


async def test_calls_that_change_something_run_in_the_order_in_which_they_were_made(tmp_path: Path) -> None:
    many = turn(*(call("run", command=f"echo {n} >> log") for n in range(5)))
    async with coding([many, turn("Done.")], tmp_path, mode="full") as coder:
        await coder.prompt("Count")
    assert (tmp_path / "log").read_text().split() == ["0", "1", "2", "3", "4"]


@APIS
async def test_an_answer_that_is_too_long_ends_the_turn_with_max_tokens(api: str, tmp_path: Path) -> None:
    async with coding([turn("I would have sa", stop="length")], tmp_path, api=api) as coder:
        assert (await coder.prompt("Talk"))[0] == "max_tokens"


async def test_half_a_call_at_the_end_of_the_tokens_is_not_made(tmp_path: Path) -> None:
    half = turn(call("run", '{"command": "touch x'), stop="length")
    async with coding([half, turn("Fine.")], tmp_path, mode="full") as coder:
        assert (await coder.prompt("Go"))[0] == "max_tokens"
        assert (await coder.prompt("Go on"))[0] == "end_turn"
    assert not (tmp_path / "x").exists()
    assert [message.role for message in coder.model.requests[1].messages] == ["user", "user"]


@APIS
async def test_a_refusal_ends_the_turn_and_is_forgotten(api: str, tmp_path: Path) -> None:
    script = [turn("Hello."), turn("I will not.", stop="refusal"), turn("Bye.")]
    async with coding(script, tmp_path, api=api) as coder:
        await coder.prompt("Hi")
        stop, updates = await coder.prompt("Something bad")
        await coder.prompt("Bye")
    assert (stop, text_of(updates)) == ("refusal", "I will not.")
    assert "Something bad" not in str(coder.model.requests[2].body)
    assert "Hello." in str(coder.model.requests[2].body)


async def test_a_prompt_that_the_server_does_not_want_to_hear_is_refused(tmp_path: Path) -> None:
    async with coding([turn(fail(400, "Not this.", code="content_filter")), turn("Hi.")], tmp_path) as coder:
        stop, updates = await coder.prompt("Something bad")
        assert stop == "refusal"
        assert "Not this." in text_of(updates)
        await coder.prompt("Hello")
    assert [message.text for message in coder.model.requests[1].messages] == ["Hello"]


async def test_a_loop_without_an_end_is_ended(tmp_path: Path) -> None:
    async with coding([turn(call("list"), times=9)], tmp_path, max_turn_requests=3) as coder:
        assert (await coder.prompt("Go"))[0] == "max_turn_requests"
    assert len(coder.model.requests) == 3


@APIS
async def test_usage_is_told_for_the_turn_and_summed_for_the_session(api: str, tmp_path: Path) -> None:
    used = TokenUsage(input=900, output=20, cached=800)
    script = [turn(call("list"), usage=used), turn("A.", usage=used), turn("B.", usage=used)]
    price = Price(input=1.0, output=10.0)
    async with coding(script, tmp_path, api=api, price=price, context_size=10_000) as coder:
        first = coder.session.prompt("One")
        _ = [update async for update in first]
        _, updates = await coder.prompt("Two")
    usage = first.result.response.usage
    assert usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_read_tokens) == (1800, 40, 1600)
    (told,) = [update for update in updates if isinstance(update, UsageUpdate)]
    assert (told.used, told.size) == (920, 10_000)
    assert told.cost
    assert told.cost.amount == pytest.approx(3 * (900 + 200) / 1_000_000)


@APIS
async def test_a_cancel_closes_the_connection_to_the_model(api: str, tmp_path: Path) -> None:
    async with coding([turn("Well, ", endless("and "))], tmp_path, api=api) as coder:
        running = coder.session.prompt("Talk")
        async for update in running:
            if "and" in text_of([update]) and not coder.session.cancelling:
                await coder.session.cancel()
        assert running.result.stop_reason == "cancelled"
        assert await coder.model.requests[0].over() == "abandoned"


async def test_what_was_said_before_a_cancel_is_remembered(tmp_path: Path) -> None:
    async with coding([turn("Half an ans", hold()), turn("Whole.")], tmp_path) as coder:
        running = coder.session.prompt("Talk")
        async for update in running:
            if text_of([update]):
                await coder.session.cancel()
        assert running.result.stop_reason == "cancelled"
        await coder.prompt("Again")
    said = [(message.role, message.text) for message in coder.model.requests[1].messages]
    assert said == [("user", "Talk"), ("assistant", "Half an ans"), ("user", "Again")]


@APIS
async def test_a_cancel_ends_a_command_with_its_whole_tree(api: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pids")
    script = [turn(call("run", command="sleep 3600 & echo $$ $! > pids; wait")), turn("Fine.")]
    async with coding(script, tmp_path, api=api, mode="full") as coder:
        running = asyncio.ensure_future(coder.prompt("Wait"))
        pids = (await asyncio.to_thread((tmp_path / "pids").read_text)).split()
        await coder.session.cancel()
        stop, updates = await running  # the command takes an hour
        assert stop == "cancelled"
        assert status(next(iter(calls(updates).values()))) == "failed"
        assert len(pids) == 2
        assert not [pid for pid in pids if alive(int(pid))]
        # The next turn is a turn like any other, and the model knows that the call was cut short.
        assert (await coder.prompt("Go on"))[0] == "end_turn"
    (result,) = coder.model.requests[1].results.values()
    assert "cut short" in result.text


async def test_a_session_is_called_after_its_first_prompt(tmp_path: Path) -> None:
    async with coding([turn("Hi.")], tmp_path) as coder:
        _, updates = await coder.prompt("Fix the build")
    assert [update.title for update in updates if isinstance(update, SessionInfoUpdate)] == ["Fix the build"]


async def test_a_call_that_makes_no_sense_is_told_to_the_model(tmp_path: Path) -> None:
    odd = turn(call("read", '{"path": '), call("nothing", x=1), call("read", file="a"))
    async with coding([odd, turn("Sorry.")], tmp_path) as coder:
        stop, updates = await coder.prompt("Go")
    assert stop == "end_turn"
    texts = [result.text for result in coder.model.requests[1].results.values()]
    assert "no JSON object" in texts[0]
    assert "There is no tool nothing" in texts[1]
    assert "The arguments do not fit" in texts[2]
    assert {status(happened) for happened in calls(updates).values()} == {"failed"}


async def test_how_much_the_model_thinks_is_an_option_of_the_session(tmp_path: Path) -> None:
    script = [turn("A."), turn("B."), turn("C.")]
    async with coding(script, tmp_path, model="gpt-5") as coder:
        for much in ("default", "high", "off"):
            await coder.session.set_config_option("thinking", much)
            await coder.prompt("Hi")
    efforts = [request.body.get("reasoning_effort") for request in coder.model.requests]
    assert efforts == [None, "high", "minimal"]


async def test_the_model_is_an_option_of_the_session(tmp_path: Path) -> None:
    async with coding([turn("A."), turn("B.")], tmp_path, models=["large"], person=Person()) as coder:
        await coder.prompt("Hi")
        await coder.session.set_config_option("model", "large")
        await coder.prompt("Hi")
    assert [request.model for request in coder.model.requests] == ["small", "large"]


async def test_what_the_user_says_meanwhile_is_in_the_next_request(tmp_path: Path) -> None:
    async with coding([turn("One.", hold()), turn("Two.")], tmp_path) as coder:
        running = coder.session.prompt("Begin")
        steering: asyncio.Task[str] | None = None
        async for update in running:
            if isinstance(update, AgentMessageChunk) and steering is None:
                steering = asyncio.ensure_future(coder.session.steer("and go on"))
                await asyncio.sleep(0)
                coder.model.release()
        assert steering is not None
        assert await steering == "delivered"
        assert running.result.text == "One.Two."
        assert len(coder.model.requests) == 2
        assert "and go on" in str(coder.model.requests[1].body)

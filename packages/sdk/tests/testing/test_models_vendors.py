"""The vendors' own clients find what the script says: they are the judges of the formats."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dragoman.testing.models import (
    ModelTurn,
    ScriptedModel,
    TokenUsage,
    call,
    cut,
    fail,
    garbage,
    say,
    scripted_model,
    think,
    turn,
)

openai: Any
anthropic: Any

ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
COUNTED: Any = {"stream_options": {"include_usage": True}}

LONG: Any = {"max_tokens": 99}

# The clients take a second to import, and their first request compiles their types.
pytestmark = pytest.mark.bound(20)

STEPS = (
    think("Two ", "files."),
    say("I ", "read ", "them: "),
    call("read", path="ä.py"),
    call("read", path="b.py", lines=[1, 2]),
)
USAGE = TokenUsage(input=100, output=20, cached=40, reasoning=5)


@pytest.fixture(scope="module", autouse=True)
def clients() -> None:
    """Imported when a test needs them: every worker collects this module, and one of them runs it."""
    global openai, anthropic
    openai = pytest.importorskip("openai", reason="the client of OpenAI is not installed")
    anthropic = pytest.importorskip("anthropic", reason="the client of Anthropic is not installed")


@asynccontextmanager
async def asking(*turns: ModelTurn) -> AsyncIterator[tuple[ScriptedModel, Any, Any]]:
    """A model, and both clients without their retries."""
    async with (
        scripted_model(turns) as model,
        openai.AsyncOpenAI(base_url=model.openai_url, api_key="k", max_retries=0) as chat,
        anthropic.AsyncAnthropic(base_url=model.anthropic_url, api_key="k", max_retries=0) as messages,
    ):
        yield model, chat, messages


async def streamed_chat(client: Any) -> Any:
    async with client.chat.completions.stream(**ASKED, **COUNTED) as stream:
        async for _ in stream:
            pass
        return await stream.get_final_completion()


async def streamed_message(client: Any) -> Any:
    async with client.messages.stream(**ASKED, **LONG) as stream:
        return await stream.get_final_message()


async def streamed_response(client: Any) -> Any:
    last = None
    async with client.responses.stream(model="m", input="Hi") as stream:
        async for event in stream:
            last = event
    assert last is not None
    return last.response


def whole(steps: tuple[Any, ...] = STEPS, **more: Any) -> ModelTurn:
    return turn(*steps, usage=USAGE, split=5, **more)


@pytest.mark.parametrize("streams", [True, False])
async def test_a_chat_completion_is_what_the_script_says(streams: bool) -> None:
    async with asking(whole()) as (_, client, _):
        got = await (streamed_chat(client) if streams else client.chat.completions.create(**ASKED))
    (choice,) = got.choices
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "I read them: "
    assert choice.message.reasoning_content == "Two files."
    made = [(use.id, use.function.name, use.function.arguments) for use in choice.message.tool_calls]
    assert made == [
        ("call_1_1", "read", '{"path": "\\u00e4.py"}'),
        ("call_1_2", "read", '{"path": "b.py", "lines": [1, 2]}'),
    ]
    usage = got.usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (100, 20, 120)
    assert usage.prompt_tokens_details.cached_tokens == 40
    assert usage.completion_tokens_details.reasoning_tokens == 5


@pytest.mark.parametrize("streams", [True, False])
async def test_a_message_is_what_the_script_says(streams: bool) -> None:
    async with asking(whole()) as (_, _, client):
        got = await (streamed_message(client) if streams else client.messages.create(**ASKED, **LONG))
    assert got.stop_reason == "tool_use"
    thought, text, *uses = got.content
    assert (thought.type, thought.thinking, text.text) == ("thinking", "Two files.", "I read them: ")
    assert thought.signature
    assert [(use.id, use.name, use.input) for use in uses] == [
        ("call_1_1", "read", {"path": "ä.py"}),
        ("call_1_2", "read", {"path": "b.py", "lines": [1, 2]}),
    ]
    usage = got.usage
    assert (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens) == (60, 40, 20)


@pytest.mark.parametrize("streams", [True, False])
async def test_a_response_is_what_the_script_says(streams: bool) -> None:
    async with asking(whole()) as (_, client, _):
        got = await (streamed_response(client) if streams else client.responses.create(model="m", input="Hi"))
    assert (got.status, got.output_text) == ("completed", "I read them: ")
    thought, _, *uses = got.output
    assert thought.summary[0].text == "Two files."
    assert [(use.call_id, use.name, use.arguments) for use in uses] == [
        ("call_1_1", "read", '{"path": "\\u00e4.py"}'),
        ("call_1_2", "read", '{"path": "b.py", "lines": [1, 2]}'),
    ]
    assert (got.usage.input_tokens, got.usage.output_tokens, got.usage.total_tokens) == (100, 20, 120)


@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("stop", "finish", "reason"),
    [
        ("stop", "stop", "end_turn"),
        ("length", "length", "max_tokens"),
        ("content_filter", "content_filter", "refusal"),
        ("refusal", "stop", "refusal"),
        ("max_tokens", "length", "max_tokens"),
        ("end_turn", "stop", "end_turn"),
    ],
)
async def test_every_stop_has_its_word(stop: str, finish: str, reason: str, streams: bool) -> None:
    async with asking(turn("I", stop=stop), turn("I", stop=stop)) as (_, chat, messages):
        if streams:  # the helper for streams raises at these, so the chunks are read as they come
            chunks = [chunk async for chunk in await chat.chat.completions.create(**ASKED, stream=True)]
            assert chunks[-1].choices[0].finish_reason == finish
            said = "".join((chunk.choices[0].delta.refusal or "") for chunk in chunks)
            message = await streamed_message(messages)
        else:
            got = await chat.chat.completions.create(**ASKED)
            assert got.choices[0].finish_reason == finish
            said = got.choices[0].message.refusal or ""
            message = await messages.messages.create(**ASKED, **LONG)
    assert said == ("I" if stop == "refusal" else "")
    assert message.stop_reason == reason


async def test_a_response_that_is_incomplete_or_refused_says_so() -> None:
    async with asking(turn("I", stop="length"), turn("No", stop="refusal")) as (_, client, _):
        short = await streamed_response(client)
        refused = await streamed_response(client)
    assert (short.status, short.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert refused.output[0].content[0].refusal == "No"


@pytest.mark.parametrize(
    ("status", "of_openai", "of_anthropic"),
    [
        (400, "BadRequestError", "BadRequestError"),
        (401, "AuthenticationError", "AuthenticationError"),
        (403, "PermissionDeniedError", "PermissionDeniedError"),
        (404, "NotFoundError", "NotFoundError"),
        (429, "RateLimitError", "RateLimitError"),
        (500, "InternalServerError", "InternalServerError"),
        (529, "InternalServerError", "OverloadedError"),
    ],
)
async def test_errors_are_known_by_their_names(status: int, of_openai: str, of_anthropic: str) -> None:
    async with asking(turn(fail(status, "Sorry"), times=3)) as (_, chat, messages):
        with pytest.raises(getattr(openai, of_openai), match="Sorry") as first:
            await streamed_chat(chat)
        with pytest.raises(getattr(openai, of_openai), match="Sorry"):
            await streamed_response(chat)
        with pytest.raises(anthropic.APIStatusError, match="Sorry") as second:
            await streamed_message(messages)
    assert type(second.value).__name__ == of_anthropic
    assert (first.value.status_code, second.value.status_code) == (status, status)


async def test_a_used_up_quota_is_told_from_too_many_requests() -> None:
    async with asking(turn(fail(429, kind="insufficient_quota"))) as (_, chat, _):
        with pytest.raises(openai.RateLimitError) as caught:
            await streamed_chat(chat)
    assert (caught.value.code, caught.value.type) == ("insufficient_quota", "insufficient_quota")


async def test_a_limit_says_when_it_is_over() -> None:
    async with asking(turn(fail(429, retry_after=2, reset=90), times=2)) as (_, chat, messages):
        with pytest.raises(openai.RateLimitError) as first:
            await streamed_chat(chat)
        with pytest.raises(anthropic.RateLimitError) as second:
            await streamed_message(messages)
    headers = first.value.response.headers
    assert (headers["retry-after"], headers["x-ratelimit-reset-requests"]) == ("2", "1m30s")
    headers = second.value.response.headers
    again = datetime.fromisoformat(headers["anthropic-ratelimit-requests-reset"])
    assert timedelta(seconds=60) < again - datetime.now(UTC) <= timedelta(seconds=90)


async def test_clients_try_again_by_themselves() -> None:
    async with asking(turn(fail(429, retry_after=0.01)), turn("Now")) as (model, client, _):
        got = await client.with_options(max_retries=1).chat.completions.create(**ASKED)
    assert got.choices[0].message.content == "Now"
    assert [request.outcome for request in model.requests] == ["failed", "answered"]


@pytest.mark.parametrize("fault", [cut(), cut("between"), garbage(), fail(529)])
async def test_a_broken_stream_is_an_error(fault: Any) -> None:
    async with asking(turn("Hel", fault, "lo"), turn("Hel", fault, "lo")) as (_, chat, messages):
        with pytest.raises(Exception, match=r"."):
            await streamed_chat(chat)
        with pytest.raises(Exception, match=r"."):
            await streamed_message(messages)


async def test_models_are_listed() -> None:
    async with asking() as (_, chat, messages):
        assert [found.id async for found in chat.models.list()] == ["scripted"]
        assert [found.id async for found in messages.models.list()] == ["scripted"]


async def test_tokens_are_counted_for_those_who_ask() -> None:
    async with asking() as (_, _, client):
        assert (await client.messages.count_tokens(**ASKED)).input_tokens > 0

"""What an author gets wrong beside the messages: bytes for text, times, targets, forgotten results."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import pytest

from dragoman import Agent, Client, Limits, Proxy, Turn, blocking, connect, serve, supervised
from dragoman.errors import CallFailed, InvalidValue
from dragoman.schema import v1
from dragoman.sdk.outbound import write_out
from dragoman.sdk.supervision.deadlines import Deadlines
from dragoman.transport.process import words_of
from tests.every import every


@every(
    ("make", "argument"),
    [
        (lambda: Limits(call_seconds="30"), "call_seconds"),  # type: ignore[arg-type]
        (lambda: Limits(silence_seconds=math.nan), "silence_seconds"),
        (lambda: Limits(backlog_bytes=1.5), "backlog_bytes"),  # type: ignore[arg-type]
        (lambda: Deadlines(first_byte="3"), "first_byte"),  # type: ignore[arg-type]
        (lambda: connect(None), "target"),  # type: ignore[arg-type]
        (lambda: connect("agent", client=Client), "client"),  # type: ignore[arg-type]
        (lambda: connect("agent", limits=5), "limits"),  # type: ignore[arg-type]
        (lambda: blocking.connect(None), "target"),  # type: ignore[arg-type]
        (lambda: blocking.connect("agent", client=Client), "client"),  # type: ignore[arg-type]
        (lambda: blocking.connect("agent", limits=5), "limits"),  # type: ignore[arg-type]
        (lambda: supervised(None), "target"),  # type: ignore[arg-type]
        (lambda: Proxy(5), "target"),  # type: ignore[arg-type]
        (lambda: Agent("a").extension(len), "method"),  # type: ignore[arg-type]
        (lambda: Client("c").extension(len), "method"),  # type: ignore[arg-type]
        (lambda: serve(None), "target"),  # type: ignore[arg-type]
        (lambda: words_of(["agent", None]), "word 1 of the command"),  # type: ignore[list-item]
    ],
)
def test_a_wrong_argument_is_refused_where_it_stands(make: Callable[[], Any], argument: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        make()
    assert refused.value.argument == argument


async def test_a_handler_that_forgot_its_result_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    agent, client, seen = Agent("reader"), Client(), list[str]()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            seen.append(await turn.read_text_file("/tmp/a"))
        except CallFailed as error:
            seen.append(str(error.code))
        async with turn.tool("T", status="pending") as call:
            seen.append(str(bool(await call.ask())))

    @agent.load_session
    async def load(request: v1.LoadSessionRequest) -> None:
        return None  # its result needs no field

    @agent.fork_session
    async def fork(request: v1.ForkSessionRequest) -> Any:
        return None

    @client.read_text_file
    def read_file(request: v1.ReadTextFileRequest) -> Any:
        return None

    @client.request_permission
    def decide(request: v1.RequestPermissionRequest) -> Any:
        return None

    async with connect(agent, client=client) as handle:
        session = await handle.load_session("s", cwd="/tmp")
        await session.prompt("go")
        with pytest.raises(CallFailed):
            await handle.fork_session("s", cwd="/tmp")
    assert seen == ["-32603", "False"]
    for method, result in (
        ("fs/read_text_file", "ReadTextFileResponse"),
        ("session/request_permission", "RequestPermissionResponse"),
        ("session/fork", "ForkSessionResponse"),
    ):
        assert f"the handler of {method} returned NoneType, not {result}" in caplog.text


async def test_an_option_that_was_not_offered_is_named_with_those_that_were(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent, client = Agent("asker"), Client()

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("T", status="pending") as call:
            await turn.say(str(bool(await call.ask())))

    @client.request_permission
    def decide(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        return v1.RequestPermissionResponse(outcome=v1.SelectedPermissionOutcome(option_id="maybe"))

    async with connect(agent, client=client) as handle:
        session = await handle.new_session(cwd="/tmp")
        assert (await session.prompt("go")).text == "False"
    assert "option_id is 'maybe'; it must be one of '" in caplog.text


async def test_a_time_that_is_none_is_refused_before_anything_is_sent() -> None:
    agent = Agent("patient")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        with pytest.raises(InvalidValue, match="deadline is '5'; it must be a number of seconds"):
            await turn.client.call("_extension", deadline="5")  # type: ignore[arg-type]
        await turn.say("done")

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        with pytest.raises(InvalidValue, match="silence is '5'; it must be a number of seconds"):
            session.prompt("hi", silence="5")  # type: ignore[arg-type]
        with pytest.raises(InvalidValue, match="deadline is 'soon'; it must be"):
            await handle.call("_extension", deadline="soon")  # type: ignore[arg-type]
        assert (await session.prompt("hi", silence=60)).text == "done"


@every(
    ("message", "path"),
    [
        (v1.WriteTextFileRequest(session_id="s", path="/f", content=b"text"), "content"),  # type: ignore[arg-type]
        (v1.SessionInfoUpdate(title=math.nan), "title"),  # type: ignore[arg-type]
        (v1.ToolCall(tool_call_id="t", title="T", raw_output=b"output"), "raw_output"),
        (v1.PromptRequest(session_id="s", prompt=[v1.TextContent(text=bytearray(b"a"))]), "prompt[0].text"),  # type: ignore[arg-type]
        (v1.CreateTerminalRequest(session_id="s", command="c", args=["a", b"b"]), "args[1]"),  # type: ignore[list-item]
    ],
)
def test_what_json_would_write_as_something_else_is_refused(message: Any, path: str) -> None:
    for _ in range(20):  # the first ones are read back, later ones are checked by their types
        with pytest.raises(InvalidValue) as refused:
            write_out(message, type(message), "message")
        assert refused.value.argument == path


def test_bytes_become_base64_where_the_protocol_wants_it() -> None:
    picture = v1.ImageContent(data=b"picture", mime_type="image/png")  # type: ignore[arg-type]
    prompt = v1.PromptRequest(session_id="s", prompt=[picture])
    assert b'"data":"cGljdHVyZQ=="' in write_out(prompt, v1.PromptRequest, "session/prompt")


class Unspeakable:
    def __repr__(self) -> str:
        raise KeyError("no")


def deep(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"a": value}
    return value


@pytest.mark.parametrize(
    "value",
    [deep(50_000 if sys.version_info < (3, 14) else 200_000), [Unspeakable()]],
    ids=["deep", "without a repr"],
)
async def test_what_cannot_even_be_shown_is_refused_with_its_reason(value: Any) -> None:
    problems = []
    agent = Agent("x")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        with pytest.raises(InvalidValue) as problem:
            turn.tool("T", raw_input=value)
        problems.append(str(problem.value))
        async with turn.tool("T") as call:
            with pytest.raises(InvalidValue) as problem:
                await call.progress(raw_output=value)
        problems.append(str(problem.value))
        with pytest.raises(InvalidValue):
            await turn.client.call("_x", value)

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/")
        await session.prompt("go")
        with pytest.raises(InvalidValue):
            await handle.call("_x", value)
    assert len(problems) == 2
    assert all("cannot be written" in problem for problem in problems)

"""Every method that an agent may be asked for has a hook, and every hook gets and gives typed messages."""

from __future__ import annotations

import asyncio
import json
import pydoc
import re
from collections.abc import Callable
from typing import Any

import pytest

import dragoman
from dragoman import Agent, Client, ClientHandle, Turn, blocking
from dragoman.errors import LocalMistake
from dragoman.schema.codec import write
from dragoman.schema.v1.methods import METHODS
from dragoman.sdk.capabilities import AGENT_NOTIFICATIONS, AGENT_REQUESTS
from dragoman.sdk.handlers import Hook
from tests.runtime.raw import notification, request, until
from tests.sdk.ends import INITIALIZE, RawClient, raw_client
from tests.sdk.table import AGENT, SECRET, Example

# What the link itself deals with, and what belongs to proxies alone.
NOT_HOOKED = {"$/cancel_request"}
# What works without any hook.
BUILT_IN = {"initialize", "session/new", "session/close", "session/prompt"}
HOOKS = {hook.method: name for name, hook in vars(Agent).items() if isinstance(hook, Hook)}
HOOKS = {method: name for method, name in HOOKS.items() if name != "steer"} | {"session/prompt": "prompt"}

requests = pytest.mark.parametrize("method", sorted(AGENT_REQUESTS))
notifications = pytest.mark.parametrize("method", sorted(set(AGENT_NOTIFICATIONS) - NOT_HOOKED))


def hook(agent: Agent, method: str) -> Callable[..., Any]:
    made: Callable[..., Any] = getattr(agent, HOOKS[method])
    return made


def test_every_method_of_an_agent_has_a_hook_and_an_example() -> None:
    named = {method.name for method in METHODS if method.receiver in ("agent", "both")} - NOT_HOOKED
    assert set(HOOKS) == named
    assert set(AGENT) == named


async def open_one(client: RawClient, method: str) -> None:
    """What has to come before, so that the session of the examples is there."""
    if method == "initialize":
        return
    client.send(INITIALIZE)
    await client.answer_to(0)
    if method != "session/new":
        client.send(request("n", "session/new", AGENT["session/new"].params))
        await client.answer_to("n")


def agent_with_a_session() -> Agent:
    agent = Agent("table")

    @agent.new_session
    async def new(_: Any) -> Any:
        from dragoman.schema.v1 import NewSessionResponse

        return NewSessionResponse(session_id="s1")

    return agent


def prepared(method: str, handler: Callable[..., Any]) -> Agent:
    agent = Agent("table") if method == "session/new" else agent_with_a_session()
    hook(agent, method)(handler)
    return agent


@requests
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async def", "def"])
async def test_a_handler_gets_the_typed_request_and_gives_the_result(method: str, asynchronous: bool) -> None:
    example = AGENT[method]
    got: list[Any] = []

    async def handle(message: Any) -> Any:
        got.append(message)
        return example.result

    def handle_plainly(message: Any) -> Any:
        got.append(message)
        return example.result

    async with raw_client(prepared(method, handle if asynchronous else handle_plainly)) as client:
        await open_one(client, method)
        client.send(request("x", method, {**example.params, "_meta": {"trace": 1}}))
        answer = await client.answer_to("x")
    assert answer["result"] == expected(method, example)
    (message,) = got
    if method == "session/prompt":
        message = message.request
    assert type(message).__name__.startswith(expected_type(method))
    assert message.meta == {"trace": 1}


def expected(method: str, example: Example) -> Any:
    if method == "session/prompt":
        return {"stopReason": "end_turn"}
    return {} if example.result is None else json.loads(write(example.result))


def expected_type(method: str) -> str:
    params = AGENT_REQUESTS[method].params
    # The config option's params are a union of two shapes; everything else is one struct.
    return "SetSessionConfig" if method == "session/set_config_option" else params.__name__


@requests
async def test_a_handler_that_wants_to_know_who_asks_is_told(method: str) -> None:
    peers: list[Any] = []

    async def handle(message: Any, peer: ClientHandle) -> Any:
        peers.append(peer)
        return AGENT[method].result

    async with raw_client(prepared(method, handle)) as client:
        await open_one(client, method)
        client.send(request("x", method, AGENT[method].params))
        await client.answer_to("x")
    assert isinstance(peers[0], ClientHandle)


@requests
async def test_without_a_handler_a_method_is_unknown_unless_it_is_built_in(method: str) -> None:
    async with raw_client(agent_with_a_session()) as client:
        await open_one(client, method)
        client.send(request("x", method, AGENT[method].params))
        answer = await client.answer_to("x")
        if method in BUILT_IN - {"session/prompt"}:
            assert "result" in answer
        else:
            assert answer["error"] == {
                "code": -32601,
                "message": "Method not found",
                "data": {"method": method},
            }


@requests
async def test_params_that_cannot_be_read_are_refused_with_a_path_and_without_values(method: str) -> None:
    example = AGENT[method]
    if example.wrong is None:
        return  # nothing in it can be wrong
    called: list[Any] = []

    async def handle(message: Any) -> Any:
        called.append(message)
        return example.result

    async with raw_client(prepared(method, handle)) as client:
        await open_one(client, method)
        client.send(request("x", method, example.wrong))
        error = (await client.answer_to("x"))["error"]
    at_fault = next(name for name, value in example.wrong.items() if SECRET in json.dumps(value))
    assert error["code"] == -32602
    assert at_fault in error["message"]
    assert SECRET not in json.dumps(client.seen)
    assert called == []


@requests
async def test_a_result_of_the_wrong_type_is_an_internal_error(method: str) -> None:
    async def handle(message: Any) -> Any:
        return {"plain": SECRET}

    async with raw_client(prepared(method, handle)) as client:
        await open_one(client, method)
        client.send(request("x", method, AGENT[method].params))
        error = (await client.answer_to("x")).get("error")
    if method == "session/close":
        assert error is None  # its answer is empty, whatever the handler returns
    else:
        assert error == {"code": -32603, "message": "Internal error"}


@notifications
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async def", "def"])
async def test_a_notification_reaches_its_handler_typed(method: str, asynchronous: bool) -> None:
    got: list[Any] = []

    async def handle(message: Any) -> None:
        got.append(message)

    async with raw_client(prepared(method, handle if asynchronous else got.append)) as client:
        await open_one(client, method)
        client.send(notification(method, {**AGENT[method].params, "_meta": {"trace": 1}}))
        await until(lambda: got)
        client.send(notification(method, {"sessionId": [SECRET]}), request("x", "unknown"))
        await client.answer_to("x")
    (message,) = got
    assert isinstance(message, AGENT_NOTIFICATIONS[method].params)
    assert message.meta == {"trace": 1}


@notifications
async def test_a_notification_with_an_id_is_an_unknown_request(method: str) -> None:
    got: list[Any] = []
    async with raw_client(prepared(method, got.append)) as client:
        await open_one(client, method)
        client.send(request("x", method, AGENT[method].params))
        assert (await client.answer_to("x"))["error"]["code"] == -32601
    assert got == []


@requests
async def test_a_request_without_an_id_runs_nothing(method: str) -> None:
    got: list[Any] = []

    async def handle(message: Any) -> Any:
        got.append(message)

    async with raw_client(prepared(method, handle)) as client:
        await open_one(client, "session/new" if method == "initialize" else method)
        got.clear()
        client.send(notification(method, AGENT[method].params), request("x", "unknown"))
        await client.answer_to("x")
    assert got == []


async def test_an_extension_takes_requests_and_notifications_as_plain_data() -> None:
    agent = Agent("extended")
    got: list[Any] = []

    @agent.extension("_example.com/do")
    async def do(params: Any) -> Any:
        got.append(params)
        return {"echo": params}

    async with raw_client(agent) as client:
        await open_one(client, "any")
        client.send(
            request(1, "_example.com/do", {"a": [1, None], "_meta": {"m": 1}}), request(2, "_example.com/do")
        )
        assert (await client.answer_to(1))["result"] == {"echo": {"a": [1, None], "_meta": {"m": 1}}}
        assert (await client.answer_to(2))["result"] == {"echo": None}
        client.send(notification("_example.com/do", {"b": 2}), request(3, "_example.com/unknown"))
        assert (await client.answer_to(3))["error"]["code"] == -32601
        await until(lambda: len(got) == 3)
    assert got[2] == {"b": 2}


async def test_an_extension_that_returns_what_cannot_be_written_is_an_internal_error() -> None:
    agent = Agent("extended")

    @agent.extension("_bad")
    async def bad(params: Any) -> Any:
        return object()

    async with raw_client(agent) as client:
        await open_one(client, "any")
        client.send(request(1, "_bad"))
        assert (await client.answer_to(1))["error"] == {"code": -32603, "message": "Internal error"}


def test_an_extension_starts_with_an_underscore() -> None:
    with pytest.raises(ValueError, match="underscore"):
        Agent("x").extension("session/prompt")


def test_a_method_has_one_handler() -> None:
    agent = Agent("x")

    @agent.prompt
    async def first(turn: Turn) -> None: ...

    with pytest.raises(ValueError, match="already"):
        agent.prompt(first)

    def told(_: Any) -> None: ...

    agent.cancel(told)
    with pytest.raises(ValueError, match="already"):
        agent.cancel(told)


async def test_constructing_an_agent_starts_nothing_and_it_serves_many() -> None:
    agent = Agent("shared")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        turn.session.data["turns"] = turn.session.data.get("turns", 0) + 1
        await turn.say(str(turn.session.data["turns"]))

    async with raw_client(agent) as one, raw_client(agent) as two:
        sessions = [await one.open(), await two.open()]
        for number, (client, session) in enumerate(zip((one, two), sessions, strict=True)):
            client.prompt(number, session)
            await client.answer_to(number)
            assert client.texts(session) == ["1"]
        two.prompt("x", sessions[0])  # the other connection's session
        assert (await two.answer_to("x"))["error"]["code"] == -32002
    await asyncio.sleep(0)


@pytest.mark.parametrize("declared", [Agent, Client])
def test_help_shows_every_handler_with_its_method(declared: type) -> None:
    text = pydoc.render_doc(declared, renderer=pydoc.TextDoc())
    text = re.sub(".\x08", "", text)  # it is bold for terminals of old
    hooks = [name for name, value in vars(declared).items() if isinstance(value, Hook)]
    assert len(hooks) == (23 if declared is Agent else 13)
    for name in hooks:
        sentence = text.partition(f" |  {name}\n |      ")[2].partition("\n")[0]
        assert sentence.startswith("A decorator for the function that gets `"), name
        assert sentence.count(". "), f"{name}: what shall the function do?"


def test_a_handler_is_not_set_by_assignment() -> None:
    with pytest.raises(AttributeError, match="session/new is set by a decorator"):
        Agent("x").new_session = print


@pytest.mark.parametrize("serve", [dragoman.serve, blocking.serve])
def test_an_agent_that_answers_no_prompts_is_not_served(serve: Callable[[Agent], None]) -> None:
    with pytest.raises(LocalMistake, match=r"'mute' has no function that answers prompts.*@agent\.prompt"):
        serve(Agent("mute"))

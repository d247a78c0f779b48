"""Every method that a client may be asked for has a hook, and every hook gets and gives typed messages."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman import AgentHandle, Client
from dragoman.schema.codec import write
from dragoman.schema.v1.methods import METHODS
from dragoman.sdk.capabilities import CLIENT_NOTIFICATIONS, CLIENT_REQUESTS
from dragoman.sdk.handlers import Hook
from tests.runtime.raw import notification, request, until
from tests.sdk.ends import RawAgent, raw_agent
from tests.sdk.table import CLIENT, SECRET, Example

NOT_HOOKED = {"$/cancel_request"}
HOOKS = {hook.method: name for name, hook in vars(Client).items() if isinstance(hook, Hook)}
ALWAYS = {"session/request_permission"}  # every client must answer it

requests = pytest.mark.parametrize("method", sorted(CLIENT_REQUESTS))
notifications = pytest.mark.parametrize("method", sorted(set(CLIENT_NOTIFICATIONS) - NOT_HOOKED))


def client_with(method: str, handler: Callable[..., Any]) -> Client:
    client = Client()
    getattr(client, HOOKS[method])(handler)
    return client


def test_every_method_of_a_client_has_a_hook_and_an_example() -> None:
    named = {method.name for method in METHODS if method.receiver in ("client", "both")} - NOT_HOOKED
    assert set(HOOKS) == named
    assert set(CLIENT) == named


@requests
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async def", "def"])
async def test_a_handler_gets_the_typed_request_and_gives_the_result(method: str, asynchronous: bool) -> None:
    example = CLIENT[method]
    got: list[Any] = []

    async def handle(message: Any) -> Any:
        got.append(message)
        return example.result

    def handle_plainly(message: Any) -> Any:
        got.append(message)
        return example.result

    client = client_with(method, handle if asynchronous else handle_plainly)
    async with raw_agent(client) as (handle_of_agent, agent):
        await handle_of_agent.new_session(cwd="/tmp")
        agent.send(request("x", method, {**example.params, "_meta": {"trace": 1}}))
        answer = await agent.answer_to("x")
    assert answer["result"] == expected(example)
    (message,) = got
    assert message.meta == {"trace": 1}
    if method != "elicitation/create":  # a union of its modes
        assert isinstance(message, CLIENT_REQUESTS[method].params)


def expected(example: Example) -> Any:
    return {} if example.result is None else json.loads(write(example.result))


@requests
async def test_a_handler_that_wants_to_know_who_asks_is_told(method: str) -> None:
    peers: list[Any] = []

    async def handle(message: Any, peer: AgentHandle) -> Any:
        peers.append(peer)
        return CLIENT[method].result

    async with raw_agent(client_with(method, handle)) as (handle_of_agent, agent):
        await handle_of_agent.new_session(cwd="/tmp")
        agent.send(request("x", method, CLIENT[method].params))
        await agent.answer_to("x")
        assert peers == [handle_of_agent]


@requests
async def test_without_a_handler_a_method_is_unknown_except_permission(method: str) -> None:
    async with raw_agent() as (handle, agent):
        await handle.new_session(cwd="/tmp")
        agent.send(request("x", method, CLIENT[method].params))
        answer = await agent.answer_to("x")
    if method in ALWAYS:
        assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    else:
        assert answer["error"] == {"code": -32601, "message": "Method not found", "data": {"method": method}}


@requests
async def test_params_that_cannot_be_read_are_refused_with_a_path_and_without_values(method: str) -> None:
    example = CLIENT[method]
    called: list[Any] = []
    assert example.wrong is not None

    async def handle(message: Any) -> Any:
        called.append(message)
        return example.result

    async with raw_agent(client_with(method, handle)) as (handle_of_agent, agent):
        await handle_of_agent.new_session(cwd="/tmp")
        agent.send(request("x", method, example.wrong))
        error = (await agent.answer_to("x"))["error"]
    at_fault = next(name for name, value in example.wrong.items() if SECRET in json.dumps(value))
    assert error["code"] == -32602
    assert at_fault in error["message"]
    assert SECRET not in json.dumps(agent.seen)
    assert called == []


@requests
async def test_a_result_of_the_wrong_type_is_an_internal_error(method: str) -> None:
    async def handle(message: Any) -> Any:
        return {"plain": SECRET}

    async with raw_agent(client_with(method, handle)) as (handle_of_agent, agent):
        await handle_of_agent.new_session(cwd="/tmp")
        agent.send(request("x", method, CLIENT[method].params))
        error = (await agent.answer_to("x"))["error"]
    assert error == {"code": -32603, "message": "Internal error"}


@requests
async def test_a_session_that_nobody_knows_is_refused(method: str) -> None:
    params = CLIENT[method].params
    if "sessionId" not in params:
        return
    called: list[Any] = []

    async def handle(message: Any) -> Any:
        called.append(message)
        return CLIENT[method].result

    async with raw_agent(client_with(method, handle)) as (_, agent):
        agent.send(request("x", method, {**params, "sessionId": "somebody else's"}))
        assert (await agent.answer_to("x"))["error"]["code"] == -32002
    assert called == []


async def test_while_a_session_is_being_made_its_agent_may_already_ask() -> None:
    client = Client()

    @client.read_text_file
    async def read(message: Any) -> Any:
        return CLIENT["fs/read_text_file"].result

    async with raw_agent(client) as (handle, agent):
        agent.answers_to["session/new"] = {"sessionId": "fresh"}
        original = agent.feed

        def ask_first(block: bytes) -> None:
            if b"session/new" in block:
                agent.send(request("x", "fs/read_text_file", {"sessionId": "fresh", "path": "/x"}))
            original(block)

        agent.feed = ask_first  # type: ignore[method-assign]
        await handle.new_session(cwd="/tmp")
        assert (await agent.answer_to("x"))["result"] == {"content": "text"}


@notifications
@pytest.mark.parametrize("asynchronous", [True, False], ids=["async def", "def"])
async def test_a_notification_reaches_its_handler_typed(method: str, asynchronous: bool) -> None:
    got: list[Any] = []

    async def handle(message: Any) -> None:
        got.append(message)

    client = client_with(method, handle if asynchronous else got.append)
    async with raw_agent(client) as (handle_of_agent, agent):
        await handle_of_agent.new_session(cwd="/tmp")
        agent.send(notification(method, {**CLIENT[method].params, "_meta": {"trace": 1}}))
        await until(lambda: got)
        wrong = {name: [SECRET] for name in CLIENT[method].params}
        agent.send(notification(method, wrong), request("x", "unknown"))
        await agent.answer_to("x")
        assert handle_of_agent.side.deviations == 1
    (message,) = got
    assert isinstance(message, CLIENT_NOTIFICATIONS[method].params)
    assert message.meta == {"trace": 1}


@notifications
async def test_a_notification_with_an_id_is_an_unknown_request(method: str) -> None:
    got: list[Any] = []
    async with raw_agent(client_with(method, got.append)) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        agent.send(request("x", method, CLIENT[method].params))
        assert (await agent.answer_to("x"))["error"]["code"] == -32601
    assert got == []


@requests
async def test_a_request_without_an_id_runs_nothing(method: str) -> None:
    got: list[Any] = []

    async def handle(message: Any) -> Any:
        got.append(message)

    async with raw_agent(client_with(method, handle)) as (handle_of_agent, agent):
        await handle_of_agent.new_session(cwd="/tmp")
        agent.send(notification(method, CLIENT[method].params), request("x", "unknown"))
        await agent.answer_to("x")
    assert got == []


async def test_an_extension_takes_requests_and_notifications_as_plain_data() -> None:
    client = Client()
    got: list[Any] = []

    @client.extension("_example.com/do")
    async def do(params: Any, agent: AgentHandle) -> Any:
        got.append(params)
        return [params]

    async with raw_agent(client) as (_, agent):
        agent.send(request(1, "_example.com/do", {"a": 1}), notification("_example.com/do", {"b": 2}))
        assert (await agent.answer_to(1))["result"] == [{"a": 1}]
        await until(lambda: len(got) == 2)
        agent.send(request(2, "_example.com/other"))
        assert (await agent.answer_to(2))["error"]["code"] == -32601
    with pytest.raises(ValueError, match="underscore"):
        client.extension("fs/read_text_file")


async def test_the_handshake_says_who_the_client_is() -> None:
    async with raw_agent(Client("editor", version="1.2", title="The Editor")) as (_, agent):
        params = agent.seen[0]["params"]
    assert params["protocolVersion"] == 1
    assert params["clientInfo"] == {"name": "editor", "version": "1.2", "title": "The Editor"}


async def advertised(client: Client) -> Any:
    async with raw_agent(client) as (_, agent):
        return agent.seen[0]["params"]["clientCapabilities"]


def nothing(_: Any) -> Any: ...


async def test_what_has_no_handler_is_not_advertised() -> None:
    found = await advertised(Client())
    assert found["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert found["terminal"] is False
    assert "elicitation" not in found


async def test_what_has_a_handler_is_advertised() -> None:
    client = Client(elicitation_modes=("form", "url"), auth_terminal=True)
    client.read_text_file(nothing)
    client.elicit(nothing)
    found = await advertised(client)
    assert found["fs"] == {"readTextFile": True, "writeTextFile": False}
    assert found["elicitation"] == {"form": {}, "url": {}}
    assert found["auth"] == {"terminal": True}


async def test_terminals_are_advertised_only_as_a_whole() -> None:
    client = Client()
    hooks = (
        "create_terminal",
        "terminal_output",
        "wait_for_terminal_exit",
        "kill_terminal",
        "release_terminal",
    )
    for name in hooks[:-1]:
        getattr(client, name)(nothing)
        assert client.capabilities().terminal is False
    getattr(client, hooks[-1])(nothing)
    assert client.capabilities().terminal is True


@pytest.mark.parametrize("modes", [("form",), ("url",), ("form", "url"), ()])
async def test_only_the_advertised_modes_of_elicitation_reach_the_handler(modes: tuple[str, ...]) -> None:
    client = Client(elicitation_modes=modes)
    got: list[Any] = []

    @client.elicit
    async def elicit(message: Any) -> Any:
        got.append(message)
        return CLIENT["elicitation/create"].result

    asked = {
        "form": CLIENT["elicitation/create"].params,
        "url": {"sessionId": "s1", "mode": "url", "message": "m", "url": "http://x", "elicitationId": "e"},
        "telepathy": {"sessionId": "s1", "mode": "telepathy", "message": "m"},
    }
    async with raw_agent(client) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        for mode, params in asked.items():
            await asked_in(agent, mode, params, allowed=mode in modes)
    assert len(got) == len(modes)


async def asked_in(agent: RawAgent, mode: str, params: Any, *, allowed: bool) -> None:
    agent.send(request(mode, "elicitation/create", params))
    answer = await agent.answer_to(mode)
    assert ("result" in answer) == allowed
    assert allowed or answer["error"]["code"] == -32602

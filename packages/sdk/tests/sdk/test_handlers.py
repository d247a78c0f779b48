"""Handlers of every shape: async or plain, with or without the peer, functions, methods and objects."""

from __future__ import annotations

import functools
import threading
import time
from typing import Any

import pytest

from dragoman import Agent, Client, connect
from dragoman.schema.v1 import ReadTextFileRequest, ReadTextFileResponse
from dragoman.sdk.handlers import Handler, Handlers
from dragoman.testing.pace import deadline, patience
from tests.runtime.raw import request, until
from tests.sdk.ends import cancel, raw_agent, raw_client

SHAPES: list[Any] = []


def shape(function: Any) -> Any:
    SHAPES.append(function)
    return function


@shape
async def asynchronous(message: Any) -> Any:
    return message


@shape
async def with_peer(message: Any, peer: Any) -> Any:
    return message if peer == "peer" else None


@shape
def plain(message: Any) -> Any:
    return message


@shape
def plain_with_peer(message: Any, peer: Any) -> Any:
    return message if peer == "peer" else None


@shape
async def with_default(message: Any, option: str = "default") -> Any:
    return message if option == "default" else None


@shape
async def with_anything(*everything: Any) -> Any:
    return everything[0] if everything == ("message", "peer") else None


@shape
async def with_keyword(message: Any, *, option: str = "default") -> Any:
    return message if option == "default" else None


class Object:
    async def __call__(self, message: Any) -> Any:
        return message

    async def method(self, message: Any, peer: Any) -> Any:
        return message if peer == "peer" else None

    @staticmethod
    async def static(message: Any) -> Any:
        return message


SHAPES += [Object(), Object().method, Object.static, functools.partial(with_peer, peer="peer")]


@pytest.mark.parametrize("function", SHAPES, ids=lambda function: getattr(function, "__qualname__", "object"))
async def test_a_handler_of_any_shape_is_called_as_it_wants(function: Any) -> None:
    assert await Handler(function).work("message", "peer") == "message"


def test_a_method_has_one_handler() -> None:
    handlers = Handlers()
    handlers.add("m", plain)
    assert "m" in handlers
    assert handlers.get("n") is None
    with pytest.raises(ValueError, match="already"):
        handlers.add("m", plain)


async def test_a_plain_request_handler_runs_in_a_thread_and_blocks_nobody() -> None:
    client = Client()
    here, threads = threading.get_ident(), []
    gate = threading.Event()

    @client.read_text_file
    def read(message: ReadTextFileRequest) -> ReadTextFileResponse:
        threads.append(threading.get_ident())
        assert gate.wait(patience(4))
        return ReadTextFileResponse(content="read")

    @client.extension("_quick")
    async def quick(params: Any) -> str:
        return "quick"

    async with raw_agent(client) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        agent.send(request(1, "fs/read_text_file", {"sessionId": "s1", "path": "/x"}), request(2, "_quick"))
        assert (await agent.answer_to(2))["result"] == "quick"
        gate.set()
        assert (await agent.answer_to(1))["result"] == {"content": "read"}
    assert here not in threads


async def test_a_plain_notification_handler_is_called_on_the_spot_in_order() -> None:
    client = Client()
    here, seen = threading.get_ident(), []

    @client.extension("_n")
    def take(params: Any) -> None:
        seen.append((params, threading.get_ident()))

    async with raw_agent(client) as (handle, agent):
        agent.answers_to["_ping"] = True
        for n in range(50):
            agent.send({"jsonrpc": "2.0", "method": "_n", "params": n})
        await handle.call("_ping")
    assert seen == [(n, here) for n in range(50)]


async def test_a_plain_prompt_handler_answers_from_its_thread() -> None:
    agent = Agent("threaded")
    threads: list[int] = []

    @agent.prompt
    def reply(turn: Any) -> Any:
        threads.append(threading.get_ident())
        turn.say(f"You said: {turn.text}")
        return "refusal"

    async with connect(agent) as handle:
        ended = await (await handle.new_session(cwd="/tmp")).prompt("hello")
    assert (ended.text, ended.stop_reason) == ("You said: hello", "refusal")
    assert threading.get_ident() not in threads


async def test_a_plain_prompt_handler_hears_a_cancel_and_is_answered_cancelled() -> None:
    agent = Agent("threaded")
    ended: list[str] = []

    @agent.prompt
    def reply(turn: Any) -> None:
        turn.say("on")
        deadline = time.monotonic() + patience(4)
        try:
            while time.monotonic() < deadline:
                turn.say("and on")
                time.sleep(0.001)
        finally:
            ended.append("ended")

    async with raw_client(agent) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.asks("session/update")
        client.send(cancel(session))
        assert (await client.answer_to(1))["result"] == {"stopReason": "cancelled"}
        async with deadline(4):
            await until(lambda: ended, turns=10_000_000)


async def test_a_plain_handler_that_fails_is_an_internal_error() -> None:
    client = Client()

    @client.read_text_file
    def read(message: ReadTextFileRequest) -> ReadTextFileResponse:
        raise RuntimeError("secret")

    async with raw_agent(client) as (handle, agent):
        await handle.new_session(cwd="/tmp")
        agent.send(request(1, "fs/read_text_file", {"sessionId": "s1", "path": "/x"}))
        assert (await agent.answer_to(1))["error"] == {"code": -32603, "message": "Internal error"}

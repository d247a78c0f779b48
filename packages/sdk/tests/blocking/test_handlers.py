"""Handlers of a blocking program: they may block, fail, ask in turn, and are called in order."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dragoman.blocking import Agent, AgentHandle, Client, ClientHandle, Turn, connect
from dragoman.errors import CallFailed
from dragoman.schema.v1 import CancelNotification, ReadTextFileRequest, ReadTextFileResponse
from dragoman.testing.pace import patience
from tests.blocking.test_connector import raw

pytestmark = pytest.mark.bound(20)

NOTES = """
for number in range(5):
    print(json.dumps({"jsonrpc": "2.0", "method": "_note", "params": number}), flush=True)
for line in sys.stdin:
    answer(line, "here")
"""


def test_handlers_of_notifications_may_block_and_ask_in_turn_and_keep_their_order() -> None:
    client, open_gate, done = Client("slow"), threading.Event(), threading.Event()
    seen: list[tuple[int, str]] = []

    @client.extension("_note")
    def note(number: int, agent: AgentHandle) -> None:
        open_gate.wait(patience(5))
        seen.append((number, agent.call("_ask")))
        if number == 4:
            done.set()

    with connect(raw(NOTES), client=client) as agent:
        open_gate.set()
        assert agent.call("_anything") == "here"
        assert done.wait(patience(5))
    assert seen == [(number, "here") for number in range(5)]


def test_a_handler_that_blocks_holds_up_no_other_call() -> None:
    client, began, open_gate = Client("slow"), threading.Event(), threading.Event()

    @client.read_text_file
    def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        began.set()
        open_gate.wait(patience(5))
        return ReadTextFileResponse(content="read")

    agent = Agent("asks")

    @agent.prompt
    def reply(turn: Turn) -> None:
        turn.say(turn.read_text_file("/x"))

    @agent.extension("_double")
    def double(number: int) -> int:
        return 2 * number

    with connect(agent, client=client) as handle:
        turn = handle.new_session(cwd="/").prompt("go")
        reading = threading.Thread(target=lambda: turn.result)
        reading.start()
        assert began.wait(patience(5))
        assert handle.call("_double", 4) == 8
        open_gate.set()
        reading.join()
        assert turn.result.text == "read"


def test_an_exception_in_a_handler_is_an_error_at_the_peer_and_tells_no_secret() -> None:
    client, errors = Client("fails"), list[CallFailed]()

    @client.read_text_file
    def read(request: ReadTextFileRequest) -> ReadTextFileResponse:
        raise OSError("sk-secret")

    agent = Agent("asks")

    @agent.prompt
    def reply(turn: Turn) -> None:
        try:
            turn.read_text_file("/x")
        except CallFailed as error:
            errors.append(error)

    with connect(agent, client=client) as handle:
        assert handle.new_session(cwd="/").prompt("go").result.stop_reason == "end_turn"
    assert [error.code for error in errors] == [-32603]
    assert "sk-secret" not in str(errors[0])


def test_a_handler_of_an_agents_notifications_gets_the_blocking_client() -> None:
    from dragoman.blocking.handlers import in_threads
    from dragoman.sdk.sync.run import ProgramThreads

    agent, answers = Agent("cancelled"), list[Any]()
    client, done = Client("answers"), threading.Event()
    client.extension("_name")(lambda _: "ann")

    @agent.prompt
    def reply(turn: Turn) -> None:
        turn.say("waiting")
        done.wait(patience(5))

    @agent.cancel
    def cancelled(note: CancelNotification, peer: ClientHandle) -> None:
        answers.append(peer.call("_name"))
        done.set()

    with connect(in_threads(agent, ProgramThreads()), client=client) as handle:
        session = handle.new_session(cwd="/")
        turn = session.prompt("go")
        for _ in turn:
            session.cancel()
        assert done.wait(patience(5))
    assert answers == ["ann"]


def test_a_handler_in_a_thread_takes_what_the_user_says_meanwhile() -> None:
    agent, running = Agent("steered", steering=True), threading.Event()

    @agent.prompt
    def reply(turn: Turn) -> None:
        running.set()
        while not (messages := turn.take_steering()):
            pass
        turn.say(messages[0].text)

    with connect(agent) as handle:
        turn = handle.new_session(cwd="/").prompt("go")
        texts: list[str] = []
        reading = threading.Thread(target=lambda: texts.append(turn.result.text))
        reading.start()
        assert running.wait(patience(5))
        assert turn.steer("left") == "delivered"
        reading.join()
    assert texts == ["left"]


def test_handlers_run_in_the_main_thread_while_it_waits_and_elsewhere_while_it_does_not() -> None:
    client, names = Client("where"), list[str]()

    @client.extension("_where")
    def where(_: object) -> None:
        names.append(threading.current_thread().name)

    agent = Agent("asks")

    @agent.prompt
    def reply(turn: Turn) -> None:
        turn.client.call("_where")

    with connect(agent, client=client) as handle:
        session = handle.new_session(cwd="/")
        assert session.prompt("go").result.stop_reason == "end_turn"
        reading = threading.Thread(target=lambda: session.prompt("go").result)
        reading.start()
        reading.join()
    assert names == ["MainThread", "handler"]

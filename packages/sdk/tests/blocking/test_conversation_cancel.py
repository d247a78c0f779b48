"""Cancels without `await`: whatever the handler does, the turn ends as cancelled, and soon."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from dragoman.blocking import AgentHandle, Client, Session
from dragoman.schema.v1 import AgentMessageChunk
from dragoman.testing.pace import patience
from tests.blocking.ends import ROOT, SERVERS, connected, forked_command
from tests.every import every
from tests.forks import forked

NEVER = 50.0
"""Seconds until a handler that does not hear its cancel is left behind, where it has to hear it."""


@pytest.fixture(scope="module", params=SERVERS)
def agent(request: pytest.FixtureRequest) -> Iterator[AgentHandle]:
    with connected(request.param, cancel=NEVER) as handle:
        yield handle


@pytest.fixture
def session(agent: AgentHandle) -> Session:
    return agent.new_session(cwd="/")


def cancelled_after_the_first_word(session: Session, order: str) -> tuple[str, float]:
    """The stop reason, and how long it took after the cancel."""
    turn = session.prompt(order)
    began = 0.0
    for update in turn:
        if not began and isinstance(update, AgentMessageChunk):
            began = time.monotonic()
            session.cancel()
    return turn.result.stop_reason, time.monotonic() - began


@pytest.mark.parametrize("order", ["compute", "chatter"], ids=["computes", "streams"])
def test_a_handler_hears_of_it(session: Session, order: str) -> None:
    reason, took = cancelled_after_the_first_word(session, order)
    assert reason == "cancelled"
    assert took < NEVER / 2


def test_a_tool_call_fails_with_its_turn(session: Session) -> None:
    turn = session.prompt("chatter")
    for number, _ in enumerate(turn):
        if number == 5:
            session.cancel()
    assert [tool.status for tool in turn.result.tool_calls.values()] == ["failed"]


@every("server", SERVERS)
def test_a_handler_that_does_not_listen_is_left_behind(server: str) -> None:
    with connected(server, cancel=0.1) as agent:
        session = agent.new_session(cwd="/")
        reason, took = cancelled_after_the_first_word(session, "ignore 1.5")
        assert reason == "cancelled"
        assert 0.1 <= took < 1.5
        assert session.prompt("count 1").result.text == "0 "


def test_leaving_the_loop_cancels_the_turn(session: Session) -> None:
    for _ in session.prompt("chatter"):
        break
    assert session.prompt("count 2").result.text == "0 1 "


def test_a_cancel_with_nothing_to_cancel_does_not_hit_the_next_turn(session: Session) -> None:
    session.cancel()
    assert session.prompt("count 1").result.stop_reason == "end_turn"


class Hanging:
    """A client that is asked `_never`, and does not answer until it is let go."""

    def __init__(self) -> None:
        self.client = Client("hanging")
        self.asked = threading.Event()
        self.let_go = threading.Event()
        self.client.extension("_never")(self.never)

    def never(self, params: object) -> None:
        self.asked.set()
        self.let_go.wait()


@every("order", ["wait", "swallow"])
@every("server", SERVERS)
def test_a_handler_that_waits_for_an_answer_is_told_at_once(server: str, order: str) -> None:
    hanging = Hanging()
    with connected(server, client=hanging.client) as agent:
        session, other = agent.new_session(cwd="/"), agent.new_session(cwd="/")
        turn = session.prompt(order)
        # Its handler hangs in the thread that reads; this one cancels, and is not held up.
        reading = threading.Thread(target=lambda: turn.result)
        reading.start()
        assert hanging.asked.wait(patience(5))
        session.cancel()
        assert other.prompt("count 2").result.text == "0 1 "
        hanging.let_go.set()
        reading.join()
        assert turn.result.stop_reason == "cancelled"
        assert turn.result.text == "waiting cleaned up"


SCRIPT = """
import sys
from dragoman.blocking import connect
with connect(sys.argv[1:]) as agent:
    session = agent.new_session(cwd="/")
    try:
        for update in session.prompt("compute"):
            print("running", flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        print(session.prompt("count 2").result.text, flush=True)
"""


@pytest.mark.parametrize("server", SERVERS)
def test_ctrl_c_cancels_the_turn_and_nothing_else(server: str) -> None:
    with subprocess.Popen(
        forked([sys.executable, "-c", SCRIPT, *forked_command(server)]),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == "running\n"
        os.kill(script.pid, signal.SIGINT)
        assert script.stdout.read() == "interrupted\n0 1 \n"
    assert script.returncode == 0

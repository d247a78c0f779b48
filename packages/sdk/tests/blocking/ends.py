"""An agent of plain functions that does what it is told, and ways to talk to it without `await`.

Run as a program, it serves the agent by the `serve` of `dragoman.blocking`, or by the `awaited` one.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from msgspec import UNSET

import dragoman
from dragoman import blocking
from dragoman.blocking import Agent, AgentHandle, Cancelled, Client, ClientHandle, Limits, Turn
from dragoman.schema.v1 import (
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    SessionInfo,
)
from dragoman.sdk.agent.session import Outcome
from tests import forks

ROOT = Path(__file__).parents[4]
SERVERS: dict[str, Callable[[Agent, Limits], None]] = {
    "blocking": lambda served, limits: blocking.serve(served, limits=limits),
    "awaited": lambda served, limits: dragoman.serve(served, limits=limits),
}

agent = Agent("plain", version="1")


def command(server: str = "blocking", *, cancel: float = Limits().cancel_seconds) -> list[str]:
    """`cancel` is what a handler gets after a cancel, in seconds."""
    return [sys.executable, "-m", "tests.blocking.ends", server, str(cancel)]


def forked_command(server: str = "blocking", *, cancel: float = Limits().cancel_seconds) -> list[str]:
    """The same for those who only talk to it."""
    return [*forks.module("tests.blocking.ends"), server, str(cancel)]


def connected(
    server: str = "blocking",
    *,
    client: Client | None = None,
    limits: Limits | None = None,
    cancel: float = Limits().cancel_seconds,
) -> AbstractContextManager[AgentHandle]:
    """The agent, served in one of both ways."""
    words = forked_command(server, cancel=cancel)
    return blocking.connect(words, client=client, limits=limits, cwd=ROOT)


@agent.load_session
def load_session(request: LoadSessionRequest, client: ClientHandle) -> None:
    for word in ("once", "upon", "a", "time"):
        client.sessions[request.session_id].say(word)


@agent.list_sessions
def list_sessions(request: ListSessionsRequest) -> ListSessionsResponse:
    page = int(request.cursor) if isinstance(request.cursor, str) else 0
    infos = [SessionInfo(session_id=f"{page}-{n}", cwd="/") for n in range(2)]
    return ListSessionsResponse(sessions=infos, next_cursor=str(page + 1) if page < 2 else UNSET)


@agent.extension("_double")
def double(number: int) -> int:
    return 2 * number


@agent.extension("_call_back")
def call_back(number: int, client: ClientHandle) -> int:
    """Ask the client for the same once more, until it is done."""
    answer: int = client.call("_count_down", number - 1) if number else 0
    return answer + 1


@agent.extension("_hang")
def hang(params: None, client: ClientHandle) -> None:
    """Never answers, but hears a cancel."""
    while True:
        client.notify("_tick")
        time.sleep(0.01)


@agent.prompt
def prompt(turn: Turn) -> Outcome:
    order, _, rest = turn.text.partition(" ")
    return cast(Outcome, ORDERS[order](turn, rest))


def count(turn: Turn, rest: str) -> None:
    for number in range(int(rest)):
        turn.say(f"{number} ")


def reads(turn: Turn, rest: str) -> None:
    turn.say(",".join(turn.read_text_file(f"/{number}") for number in range(int(rest))))


def ask(turn: Turn, rest: str) -> None:
    turn.say("May I? ")
    with turn.tool("Delete it", kind="delete") as call:
        allowed = call.ask()
        call.complete("done") if allowed else call.fail("not done")
    turn.say("yes" if allowed else "no")


def break_tool(turn: Turn, rest: str) -> None:
    with turn.tool("Break"):
        raise ValueError("sk-secret")


def compute(turn: Turn, rest: str) -> str:
    """Makes no calls at all."""
    turn.say("computing")
    number = 0
    while not turn.cancelled:
        number += 1
    return "end_turn"


def ignore(turn: Turn, rest: str) -> None:
    """Does not look whether it was cancelled, and cannot be stopped."""
    turn.say("deaf")
    time.sleep(float(rest))


def wait_in_call(turn: Turn, rest: str) -> None:
    """Waits for an answer that never comes, and cleans up when it is cancelled."""
    turn.say("waiting")
    try:
        turn.client.call("_never")
    except Cancelled:
        turn.say(" cleaned up")
        raise


def chatter(turn: Turn, rest: str) -> None:
    with turn.tool("Chatter"):
        while True:
            turn.say("x" * 100)


def swallow(turn: Turn, rest: str) -> str:
    try:
        wait_in_call(turn, rest)
    except Cancelled:
        return "end_turn"
    return "refusal"


def length(turn: Turn, rest: str) -> None:
    turn.say(str(len(rest)))


def together(turn: Turn, rest: str) -> None:
    """Several threads of one handler ask at once."""
    found: list[str] = []

    def read(name: str) -> None:
        found.extend(turn.read_text_file(f"/{name}/{number}") for number in range(20))

    threads = [threading.Thread(target=read, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turn.say(" ".join(sorted(found)))


def show(turn: Turn, rest: str) -> None:
    """On standard output, which is not its to write to, and on standard error."""
    print(rest)
    os.write(1, b"raw\n")
    os.write(2, b"e" * 300_000 + b"\n")
    turn.say("shown")


def die(turn: Turn, rest: str) -> None:
    os.write(2, b"out of ink\n")
    os._exit(int(rest))


def stop(turn: Turn, rest: str) -> str:
    return rest


ORDERS: dict[str, Callable[[Turn, str], str | None]] = {
    "count": count,
    "reads": reads,
    "ask": ask,
    "break": break_tool,
    "compute": compute,
    "ignore": ignore,
    "wait": wait_in_call,
    "chatter": chatter,
    "swallow": swallow,
    "length": length,
    "together": together,
    "show": show,
    "die": die,
    "stop": stop,
}

if __name__ == "__main__":
    SERVERS[sys.argv[1]](agent, Limits(cancel_seconds=float(sys.argv[2])))

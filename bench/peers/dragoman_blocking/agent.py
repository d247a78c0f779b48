"""Dragoman's agent without ``await``. It does what a prompt's text orders; ``figures`` tells what it cost."""

from __future__ import annotations

import json
import time
from typing import Any

from dragoman.blocking import Agent, Turn, serve
from dragoman.schema.v1 import NewSessionRequest, NewSessionResponse
from peers.measure import Meter, percentiles, texts_to_say

PATH = "/project/src/parser.py"

agent = Agent("bench")
meter = Meter()
latencies: dict[str, float] = {}


@agent.new_session
def new_session(request: NewSessionRequest) -> NewSessionResponse:
    meter.baseline()
    return NewSessionResponse(session_id="bench")


@agent.prompt
def prompt(turn: Turn) -> None:
    order = json.loads(turn.text)
    if order["do"] != "figures":
        meter.start()
    ORDERS[order["do"]](turn, order)


def stream(turn: Turn, order: dict[str, Any]) -> None:
    for text in texts_to_say(order["count"], order["size"]):
        turn.say(text)


def reads(turn: Turn, order: dict[str, Any]) -> None:
    taken = []
    for _ in range(order["count"]):
        began = time.perf_counter()
        assert len(turn.read_text_file(PATH)) == 100
        taken.append(time.perf_counter() - began)
    latencies.update(percentiles(taken))


def figures(turn: Turn, order: dict[str, Any]) -> None:
    turn.say(json.dumps({**meter.read(), **latencies}))


ORDERS = {"stream": stream, "reads": reads, "figures": figures}

if __name__ == "__main__":
    serve(agent)

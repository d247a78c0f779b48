"""A message into a running turn without `await`, from another thread."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from dragoman.blocking import connect
from dragoman.testing.pace import patience

AGENT = Path(__file__).parents[4] / "tests/steerable_agent.py"


@pytest.mark.parametrize(
    ("kind", "outcome", "text"),
    [
        ("steering", "delivered", "hold on | left"),
        ("inject", "delivered", "hold on | left"),
        ("restart", "will_restart", "cancelledhold on\n\nleft"),
    ],
)
def test_another_thread_steers_the_turn(kind: str, outcome: str, text: str) -> None:
    with connect([sys.executable, str(AGENT), kind]) as agent:
        session = agent.new_session(cwd="/tmp")
        turn = session.prompt("hold on")
        is_sent, outcomes = threading.Event(), list[str]()

        def steer() -> None:
            while not turn._turn.is_open:
                is_sent.wait(0.001)
            outcomes.append(turn.steer("left"))

        steering = threading.Thread(target=steer)
        steering.start()
        assert turn.result.text == text
        steering.join(patience(10))
        assert outcomes == [outcome]

"""Every event in every state: what follows is what was written down."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from dragoman_hub.session.events import Event
from tests.hub.session.every_step import events, states, steps

STEPS = Path(__file__).with_name("steps.txt")


def test_what_follows_from_every_event_in_every_state_is_as_it_was_meant() -> None:
    assert STEPS.read_text("utf-8") == steps()


def test_every_kind_of_event_is_tried_in_states_of_every_phase() -> None:
    assert {type(event) for event in events().values()} == set(get_args(Event))
    assert {state.phase for state in states().values()} >= {"open", "closing", "closed"}

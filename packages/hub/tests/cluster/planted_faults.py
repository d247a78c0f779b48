"""Faults that the checker must find, each planted into a storm in which nothing was wrong.

A fault says which kinds of findings it must lead to: these, and no others.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dragoman_local.journal import StoredEntry
from tests.cluster.calm import ALLOW, SESSION, WALL
from tests.cluster.records import (
    Answered,
    Beat,
    Begun,
    Blow,
    Ended,
    Heard,
    Joined,
    Prompted,
    Storm,
    Told,
)

Plant = Callable[[Storm], None]
PLANTED: dict[str, tuple[set[str], Plant]] = {}


def planted(*kinds: str) -> Callable[[Plant], Plant]:
    """A fault, and the kinds of findings that it must lead to: these, and no others."""

    def keep(plant: Plant) -> Plant:
        PLANTED[plant.__name__] = (set(kinds), plant)
        return plant

    return keep


def entries(storm: Storm) -> list[StoredEntry]:
    return storm.sessions[SESSION]


def renumber(storm: Storm) -> None:
    storm.sessions[SESSION] = [
        StoredEntry(place, one.direction, one.frame, one.time) for place, one in enumerate(entries(storm), 1)
    ]


def change(storm: Storm, sequence: int, **members: Any) -> None:
    """Other words in the note that stands there."""
    one = entries(storm)[sequence - 1]
    frame = json.dumps({**json.loads(one.frame), **members}).encode()
    entries(storm)[sequence - 1] = StoredEntry(sequence, one.direction, frame, one.time)


def forget_clients(storm: Storm) -> None:
    """Faults that move all that follows are looked for in the journal alone."""
    storm.clients = {}
    storm.calm = 0.0


def drop_told(storm: Storm, client: str, cursor: str) -> None:
    storm.clients[client] = [
        line for line in storm.clients[client] if not (isinstance(line, Told) and line.cursor == cursor)
    ]


# The journal.


@planted("gap")
def an_entry_is_missing_from_the_stream(storm: Storm) -> None:
    forget_clients(storm)
    del entries(storm)[0]


@planted("lost", "dishonest")
def an_update_in_the_middle_was_lost(storm: Storm) -> None:
    forget_clients(storm)
    del entries(storm)[11]  # k2#0
    renumber(storm)


@planted("dishonest")
def the_last_update_of_a_turn_was_lost(storm: Storm) -> None:
    forget_clients(storm)
    del entries(storm)[12]  # k2#1
    renumber(storm)


@planted("doubled", "dishonest")
def an_update_was_stored_twice(storm: Storm) -> None:
    forget_clients(storm)
    entries(storm).insert(12, entries(storm)[11])
    renumber(storm)


@planted("lost")
def two_updates_changed_places(storm: Storm) -> None:
    forget_clients(storm)
    stored = entries(storm)
    stored[11], stored[12] = stored[12], stored[11]
    renumber(storm)


@planted("outside")
def an_update_came_behind_the_end_of_its_turn(storm: Storm) -> None:
    forget_clients(storm)
    stored = entries(storm)
    stored.insert(9, stored.pop(7))  # k1#1 behind its turn_ended
    renumber(storm)


@planted("run twice")
def a_prompt_was_given_to_an_agent_again(storm: Storm) -> None:
    forget_clients(storm)
    entries(storm).insert(12, entries(storm)[10])
    renumber(storm)


@planted("never ended")
def a_prompt_that_was_accepted_never_ended(storm: Storm) -> None:
    forget_clients(storm)
    del entries(storm)[19]
    renumber(storm)


@planted("never ended")
def a_prompt_that_was_queued_was_forgotten(storm: Storm) -> None:
    forget_clients(storm)
    frame = b'{"hub":"queued","key":"k4"}'
    entries(storm).append(StoredEntry(21, "note", frame, 45 + WALL))


@planted("ended twice")
def a_turn_ended_twice(storm: Storm) -> None:
    forget_clients(storm)
    entries(storm).append(entries(storm)[19])
    renumber(storm)


@planted("settled twice")
def an_approval_was_settled_twice(storm: Storm) -> None:
    forget_clients(storm)
    entries(storm).append(entries(storm)[6])
    renumber(storm)


@planted("never settled", "another answer")
def an_approval_was_never_settled(storm: Storm) -> None:
    forget_clients(storm)
    entries(storm)[6] = StoredEntry(7, "note", b'{"hub":"heard","n":3}', 13 + WALL)


# What clients were told.


@planted("lost")
def a_client_was_told_what_is_not_stored(storm: Storm) -> None:
    storm.clients["other"] = [
        replace(line, text="k2#9") if isinstance(line, Told) and line.cursor == "12" else line
        for line in storm.clients["other"]
    ]


@planted("not told")
def a_client_was_not_told_something(storm: Storm) -> None:
    drop_told(storm, "other", "12")


@planted("not told")
def a_client_was_told_nothing_more(storm: Storm) -> None:
    for cursor in ("12", "13", "15", "18", "20"):
        drop_told(storm, "other", cursor)


@planted("not told")
def a_client_was_not_told_the_end_of_a_turn(storm: Storm) -> None:
    drop_told(storm, "other", "15")


@planted("not told")
def a_client_was_not_told_what_came_of_an_approval(storm: Storm) -> None:
    drop_told(storm, "one", "7")


@planted("told twice")
def a_client_was_told_something_again(storm: Storm) -> None:
    again = next(line for line in storm.clients["one"] if isinstance(line, Told) and line.cursor == "12")
    storm.clients["one"].append(again)


@planted("told twice")
def a_client_was_told_in_another_order(storm: Storm) -> None:
    lines = storm.clients["other"]
    places = [n for n, line in enumerate(lines) if isinstance(line, Told) and line.cursor in ("12", "13")]
    lines[places[0]], lines[places[1]] = lines[places[1]], lines[places[0]]


@planted("never answered")
def a_prompt_was_never_answered(storm: Storm) -> None:
    lines = storm.clients["one"]
    storm.clients["one"] = [line for line in lines if not (isinstance(line, Ended) and line.key == "k3")]


@planted("answered twice")
def a_prompt_was_answered_twice(storm: Storm) -> None:
    storm.clients["one"] += [line for line in storm.clients["one"] if isinstance(line, Ended)][-1:]


@planted("lost")
def an_answer_was_acknowledged_and_is_not_stored(storm: Storm) -> None:
    storm.clients["one"].append(Prompted(t=50, session=SESSION, key="k9"))
    storm.clients["one"].append(Ended(t=51, session=SESSION, key="k9", outcome="end_turn"))


@planted("lost")
def a_client_was_told_another_outcome(storm: Storm) -> None:
    storm.clients["one"] = [
        replace(line, outcome="end_turn") if isinstance(line, Ended) else line
        for line in storm.clients["one"]
    ]


@planted("settled twice")
def two_clients_were_told_that_their_answers_count(storm: Storm) -> None:
    answer = Answered(t=13.5, session=SESSION, request="5", option="reject", settled=True)
    storm.clients["other"].append(answer)


@planted("another answer")
def another_answer_was_stored_than_the_one_that_counted(storm: Storm) -> None:
    storm.clients["one"] = [
        replace(line, option="reject") if isinstance(line, Answered) else line
        for line in storm.clients["one"]
    ]


# What agents did.


@planted("run twice", "went on")
def a_prompt_was_run_by_two_processes(storm: Storm) -> None:
    storm.agents["c-3"] = [Begun(t=35, session=SESSION, key="k2")]


@planted("at once")
def two_processes_worked_on_the_session_at_once(storm: Storm) -> None:
    """The first one was stopped, and woke for a moment."""
    storm.agents["a-1"].append(Beat(t=28.5))
    change(storm, 9, hub="turn_ended")
    late(storm, 9, 28.6)


@planted("went on")
def an_agent_went_on_behind_the_end_of_its_turn(storm: Storm) -> None:
    storm.agents["a-1"].append(Beat(t=26.5))


@planted("invented")
def an_update_was_never_said(storm: Storm) -> None:
    storm.agents["a-1"] = [line for line in storm.agents["a-1"] if getattr(line, "n", None) != 1]


@planted("lost", "invented", "dishonest")
def an_agent_was_given_a_prompt_that_is_not_stored(storm: Storm) -> None:
    storm.agents["b-2"] = [
        replace(line, key="k8") if getattr(line, "key", "") == "k3" else line for line in storm.agents["b-2"]
    ]


@planted("dishonest")
def a_turn_that_its_agent_answered_is_called_failed(storm: Storm) -> None:
    forget_clients(storm)
    change(storm, 15, result=None, error={"message": "lost"})


@planted("dishonest")
def a_turn_that_was_cut_short_is_called_done(storm: Storm) -> None:
    forget_clients(storm)
    change(storm, 9, error=None, result={"stopReason": "end_turn"})


@planted("dishonest")
def a_turn_is_called_cancelled_and_nobody_did(storm: Storm) -> None:
    forget_clients(storm)
    change(storm, 9, error=None, result={"stopReason": "cancelled"})


@planted("dishonest")
def a_turn_failed_without_a_cause(storm: Storm) -> None:
    storm.blows = []


@planted("answered twice")
def an_agent_heard_two_answers(storm: Storm) -> None:
    storm.agents["a-1"].append(Heard(t=13.2, session=SESSION, key="k1", name="k1?1", option="reject"))


@planted("another answer")
def an_agent_heard_another_answer_than_the_stored_one(storm: Storm) -> None:
    storm.clients = {}
    storm.calm = 0.0
    change(storm, 7, result={"outcome": {**ALLOW["outcome"], "optionId": "reject"}})


# Service.


def late(storm: Storm, sequence: int, when: float) -> None:
    one = entries(storm)[sequence - 1]
    entries(storm)[sequence - 1] = StoredEntry(sequence, one.direction, one.frame, when + WALL)


@planted("not served")
def a_session_was_served_too_late(storm: Storm) -> None:
    """Nobody was told anything for more than 15 seconds; everybody came behind that."""
    storm.blows = [replace(blow, t=10.5, over=11.0) for blow in storm.blows]
    for name, lines in storm.clients.items():
        kept = [line for line in lines if not isinstance(line, Told) or line.t > 25.6]
        storm.clients[name] = [
            replace(line, after="8") if isinstance(line, Joined) else line for line in kept
        ]


@planted("not served")
def a_session_was_never_served_again(storm: Storm) -> None:
    storm.blows.append(Blow(t=44, how="pause", target="server-1", over=46))
    storm.calm = 90.0


@planted("not served")
def a_session_was_served_too_late_even_on_a_busy_machine(storm: Storm) -> None:
    a_session_was_served_too_late(storm)
    storm.stalls = [(12.0, 0.2), (30.0, 5.0)]

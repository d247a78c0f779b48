"""What is explored: a few scopes with each run of the tests, larger ones by hand (`make explore`).

Two clients prompt in most of them. No scope has everything at once, because ways multiply; together they have
every accident beside every other one that it could meet.
"""

from __future__ import annotations

from tests.hub.explore.world import Scope

SCOPES = {
    "a close, a cancel and a crash": Scope(close=1, cancel=1, crash=1),
    "a close, a lost connection and a crash": Scope(close=1, cut=1, crash=1),
    "a close and a question": Scope(close=1, ask=1),
    "a delete, a cancel and a refusal of the journal": Scope(delete=1, cancel=1, fail=1),
    "a delete and a crash": Scope(delete=1, crash=1),
    "refusals of the journal, a cancel and a crash": Scope(fail=2, cancel=1, crash=1),
    "an agent that dies, a lost connection and a crash": Scope(die=1, cut=1, crash=1),
    "agents that end with the hub, a question and a crash": Scope(mortal=1, ask=1, crash=1),
    "agents that die or do not start, and a cancel": Scope(die=1, start_fails=1, cancel=1),
    "an agent that dies, and a close": Scope(die=1, close=1),
    "updates, a question and two crashes": Scope(clients=1, update=2, ask=1, crash=2),
    "an update, a question and a crash": Scope(clients=1, update=1, ask=1, crash=1),
    "a host that sends all again, an update and two crashes": Scope(update=1, crash=2, deaf=1),
    "prompts that are edited or withdrawn, a refusal and a crash": Scope(edit=1, withdraw=1, fail=1, crash=1),
    "a hub that drains, a cancel and a crash": Scope(drain=1, cancel=1, crash=1),
    "one client, a hub that drains, a cancel and a crash": Scope(clients=1, drain=1, cancel=1, crash=1),
    "a quiet session, a cancel and a crash": Scope(release=1, cancel=1, crash=1),
    "a message into a turn, a lost connection and a crash": Scope(clients=1, steer=1, cut=1, crash=1),
    "a message into a turn, a close and a crash": Scope(clients=1, steer=1, close=1, crash=1),
    "a message into a turn and a close": Scope(clients=1, steer=1, close=1),
    "a message into a turn of an agent that dies": Scope(clients=1, steer=1, die=1, cut=1),
    "hand-overs, a cancel and a crash": Scope(clients=1, handover=2, cancel=1, crash=1),
    "a close and a cancel": Scope(close=1, cancel=1),
    "a close and a lost connection": Scope(close=1, cut=1),
    "an agent that dies, and a lost connection": Scope(die=1, cut=1),
    "a quiet session and a crash": Scope(release=1, crash=1),
    "an agent that loads a quiet session and asks": Scope(clients=1, release=1, ask=1, update=1),
    "an agent that loads a quiet session and asks, and two crashes": Scope(
        clients=1, release=1, ask=2, update=1, crash=2
    ),
}

SLOW_SCOPES = (
    "a close, a cancel and a crash",
    "a close, a lost connection and a crash",
    "refusals of the journal, a cancel and a crash",
    "an agent that dies, a lost connection and a crash",
    "updates, a question and two crashes",
    "a hub that drains, a cancel and a crash",
    "a quiet session, a cancel and a crash",
    "a message into a turn, a close and a crash",
    "an agent that loads a quiet session and asks, and two crashes",
)
"""Most of all worlds: for `make test-all`. Each two of these accidents are also in smaller scopes."""

AT_LEAST = 200_000
"""Distinct worlds of each half together. Fewer, and something does not happen any more that did."""

LARGE_SCOPES = {
    "all that two clients do, a refusal of the journal and a crash": Scope(
        cut=1, ask=1, cancel=1, close=1, fail=1, crash=1
    ),
    "a delete, a question, a cancel and a crash": Scope(delete=1, ask=1, cancel=1, crash=1),
    "a close, a refusal of the journal, an agent that dies, a crash": Scope(close=1, fail=1, die=1, crash=1),
    "an agent that dies, does not start, a close, a crash": Scope(die=1, start_fails=1, close=1, crash=1),
    "updates, a question, an agent that dies, two crashes": Scope(clients=1, update=2, ask=1, die=1, crash=2),
    "three clients, a cancel and a crash": Scope(clients=3, cancel=1, crash=1),
}

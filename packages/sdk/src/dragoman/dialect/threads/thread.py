"""The state that an edge keeps for a thread whose agent speaks v1: one session."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import UnsetType

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Id, Object
from dragoman.dialect.threads.entries import Entries
from dragoman.dialect.threads.thread_lists import ThreadFacts

MOST_WAITING = 64
"""Requests that wait for one thread to be opened, or for its turn to end."""


class WaitingRequest(NamedTuple):
    """A request of the client that needs an open thread."""

    request_id: Id | UnsetType
    then: Callable[[Thread], list[Out]]


class ThreadQuestion(NamedTuple):
    """A message that waits for its turn."""

    request_id: Id | UnsetType
    prompt: list[Object]


@dataclass
class Thread:
    """The state of one thread. `opening` is None unless the thread is being opened right now."""

    id: str
    entries: Entries
    facts: ThreadFacts = field(default_factory=ThreadFacts)
    is_open: bool = False
    is_busy: bool = False
    opening: list[WaitingRequest] | None = None
    questions: deque[ThreadQuestion] = field(default_factory=deque)

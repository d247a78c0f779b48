"""Tracks the unanswered requests on both sides of crow.

A crow client names the tool call in its answer and nothing else, so each question that it is asked has an id
of its own: an answer that comes twice, or late, fits no other question. A crow agent that asks twice about a
tool call gets its answers in the order of its questions, because the second is asked only then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from dragoman.dialect.message import Id, Object


class CrowQuestion(Struct, frozen=True, kw_only=True):
    """An open permission request of a v1 agent."""

    request_id: Id
    session: str
    options: frozenset[str]


QuestionFilter: TypeAlias = Callable[[CrowQuestion], bool]


class OpenQuestions:
    """The open questions to a crow client."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, str], CrowQuestion] = {}
        self._used: set[tuple[str, str]] = set()  # ids are never used again: an old answer must not fit

    def name(self, session: str, call_id: str) -> str:
        """Return an id for a question about this tool call; the first question gets the call's own id."""
        name, times = call_id, 1
        while (session, name) in self._used:
            times += 1
            name = f"{call_id}#{times}"
        self._used.add((session, name))
        return name

    def open(self, name: str, question: CrowQuestion) -> None:
        self._open[question.session, name] = question

    def look(self, session: str, name: str) -> CrowQuestion | None:
        return self._open.get((session, name))

    def settle(self, session: str, name: str) -> None:
        self._open.pop((session, name), None)

    def withdraw(self, request_id: Id) -> list[tuple[str, CrowQuestion]]:
        """Withdraw the questions under this id of the agent, and return their names."""
        questions = [
            (name, open_question)
            for (_, name), open_question in self._open.items()
            if open_question.request_id == request_id
        ]
        for name, question in questions:
            self.settle(question.session, name)
        return questions

    def of_session(self, session: str) -> list[CrowQuestion]:
        return self._take(lambda question: question.session == session)

    def all(self) -> list[CrowQuestion]:
        return self._take(lambda question: True)

    def _take(self, matches: QuestionFilter) -> list[CrowQuestion]:
        questions = {key: question for key, question in self._open.items() if matches(question)}
        for key in questions:
            del self._open[key]
        return list(questions.values())


class CrowPermission(Struct, frozen=True, kw_only=True):
    """A permission request of a crow agent, in v1."""

    session: str
    call_id: str
    params: Object
    options: frozenset[str]


class CrowPermissionQueue:
    """Permission requests of a crow agent, one after the other for each tool call."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], deque[CrowPermission]] = {}

    def enter(self, wish: CrowPermission) -> bool:
        """Add a request; return whether it is its turn at once."""
        line = self._lines.setdefault((wish.session, wish.call_id), deque())
        line.append(wish)
        return len(line) == 1

    def leave(self, wish: CrowPermission) -> CrowPermission | None:
        """Remove an answered request; return the next in its queue."""
        line = self._lines[wish.session, wish.call_id]
        line.popleft()
        if line:
            return line[0]
        del self._lines[wish.session, wish.call_id]
        return None

    def give_up(self, session: str) -> list[CrowPermission]:
        """Drop all requests of a session that have not been sent yet."""
        given_up: list[CrowPermission] = []
        for (whose, _), line in self._lines.items():
            while whose == session and len(line) > 1:
                given_up.append(line.pop())
        return given_up[::-1]

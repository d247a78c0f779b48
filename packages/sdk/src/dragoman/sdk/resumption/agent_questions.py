"""The agent's requests to the editor: each is passed on once, under one id, even if the hub repeats it.

On every connection the hub asks under another id, but by the same name; here the name stands for one id of
ours. An answer is kept behind its sending, because it may not have arrived: the hub then asks again and gets
the kept one. A session that was deleted and loaded anew uses its names again: a question that asks something
else is another one, whatever its name. What is kept is bounded in bytes: whatever is behind that many others
has been read by now.
"""

from __future__ import annotations

from collections.abc import Hashable

from msgspec import Struct

from dragoman.wire.envelope import Id, id_key

ROOM = 4 * 1024 * 1024
"""The most bytes of answers to keep: more than all buffers on the way hold together."""

OVERHEAD = 256
"""The overhead of an answer, in bytes."""


class PendingQuestion(Struct, gc=False):
    """A question to the editor. `number` is the editor's id for it, `hub_id` the hub's id on the last
    connection.
    """

    number: int
    session: str
    name: str
    hub_id: Id
    connection: int
    content: bytes = b""
    """A digest of the question's content."""
    answer: bytes | None = None
    """`"result":…` or `"error":…`, once the question is answered."""


class AgentQuestions:
    """The hub's open questions to one editor, over all connections."""

    def __init__(self, *, room: int = ROOM) -> None:
        self._room = room
        self._size = 0
        self._next = 0
        self._questions: dict[int, PendingQuestion] = {}
        self._names: dict[tuple[str, str], int] = {}
        self._hub_ids: dict[Hashable, int] = {}  # of this connection

    def renew(self) -> None:
        """Forget the hub's ids, which a new connection makes invalid; questions known only by id can't be
        answered any more.
        """
        self._hub_ids.clear()
        for question in [question for question in self._questions.values() if not question.name]:
            self._drop(question)

    def ask(
        self, session: str, name: str, hub_id: Id, connection: int, content: bytes = b""
    ) -> tuple[PendingQuestion, bool]:
        """Return the question with this name and content, and whether it is new."""
        question = self._questions.get(self._names.get((session, name), -1)) if name else None
        if question is not None and question.content != content:
            self._lose_name(question)
            question = None
        new = question is None
        if question is None:
            question = PendingQuestion(self._next, session, name, hub_id, connection, content)
            self._next += 1
            self._questions[question.number] = question
            if name:
                self._names[session, name] = question.number
        question.hub_id, question.connection = hub_id, connection
        self._hub_ids[id_key(hub_id)] = question.number
        return question, new

    def answer(self, number: Id, answer: bytes) -> PendingQuestion | None:
        """Keep the answer to a question; None if the question is unknown or already answered."""
        pending = self._questions.get(number) if type(number) is int else None
        if pending is None or pending.answer is not None:
            return None
        pending.answer = answer
        if not pending.name:  # it cannot be recognised when it comes again
            self._drop(pending)
            return pending
        self._size += len(answer) + OVERHEAD
        # Behind all others that are kept: the dict's order is the order of the answers.
        self._questions[pending.number] = self._questions.pop(pending.number)
        while self._size > self._room:
            self._drop(next(question for question in self._questions.values() if question.answer is not None))
        return pending

    def cancel(self, hub_id: Id) -> PendingQuestion | None:
        """Cancel a question of the hub; None if the hub never used this id on this connection."""
        question = self._questions.get(self._hub_ids.get(id_key(hub_id), -1))
        if question is not None:  # who asked gets the answer that every request has, but never twice
            self._lose_name(question)
        return question

    def is_open(self, session: str) -> bool:
        """Whether a question of this session has no answer yet."""
        return any(
            question.session == session and question.answer is None for question in self._questions.values()
        )

    def stale(self, session: str, connection: int) -> list[PendingQuestion]:
        """Drop and return the open questions of a session that the hub has not repeated since it is back."""
        stale_questions = [
            question
            for question in self._questions.values()
            if question.session == session and question.answer is None and question.connection != connection
        ]
        for stale_question in stale_questions:
            self._drop(stale_question)
        return stale_questions

    def forget(self, session: str) -> None:
        """Drop all questions of a closed session."""
        for question in [question for question in self._questions.values() if question.session == session]:
            self._drop(question)

    def _lose_name(self, question: PendingQuestion) -> None:
        """Nobody asks it again: a kept answer is of no use any more."""
        if question.answer is not None:
            self._drop(question)
        else:
            self._names.pop((question.session, question.name), None)
            question.name = ""

    def _drop(self, question: PendingQuestion) -> None:
        if self._questions.pop(question.number, None) is None:
            return
        self._names.pop((question.session, question.name), None)
        if self._hub_ids.get(id_key(question.hub_id)) == question.number:
            del self._hub_ids[id_key(question.hub_id)]
        if question.answer is not None and question.name:
            self._size -= len(question.answer) + OVERHEAD

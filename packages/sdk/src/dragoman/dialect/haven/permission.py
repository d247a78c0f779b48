"""Decides which messages count as the answer to a permission request.

Only a choice among the options that were offered, in the one form that both the reference and v1 give it, is
consent. Everything else is none.
"""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import Edge
from dragoman.dialect.haven.names import NO_CHOICE, PERMISSION, UNASKED
from dragoman.dialect.message import Id, Message, Object, answer, as_list, as_object
from dragoman.dialect.permission import CANCELLED, answer_unchosen, is_choice, option_kinds


class HavenQuestions:
    """The open requests of one side: permission requests with their options, others without."""

    def __init__(self) -> None:
        self._open: PendingRequests[tuple[frozenset[str] | None]] = PendingRequests()

    def ask(self, request: Message) -> None:
        is_permission = request.method == PERMISSION
        choices = frozenset(option_kinds(as_object(request.params))) if is_permission else None
        self._open.owe(request.id, (choices,))

    def hear(self, message: Message, edge: Edge) -> Message | None:
        """Return the answer that may be passed on; None if there is no such request. An error without an id
        passes.
        """
        pending = self._open.settle(message.id)
        if pending is None and message.id is not None:
            edge.note_loss(*UNASKED)
            return None
        choices = None if pending is None else pending[0]
        if choices is None or _is_answer(message, choices):
            return message
        if edge.settings.answers_for_peer:
            edge.note_repair(*NO_CHOICE)
        return answer_unchosen(message.id, edge)

    def forget(self, request_id: Id) -> None:
        """Drop a request: its answer is no longer needed."""
        self._open.settle(request_id)

    def cancel_all(self) -> list[Message]:
        """Return answers for all open permission requests when nobody can decide them any more."""
        waiting = [request_id for request_id, (choices,) in self._open.items() if choices is not None]
        for request_id in waiting:
            self._open.settle(request_id)
        return [answer(request_id, CANCELLED) for request_id in waiting]


def _is_answer(message: Message, choices: frozenset[str]) -> bool:
    if message.error is not UNSET:  # a refusal to answer; beside a result it is not a word to rely on
        return message.result is UNSET
    return is_choice(as_object(message.result), choices)


def allows(question: Object, result: Object) -> bool:
    """Whether a decision lets the tool run."""
    option_id = as_object(result.get("outcome")).get("optionId")
    options = [as_object(option) for option in as_list(question.get("options"))]
    kinds = [option.get("kind") for option in options if option.get("optionId") == option_id]
    return (
        option_id is not None
        and bool(kinds)
        and all(kind in ("allow_once", "allow_always") for kind in kinds)
    )

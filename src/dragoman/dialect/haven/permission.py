"""Consent: what counts as an answer to a permission request, and who decides where no answer can come.

Only a choice among the options that were offered, in the one form that both the reference and v1 give it, is
consent. Everything else is none.
"""

from __future__ import annotations

from msgspec import UNSET

from dragoman.dialect.debts import Debts
from dragoman.dialect.edge import Edge
from dragoman.dialect.haven.names import NO_CHOICE, PERMISSION, UNASKED
from dragoman.dialect.message import Message, Object, answer, as_list, as_object

CANCELLED: Object = {"outcome": {"outcome": "cancelled"}}


class Questions:
    """The open requests of one side: for permissions with what may be chosen, for others with nothing."""

    def __init__(self) -> None:
        self._open: Debts[frozenset[str] | None] = Debts()
        self._asked: Debts[bool] = Debts()

    def ask(self, request: Message) -> None:
        self._asked.owe(request.id, True)
        if request.method == PERMISSION:
            self._open.owe(request.id, frozenset(offered(as_object(request.params))))

    def hear(self, message: Message, edge: Edge) -> Message | None:
        """The answer as it may go on; None if nobody asked. A complaint about no request in particular has
        no id and goes on.
        """
        if self._asked.settle(message.id) is None and message.id is not None:
            edge.lost(*UNASKED)
            return None
        choices = self._open.settle(message.id)
        if choices is None or _is_answer(message, choices):
            return message
        edge.repaired(*NO_CHOICE)
        return answer(message.id, CANCELLED)

    def cancelled(self) -> list[Message]:
        """What to say to those who still wait for a permission, when nobody is left to give it."""
        waiting = [request_id for request_id, _ in self._open.items()]
        for request_id in waiting:
            self._open.settle(request_id)
            self._asked.settle(request_id)
        return [answer(request_id, CANCELLED) for request_id in waiting]


def _is_answer(message: Message, choices: frozenset[str]) -> bool:
    if message.error is not UNSET:  # a refusal to answer; beside a result it is no word to rely on
        return message.result is UNSET
    outcome = as_object(as_object(message.result).get("outcome"))
    if outcome.get("outcome") == "cancelled":
        return True
    chosen = outcome.get("optionId")
    return outcome.get("outcome") == "selected" and type(chosen) is str and chosen in choices


def offered(question: Object) -> list[str]:
    """The ids of the options, in order."""
    ids = [as_object(option).get("optionId") for option in as_list(question.get("options"))]
    return [one for one in ids if type(one) is str]


def decided(question: Object, edge: Edge) -> Object:
    """The result for a question (in v1) that its peer cannot answer: what the policy chooses, if that was
    offered; else the option that rejects this once; else nothing is chosen.
    """
    chosen = edge.settings.consent(question)
    if chosen is None or chosen not in offered(question):
        chosen = _rejection(question)
    return CANCELLED if chosen is None else {"outcome": {"outcome": "selected", "optionId": chosen}}


def allows(question: Object, result: Object) -> bool:
    """Whether a decision lets the tool run."""
    chosen = as_object(result.get("outcome")).get("optionId")
    options = [as_object(option) for option in as_list(question.get("options"))]
    kinds = [option.get("kind") for option in options if option.get("optionId") == chosen]
    return (
        chosen is not None and bool(kinds) and all(kind in ("allow_once", "allow_always") for kind in kinds)
    )


def _rejection(question: Object) -> str | None:
    for option in map(as_object, as_list(question.get("options"))):
        if option.get("kind") == "reject_once" and type(option.get("optionId")) is str:
            return str(option["optionId"])
    return None

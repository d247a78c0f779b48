"""Answers to permission requests that an edge must give itself, for all dialects.

An edge stands in one of two places (`Settings.answers_for_peer`). Where its client is the only one, as behind
`dragoman translate`, somebody has to answer for a client that has left, that chooses nothing which was
offered, or whose dialect cannot carry the question: the configured consent, or nobody. Where other clients
share the session, as at a hub, that would decide for all of them. There the edge says that its client gives
no answer, which is an error in JSON-RPC, and the question stays open for the others.
"""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from msgspec import UnsetType

from dragoman.dialect.message import Id, Message, Object, answer, as_list, as_object, as_text, refusal
from dragoman.wire.codes import INVALID_PARAMS, METHOD_NOT_FOUND

if TYPE_CHECKING:
    from dragoman.dialect.edge import Edge

PERMISSION = "session/request_permission"

CANCELLED: Object = {"outcome": {"outcome": "cancelled"}}

NOTICE = "_dragoman/hub/asked"
"""The notice in which a hub tells a client about a question that the client can't be asked."""


def option_kinds(question: Object) -> dict[str, str]:
    """Return the kinds of the options by id, in order."""
    options = [as_object(option) for option in as_list(question.get("options"))]
    return {
        option["optionId"]: as_text(option.get("kind"))
        for option in options
        if as_text(option.get("optionId"))
    }


def is_choice(result: Object, option_ids: Set[str]) -> bool:
    """Whether an answer chooses an offered option, or is cancelled."""
    outcome = as_object(result.get("outcome"))
    if outcome.get("outcome") == "cancelled":
        return True
    option_id = outcome.get("optionId")
    return outcome.get("outcome") == "selected" and type(option_id) is str and option_id in option_ids


def decide(question: Object, edge: Edge) -> Object:
    """Return the result for a v1 question that its peer cannot answer: the offered option that the consent
    chooses; otherwise the option that rejects once, because one that rejects for ever would decide too much;
    otherwise none.
    """
    options = option_kinds(question)
    option_id = edge.settings.consent(question)
    if option_id not in options:
        option_id = next((option for option, kind in options.items() if kind == "reject_once"), None)
    return CANCELLED if option_id is None else {"outcome": {"outcome": "selected", "optionId": option_id}}


def answer_unasked(request: Message, edge: Edge) -> Message:
    """Return the answer for a client that can't be asked."""
    if edge.settings.answers_for_peer:
        return answer(request.id, decide(as_object(request.params), edge))
    why = f"Method not found: a client of the dialect {edge.name} cannot ask a person"
    return refusal(request.id, METHOD_NOT_FOUND, why)


def answer_unchosen(request_id: Id | UnsetType, edge: Edge, result: Object = CANCELLED) -> Message:
    """Return the answer for a question that the client did not answer validly."""
    if edge.settings.answers_for_peer:
        return answer(request_id, result)
    why = "Invalid params: the client's answer is none of those that it was offered"
    return refusal(request_id, INVALID_PARAMS, why)


def question_in(notice: Message) -> Object:
    """Return the params of the permission request in a `NOTICE`; empty if the notice is about another
    request.
    """
    request = as_object(as_object(notice.params).get("request"))
    return as_object(request.get("params")) if request.get("method") == PERMISSION else {}

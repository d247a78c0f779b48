"""Questions of agents to people: which clients can show a question, and which answers come from a person.

A client says what it can ask in its capabilities: forms and links under `elicitation`, and under
`_meta.dragoman.permission` whether it can be asked for permission, which every client of the protocol can;
the edge of a dialect that cannot writes `told` there, and its client is told of such a question instead of
being asked. A client that answers with an error has decided nothing: the question stays open for everybody
else and for the inbox. One that does not know the method is not asked again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw

from dragoman_hub.engine.child_sessions import MAIN_SESSION
from dragoman_hub.session.frames import encode_json, object_of, value_of

if TYPE_CHECKING:
    from dragoman_hub.session.state import OpenRequest

PERMISSION = "session/request_permission"
ELICITATION = "elicitation/create"

ACTIONS = ("accept", "decline", "cancel")


def can_be_asked(capabilities: dict[str, Any], request: OpenRequest) -> bool:
    """Whether a client with these capabilities can ask a person the question."""
    if request.method != ELICITATION:
        return not is_told(capabilities)
    elicitation = capabilities.get("elicitation")
    if not isinstance(elicitation, dict):
        return False
    if value_of(object_of(request.params).get("mode")) == "url":
        return isinstance(elicitation.get("url"), dict)
    return isinstance(elicitation.get("form"), dict) or not isinstance(elicitation.get("url"), dict)


def with_requester(method: str, params: bytes, *, requester: str, known_title: str) -> bytes:
    """Return a child's question for a client that does not know child sessions: its text names the child,
    because the client shows it in the parent session. `known_title` is the earlier title of the tool call.
    """
    members = object_of(params)
    name = requester.removesuffix(f", for {MAIN_SESSION}")
    call = object_of(members.get("toolCall"))
    if method == PERMISSION and call:
        title = value_of(call.get("title")) or known_title or value_of(call.get("toolCallId"))
        members["toolCall"] = Raw(encode_json({**call, "title": f"{name}: {title}"}))
    elif method == ELICITATION:
        members["message"] = Raw(encode_json(f"{name}: {value_of(members.get('message'), '')}"))
    return encode_json(members)


def is_told(capabilities: dict[str, Any]) -> bool:
    """Whether a client only gets notices of permission requests, not the requests."""
    meta = capabilities.get("_meta")
    ours = meta.get("dragoman") if isinstance(meta, dict) else None
    return isinstance(ours, dict) and ours.get("permission") == "told"


def is_answer(request: OpenRequest, result: Raw | None) -> bool:
    """Whether a person chose an offered option, or explicitly chose none."""
    if request.method == ELICITATION:
        return value_of(object_of(result).get("action")) in ACTIONS
    if is_cancelled(result):
        return True
    outcome = object_of(object_of(result).get("outcome"))
    is_selected = value_of(outcome.get("outcome")) == "selected"
    return is_selected and value_of(outcome.get("optionId")) in _option_ids(request)


def is_cancelled(result: Raw | None) -> bool:
    """Whether a permission request is answered without a choice."""
    outcome = object_of(object_of(result).get("outcome"))
    return bool(value_of(outcome.get("outcome")) == "cancelled")


def _option_ids(request: OpenRequest) -> list[str]:
    options = value_of(object_of(request.shown).get("options"))
    option_list = options if isinstance(options, list) else []
    ids = [option.get("optionId") for option in option_list if isinstance(option, dict)]
    return [option for option in ids if isinstance(option, str)]

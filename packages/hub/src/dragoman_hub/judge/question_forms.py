"""The wire form of an agent's question: whether the hub can ask it, and how to answer it.

Pure. Nothing here decides anything.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.schema import v1
from dragoman.schema.codec import read, write
from dragoman.schema.errors import SchemaError
from dragoman.schema.v1.methods import METHODS
from dragoman.wire.codes import INVALID_PARAMS
from dragoman_hub.session.frames import encode_json, object_of, value_of
from dragoman_hub.session.state import OpenRequest
from dragoman_local.workspace.policy.decision import choose_option, is_contradiction

PERMISSION: Final = "session/request_permission"

EMPTY: Final = frozenset({b"null", b"[]", b"{}"})


def with_call(params: Raw, call: v1.ToolCallUpdate, own: v1.PermissionOption | None) -> Raw:
    """A request whose tool call is this one, with an option of ours, for clients that show nothing but the
    request.
    """
    members = object_of(params)
    said = {name: raw for name, raw in object_of(write(call)).items() if bytes(raw) not in EMPTY}
    tool_call = {**object_of(members.get("toolCall")), **said}
    options = [*value_of(members.get("options"), []), *([] if own is None else [Raw(write(own))])]
    return Raw(encode_json({**members, "toolCall": tool_call, "options": options}))


def call_id_of(request: OpenRequest) -> str | None:
    """The id of the tool call in a permission request."""
    call = object_of(object_of(request.params).get("toolCall")) if request.method == PERMISSION else {}
    name = value_of(call.get("toolCallId"))
    return name if isinstance(name, str) else None


def about_of(request: OpenRequest) -> int:
    """The request of the agent that a question of the hub's own is about."""
    meta = value_of(object_of(request.params).get("_meta"), {})
    return int(meta.get("dragoman", {}).get("about", "0") if isinstance(meta, dict) else "0")


def check_question(request: OpenRequest) -> None:
    """Raise `ErrorAnswer` for a question that no client could read or answer."""
    entry = METHODS.get(request.method, kind="request", receiver="client")
    if entry is None:
        return
    try:
        params = read(request.params, entry.params)
        json.loads(bytes(request.params), object_pairs_hook=_each_once)
        if isinstance(params, v1.RequestPermissionRequest):
            _check_options(params.options)
    except (SchemaError, ValueError, RecursionError) as error:
        raise ErrorAnswer(INVALID_PARAMS, f"Invalid params: {error}") from None


def _check_options(options: Sequence[v1.PermissionOption]) -> None:
    """A no that has the id or the kind of a yes would reach the agent as the yes."""
    if len({option.option_id for option in options}) < len(options):
        raise ValueError("two options have one id")
    if any(map(is_contradiction, options)):
        raise ValueError("the name of an option says the opposite of its kind")


def _each_once(pairs: list[tuple[str, object]]) -> None:
    """Of two members of one name, a client might show the one and the rules judge the other."""
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a member of an object appears twice")


def refusal_of(request: OpenRequest, *, cancel: bool) -> bytes:
    """The answer to a request that nobody answers."""
    if request.method != PERMISSION:
        return encode_json({"action": "cancel" if cancel else "decline"})
    if not cancel:
        try:
            permission = read(request.params, v1.RequestPermissionRequest)
        except SchemaError:
            permission = None
        option = None if permission is None else choose_option("deny", permission.options)
        if option is not None:
            return encode_json({"outcome": {"outcome": "selected", "optionId": option}})
    return encode_json({"outcome": {"outcome": "cancelled"}})


def option_in(result: Raw | None) -> str | None:
    """The id of the option that an answer selects."""
    outcome = value_of(object_of(result).get("outcome"))
    option = outcome.get("optionId") if isinstance(outcome, dict) else None
    return option if isinstance(option, str) else None

"""A client's unanswered requests, and how they are sent again when their node is lost.

A prompt has a key, so that it is never run twice; so have requests that make a session. What only reads, or
sets what was set already, may be done twice. What an agent was asked beyond the protocol may not: there,
nobody knows whether it was done, and the client is told so.
"""

from __future__ import annotations

from typing import Any

from msgspec import Raw, Struct

from dragoman.wire import request
from dragoman.wire.envelope import Id
from dragoman_hub.clients.request_checks import new_key
from dragoman_hub.engine.bounds import size_of_request
from dragoman_hub.engine.ports import Position
from dragoman_hub.session.frames import encode_json, key_in, merge_ours, object_of, ours_in

MAKING = frozenset({"session/new", "session/fork", "_dragoman/hub/handover"})
KEYED = frozenset({"session/prompt", *MAKING})
FROM_A_PLACE = frozenset({"session/load", "session/resume", "_dragoman/hub/attach"})
REPEATABLE = frozenset(
    {
        *KEYED,
        *FROM_A_PLACE,
        "session/list",
        "session/close",
        "session/delete",
        "session/status",
        "session/archive",
        "session/unarchive",
        "session/set_title",
        "session/set_mode",
        "session/set_model",
        "session/set_config_option",
    }
)


class PendingRequest(Struct):
    """An unanswered request of the client."""

    id: Id
    method: str
    params: dict[str, Any]
    session: str
    node: str
    key: str = ""
    hops: int = 0
    lost_since: float = 0.0
    """Since when no node has had the session for long enough."""
    cancel: bytes = b""
    """The client's message that cancels it."""
    is_begun: bool = False
    """Whether a node has begun to send the session for it: then the client's earlier position does not matter
    for a request for everything.
    """
    reached: Position | None = None
    """The position up to which a node had sent the session for it when it stopped, without an answer that
    arrived here.
    """
    is_being_placed: bool = False
    """Whether another node for it is being searched."""

    size: int = 0
    """Its size while it has no answer."""

    @property
    def frame(self) -> bytes:
        return request(self.id, self.method, encode_json(self.params))

    @property
    def may_be_repeated(self) -> bool:
        return self.method in REPEATABLE or self.method.startswith("_dragoman/hub/")

    def frame_from(self, position: Position | None) -> bytes:
        """Return the same request for a client that already received a part."""
        position = position or self.reached
        if position is None or self.method not in FROM_A_PLACE:
            return self.frame
        if self.method == "session/load" and not self.is_begun and self.reached is None:
            return self.frame
        if self.method != "_dragoman/hub/attach":
            params = merge_ours(object_of(encode_json(self.params)), {"after": str(position)})
        else:
            params = {**self.params, "after": str(position)}
        return request(self.id, self.method, encode_json(params))


def pending_request(
    request_id: Id, method: str, params: dict[str, Raw], *, session: str, node: str
) -> PendingRequest:
    """Return a request, with a new idempotency key if it needs one and the client sent none."""
    members: dict[str, Any] = {name: Raw(bytes(raw)) for name, raw in params.items()}
    key = ""
    if method in KEYED:
        ours = ours_in(params)
        key = key_in(ours)
        if not key and not ours.get("key"):  # one that is no key is refused by the node
            key = new_key()
            members = merge_ours(members, {"key": key})
    size = sum(size_of_request(raw) for raw in params.values())
    return PendingRequest(request_id, method, members, session, node, key, size=size)

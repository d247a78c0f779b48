"""Steering for authors of agents: messages of the user that arrive while a turn runs.

A message is offered to the running turn, and the client gets its answer when the turn has decided: taken, or
not. So a message that comes at the very end of a turn is either in it, or the client is told to send it as a
prompt; it is never lost between the two.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from dragoman.schema import v1
from dragoman.schema.steering import PROMPT_REQUIRED
from dragoman.sdk.inbound import read_params, read_plain
from dragoman.wire.codes import invalid_params, invalid_request

if TYPE_CHECKING:
    from msgspec import Raw

M = TypeVar("M")

INJECTED = b'{"outcome":"injected"}'
NOT_TAKEN = b'{"outcome":"%b","reason":"noRunningTurn"}' % PROMPT_REQUIRED.encode()


class SteeringInbox(Generic[M]):
    """Messages that a turn was offered and has not taken yet."""

    __slots__ = ("_is_closed", "_offers")

    def __init__(self) -> None:
        self._offers: deque[tuple[M, Callable[[bool], None]]] = deque()
        self._is_closed = False

    def put(self, message: M, on_decision: Callable[[bool], None]) -> None:
        """Offer a message; `on_decision` is called with whether the turn has taken it."""
        if self._is_closed:
            on_decision(False)
        else:
            self._offers.append((message, on_decision))

    def take(self) -> list[M]:
        """Take all offered messages, and tell the client that the turn has them."""
        return [] if not self._offers else self._decide(is_taken=True)

    def close(self) -> None:
        """Close the inbox. The client must send the remaining messages again."""
        self._is_closed = True
        if self._offers:
            self._decide(is_taken=False)

    def _decide(self, *, is_taken: bool) -> list[M]:
        offers, self._offers = self._offers, deque()
        for _, on_decision in offers:
            on_decision(is_taken)
        return [message for message, _ in offers]


def read_steering(params: Raw | None) -> tuple[v1.PromptRequest, bool]:
    """Read a `_session/steering` request: its content, and whether the client prompts by itself if no turn
    runs.
    """
    request = read_params(params, v1.PromptRequest)
    if not request.prompt:
        raise invalid_params("prompt must hold a content block")
    meta: Any = read_plain(params).get("_meta")
    steering = meta.get("steering") if isinstance(meta, dict) else None
    behaviour = steering.get("idleBehavior") if isinstance(steering, dict) else None
    return request, behaviour == PROMPT_REQUIRED


def answer_for(*, is_taken: bool, prompts_itself: bool) -> bytes:
    """Return the answer to `_session/steering`. A client that may not know how to prompt instead gets an
    error: it must not believe that the agent has the message.
    """
    if is_taken:
        return INJECTED
    if prompts_itself:
        return NOT_TAKEN
    raise invalid_request("no turn takes the message; send it with session/prompt")

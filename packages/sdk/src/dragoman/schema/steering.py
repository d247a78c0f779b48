"""Steering sends a user's message into a running turn. The protocol has no method yet, and agents differ.

| way | an agent says that it has it | it is called |
|---|---|---|
| `steering` | `_meta.steering.supported` in its answer to `initialize` | `_session/steering` |
| `inject` | `session.inject` among its capabilities, with the mode `steer` | `session/inject` |
| `restart` | nothing of this | `session/cancel`, then `session/prompt` |

This is the one place that knows these words: who steers, who is steered and who stands between them decide
here which way it goes, what is said, and what the answer means. Steering is never tried to find out: some
agents answer `{}` to every method that they do not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Raw

SteeringWay: TypeAlias = Literal["steering", "inject", "restart"]

SteerOutcome: TypeAlias = Literal["delivered", "queued", "will_restart"]
"""The fate of a message: the agent got it during the running turn; it runs after this turn; or the turn is
cancelled and starts again with the message.
"""

SteerAnswer: TypeAlias = Literal["delivered", "queued", "refused"]
"""The meaning of an agent's answer. `queued`: the agent runs the message as a turn of its own. `refused`: the
agent does not have the message, so it must still be sent.
"""

SteerFallback: TypeAlias = Literal["restart", "queue"]
"""The action for a message that the agent does not accept into a running turn."""

FALLBACKS: tuple[str, ...] = get_args(SteerFallback)

STEERING = "_session/steering"
INJECT = "session/inject"

OUTCOME_TEXTS: dict[SteerOutcome, str] = {
    "delivered": "delivered: the agent took it into the running turn",
    "queued": "queued: it runs after this turn",
    "will_restart": "will restart: the turn is cancelled and begins again with it",
}
"""The outcomes in words for people."""

PROMPT_REQUIRED = "promptRequired"
"""The answer of an agent that refuses a message because no turn runs; the sender must prompt instead."""

_IDLE = {"steering": {"idleBehavior": PROMPT_REQUIRED}}

SEPARATOR = "\n\n"
"""Separates a prompt from later messages that are sent with it: many agents join texts."""


def steering_way(introduction: Mapping[str, Any]) -> SteeringWay:
    """Return the way to steer an agent, from its `initialize` answer."""
    if _object(_object(introduction.get("_meta")).get("steering")).get("supported") is True:
        return "steering"
    capabilities = _object(introduction.get("agentCapabilities"))
    for place in ("sessionCapabilities", "session"):  # as version 1 and the proposal for version 2 have it
        modes = _object(_object(capabilities.get(place)).get("inject")).get("modes")
        if isinstance(modes, list) and "steer" in modes:
            return "inject"
    return "restart"


def announced_steering() -> dict[str, Any]:
    """Return the `_meta` by which an `initialize` answer announces steering."""
    return {"steering": {"supported": True}}


def steer_call(way: SteeringWay, session_id: str, prompt: Sequence[Raw] | Raw) -> tuple[str, bytes]:
    """Return the method and params that send this content to the agent."""
    if way == "inject":
        return INJECT, _encode({"sessionId": session_id, "mode": "steer", "content": prompt})
    if way == "steering":
        return STEERING, _encode({"sessionId": session_id, "prompt": prompt, "_meta": _IDLE})
    raise ValueError("an agent that is restarted is not called")


def read_steer_answer(way: SteeringWay, result: object, *, is_turn_open: bool) -> SteerAnswer:
    """Read an agent's answer to a message; `is_turn_open` while the turn's prompt has no answer.

    What is injected behind the end of the turn is with the agent all the same: it runs it by itself.
    """
    members = _object(result)
    if way == "inject":
        is_accepted = isinstance(members.get("messageId"), str)
        return ("delivered" if is_turn_open else "queued") if is_accepted else "refused"
    outcomes: dict[object, SteerAnswer] = {"injected": "delivered", "startedNewTurn": "queued"}
    outcome = members.get("outcome")
    return outcomes.get(outcome, "refused") if isinstance(outcome, str) else "refused"


_COMMAND = re.compile(r"/[\w:.-]+(?=\s|$)")


def restart_prompt(prompt: Sequence[Any], messages: Sequence[Sequence[Any]], separator: Any) -> list[Any]:
    """Return the content of a restarted turn: its prompt, and the messages since. A slash command is not
    repeated, because the messages would become its argument: the agent has it in its history.
    """
    first_text = getattr(prompt[0], "text", None) if prompt else None
    is_command = isinstance(first_text, str) and _COMMAND.match(first_text) is not None
    blocks: list[Any] = []
    for part in messages if is_command else (prompt, *messages):
        blocks += [separator, *part] if blocks else part
    return blocks


_encode = msgspec.json.Encoder().encode


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}

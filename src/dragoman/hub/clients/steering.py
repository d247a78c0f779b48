"""A client's message into a running turn: it goes to the session's agent, whichever of the two methods that
has, and is in the stream as the user's once the agent has it. There everybody who follows the session hears
it, now or later. What the agent does not take is not in the stream: the client still has it to send.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from msgspec import Raw

from dragoman.errors import AgentFailed, ErrorAnswer
from dragoman.hub.clients.client import ClientHub
from dragoman.hub.clients.request_checks import check_no_child, checked_key
from dragoman.hub.engine.live_session import LiveSession
from dragoman.hub.session.frames import STEERED_MESSAGE, ours_in, value_of, without_ours
from dragoman.schema.steering import INJECT, STEERING, SteeringWay, read_steer_answer
from dragoman.wire.codes import INTERNAL_ERROR, invalid_params

STEER_SECONDS = 3600.0
"""An agent may say that it has a message when its turn takes it, after whatever it does just then."""

STEER_WAYS: dict[str, tuple[SteeringWay, str]] = {
    STEERING: ("steering", "prompt"),
    INJECT: ("inject", "content"),
}
"""The methods, each with its way and the member that has the message."""


async def steer(hub: ClientHub, session: LiveSession, method: str, params: dict[str, Raw]) -> bytes:
    """The agent's answer, once the message is stored if the agent has it."""
    check_no_child(session)
    way, member = STEER_WAYS[method]
    blocks = value_of(params.get(member))
    if not isinstance(blocks, list) or not blocks:
        raise invalid_params(f"{member} is missing")
    key = checked_key(ours_in(params)) or uuid.uuid4().hex
    await hub.pool.bind(session)  # an agent that cannot be started has nothing: that is no doubt
    try:
        result = await hub.ask(session, method, without_ours(params), within=STEER_SECONDS)
    except AgentFailed as error:
        raise _doubt(str(error), error.details) from error
    except TimeoutError as error:
        raise _doubt(f"it gave no answer within {STEER_SECONDS:g} seconds", {}) from error
    is_turn_open = session.state.turn is not None
    outcome = read_steer_answer(way, value_of(result), is_turn_open=is_turn_open)
    if outcome != "refused":
        for block in blocks:
            chunk = {"sessionUpdate": "user_message_chunk", "content": block}
            meta = {"dragoman": {"steering": outcome}}
            hub.tell(session, {**chunk, "messageId": f"{STEERED_MESSAGE}{key}", "_meta": meta})
        await session.wait_until_stored()
    return bytes(result)


def _doubt(reason: str, details: Mapping[str, Any]) -> ErrorAnswer:
    """The agent was given the message, and nobody knows whether it has read it."""
    message = f"Internal error: nobody knows whether the agent has the message: {reason}"
    return ErrorAnswer(INTERNAL_ERROR, message, dict(details) or None)

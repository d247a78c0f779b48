"""Messages into a running turn: each is stored, sent to the agent at most once, and has one outcome.

A message has a key, as a prompt has. It is stored with the frame for the agent before the agent gets it, and
the same key is never accepted again. Its outcome is what the agent answers. If the agent, the session or the
hub's hold on it ends before, the outcome is an error which says that nobody knows: the agent may have it.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Raw

from dragoman.schema.steering import INJECT, SteeringWay, read_steer_answer
from dragoman.wire import notification
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman_hub.session import events as ev
from dragoman_hub.session.events import Effect
from dragoman_hub.session.frames import STEERED_MESSAGE, encode_json, object_of, value_of
from dragoman_hub.session.state import Direction, OpenSteer, SessionState

MOST_STEERS = 32
"""The most messages that may wait for the agent's answer in one session."""

DOUBT = "Internal error: the agent may or may not have the message: "


class SteerWork(Protocol):
    """The interface of the current step (`machine`)."""

    state: SessionState

    def append(self, direction: Direction, *frames: bytes, pending: bool = False) -> int: ...
    def note(self, kind: str, *, pending: bool = False, **members: object) -> int: ...
    def say(self, frame: bytes, *, prompt_id: int | None = None, wire_frame: bytes | None = None) -> None: ...
    def do(self, effect: Effect) -> None: ...


def accept_steer(work: SteerWork, event: ev.SteerReceived) -> None:
    """Store the message with its key, and send it to the agent."""
    work.note("steering", key=event.key, by=event.by, request=str(event.id))
    work.say(event.frame, prompt_id=event.id)


def answer_steer(work: SteerWork, steer: OpenSteer, event: ev.AnswerReceived) -> None:
    """Show a message that the agent accepted as the user's; the client still has to send a refused one."""
    is_turn_open = work.state.turn is not None
    work.append("to_client", event.frame)
    if event.error is not None:
        end_steer(work, steer.key, error=event.error)
        return
    way: SteeringWay = "inject" if steer.method == INJECT else "steering"
    outcome = read_steer_answer(way, value_of(event.result), is_turn_open=is_turn_open)
    blocks = value_of(object_of(steer.params).get("content" if way == "inject" else "prompt"))
    if outcome != "refused" and isinstance(blocks, list) and blocks:
        work.append("to_client", *(_chunk(work.state.id, steer.key, block, outcome) for block in blocks))
    end_steer(work, steer.key, result=event.result)


def doubt_steers(work: SteerWork, reason: str, data: object = None) -> None:
    """End the messages at the agent with an unknown outcome."""
    for key in work.state.steers:
        doubt_steer(work, key, reason, data)


def doubt_steer(work: SteerWork, key: str, reason: str, data: object = None) -> None:
    error: dict[str, Any] = {"code": INTERNAL_ERROR, "message": DOUBT + reason}
    end_steer(work, key, error=error if data is None else {**error, "data": data})


def end_steer(work: SteerWork, key: str, **ending: Any) -> None:
    """Record the one outcome of a message."""
    if by := work.state.owner_of_steer(key):
        ending["by"] = by
    work.do(ev.SteerEnded(after=work.note("steered", key=key, **ending), key=key))


def _chunk(session_id: str, key: str, block: object, outcome: str) -> bytes:
    update = {
        "sessionUpdate": "user_message_chunk",
        "content": block,
        "messageId": f"{STEERED_MESSAGE}{key}",
        "_meta": {"dragoman": {"steering": outcome}},
    }
    return notification("session/update", encode_json({"sessionId": session_id, "update": update}))[:-1]


def data_of(error: object) -> object:
    """Return the additional data of an error."""
    return value_of(object_of(Raw(encode_json(error))).get("data"))

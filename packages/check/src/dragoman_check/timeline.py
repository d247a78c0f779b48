"""The timeline of a conversation: when each session was opened and closed, its folders, and its turns.

Everything is asked of a moment, which is the number of a frame: what had been answered before it counts.
Nothing is known about sessions of other connections.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, Exchange, ObservedTurn, update_of
from dragoman_check.manifest import Side
from dragoman_check.recording import Direction, Frame
from dragoman_check.rule import Observation, direction_from, kept
from dragoman_check.values import items, text

T = TypeVar("T")

_NEVER = 1 << 62

SETUPS = ("session/new", "session/load", "session/resume", "session/fork")
LOGIN_NEEDED = -32000
BAD_REQUEST = -32600
NO_METHOD = -32601
BAD_PARAMS = -32602
NOT_FOUND = -32002
CANCELLED = -32800

TURN_KINDS = ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update", "plan")
"""Updates that belong to a turn; all others may come at any time."""
HISTORY_KINDS = ("user_message_chunk", *TURN_KINDS)


class SessionSetup(Struct, frozen=True):
    """A session that was created, loaded, resumed or forked."""

    exchange: Exchange
    session: str
    cwd: str
    roots: tuple[str, ...]

    @property
    def folders(self) -> tuple[str, ...]:
        return (self.cwd, *self.roots)

    @property
    def since(self) -> int:
        return self.exchange.answer.number if self.exchange.answer else 0


def notifications_of(conversation: Conversation, method: str, direction: Direction) -> list[Frame]:
    """Return the notifications of a method, searched once."""
    return conversation.compute_once(
        f"{method} {direction}", lambda: conversation.notes(method, direction=direction)
    )


def session_of(exchange: Exchange | Frame) -> str:
    return text(exchange.params.get("sessionId"))


def setups(conversation: Conversation) -> list[SessionSetup]:
    """Return successful setups, in the order of their requests."""
    return conversation.compute_once(
        "setups", lambda: [_setup(request) for request in setup_requests(conversation) if request.has_result]
    )


def setup_requests(conversation: Conversation, *methods: str) -> list[Exchange]:
    return conversation.calls(*(methods or SETUPS), direction="to_agent")


def _setup(exchange: Exchange) -> SessionSetup:
    is_new = exchange.method in ("session/new", "session/fork")
    session = text(exchange.result.get("sessionId")) if is_new else session_of(exchange)
    roots = exchange.params.get("additionalDirectories")
    root_paths = tuple(root for root in roots if type(root) is str) if type(roots) is list else ()
    return SessionSetup(exchange, session, text(exchange.params.get("cwd")), root_paths)


def setup_at(conversation: Conversation, session: str, number: int) -> SessionSetup | None:
    """Return the last setup requested before a moment, with the valid folders."""
    mine = [
        setup
        for setup in setups(conversation)
        if setup.session == session and setup.exchange.request.number < number
    ]
    return mine[-1] if mine and session else None


def is_open(conversation: Conversation, session: str, number: int) -> bool | None:
    """Whether a session was in use at a moment; None during a request about it."""
    state = False
    for at, opens, request_number in _changes(conversation, session):
        if at < number:
            state = opens
        elif request_number < number:
            return None
    return state


def is_in_use(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether a request names a session that this connection opened, prompted and has not ended."""
    session, number = session_of(exchange), exchange.request.number
    return is_open(conversation, session, number) is True and any(
        turn.session == session and turn.end is not None and turn.end.number < number
        for turn in conversation.turns
        if turn.exchange.has_result
    )


def _changes(conversation: Conversation, session: str) -> list[tuple[int, bool, int]]:
    return conversation.compute_once(f"changes of {session}", lambda: _find_changes(conversation, session))


def _find_changes(conversation: Conversation, session: str) -> list[tuple[int, bool, int]]:
    ends = conversation.calls("session/close", "session/delete", "session/archive", direction="to_agent")
    pending = [
        request
        for request in setup_requests(conversation)
        if request.answer is None and session_of(request) == session
    ]
    changes = [
        (setup.since, True, setup.exchange.request.number)
        for setup in setups(conversation)
        if setup.session == session
    ]
    changes += [
        (end.answer.number, False, end.request.number)
        for end in ends
        if end.answer is not None and session_of(end) == session and (end.has_result or end.code == NOT_FOUND)
    ]
    changes += [(_NEVER, True, open_request.request.number) for open_request in pending]
    return sorted(changes)


def announced_sessions(conversation: Conversation) -> set[str]:
    """Return sessions that the agent created and announced itself."""

    def find() -> set[str]:
        return {
            text(update_of(frame).get("sessionId")) for frame in conversation.updates("subagent_update")
        } - {""}

    return conversation.compute_once("announced", find)


def known_sessions(conversation: Conversation) -> set[str]:
    """Return every session that may be named on this connection."""

    def find() -> set[str]:
        sessions = {setup.session for setup in setups(conversation)} | announced_sessions(conversation)
        for exchange in conversation.calls("session/list", direction="to_agent"):
            sessions |= {text(item.get("sessionId")) for item in items(exchange.result.get("sessions"))}
        return sessions

    return conversation.compute_once("known sessions", find)


def is_ready(conversation: Conversation, frame: Frame) -> bool:
    """Whether the handshake was over when it was sent."""
    answer = (
        conversation.initialize.answer
        if conversation.initialize and conversation.initialize.has_result
        else None
    )
    return answer is not None and answer.number < frame.number


def is_fair(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether its answer is meaningful: there is one, and it is not about the handshake or a login."""
    return (
        exchange.answer is not None
        and (exchange.has_result or exchange.has_error)
        and exchange.code != LOGIN_NEEDED
        and is_ready(conversation, exchange.request)
        and is_well_formed(conversation, exchange.request)
    )


def is_well_formed(conversation: Conversation, request: Frame) -> bool:
    """Whether a request is valid JSON-RPC 2.0, with its own id: other requests may be refused.

    https://www.jsonrpc.org/specification, "Request object"
    """
    message = request.message
    ids = conversation.compute_once(f"ids {request.direction}", lambda: _ids(conversation, request.direction))
    return (
        message.get("jsonrpc") == "2.0"
        and type(message.get("params", {})) in (dict, list)
        and ids[repr(message.get("id"))] == 1
    )


def _ids(conversation: Conversation, direction: Direction) -> Counter[str]:
    return Counter(
        repr(frame.message.get("id"))
        for frame in conversation.frames
        if frame.direction == direction and frame.is_request
    )


def running_turns(conversation: Conversation, number: int, session: str | None = None) -> list[ObservedTurn]:
    """Return the turns that had begun and not ended at a moment, of one session or of all."""
    points, states = conversation.compute_once("running", lambda: _states(conversation))
    turns = states[bisect_right(points, number)]
    return [turn for turn in turns if session in (None, turn.session)]


def _states(conversation: Conversation) -> tuple[list[int], list[tuple[ObservedTurn, ...]]]:
    """The moments when a turn begins or ends, and before, between and after them those that run."""
    changes: list[tuple[int, bool, int]] = []
    for at, turn in enumerate(conversation.turns):
        changes.append((turn.exchange.request.number + 1, False, at))
        if turn.exchange.answer is not None:
            changes.append((turn.exchange.answer.number, True, at))
    now: dict[int, ObservedTurn] = {}
    points: list[int] = []
    states: list[tuple[ObservedTurn, ...]] = [()]
    for number, has_ended, at in sorted(changes):  # who is answered at once begins before it ends
        if has_ended:
            now.pop(at, None)
        else:
            now[at] = conversation.turns[at]
        points.append(number)
        states.append(tuple(now.values()))
    return points, states


def is_running_at(turn: ObservedTurn, number: int) -> bool:
    request, end = turn.exchange.request, turn.exchange.answer
    return request.number < number and (end is None or end.number > number)


def reason_of(turn: ObservedTurn) -> Json:
    """Return its stop reason, None if there is none."""
    return turn.exchange.result.get("stopReason")


def is_in_stretch(conversation: Conversation, frame: Frame, *names: str) -> bool:
    """Whether a frame is in a stretch of one of these names."""
    return any(
        mark.name in names and mark.first < frame.number <= mark.last for mark in conversation.recording.marks
    )


def has_clock(conversation: Conversation) -> bool:
    """Whether frames have real times, and not just their numbers."""
    return any(frame.at % 1 for frame in conversation.frames)


def has_spoken_after(conversation: Conversation, frame: Frame | None, side: Side) -> bool:
    """Whether a side sent anything after a frame."""
    return frame is not None and _last_said(conversation, side) > frame.number


def _last_said(conversation: Conversation, side: Side) -> int:
    def find() -> int:
        numbers = (
            frame.number for frame in reversed(conversation.frames) if frame.direction == direction_from(side)
        )
        return next(numbers, 0)

    return conversation.compute_once(f"last said by {side}", find)


def frame_after(conversation: Conversation, side: Side, frame: Frame) -> Frame | None:
    """Return the next frame of a side after a frame."""
    later = (
        next_frame
        for next_frame in conversation.between(frame, None)
        if next_frame.direction == direction_from(side)
    )
    return next(later, None)


def observe_survival(conversation: Conversation, frames: Iterable[Frame], what: str) -> Iterable[Observation]:
    """Observe for each frame that a client had to tolerate whether it continued; skip it if it need not."""
    for frame in frames:
        if has_spoken_after(conversation, frame, "client"):
            yield kept(frame)
        elif _is_left_waiting(conversation, frame) or _has_crashed(conversation):
            yield Observation(False, (frame.number,), f"the client sent nothing more after {what}")


def _has_crashed(conversation: Conversation) -> bool:
    """Whether the client ended badly. What was recorded in passing has the agent's exit."""
    facts = conversation.recording.facts
    return bool(facts.keys() & {"scene", "client exit"}) and facts.get("exit") not in (None, 0)


def _is_left_waiting(conversation: Conversation, frame: Frame) -> bool:
    requests = (
        call for call in conversation.calls(direction="to_client") if call.request.number > frame.number
    )
    return any(request.answer is None for request in requests)

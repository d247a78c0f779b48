"""The lives of sessions in a story: when each was set up and closed, in which folders, which turns ran when.

Everything is asked of a moment, which is the number of a frame: what had been answered before it counts.
Nothing is known about sessions of other connections.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from msgspec import Struct

from dragoman.check.manifest import Side
from dragoman.check.recording import Direction, Frame
from dragoman.check.rule import Seen, said_by
from dragoman.check.story import Exchange, Story, Turn, update_of

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


class Setup(Struct, frozen=True):
    """A session that was made, loaded, resumed or forked."""

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


def text(value: Any) -> str:
    """It if it is a text, else nothing."""
    return value if type(value) is str else ""


def items(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in value if type(item) is dict] if type(value) is list else []


def lacks(value: Any, /, **kinds: type | tuple[type, ...]) -> str:
    """The first member that an object lacks or has of another type; empty if it has them all."""
    if type(value) is not dict:
        return "object"
    for name, kind in kinds.items():
        found = value.get(name)
        if type(found) not in (kind if isinstance(kind, tuple) else (kind,)):
            return name
    return ""


def remembered(story: Story, key: str, make: Callable[[], T]) -> T:
    """Found out once for each story."""
    known: T | None = story.__dict__.get(key)
    if known is None:
        known = make()
        story.__dict__[key] = known
    return known


def noted(story: Story, method: str, direction: Direction) -> list[Frame]:
    """The notifications of a method, looked for once."""
    return remembered(story, f"{method} {direction}", lambda: story.notes(method, direction=direction))


def session_of(exchange: Exchange | Frame) -> str:
    return text(exchange.params.get("sessionId"))


def setups(story: Story) -> list[Setup]:
    """Those that succeeded, in the order of their requests."""
    return remembered(story, "setups", lambda: [_setup(one) for one in asked_setups(story) if one.has_result])


def asked_setups(story: Story, *methods: str) -> list[Exchange]:
    return story.calls(*(methods or SETUPS), direction="to_agent")


def _setup(one: Exchange) -> Setup:
    is_new = one.method in ("session/new", "session/fork")
    session = text(one.result.get("sessionId")) if is_new else session_of(one)
    roots = one.params.get("additionalDirectories")
    given = tuple(root for root in roots if type(root) is str) if type(roots) is list else ()
    return Setup(one, session, text(one.params.get("cwd")), given)


def setup_at(story: Story, session: str, number: int) -> Setup | None:
    """The last setup that was asked for before a moment: its folders hold."""
    mine = [one for one in setups(story) if one.session == session and one.exchange.request.number < number]
    return mine[-1] if mine and session else None


def is_open(story: Story, session: str, number: int) -> bool | None:
    """Whether a session was in use at a moment; None if something about it was on its way."""
    state = False
    for at, opens, asked in _changes(story, session):
        if at < number:
            state = opens
        elif asked < number:
            return None
    return state


def _changes(story: Story, session: str) -> list[tuple[int, bool, int]]:
    return remembered(story, f"changes of {session}", lambda: _find_changes(story, session))


def _find_changes(story: Story, session: str) -> list[tuple[int, bool, int]]:
    ends = story.calls("session/close", "session/delete", "session/archive", direction="to_agent")
    pending = [one for one in asked_setups(story) if one.answer is None and session_of(one) == session]
    changes = [
        (one.since, True, one.exchange.request.number) for one in setups(story) if one.session == session
    ]
    changes += [
        (one.answer.number, False, one.request.number)
        for one in ends
        if one.answer is not None and session_of(one) == session and (one.has_result or one.code == NOT_FOUND)
    ]
    changes += [(_NEVER, True, one.request.number) for one in pending]
    return sorted(changes)


def announced(story: Story) -> set[str]:
    """Sessions that the agent made by itself and told about."""

    def find() -> set[str]:
        return {text(update_of(frame).get("sessionId")) for frame in story.updates("subagent_update")} - {""}

    return remembered(story, "announced", find)


def known_sessions(story: Story) -> set[str]:
    """Every session that can be meant on this connection."""

    def find() -> set[str]:
        found = {one.session for one in setups(story)} | announced(story)
        for exchange in story.calls("session/list", direction="to_agent"):
            found |= {text(item.get("sessionId")) for item in items(exchange.result.get("sessions"))}
        return found

    return remembered(story, "known sessions", find)


def is_ready(story: Story, frame: Frame) -> bool:
    """Whether the handshake was over when it was sent."""
    answer = story.initialize.answer if story.initialize and story.initialize.has_result else None
    return answer is not None and answer.number < frame.number


def is_fair(story: Story, exchange: Exchange) -> bool:
    """Whether its answer says something: there is one, and it is not about the handshake or a login."""
    return (
        exchange.answer is not None
        and (exchange.has_result or exchange.has_error)
        and exchange.code != LOGIN_NEEDED
        and is_ready(story, exchange.request)
        and is_well_formed(story, exchange.request)
    )


def is_well_formed(story: Story, request: Frame) -> bool:
    """Whether a request is one by JSON-RPC 2.0, with an id of its own: whoever refuses another one is right.

    https://www.jsonrpc.org/specification, "Request object"
    """
    message = request.message
    ids = remembered(story, f"ids {request.direction}", lambda: _ids(story, request.direction))
    return (
        message.get("jsonrpc") == "2.0"
        and type(message.get("params", {})) in (dict, list)
        and ids[repr(message.get("id"))] == 1
    )


def _ids(story: Story, direction: Direction) -> Counter[str]:
    return Counter(
        repr(frame.message.get("id"))
        for frame in story.frames
        if frame.direction == direction and frame.is_request
    )


def running(story: Story, number: int, session: str | None = None) -> list[Turn]:
    """The turns that had begun and not ended at a moment, of one session or of all."""
    points, states = remembered(story, "running", lambda: _states(story))
    found = states[bisect_right(points, number)]
    return [turn for turn in found if session in (None, turn.session)]


def _states(story: Story) -> tuple[list[int], list[tuple[Turn, ...]]]:
    """The moments when a turn begins or ends, and before, between and after them those that run."""
    changes: list[tuple[int, bool, int]] = []
    for at, turn in enumerate(story.turns):
        changes.append((turn.exchange.request.number + 1, False, at))
        if turn.exchange.answer is not None:
            changes.append((turn.exchange.answer.number, True, at))
    now: dict[int, Turn] = {}
    points: list[int] = []
    states: list[tuple[Turn, ...]] = [()]
    for number, has_ended, at in sorted(changes):  # who is answered at once begins before it ends
        if has_ended:
            now.pop(at, None)
        else:
            now[at] = story.turns[at]
        points.append(number)
        states.append(tuple(now.values()))
    return points, states


def ran_at(turn: Turn, number: int) -> bool:
    begun, end = turn.exchange.request, turn.exchange.answer
    return begun.number < number and (end is None or end.number > number)


def reason_of(turn: Turn) -> Any:
    """Its stop reason, None if it has none."""
    return turn.exchange.result.get("stopReason")


def marked(story: Story, frame: Frame, *names: str) -> bool:
    """Whether a frame is in a stretch of one of these names."""
    return any(
        mark.name in names and mark.first < frame.number <= mark.last for mark in story.recording.marks
    )


def has_clock(story: Story) -> bool:
    """Whether frames have real times, and not just their numbers."""
    return any(frame.at % 1 for frame in story.frames)


def spoke_after(story: Story, frame: Frame | None, side: Side) -> bool:
    """Whether a side said anything after a frame."""
    return frame is not None and _last_said(story, side) > frame.number


def _last_said(story: Story, side: Side) -> int:
    def find() -> int:
        said = (frame.number for frame in reversed(story.frames) if frame.direction == said_by(side))
        return next(said, 0)

    return remembered(story, f"last said by {side}", find)


def lived_on(story: Story, frames: Iterable[Frame], what: str) -> Iterable[Seen]:
    """For each frame that a client had to live with: whether it went on; silent if it need not."""
    for frame in frames:
        if spoke_after(story, frame, "client"):
            yield Seen(True, (frame.number,))
        elif _left_waiting(story, frame) or _died(story):
            yield Seen(False, (frame.number,), f"the client said nothing more after {what}")


def _died(story: Story) -> bool:
    """Whether the client ended badly. What was recorded in passing has the agent's exit."""
    facts = story.recording.facts
    return bool(facts.keys() & {"scene", "client exit"}) and facts.get("exit") not in (None, 0)


def _left_waiting(story: Story, frame: Frame) -> bool:
    asked = (one for one in story.calls(direction="to_client") if one.request.number > frame.number)
    return any(one.answer is None for one in asked)

"""The tool calls of a conversation: the updates of each, and the outcome of its permission requests.

An agent that replays a session tells its calls again under the same ids. That is another life of the call:
whatever sets up a session begins a new one for all its calls, and `initialize` for all calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange, ObservedTurn, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.timeline import session_of
from dragoman_check.values import items, text

TOLD = ("tool_call", "tool_call_update", "tool_call_content_chunk")
ASK = "session/request_permission"
ENDED = ("completed", "failed", "cancelled")
"""Statuses after which nothing more comes; the last one is of version 2."""


class ObservedToolCall(Struct, kw_only=True):
    """One tool call, from its announcement to its end."""

    session: str
    id: str
    is_replayed: bool
    """Whether it was sent while the session was being loaded or resumed."""
    frames: list[Frame]
    """Its updates, in order."""

    def statuses(self) -> list[tuple[Frame, str]]:
        """Its statuses, with the first of an announced call."""
        statuses = []
        for frame in self.frames:
            status = update_of(frame).get("status")
            if type(status) is str:
                statuses.append((frame, status))
            elif is_update(frame, "tool_call") and status is None:
                statuses.append((frame, "pending"))
        return statuses

    def ending(self) -> Frame | None:
        """The first update with its end."""
        return next((frame for frame, status in self.statuses() if status in ENDED), None)


class PermissionExchange(Struct, frozen=True):
    """A permission request."""

    exchange: Exchange
    session: str
    call: str
    """The id of its tool call, if there is one."""
    call_update: JsonObject
    """Its information about that call."""
    options: list[JsonObject]

    @property
    def outcome(self) -> JsonObject:
        outcome = self.exchange.result.get("outcome")
        return outcome if type(outcome) is dict else {}

    @property
    def choice(self) -> str:
        """The kind of the chosen option; `cancelled`; empty for any other answer."""
        if self.outcome.get("outcome") == "cancelled":
            return "cancelled"
        if self.outcome.get("outcome") != "selected":
            return ""
        option_id = self.outcome.get("optionId")
        return next(
            (text(option.get("kind")) for option in self.options if option.get("optionId") == option_id), ""
        )

    @property
    def is_answered(self) -> bool:
        return self.exchange.answer is not None

    @property
    def is_refused(self) -> bool:
        """Whether it was explicitly refused: a rejecting option, or cancelled."""
        return self.choice == "cancelled" or self.choice.startswith("reject_")

    @property
    def is_allowed(self) -> bool:
        return self.choice.startswith("allow_")


def tool_calls(conversation: Conversation) -> list[ObservedToolCall]:
    """Return all tool calls, in the order of their announcement."""
    return conversation.compute_once("tool calls", lambda: list(_find_calls(conversation)))


def tool_call_frames(conversation: Conversation) -> list[Frame]:
    """Return all updates about tool calls."""
    return conversation.updates(*TOLD)


def _find_calls(conversation: Conversation) -> Iterator[ObservedToolCall]:
    lives: dict[tuple[str, str, int, int], ObservedToolCall] = {}
    setups: dict[str, int] = {}
    connection, loading = 0, _replay_numbers(conversation)
    answers = _session_answers(conversation)
    for frame in conversation.frames:
        if frame.method == "initialize":
            connection += 1
        elif frame.method in ("session/load", "session/resume") or frame.number in answers:
            session = answers.get(frame.number, session_of(frame))
            setups[session] = setups.get(session, 0) + 1
        elif is_update(frame, *TOLD):
            session, call = session_of(frame), text(update_of(frame).get("toolCallId"))
            key = (session, call, connection, setups.get(session, 0))
            if key not in lives:
                lives[key] = ObservedToolCall(
                    session=session, id=call, is_replayed=frame.number in loading, frames=[]
                )
            lives[key].frames.append(frame)
    yield from lives.values()


def _session_answers(conversation: Conversation) -> dict[int, str]:
    """Sessions by the number of the answer that named them."""
    makers = conversation.calls("session/new", "session/fork", direction="to_agent")
    return {
        maker.answer.number: text(maker.result.get("sessionId"))
        for maker in makers
        if maker.answer is not None
    }


def _replay_numbers(conversation: Conversation) -> set[int]:
    """The numbers of the frames of replays. An agent that answers first replays until the next prompt."""
    numbers: set[int] = set()
    for call in conversation.calls("session/load", "session/resume", direction="to_agent"):
        following = next(
            (
                turn.exchange.request
                for turn in conversation.turns
                if turn.session == session_of(call) and turn.exchange.request.number > call.request.number
            ),
            None,
        )
        numbers |= {frame.number for frame in conversation.between(call.request, following)}
    return numbers


def permission_exchanges(conversation: Conversation) -> list[PermissionExchange]:
    return conversation.compute_once(
        "questions", lambda: [_permission(permission) for permission in _find_permissions(conversation)]
    )


def _find_permissions(conversation: Conversation) -> list[Exchange]:
    return conversation.calls(ASK, direction="to_client")


def _permission(exchange: Exchange) -> PermissionExchange:
    tool_call = exchange.params.get("toolCall")
    subject = exchange.params.get("subject")  # of version 2
    if type(subject) is dict:
        tool_call = subject.get("toolCall") if subject.get("type") == "tool_call" else subject
    tool_call = tool_call if type(tool_call) is dict else {}
    call = text(tool_call.get("toolCallId"))
    return PermissionExchange(
        exchange, session_of(exchange), call, tool_call, items(exchange.params.get("options"))
    )


def contents(conversation: Conversation) -> Iterator[tuple[Frame, Json]]:
    """Return all content of a call, with its frames."""
    for frame in tool_call_frames(conversation):
        yield from ((frame, item) for item in _content(update_of(frame)))
    for question in permission_exchanges(conversation):
        yield from ((question.exchange.request, item) for item in _content(question.call_update))


def _content(fields: JsonObject) -> list[Json]:
    content = fields.get("content")
    if fields.get("sessionUpdate") == "tool_call_content_chunk":
        return [content]
    return content if type(content) is list else []


def tool_call_objects(conversation: Conversation) -> Iterator[tuple[Frame, JsonObject]]:
    """Return every object about a call, in updates and in questions."""
    for frame in conversation.updates("tool_call", "tool_call_update"):
        yield frame, update_of(frame)
    for question in permission_exchanges(conversation):
        if question.call_update:
            yield question.exchange.request, question.call_update


def turn_of(conversation: Conversation, frame: Frame, session: str) -> ObservedTurn | None:
    """Return the turn of a session to which a frame belongs."""
    for turn in conversation.turns:
        start = turn.exchange.request.number
        if (
            turn.session == session
            and start < frame.number
            and (turn.end is None or frame.number <= turn.end.number)
        ):
            return turn
    return None


def was_cancelled(conversation: Conversation, turn: ObservedTurn) -> bool:
    """Whether it was cancelled, or its session was closed during it."""
    start, end = turn.exchange.request.number, turn.end.number if turn.end is not None else None
    return any(
        start < frame.number
        and (end is None or frame.number < end)
        and (frame.method == "$/cancel_request" or session_of(frame) == turn.session)
        for frame in _enders(conversation)
    )


def _enders(conversation: Conversation) -> list[Frame]:
    """Messages of a client that end a turn."""
    methods = ("session/cancel", "session/close", "session/delete", "$/cancel_request")

    def find() -> list[Frame]:
        return [
            frame
            for frame in conversation.frames
            if frame.method in methods and frame.direction == "to_agent"
        ]

    return conversation.compute_once("enders", find)

"""The structure of a recording: requests with their answers, sessions, turns, and the capabilities of each
side.

Broken recordings are read as far as possible: answers without a request, requests without an answer and
frames that make no sense are part of a conversation. In version 2 a prompt's answer only acknowledges it: its
turn ends when the session is idle again.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterator
from functools import cached_property
from typing import TypeVar

from msgspec import Struct

from dragoman.wire.envelope import Json, JsonObject, id_key
from dragoman_check.recording import Direction, Frame, Recording

T = TypeVar("T")


class Exchange(Struct, frozen=True):
    """A request, and its answer if one came."""

    request: Frame
    answer: Frame | None

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def params(self) -> JsonObject:
        return self.request.params

    @property
    def has_result(self) -> bool:
        return self.answer is not None and "result" in self.answer.message and not self.has_error

    @property
    def has_error(self) -> bool:
        return self.answer is not None and type(self.answer.message.get("error")) is dict

    @property
    def result(self) -> JsonObject:
        """The result if it is an object, otherwise empty."""
        result = self.answer.message.get("result") if self.answer is not None else None
        return result if type(result) is dict else {}

    @property
    def code(self) -> Json:
        """The code of an error answer, None if there is none."""
        return (
            self.answer.message["error"].get("code") if self.answer is not None and self.has_error else None
        )


class ObservedTurn(Struct, frozen=True):
    """A prompt, everything about its session while it ran, and everything after it up to the next prompt."""

    exchange: Exchange
    session: str
    during: list[Frame]
    after: list[Frame]
    end: Frame | None = None
    """The answer; in version 2 the update that the session is idle, unless the answer is an error."""

    def updates(self, *kinds: str) -> list[Frame]:
        """Return the updates during the turn, of these kinds or of all."""
        return [frame for frame in self.during if is_update(frame, *kinds)]


class Conversation:
    """The input of rules. They read raw lines only to judge those."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.frames = recording.frames
        # Looked for once: rules ask in every turn, and a long recording has many turns.
        self._calls: dict[tuple[tuple[str, ...], Direction | None], list[Exchange]] = {}
        self._updates: dict[tuple[str, ...], list[Frame]] = {}
        self._cache: dict[Hashable, Json] = {}  # of the type that the caller's function returns

    def compute_once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of `compute`, which runs once for each key and conversation."""
        if key not in self._cache:
            self._cache[key] = compute()
        value: T = self._cache[key]
        return value

    @cached_property
    def exchanges(self) -> list[Exchange]:
        """Exchanges in the order of the requests. Answers with a repeated id are matched in order."""
        answers: dict[tuple[Direction, Json], list[Frame]] = {}
        for frame in self.frames:
            if frame.is_answer:
                answers.setdefault((frame.direction, id_key(frame.message.get("id"))), []).append(frame)
        exchanges = []
        for frame in self.frames:
            if frame.is_request:
                waiting = answers.get((_back(frame.direction), id_key(frame.message["id"])), [])
                behind = next((answer for answer in waiting if answer.number > frame.number), None)
                if behind is not None:
                    waiting.remove(behind)
                exchanges.append(Exchange(frame, behind))
        return exchanges

    @cached_property
    def stray_answers(self) -> list[Frame]:
        """Answers without a request."""
        answer_keys = {id(exchange.answer) for exchange in self.exchanges}
        return [frame for frame in self.frames if frame.is_answer and id(frame) not in answer_keys]

    def calls(self, *methods: str, direction: Direction | None = None) -> list[Exchange]:
        """Return requests of these methods, or of all."""
        key = (methods, direction)
        if key not in self._calls:
            self._calls[key] = [
                exchange
                for exchange in self.exchanges
                if (not methods or exchange.method in methods)
                and direction in (None, exchange.request.direction)
            ]
        return list(self._calls[key])

    def notes(self, *methods: str, direction: Direction | None = None) -> list[Frame]:
        return [
            frame
            for frame in self.frames
            if frame.is_notification
            and (not methods or frame.method in methods)
            and direction in (None, frame.direction)
        ]

    def updates(self, *kinds: str) -> list[Frame]:
        if kinds not in self._updates:
            self._updates[kinds] = [frame for frame in self.frames if is_update(frame, *kinds)]
        return list(self._updates[kinds])

    @cached_property
    def turns(self) -> list[ObservedTurn]:
        prompts = self.calls("session/prompt", direction="to_agent")
        return [self._turn(exchange, prompts) for exchange in prompts]

    def between(self, first: Frame, last: Frame | None) -> list[Frame]:
        """Return the frames after one and before another; without another, to the end."""
        begin = bisect_right(self.frames, first.number, key=_number)
        end = None if last is None else bisect_left(self.frames, last.number, key=_number)
        return self.frames[begin:end]

    @cached_property
    def initialize(self) -> Exchange | None:
        """The valid handshake: the first one that succeeded, otherwise the first."""
        handshakes = self.calls("initialize", direction="to_agent")
        return next(
            (exchange for exchange in handshakes if exchange.has_result),
            handshakes[0] if handshakes else None,
        )

    @cached_property
    def version(self) -> int:
        """The agreed version; 1 by default."""
        version = self.initialize.result.get("protocolVersion") if self.initialize else None
        return version if type(version) is int else 1

    def client_can(self, *path: str) -> Json:
        """Return a capability of the client, None if it did not name it."""
        params = self.initialize.params if self.initialize else {}
        return _at(params.get("clientCapabilities", params.get("capabilities")), path)

    def agent_can(self, *path: str) -> Json:
        result = self.initialize.result if self.initialize else {}
        return _at(result.get("agentCapabilities", result.get("capabilities")), path)

    def _turn(self, exchange: Exchange, prompts: list[Exchange]) -> ObservedTurn:
        session = exchange.params.get("sessionId")
        name = session if type(session) is str else ""
        end = self._end(exchange, name)
        following = next(
            (
                prompt.request
                for prompt in prompts
                if end is not None
                and prompt.request.number > end.number
                and prompt.params.get("sessionId") == session
            ),
            None,
        )
        during = self.between(exchange.request, end)
        after = self.between(end, following) if end is not None else []
        return ObservedTurn(exchange, name, list(_about(during, name)), list(_about(after, name)), end)

    def _end(self, exchange: Exchange, session: str) -> Frame | None:
        if self.version < 2 or not exchange.has_result:
            return exchange.answer
        insertion = self.insertion(exchange)
        return next(
            (
                frame
                for frame in self._idles
                if insertion is not None
                and frame.number > insertion.number
                and frame.params.get("sessionId") == session
            ),
            None,
        )

    def insertion(self, exchange: Exchange) -> Frame | None:
        """Return the moment from which a prompt belongs to its session in version 2: its message arrives, or
        it is acknowledged.
        """
        message, session = exchange.result.get("messageId"), exchange.params.get("sessionId")
        for frame in self._user_messages:
            if exchange.answer is None or frame.number > exchange.answer.number:
                break
            is_its_message = (
                update_of(frame).get("messageId") == message and frame.params.get("sessionId") == session
            )
            if is_its_message and frame.number > exchange.request.number:
                return frame
        return exchange.answer if exchange.has_result else None

    @cached_property
    def _user_messages(self) -> list[Frame]:
        return self.updates("user_message", "user_message_chunk")

    @cached_property
    def _idles(self) -> list[Frame]:
        return [frame for frame in self.updates("state_update") if update_of(frame).get("state") == "idle"]


def _number(frame: Frame) -> int:
    return frame.number


def is_update(frame: Frame, *kinds: str) -> bool:
    return frame.method == "session/update" and (not kinds or update_of(frame).get("sessionUpdate") in kinds)


def update_of(frame: Frame) -> JsonObject:
    update = frame.params.get("update")
    return update if type(update) is dict else {}


def _about(frames: list[Frame], session: str) -> Iterator[Frame]:
    return (frame for frame in frames if frame.params.get("sessionId") == session)


def _back(direction: Direction) -> Direction:
    return "to_client" if direction == "to_agent" else "to_agent"


def _at(tree: object, path: tuple[str, ...]) -> Json:
    for name in path:
        tree = tree.get(name) if type(tree) is dict else None
    return tree

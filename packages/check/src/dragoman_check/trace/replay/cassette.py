"""A recording cut into scenes: for each request of the client, the agent's reaction, in order.

A scene is what can be played again when somebody makes a request like the recorded one: frames to send,
questions of the agent whose answers are waited for, a cancel that the recorded turn was ended by. Which
request is like which is decided here; nothing here waits or sends.

`PathMap` exchanges the folder of a recording for the folder of whoever it is played to.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.wire.decode import read_value
from dragoman.wire.envelope import Json, JsonObject, as_object, id_key
from dragoman_local.journal.contract import Entry

Match: TypeAlias = Literal["exact", "shape", "order"]

REUSED = frozenset({"initialize", "session/list", "authenticate"})
"""Requests that may come more often than recorded."""


class RecordedStep(Struct, frozen=True):
    """One step: send a frame, wait for the answer to our request, or wait for a cancel."""

    do: Literal["send", "ask", "await cancel"]
    message: JsonObject
    after: float
    """The seconds since the step before."""


class RecordedExchange(Struct):
    """A recorded request with all its results."""

    request: JsonObject
    began: float
    steps: list[RecordedStep]
    answer: JsonObject | None = None
    answer_after: float = 0.0
    afterwards: list[RecordedStep] = []
    """The agent's own messages after its answer, while nothing else was open."""
    used: bool = False
    last: float = 0.0

    @property
    def method(self) -> str:
        return str(self.request.get("method"))

    @property
    def params(self) -> JsonObject:
        params = self.request.get("params")
        return params if isinstance(params, dict) else {}


class Cassette:
    """All scenes, in the order of their requests."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.scenes: list[RecordedExchange] = []
        self._open: dict[Json, RecordedExchange] = {}  # recorded requests that are not answered yet
        self._agent_requests: dict[Json, RecordedExchange] = {}  # questions of the agent, by id
        for entry in entries:
            message = as_object(read_value(entry.frame))
            if entry.direction == "to_agent" and message:
                self._by_client(message, entry.time)
            elif entry.direction == "to_client" and message:
                self._by_agent(message, entry.time)

    def find(self, request: JsonObject, match: Match) -> RecordedExchange | None:
        """Return the scene for a similar request, the most similar first; it is not returned again."""
        alike = [scene for scene in self.scenes if scene.method == request.get("method")]
        fresh = [scene for scene in alike if not scene.used]
        tests = [_is_equal] if match == "exact" else [_is_equal, _is_shaped] if match == "shape" else []
        for is_alike in tests:
            for scene in fresh:
                if is_alike(scene.request.get("params"), request.get("params")):
                    scene.used = True
                    return scene
        if match == "exact":
            return None
        next_scene = fresh[0] if fresh else alike[-1] if alike and alike[-1].method in REUSED else None
        if next_scene is not None:
            next_scene.used = True
        return next_scene

    def _by_client(self, message: JsonObject, at: float) -> None:
        method = message.get("method")
        if isinstance(method, str) and "id" in message:
            scene = RecordedExchange(message, at, [], last=at)
            self.scenes.append(scene)
            self._open[id_key(message["id"])] = scene
        elif method == "session/cancel":
            turn = self._of_session(message)
            if turn is not None:
                self._add(turn, "await cancel", message, at)

    def _by_agent(self, message: JsonObject, at: float) -> None:
        if "method" not in message:
            scene = self._open.pop(id_key(message.get("id")), None)
            if scene is not None:
                scene.answer, scene.answer_after = message, max(0.0, at - scene.last)
                scene.last = at
            return
        running_scene = self._of_session(message) or (self.scenes[-1] if self.scenes else None)
        if running_scene is not None:
            self._add(running_scene, "ask" if "id" in message else "send", message, at)

    def _of_session(self, message: JsonObject) -> RecordedExchange | None:
        """The open turn of the session that this is about; else the request that was opened last."""
        params = message.get("params")
        session = params.get("sessionId") if isinstance(params, dict) else None
        turns = [scene for scene in self._open.values() if scene.params.get("sessionId") == session]
        return turns[-1] if turns else next(reversed(self._open.values()), None)

    def _add(self, scene: RecordedExchange, do: Json, message: JsonObject, at: float) -> None:
        steps = scene.steps if scene.answer is None else scene.afterwards
        steps.append(RecordedStep(do, message, max(0.0, at - scene.last)))
        scene.last = at


def _is_equal(recorded_params: object, params: object) -> bool:
    return bool((recorded_params or {}) == (params or {}))


def _is_shaped(recorded_params: object, params: object) -> bool:
    """The same structure with other texts and numbers; the text of a prompt counts, its paths do not."""
    return bool(_shape(recorded_params or {}) == _shape(params or {}))


def _shape(value: object) -> Json:
    if isinstance(value, dict):
        if value.get("type") == "text" and isinstance(value.get("text"), str):
            return ("text", _without_paths(value["text"]))
        return {name: _shape(inner) for name, inner in value.items() if name != "_meta"}
    if isinstance(value, list):
        return [_shape(inner) for inner in value]
    return type(value).__name__


def _without_paths(text: str) -> str:
    return " ".join("PATH" if "/" in word else word for word in text.split())


class PathMap:
    """Learns pairs of folders, and replaces one by the other. The longest is replaced first."""

    def __init__(self) -> None:
        self._pairs: dict[str, str] = {}

    def learn(self, recorded_value: object, actual_value: object) -> None:
        if (
            isinstance(recorded_value, str)
            and isinstance(actual_value, str)
            and len(recorded_value) > 1
            and recorded_value != actual_value
        ):
            self._pairs[recorded_value] = actual_value

    def to_actual(self, value: object) -> Json:
        return self._replace_in(value, sorted(self._pairs.items(), key=lambda pair: -len(pair[0])))

    def _replace_in(self, value: object, pairs: list[tuple[str, str]]) -> Json:
        if isinstance(value, str):
            for old, new in pairs:
                value = value.replace(old, new)
            return value
        if isinstance(value, list):
            return [self._replace_in(inner, pairs) for inner in value]
        if isinstance(value, dict):
            return {name: self._replace_in(inner, pairs) for name, inner in value.items()}
        return value

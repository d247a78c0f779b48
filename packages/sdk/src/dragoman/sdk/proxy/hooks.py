"""Applies a hook of a proxy to one frame: reads the frame, calls the hook, and returns the outcome.

The answer is a `FrameFate`: what goes on to the other side, and what goes back to the sender. A hook that
fails lets nothing through: whoever put it there to keep something out must not find that an exception let it
in.

Nothing here sends; frames come in and fates come out.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, NamedTuple, TypeAlias, Union, get_args, get_origin

import msgspec
from msgspec import Raw

from dragoman.decoders import json_decoder
from dragoman.runtime.faults import to_error
from dragoman.schema.codec import write
from dragoman.schema.method import Method
from dragoman.schema.v1 import InitializeResponse
from dragoman.sdk.handlers import Handler
from dragoman.sdk.inbound import read_params, read_result
from dragoman.wire import ErrorObject, Notification, Request, Response, error_object, failure, response
from dragoman.wire.codes import INVALID_REQUEST, invalid_params

HookMessage: TypeAlias = Request | Notification | Response

REFUSED = error_object(INVALID_REQUEST, "Refused by a proxy")
"""The error for a request whose hook returns None."""

_members = json_decoder(dict[str, Raw])


class FrameFate(NamedTuple):
    """A hook's decision: frames to pass on, and frames to send back."""

    onward: bytes | None = None
    back: bytes | None = None


class HookReply:
    """The return value of a hook that answers an extension request itself; plain data could also be its
    params.
    """

    __slots__ = ("result",)

    def __init__(self, result: object) -> None:
        self.result = result


def with_member(frame: bytes, name: str, value: bytes) -> bytes:
    """The frame with one field replaced; all others stay, including unknown ones."""
    fields = _members.decode(frame)
    fields[name] = Raw(value)
    return msgspec.json.encode(fields) + b"\n"


class ProxyHook:
    """A function of the proxy's author, for one method in one direction, or for its results.

    `entry` is None for an extension, whose messages are plain data.
    """

    __slots__ = ("_answer", "_entry", "_handler", "_kind", "_member", "is_async", "method")

    def __init__(
        self, method: str, function: Callable[..., object], *, entry: Method | None, of_result: bool = False
    ) -> None:
        self.method = method
        self._entry = entry
        self._member = "result" if of_result else "params"
        self._kind = Any if entry is None else entry.result if of_result else entry.params
        self._answer = None if entry is None or of_result else entry.result
        self._handler = Handler(function)
        self.is_async = self._handler.is_async

    def judge(
        self, frame: bytes, envelope: HookMessage, peers: object
    ) -> FrameFate | Coroutine[object, None, FrameFate]:
        """Return the fate of the frame; for an async hook, the coroutine that ends with it."""
        try:
            message = self._read(envelope)
            # Plain data can be changed in place: it is the same only if it still reads the same.
            before = None if self._entry else msgspec.json.encode(message)
            outcome = self._handler.now(message, peers)
            if self.is_async:
                return self._judge_later(frame, envelope, message, before, outcome)
            return self._fate(frame, envelope, message, before, outcome)
        except Exception as error:  # noqa: BLE001  # it becomes the answer; the conversation goes on
            return self.failure_fate(envelope, to_error(error, self.method))

    async def _judge_later(
        self, frame: bytes, envelope: HookMessage, message: Any, before: bytes | None, work: Any
    ) -> FrameFate:
        try:
            return self._fate(frame, envelope, message, before, await work)
        except Exception as error:  # noqa: BLE001  # as above
            return self.failure_fate(envelope, to_error(error, self.method))

    @staticmethod
    def failure_fate(envelope: HookMessage, error: ErrorObject) -> FrameFate:
        """Drop the frame; a request is answered with the error."""
        if isinstance(envelope, Response):
            return FrameFate(onward=failure(envelope.id, error))
        return FrameFate(back=failure(envelope.id, error)) if isinstance(envelope, Request) else FrameFate()

    def _read(self, envelope: HookMessage) -> Any:
        if self._entry is None:
            return _plain(envelope.result if isinstance(envelope, Response) else envelope.params)
        if isinstance(envelope, Response):
            return read_result(envelope.result, self._kind, self.method)
        return read_params(envelope.params, self._kind)

    def _fate(
        self, frame: bytes, envelope: HookMessage, message: object, before: bytes | None, outcome: object
    ) -> FrameFate:
        if outcome is None and not isinstance(envelope, Response):
            return self.failure_fate(envelope, REFUSED)
        if before is None and outcome is message:
            return FrameFate(onward=frame)
        if isinstance(envelope, Request) and self._answers(outcome):
            result = outcome.result if isinstance(outcome, HookReply) else outcome
            return FrameFate(back=response(envelope.id, write(result)))
        self._check(message, outcome)
        data = write(outcome)
        return FrameFate(onward=frame if data == before else with_member(frame, self._member, data))

    def _answers(self, outcome: object) -> bool:
        """Whether a hook on a request returned its result."""
        if self._entry is None:
            return isinstance(outcome, HookReply)
        return isinstance(outcome, _classes(self._answer)) and not isinstance(outcome, _classes(self._kind))

    def _check(self, message: Any, outcome: Any) -> None:
        if isinstance(outcome, HookReply) or not isinstance(outcome, _classes(self._kind)):
            raise TypeError(f"the hook on {self.method} returned {type(outcome).__name__}")
        # https://agentclientprotocol.com/rfds/proxy-chains: the version is between the client and the agent.
        if isinstance(outcome, InitializeResponse) and outcome.protocol_version != message.protocol_version:
            raise TypeError("a proxy must not change protocolVersion")


def _classes(kind: Any) -> tuple[type, ...]:
    """What `isinstance` needs of a type of the method table."""
    if get_origin(kind) is Annotated:
        return _classes(get_args(kind)[0])
    if get_origin(kind) in (Union, types.UnionType):
        return tuple(member_class for member in get_args(kind) for member_class in _classes(member))
    return () if kind is None else (object,) if kind is Any else (kind,)


def _plain(raw: Raw | None) -> Any:
    try:
        return {} if raw is None else msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        raise invalid_params("the params cannot be read") from None

"""Extension methods in the official SDK's style: one function for all requests, one for all notifications.

Both get the method's name without its underscore and an object of params. Our own way, a handler for each
name, is looked up by name; here every name that begins with an underscore has a handler.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

from dragoman.sdk.agent.session import ClientHandle
from dragoman.sdk.handlers import Handler, Handlers
from dragoman.wire.codes import method_not_found

Function: TypeAlias = Callable[..., Awaitable[Any]]
RunCall: TypeAlias = Callable[[Awaitable[Any], ClientHandle], Coroutine[object, None, Any]]


class WithExtensions(Handlers):
    """The given handlers, and a handler for every extension method. `run_call` awaits the object's work."""

    __slots__ = ("_note", "_request", "_run_call")

    def __init__(
        self, handlers: Handlers, *, request: Function | None, note: Function | None, run_call: RunCall
    ) -> None:
        self._handlers = handlers._handlers
        self._request = request
        self._note = note
        self._run_call = run_call

    def get(self, method: str) -> Handler | None:
        if not method.startswith("_"):
            return super().get(method)
        return _Extension(method, self._request, self._note, self._run_call)


class _Extension(Handler):
    """`work` is called for an answer and `now` for none; that is how the two kinds are told apart."""

    __slots__ = ("_method", "_note", "_request", "_run_call")

    def __init__(
        self, method: str, request: Function | None, note: Function | None, run_call: RunCall
    ) -> None:
        self.is_async = True
        self._method = method
        self._request = request
        self._note = note
        self._run_call = run_call

    def work(self, message: object, peer: Any) -> Coroutine[object, None, Any]:
        if self._request is None:
            raise method_not_found(self._method)
        return self._run_call(self._request(self._method[1:], _object(message)), peer)

    def now(self, message: object, peer: Any) -> Any:
        if self._note is None:
            return _nothing()
        return self._run_call(self._note(self._method[1:], _object(message)), peer)


def _object(params: object) -> dict[str, Any]:
    return params if isinstance(params, dict) else {}


async def _nothing() -> None:
    """Does nothing: the object takes no such notification."""

"""Registers and calls handlers, for agents and clients.

A handler gets one typed message and, if it takes a second parameter, the peer who sent it. `async def` runs
in the event loop. A plain `def` that answers a request runs in a thread, because it may block, and gets
blocking faces of turn and peer; one that only takes a notification is called on the spot, because order
matters more and there is nothing to wait for. It returns the typed result, or None where the result has no
required field.

What could never be called like that is refused when it is registered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from types import FunctionType
from typing import Any, Concatenate, Generic, Protocol, TypeVar

from dragoman.errors import InvalidHandler
from dragoman.sdk.outbound import check_text

F = TypeVar("F", bound=Callable[..., object])
P = TypeVar("P")
R = TypeVar("R")


class Handler:
    """A registered function: plain, async, or with other signatures."""

    __slots__ = ("function", "is_async", "wants_peer")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.wants_peer, self.is_async = _shape_of(function)

    def work(self, message: object, peer: object) -> Coroutine[object, None, Any]:
        """Return a coroutine that ends with the handler's result."""
        if not self.is_async:
            return self._in_thread(message, peer)
        coroutine: Coroutine[object, None, Any]
        coroutine = self.function(message, peer) if self.wants_peer else self.function(message)
        return coroutine

    async def _in_thread(self, message: object, peer: object) -> Any:
        # Imported when first needed: most agents and clients have no such handler.
        from dragoman.sdk.sync.run import in_thread
        from dragoman.sdk.sync.turn import faces

        return await in_thread(lambda run: self.now(*faces(message, peer, run)))

    def now(self, message: object, peer: object) -> Any:
        """Call the handler here: returns the result of a plain function, or the coroutine of an async one."""
        return self.function(message, peer) if self.wants_peer else self.function(message)


class Handlers:
    """The handlers by method name."""

    __slots__ = ("_handlers",)

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def __contains__(self, method: object) -> bool:
        return method in self._handlers

    def get(self, method: str) -> Handler | None:
        return self._handlers.get(method)

    def items(self) -> Iterable[tuple[str, Handler]]:
        return self._handlers.items()

    def replace(self, method: str, handler: Handler) -> None:
        self._handlers[method] = handler

    def add(self, method: str, function: Callable[..., Any] | None) -> None:
        if function is None:
            raise InvalidHandler(f"the decorator for {method} takes no parentheses: leave out the ()")
        if method in self._handlers:
            raise ValueError(f"{method} already has a handler")
        self._handlers[method] = Handler(function)


def extension_hook(handlers: Handlers, method: str) -> Callable[[F], F]:
    """Return a decorator that registers the handler of an extension."""
    check_text(method, "method")  # a decorator without its name is given the function
    if not method.startswith("_"):
        raise ValueError(f"extension methods start with an underscore, {method!r} does not")

    def register(handler: F) -> F:
        handlers.add(method, handler)
        return handler

    return register


class HasHandlers(Protocol):
    """A class that declares hooks."""

    handlers: Handlers


class Hook(Generic[P, R]):
    """A decorator that registers a function as the handler of one method. Each object of the declaring class
    has its own; `help` of the class shows it.
    """

    def __init__(self, method: str, doc: str = "", *, handlers: Handlers | None = None) -> None:
        self.__doc__ = f"A decorator for the function that gets `{method}`. {doc}".rstrip()
        self.method = method
        self._handlers = handlers

    def __get__(self, owner: HasHandlers | None, kind: type | None = None) -> Hook[P, R]:
        return self if owner is None else Hook(self.method, handlers=owner.handlers)

    def __set__(self, owner: HasHandlers, value: object) -> None:
        raise AttributeError(f"the handler of {self.method} is set by a decorator, and not by assignment")

    def __call__(
        self,
        function: Callable[Concatenate[P, ...], Awaitable[R] | R] | None = None,
    ) -> Callable[Concatenate[P, ...], Awaitable[R] | R]:
        assert self._handlers is not None, "called on an object, and not on its class"
        self._handlers.add(self.method, function)
        assert function is not None  # what parentheses would give is refused
        return function


_VARIABLE_ARGUMENTS = 0x04 | 0x08  # flags of a code object, from the documentation of `inspect`
_COROUTINE = 0x80


def _shape_of(function: Callable[..., Any]) -> tuple[bool, bool]:
    """Whether it wants the peer, and whether it is async. For an ordinary function its code says both, and
    `inspect`, which takes longer to import than all that is ours, is not needed.
    """
    if type(function) is FunctionType and not function.__dict__:  # a decorator may have left something there
        code = function.__code__
        required_count = code.co_argcount - len(function.__defaults__ or ())
        is_plain = not code.co_kwonlyargcount and not code.co_flags & _VARIABLE_ARGUMENTS
        if is_plain and code.co_argcount and required_count <= 2:
            return required_count == 2, bool(code.co_flags & _COROUTINE)
    return _inspected_shape(function)


def _inspected_shape(function: Callable[..., Any]) -> tuple[bool, bool]:
    import inspect

    call = getattr(function, "__call__", None)  # noqa: B004  # an object whose __call__ is async counts as async
    is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)
    return _positional_count(function) == 2, is_async


def _positional_count(function: Callable[..., Any]) -> int:
    """How many arguments it is called with: the message, and the peer if it must have a second one."""
    import inspect

    if not callable(function):
        raise InvalidHandler(f"{function!r} cannot be a handler: it is not a function")
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # written in C, without a signature: its first call tells
        return 1
    kinds = inspect.Parameter
    if any(parameter.kind is kinds.VAR_POSITIONAL for parameter in parameters):
        return 2
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    required_count = sum(parameter.default is kinds.empty for parameter in positional)
    required_keywords = [
        parameter.name
        for parameter in parameters
        if parameter.kind is kinds.KEYWORD_ONLY and parameter.default is kinds.empty
    ]
    if not positional or required_count > 2 or required_keywords:
        name = getattr(function, "__qualname__", repr(function))
        raise InvalidHandler(
            f"{name}{inspect.signature(function)} cannot be a handler: a handler takes the message, and as a "
            "second argument the peer if it wants it; no other argument may be required"
        )
    return max(required_count, 1)

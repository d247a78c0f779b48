"""A proxy, declared: which messages between a client and an agent it looks at, and what it makes of them.

    proxy = Proxy("some-agent --acp")

    @proxy.on("session/prompt")
    def add_rules(request: PromptRequest) -> PromptRequest: ...

    serve(proxy)

Name what you care about; the rest passes untouched, byte for byte. Constructing one starts nothing; `serve`
and `serving` run it, in front of its own agent or, when it is greeted as a link of a chain, in front of
whoever comes next (see `proxy_successor`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dragoman.errors import LocalMistake
from dragoman.runtime.relay import Direction
from dragoman.schema.method import Method
from dragoman.schema.v1.methods import METHODS
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.proxy.hooks import HookReply, ProxyHook
from dragoman.transport.contract import Transport

if TYPE_CHECKING:
    from dragoman.runtime import Limits
    from dragoman.sdk.proxy.calls import ProxyPeer
    from dragoman.sdk.proxy.conductor import Conductor
    from dragoman.sdk.proxy.run import ProxyRun
    from dragoman.sdk.proxy.side import ProxySide

F = TypeVar("F", bound=Callable[..., object])

Target: TypeAlias = "str | Sequence[str] | Agent | Proxy | Conductor | Transport"
"""Whom a proxy stands before: a command, something that can be served in this process, or a transport."""

DIRECTIONS: tuple[Direction, ...] = ("to_agent", "to_client")

OWN = frozenset({"$/cancel_request", "proxy/initialize", "proxy/successor"})
"""What a proxy must deal with itself, whatever its author thinks."""

current: ContextVar[ProxySide] = ContextVar("dragoman_proxy")
"""The conversation whose hook is running."""


class Proxy:
    """What stands between. One proxy may serve any number of conversations at once.

        proxy = Proxy("some-agent --acp")

        @proxy.on("session/update")
        def hide_thoughts(note: SessionNotification) -> SessionNotification | None:
            return None if isinstance(note.update, AgentThoughtChunk) else note

        serve(proxy)

    Specification: https://agentclientprotocol.com/rfds/proxy-chains
    """

    def __init__(
        self,
        target: Target | None = None,
        *,
        name: str = "proxy",
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> None:
        """Without a target it can only be a link of a chain. `cwd` and `env` are for a command."""
        self.target = target
        self.name = name
        self.cwd = cwd
        self.env = env
        self.hooks: dict[Direction, dict[str, ProxyHook]] = {direction: {} for direction in DIRECTIONS}
        self.results: dict[Direction, dict[str, ProxyHook]] = {direction: {} for direction in DIRECTIONS}
        """The hooks on results, by the direction of their request."""
        self.running: list[ProxySide] = []

    def on(self, method: str, *, direction: Direction | None = None) -> Callable[[F], F]:
        """Look at each message of this method on its way. The function gets the typed message and returns

        - the same object: the message goes on as the bytes that it came in;
        - a changed one (`msgspec.structs.replace`): it goes on with what was changed;
        - a result of the method: that is the answer, and the other side never hears of the request;
        - None: a notification vanishes, a request is refused; raise `ErrorAnswer` to choose the error.

        It may be async: then later messages of the same session wait for it. One that is not must not block.
        With a second parameter it gets the conversation, to call either side; so does `proxy.to_agent`.
        """
        where = direction or _direction(method)
        entry = _entry(method, where)

        def register(function: F) -> F:
            _add(self.hooks[where], ProxyHook(method, function, entry=entry))
            return function

        return register

    def on_result(self, method: str, *, direction: Direction | None = None) -> Callable[[F], F]:
        """Look at each result of this method on its way back; `direction` is that of the request.

        The function returns the result, the same or changed, or raises `ErrorAnswer` to make it an error.
        """
        where = direction or _direction(method)
        entry = _entry(method, where)
        if entry is not None and entry.kind != "request":
            raise ValueError(f"{method} is a notification: it has no result")

        def register(function: F) -> F:
            _add(self.results[where], ProxyHook(method, function, entry=entry, of_result=True))
            return function

        return register

    @staticmethod
    def reply(result: Any) -> HookReply:
        """What a hook on an extension request returns to answer it itself: params and result of extensions
        are plain data, which could not be told apart.
        """
        return HookReply(result)

    def run(self, transport: Transport, *, limits: Limits | None = None) -> ProxyRun:
        """A conversation with a client over this transport, as an `async with`."""
        from dragoman.sdk.proxy.run import ProxyRun

        return ProxyRun(self, transport, limits=limits)

    @property
    def to_agent(self) -> ProxyPeer:
        """The agent, to be called by the proxy itself."""
        return self._conversation().to_agent

    @property
    def to_client(self) -> ProxyPeer:
        """The client, to be called by the proxy itself."""
        return self._conversation().to_client

    def _conversation(self) -> ProxySide:
        side = current.get(None)
        if side is not None and side.proxy is self:
            return side
        if len(self.running) != 1:
            raise LocalMistake(
                f"{len(self.running)} conversations run through this proxy; "
                "a hook's second parameter is the one that its message belongs to"
            )
        return self.running[0]


def _add(hooks: dict[str, ProxyHook], hook: ProxyHook) -> None:
    if hook.method in hooks:
        raise ValueError(f"{hook.method} already has a hook")
    hooks[hook.method] = hook


def _direction(method: str) -> Direction:
    """Where a method goes, if its name alone tells."""
    known = [direction for direction in DIRECTIONS if _found(method, direction)]
    if len(known) == 1:
        return known[0]
    why = "goes both ways" if known else "is not in the protocol"
    raise ValueError(f'{method} {why}: say direction="to_agent" or direction="to_client"')


def _entry(method: str, direction: Direction) -> Method | None:
    """The row of the method table; None for an extension."""
    if method in OWN:
        raise ValueError(f"{method} is the proxy's own business")
    found = _found(method, direction)
    if found is None and not method.startswith("_"):
        raise ValueError(f"{method} does not go {direction.replace('_', ' the ')}")
    return found


def _found(method: str, direction: Direction) -> Method | None:
    receiver = "agent" if direction == "to_agent" else "client"
    rows = (row for row in METHODS if row.name == method and row.receiver in (receiver, "both"))
    return next(rows, None)

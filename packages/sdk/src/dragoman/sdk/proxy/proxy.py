"""A proxy: its hooks for the messages between a client and an agent, and its conversations.

    proxy = Proxy("some-agent --acp")

    @proxy.on("session/prompt")
    def add_rules(request: PromptRequest) -> PromptRequest: ...

    serve(proxy)

Name what you care about; the rest passes untouched, byte for byte. Constructing one starts nothing; `serve`
and `serving` run it. The first frame tells a run what it is: after `proxy/initialize` a link of a chain,
whose next link is reached over the same connection (see `successor`); after anything else it is the last
proxy before its own agent, which is started then. So the same program works alone and under a conductor.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from secrets import token_hex
from typing import TypeAlias, TypeVar

from dragoman.errors import DragomanError, LinkClosed, LocalMistake
from dragoman.runtime import Limits
from dragoman.runtime.relay import LAST_WORDS, Direction, Relay, RelayDirection
from dragoman.schema.method import Method
from dragoman.schema.v1.methods import METHODS
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.connect import check_target
from dragoman.sdk.proxy.calls import ProxyConversation, ProxyPeer, current
from dragoman.sdk.proxy.flow import ProxyFlow
from dragoman.sdk.proxy.front import FirstBlockTransport, until
from dragoman.sdk.proxy.hooks import HookReply, ProxyHook
from dragoman.sdk.proxy.successor import Successor
from dragoman.sdk.proxy.successor_message import INITIALIZE_PROXY
from dragoman.sdk.serve import Servable, serving
from dragoman.transport.contract import Grace, Transport
from dragoman.transport.memory import MemoryTransport
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.glance import glance_block

F = TypeVar("F", bound=Callable[..., object])

DIRECTIONS: tuple[Direction, ...] = ("to_agent", "to_client")

OWN = frozenset({"$/cancel_request", "proxy/initialize", "proxy/successor"})
"""Methods that a proxy must handle itself, so that no hook can change them."""

log = logging.getLogger(__name__)

NO_AGENT = error_object(INTERNAL_ERROR, "Internal error: the agent could not be started")


class Proxy:
    """A proxy between clients and agents. It may serve any number of conversations at once.

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
        """A proxy without a target can only be part of a chain. `cwd` and `env` are for a command."""
        if target is not None:
            is_other = isinstance(target, Servable) or hasattr(target, "aclose")
            check_target(target, is_other=is_other, other="a Proxy, a Conductor or a transport")
        self.target = target
        self.name = name
        self.cwd = cwd
        self.env = env
        self.hooks: dict[Direction, dict[str, ProxyHook]] = {direction: {} for direction in DIRECTIONS}
        self.results: dict[Direction, dict[str, ProxyHook]] = {direction: {} for direction in DIRECTIONS}
        """The hooks on results, by the direction of their request."""
        self.running: list[ProxyConversation] = []

    def on(self, method: str, *, direction: Direction | None = None) -> Callable[[F], F]:
        """Register a hook for each message of this method. The function gets the typed message and returns

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
        """Register a hook for each result of this method; `direction` is that of the request.

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
    def reply(result: object) -> HookReply:
        """The return value of a hook that answers an extension request itself: params and results of
        extensions are both plain data, so they could not be told apart.
        """
        return HookReply(result)

    def run(self, transport: Transport, *, limits: Limits | None = None) -> ProxyRun:
        """Start a conversation with a client over this transport, as an `async with`."""
        return ProxyRun(self, transport, limits=limits)

    @property
    def to_agent(self) -> ProxyPeer:
        """The agent, for requests of the proxy itself."""
        return self._conversation().to_agent

    @property
    def to_client(self) -> ProxyPeer:
        """The client, for requests of the proxy itself."""
        return self._conversation().to_client

    def _conversation(self) -> ProxyConversation:
        side = current.get(None)
        if side is not None and side.proxy is self:
            return side
        if len(self.running) != 1:
            raise LocalMistake(
                f"{len(self.running)} conversations run through this proxy; "
                "a hook's second parameter is the one that its message belongs to"
            )
        return self.running[0]


class ProxyRun:
    """One conversation through a proxy, as an `async with`; leaving it ends both sides."""

    def __init__(self, proxy: Proxy, transport: Transport, *, limits: Limits | None = None) -> None:
        self._proxy = proxy
        self._transport = transport
        self._limits = limits or Limits()
        self._grace = LAST_WORDS
        self._run: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def __aenter__(self) -> ProxyRun:
        self._run = asyncio.get_running_loop().create_task(self._converse(), name=f"proxy {self._proxy.name}")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def wait_ended(self) -> None:
        """Wait until one side has ended and the other has been ended."""
        if self._run is not None:
            await asyncio.shield(self._run)

    async def aclose(self, *, grace: float = 0.0) -> None:
        """End the conversation; held frames get `grace` seconds to be passed on."""
        if not self._stop.is_set():
            self._grace = grace
            self._stop.set()
        await self.wait_ended()

    async def _converse(self) -> None:
        front = FirstBlockTransport(self._transport)
        try:
            first = await until(self._stop, front.first())
            if first is not None:
                async with AsyncExitStack() as stack:
                    await self._pass(front, first, stack)
        except DragomanError as error:
            log.error("%s: %s", self._proxy.name, error)
        finally:
            await front.aclose()

    async def _pass(self, front: FirstBlockTransport, first: bytes, stack: AsyncExitStack) -> None:
        side = ProxySide(self._proxy, *await self._sides(front, first, stack), limits=self._limits)
        self._proxy.running.append(side)
        try:
            side.relay.start()
            await until(self._stop, side.relay.wait_ended())
            await side.relay.aclose(grace=self._grace)
        finally:
            self._proxy.running.remove(side)

    async def _sides(
        self, front: FirstBlockTransport, first: bytes, stack: AsyncExitStack
    ) -> tuple[Transport, Transport]:
        glances = glance_block(first)
        if glances and glances[0].method == INITIALIZE_PROXY:
            successor = Successor(front)
            return successor.client, successor.agent
        proxy = self._proxy
        try:
            if proxy.target is None:
                raise LocalMistake("this proxy has no agent: it is made to be a link of a chain")
            return front, await open_target(
                proxy.target, stack, limits=self._limits, cwd=proxy.cwd, env=proxy.env
            )
        except DragomanError:
            front.refuse_first(NO_AGENT)
            raise


class ProxySide:
    """One conversation through a proxy. A hook with a second parameter gets this."""

    def __init__(self, proxy: Proxy, client: Transport, agent: Transport, *, limits: Limits) -> None:
        self.proxy = proxy
        self.relay = Relay(client, agent, interpreter=self, name=f"proxy {proxy.name}")
        self.owner = self.relay.owner
        self._agent = self._flow(self.relay.to_agent, limits)
        self._client = self._flow(self.relay.to_client, limits)
        self._agent.back, self._client.back = self._client, self._agent
        self.to_agent = ProxyPeer(self._agent, seconds=limits.call_seconds)
        self.to_client = ProxyPeer(self._client, seconds=limits.call_seconds)

    def _flow(self, way: RelayDirection, limits: Limits) -> ProxyFlow:
        proxy, direction = self.proxy, way.direction
        return ProxyFlow(
            self,
            way,
            owner=self.owner,
            hooks=proxy.hooks[direction],
            results=proxy.results[direction],
            # Each side sees one of the prefixes, and cannot make up the other.
            prefix=f"{proxy.name}-{token_hex(8)}-",
            limits=limits,
        )

    # The interpreter's face.

    def take(self, way: RelayDirection, block: bytes) -> None:
        (self._agent if way.direction == "to_agent" else self._client).take(block)

    async def finish(self, way: RelayDirection, seconds: float) -> None:
        """Pass on the last messages of a side that has ended, and answer all requests that wait for it."""
        open_flow, closed_flow = self._agent, self._client
        if way.direction == "to_client":
            open_flow, closed_flow = closed_flow, open_flow
        closed_flow.hang_up(_closed_reason("client" if open_flow is self._agent else "agent", way))
        await open_flow.lanes.finish(seconds)
        closed_flow.refuse_open_requests()
        if open_flow is self._agent and isinstance(way.target, MemoryTransport):
            # A program hears the end of its input and may still answer; memory cannot say it, so we wait.
            await self._answers(seconds)

    async def _answers(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._agent.open and not self.relay.to_client.over.is_set():
                    await self._agent.all_answered.wait()


def _closed_reason(who: str, way: RelayDirection) -> LinkClosed:
    reason = way.reason
    if reason is not None:
        log.warning("the %s has ended: %s", who, reason)
    return reason if isinstance(reason, LinkClosed) else LinkClosed(f"the {who} has hung up")


def _add(hooks: dict[str, ProxyHook], hook: ProxyHook) -> None:
    if hook.method in hooks:
        raise ValueError(f"{hook.method} already has a hook")
    hooks[hook.method] = hook


def _direction(method: str) -> Direction:
    """Where a method goes, if its name alone tells."""
    directions = [direction for direction in DIRECTIONS if _method_row(method, direction)]
    if len(directions) == 1:
        return directions[0]
    why = "goes both ways" if directions else "is not in the protocol"
    raise ValueError(f'{method} {why}: say direction="to_agent" or direction="to_client"')


def _entry(method: str, direction: Direction) -> Method | None:
    """The row of the method table; None for an extension."""
    if method in OWN:
        raise ValueError(f"{method} is the proxy's own business")
    row = _method_row(method, direction)
    if row is None and not method.startswith("_"):
        raise ValueError(f"{method} does not go {direction.replace('_', ' the ')}")
    return row


def _method_row(method: str, direction: Direction) -> Method | None:
    receiver = "agent" if direction == "to_agent" else "client"
    rows = (row for row in METHODS if row.name == method and row.receiver in (receiver, "both"))
    return next(rows, None)


# Opens a transport for the target of a proxy or conductor: starts a command, or serves an object here.
#
# Whatever is opened is closed with the stack that it was opened on.

Target: TypeAlias = str | Sequence[str] | Agent | Servable | Transport
"""The target of a proxy: a command, an object that can be served in this process, or a transport."""


async def open_target(
    target: Target,
    stack: AsyncExitStack,
    *,
    limits: Limits,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Transport:
    """Return a transport to a target; it is not started yet."""
    if isinstance(target, str | Sequence):
        from dragoman.transport.file_outlet import stderr_writer
        from dragoman.transport.process import spawn

        grace = Grace.steps(limits.end_seconds)
        child = spawn(target, cwd=cwd, env=env, grace=grace, on_stderr=stderr_writer())
        stack.push_async_callback(child.aclose)
        return child
    if isinstance(target, Agent | Servable):
        from dragoman.transport.memory import memory_pair

        ours, theirs = memory_pair()
        await stack.enter_async_context(serving(target, theirs, limits=limits))
        stack.push_async_callback(ours.aclose)
        return ours
    stack.push_async_callback(target.aclose)
    return target

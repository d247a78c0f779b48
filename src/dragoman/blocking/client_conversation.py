"""What `connect` gives to code without `await`: an agent for the length of a `with`.

`PipeConversation` talks to a child process directly, without an event loop. `LoopConversation` talks to
anything else through an event loop in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from dragoman.blocking.child import Child
from dragoman.blocking.client_link import ClientLink
from dragoman.blocking.client_side import BlockingClientSide
from dragoman.blocking.handlers import PrivateLoop, inline_handlers
from dragoman.blocking.interpreter_link import InterpretedLink
from dragoman.blocking.prompt import BlockingPrompt
from dragoman.runtime.limits import Limits
from dragoman.sdk.client.agent_handle import AgentHandle as AwaitedAgent
from dragoman.sdk.client.client import Client
from dragoman.sdk.connect import ConnectContext, not_entered
from dragoman.sdk.conversation import handshake
from dragoman.sdk.sync.agent import SyncAgentHandle
from dragoman.sdk.sync.run import STEPPING, LoopRunner, step
from dragoman.sdk.sync.turn import faces
from dragoman.transport.translated_transport import FadingInterpreter

if TYPE_CHECKING:
    from dragoman.runtime.link import Link


class PipeConversation:
    """An agent's process, talked to directly. Nothing starts before the `with` is entered."""

    def __init__(
        self,
        start: Callable[[], Child],
        client: Client,
        limits: Limits,
        *,
        interpreter: FadingInterpreter | None = None,
        policy: str = "",
    ) -> None:
        self._interpreter = interpreter
        self._policy = policy
        self._start = start
        self._client = client
        self._limits = limits
        self._private = PrivateLoop()
        self._link: ClientLink | None = None

    if not TYPE_CHECKING:  # a type checker finds it by itself

        def __getattr__(self, name: str) -> object:
            raise not_entered(name, "with connect(…) as agent:")

    def __enter__(self) -> SyncAgentHandle:
        side = BlockingClientSide(
            inline_handlers(
                self._client, faces=partial(faces, prompts=BlockingPrompt), wait_for=self._wait_for
            )
        )
        link = self._link = self._open(side)
        agent = AwaitedAgent(cast("Link", link), side)  # it offers what the SDK uses of one
        side.attach(cast("Link", link), agent)
        try:
            step(handshake(agent, self._client, self._limits))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return SyncAgentHandle(agent, STEPPING, prompts=BlockingPrompt)

    def _open(self, side: BlockingClientSide) -> ClientLink:
        name, limits = self._client.link_name, self._limits
        if self._interpreter is None:
            return ClientLink(self._start(), side, name=name, limits=limits)
        return InterpretedLink(
            self._start(),
            side,
            interpreter=self._interpreter,
            policy=self._policy,
            private=self._private,
            name=name,
            limits=limits,
        )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._link is not None:
                self._link.close()
        finally:
            self._private.close()

    def _wait_for(self, work: Coroutine[object, None, object]) -> Any:
        """For an async handler: in a loop of its own, whose thread may read for us meanwhile."""
        assert self._link is not None
        self._private.start()
        with self._link.lent_to(self._private.thread):
            return self._private(work)


class LoopConversation:
    """Anything else, talked to through an event loop in a thread of its own."""

    def __init__(self, connecting: ConnectContext) -> None:
        self._connecting = connecting
        self._private = PrivateLoop()
        self._crossing: LoopRunner | None = None

    if not TYPE_CHECKING:  # a type checker finds it by itself

        def __getattr__(self, name: str) -> object:
            raise not_entered(name, "with connect(…) as agent:")

    def __enter__(self) -> SyncAgentHandle:
        loop = self._private.start()
        self._crossing = LoopRunner(loop, owner=self._private.thread)
        try:
            return SyncAgentHandle(self._crossing(self._connecting.__aenter__()), self._crossing)
        except BaseException:
            self._private.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._crossing is not None
        try:
            self._crossing(self._connecting.__aexit__(kind, error, trace))
        finally:
            self._private.close()

"""`connect`, for code without `await`: scripts, notebooks, and any thread.

    with connect("some-agent --acp") as agent:
        session = agent.new_session(cwd="/project")
        for update in session.prompt("Hello"):
            ...

A command is talked to without an event loop: the thread that waits for something reads the agent's pipe.
Everything else that can be connected to (an `Agent` of this process, a transport), and everything on Windows,
is talked to through an event loop in a thread of its own. Both work inside a running loop too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from dragoman.blocking.child import Child
from dragoman.blocking.client_link import ClientLink
from dragoman.blocking.client_side import BlockingClientSide
from dragoman.blocking.handlers import PrivateLoop, inlined
from dragoman.blocking.interpreted import InterpretedLink
from dragoman.blocking.prompt import BlockingPrompt
from dragoman.runtime import Limits, Link
from dragoman.runtime.limits import DEFAULT_LIMITS
from dragoman.sdk import connect as awaited
from dragoman.sdk.client.agent_handle import AgentHandle as AwaitedAgent
from dragoman.sdk.client.client import Client
from dragoman.sdk.connect import Target
from dragoman.sdk.environment import Env, resolved
from dragoman.sdk.interpreting.speaking import agent_interpreter
from dragoman.sdk.sync.agent import SyncAgentHandle
from dragoman.sdk.sync.run import STEPPING, Crossing, step
from dragoman.sdk.sync.turn import faces
from dragoman.transport.owned import Grace
from dragoman.transport.translated import FadingInterpreter

if TYPE_CHECKING:
    from dragoman.sdk.interpreting import Ledger


def connect(
    target: Target,
    *,
    client: Client | None = None,
    limits: Limits | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Env = None,
    on_stderr: Callable[[bytes], None] | None = None,
    dialect: str = "auto",
    quirks: bool = True,
    ledger: Ledger | None = None,
    policy: str = "",
) -> Piped | Looped:
    """An agent, started if need be, and initialized, for the length of a `with`. A string is a command line,
    which no shell runs, or an address. `on_stderr` is called from another thread. `dialect`, `quirks`,
    `ledger` and `policy` are those of the awaited `connect`.

        with connect("some-agent --acp") as agent:
            session = agent.new_session(cwd="/project")
            for update in session.prompt("Hello"):
                print(update)

    Specification: https://agentclientprotocol.com/protocol/v1/initialization
    """
    is_address = isinstance(target, str) and "://" in target.partition(" ")[0]
    if isinstance(target, str | Sequence) and not is_address and os.name != "nt":

        def start() -> Child:
            grace = Grace.steps((limits or DEFAULT_LIMITS).end_seconds)
            return Child(target, cwd=cwd, env=resolved(env), grace=grace, on_stderr=on_stderr)

        interpreter = agent_interpreter(dialect, cwd=cwd, ledger=ledger, quirks=quirks)
        limits = limits or DEFAULT_LIMITS
        return Piped(start, client or Client(), limits, interpreter=interpreter, policy=policy)
    return Looped(
        awaited.connect(
            target,
            client=client,
            limits=limits,
            cwd=cwd,
            env=env,
            on_stderr=on_stderr,
            dialect=dialect,
            quirks=quirks,
            ledger=ledger,
            policy=policy,
        )
    )


class Piped:
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

    def __enter__(self) -> SyncAgentHandle:
        side = BlockingClientSide(
            inlined(self._client, faces=partial(faces, prompts=BlockingPrompt), wait_for=self._wait_for)
        )
        link = self._link = self._open(side)
        agent = AwaitedAgent(cast(Link, link), side)  # it offers what the SDK uses of one
        side.attach(cast(Link, link), agent)
        try:
            step(awaited.handshake(agent, self._client, self._limits))
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


class Looped:
    """Anything else, talked to through an event loop in a thread of its own."""

    def __init__(self, connecting: awaited.Connecting) -> None:
        self._connecting = connecting
        self._private = PrivateLoop()
        self._crossing: Crossing | None = None

    def __enter__(self) -> SyncAgentHandle:
        loop = self._private.start()
        self._crossing = Crossing(loop, owner=self._private.thread)
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

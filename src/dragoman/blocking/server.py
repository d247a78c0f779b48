"""`serve`, without an event loop: for agents whose handlers are all plain functions.

It keeps the same promises as the asyncio server: standard output is armoured before anything else happens,
the process ends when its input ends, or on SIGTERM, and work that arrived together with the end of input
gets a moment to finish. A handler that does not end is left behind in its thread.
"""

from __future__ import annotations

import os
import signal
from functools import partial
from types import FrameType, TracebackType
from typing import Self

from dragoman.blocking.agent_link import AgentLink
from dragoman.blocking.agent_side import BlockingAgentSide
from dragoman.blocking.handlers import inline_handlers
from dragoman.blocking.speaker import ThreadAgentSession
from dragoman.errors import LocalMistake
from dragoman.runtime.limits import DEFAULT_LIMITS, Limits
from dragoman.sdk.agent.agent import Agent
from dragoman.sdk.shutdown import ShutdownSignals, time_to_end
from dragoman.sdk.sync.turn import faces

FLUSH = 0.5
"""Seconds that the last words get to leave: the client may never read again."""


def serve(agent: Agent, *, limits: Limits | None = None) -> None:
    """Serve one client over stdin and stdout until it hangs up. Blocks.

        agent = Agent("echo")

        @agent.prompt
        def reply(turn: Turn) -> None:
            turn.say(turn.text)

        serve(agent)

    Specification: https://agentclientprotocol.com/protocol/v1/transports
    """
    if waits := sorted(method for method, handler in agent.handlers.items() if handler.is_async):
        raise LocalMistake(
            f"{', '.join(waits)}: an async handler needs an event loop; use dragoman.serve, or a plain `def`"
        )
    agent.check_served()
    if os.name == "nt":  # its pipes cannot be waited for with a deadline
        from dragoman.sdk.serve import serve as serve_in_loop

        serve_in_loop(agent, limits=limits)
        return
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()
    serve_over(agent, stdio.read_fd, stdio.write_fd, limits=limits)


def serve_over(agent: Agent, read_fd: int, write_fd: int, *, limits: Limits | None = None) -> None:
    """Serve one client over two descriptors, which are closed at the end. Blocks."""
    side = BlockingAgentSide(
        inline_handlers(agent, faces=partial(faces, voice=ThreadAgentSession), wait_for=_cannot_be)
    )
    link = AgentLink(read_fd, write_fd, side, name=agent.link_name, limits=limits)
    side.attach_to(link)
    limits = limits or DEFAULT_LIMITS
    with _Leaving(link, within=time_to_end(limits)) as leaving:
        try:
            link.attend()
            leaving.begin()
            if not link.is_dismissed:
                link.finish(limits.end_seconds)
        finally:
            link.end_work(flush=FLUSH)
    link.close()


class _Leaving(ShutdownSignals):
    """A signal ends the main thread's attendance."""

    has_loop = False

    def __init__(self, link: AgentLink, *, within: float) -> None:
        super().__init__(within=within)
        self._link = link
        self._waker = -1

    def __enter__(self) -> Self:
        super().__enter__()
        if self._former:
            # Without this, one that comes just before the main thread begins to wait would be told too late.
            self._waker = signal.set_wakeup_fd(self._link.inlet.wake_fd, warn_on_full_buffer=False)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._former:
            signal.set_wakeup_fd(self._waker)
        super().__exit__(kind, error, trace)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.begin()
        self._link.dismiss()


def _cannot_be(work: object) -> object:
    raise AssertionError("an agent with async handlers is not served here")

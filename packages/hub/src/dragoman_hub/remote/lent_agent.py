"""A remote agent as its host sees it: a transport that includes the lender of files and terminals.

What the host writes goes through the lender to the agent, and what the agent says goes through it to the
host. Pauses and pending bytes are those of the agent's own pipes. The lender is imported when the agent runs
already, so that the two start at the same time.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dragoman.errors import LinkClosed
from dragoman.transport.contract import Sink, TransportLimits
from dragoman.transport.owned_tree import OwnedTree
from dragoman.transport.process import ChildTransport

if TYPE_CHECKING:
    from dragoman_hub.remote.lender import RemoteLender
    from dragoman_local.sandbox.boundary import SandboxChoice


class LentAgent:
    """The transport to a remote agent, and the sink of the agent's frames. Call `start` before the first
    write.
    """

    def __init__(self, child: ChildTransport, *, sandbox: SandboxChoice = "auto") -> None:
        """`sandbox` is for commands that run for the agent."""
        self._child = child
        self._sandbox = sandbox
        self._lender: RemoteLender
        self._sink: Sink | None = None
        self._has_ended = False

    @property
    def tree(self) -> OwnedTree:
        """The processes of the agent."""
        return self._child.tree

    @property
    def limits(self) -> TransportLimits:
        return self._child.limits

    def start(self, sink: Sink) -> None:
        from dragoman_hub.remote.lender import RemoteLender

        self._sink = sink
        self._lender = RemoteLender(
            to_agent=self._tell_agent,
            drain=self._drain,
            to_client=self._tell_client,
            sandbox=self._sandbox,
        )
        self._child.start(self)

    def write(self, block: bytes | bytearray | memoryview) -> None:
        if lines := self._lender.from_client(bytes(block)):
            self._child.write(lines)

    @property
    def pending(self) -> int:
        return self._child.pending

    async def drain(self) -> None:
        await self._child.drain()

    def pause(self) -> None:
        self._child.pause()

    def resume(self) -> None:
        self._child.resume()

    async def aclose(self) -> None:
        """End the agent, and then every command that ran for it."""
        try:
            await self._child.aclose()
        finally:
            await self._lender.aclose()

    # The agent speaks.

    def feed(self, block: bytes) -> None:
        assert self._sink is not None
        # The last frame of a stream may lack its newline; behind it may come one of ours.
        if lines := self._lender.from_agent(block if block[-1:] == b"\n" else block + b"\n"):
            self._sink.feed(lines)

    def on_oversized(self, size: int) -> None:
        assert self._sink is not None
        self._sink.on_oversized(size)

    def on_end(self, reason: BaseException | None) -> None:
        assert self._sink is not None
        self._has_ended = True
        self._lender.give_up()
        self._sink.on_end(reason)

    # The lender speaks.

    def _tell_agent(self, line: bytes) -> None:
        with suppress(LinkClosed):  # nobody is there to read it
            self._child.write(line)

    async def _drain(self) -> None:
        with suppress(LinkClosed):
            await self._child.drain()

    def _tell_client(self, line: bytes) -> None:
        if self._sink is not None and not self._has_ended:
            self._sink.feed(line)

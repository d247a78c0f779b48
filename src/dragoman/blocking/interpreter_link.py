"""A client's conversation with an agent of another dialect, or with known quirks, without an event loop.

Whoever reads the pipe translates what it reads; whoever writes translates what it writes, under the lock that
keeps the books, so that both are in the order in which they pass. An interpreter that finds an agent of v1
without quirks is asked nothing any more. What edges ask of their host takes an event loop: the private one.
"""

from __future__ import annotations

from collections.abc import Callable

from dragoman.blocking.child import Child
from dragoman.blocking.client_link import ClientLink
from dragoman.blocking.client_side import BlockingClientSide
from dragoman.blocking.handlers import PrivateLoop
from dragoman.blocking.outbox import ThreadOutbox
from dragoman.runtime.limits import Limits
from dragoman.sdk.interpreter.edge_host import EdgeHost, HostAnswer
from dragoman.transport.translated_transport import FadingInterpreter, TranslatedBlock


class InterpretedOutbox(ThreadOutbox):
    """Everything that is sent is translated first."""

    __slots__ = ("_translate",)

    def __init__(self, fd: int, *, wake: Callable[[], None], translate: Callable[[bytes], bytes]) -> None:
        super().__init__(fd, wake=wake)
        self._translate = translate

    def put(self, frame: bytes) -> None:
        self.put_translated(self._translate(frame))

    def put_translated(self, block: bytes) -> None:
        """For whoever holds the lock: frames in the agent's own words."""
        if block:
            super().put(block)


class InterpretedLink(ClientLink):
    """`interpreter` stands between us and the child."""

    outbox: InterpretedOutbox

    def __init__(
        self,
        child: Child,
        side: BlockingClientSide,
        *,
        interpreter: FadingInterpreter,
        private: PrivateLoop,
        name: str,
        limits: Limits | None = None,
        policy: str = "",
    ) -> None:
        self._interpreter = interpreter
        self._policy = policy
        self._private = private
        self._host: EdgeHost | None = None
        self._for_us: list[bytes] = []  # frames that nobody has read yet
        self._has_ended = False
        super().__init__(child, side, name=name, limits=limits)

    def open_outbox(self, fd: int) -> ThreadOutbox:
        return InterpretedOutbox(fd, wake=self.wake, translate=self._to_agent)

    def read_block(self) -> bytes:
        block = b"" if self._for_us else super().read_block()
        if not self._for_us and (not block or self._interpreter.is_transparent):
            return block
        with self._books:
            if block:
                self._take_block(self._interpreter.from_peer(block))
            block = b"".join(self._for_us)
            self._for_us.clear()
            return block

    def _to_agent(self, frame: bytes) -> bytes:
        """With the lock of the outbox in hand."""
        if self._interpreter.is_transparent:
            return frame
        block = self._interpreter.from_inside(frame)
        self._keep_for_us(block)
        return block.peer

    def _take_block(self, block: TranslatedBlock) -> None:
        """With the lock in hand."""
        self.outbox.put_translated(block.peer)
        self._keep_for_us(block)

    def _keep_for_us(self, block: TranslatedBlock) -> None:
        if block.inside:
            self._for_us.append(block.inside)
            self.wake()
        for position, message in block.host:
            loop = self._private.start()
            if self._host is None:
                self._host = EdgeHost(self._answered_by_host, policy=self._policy)
            loop.call_soon_threadsafe(self._host.ask, position, message)

    def _answered_by_host(self, position: int, message: HostAnswer) -> None:
        with self._books:
            self._take_block(self._interpreter.from_host(position, message))

    def _end_of_input(self) -> None:
        """What the interpreter still has to say in the agent's place comes before the end."""
        if not self._has_ended:
            self._has_ended = True
            with self._books:
                self._keep_for_us(self._interpreter.peer_ended())
            if self._for_us:
                self._at_end = self._busy = True
                return
        super()._end_of_input()

    def close(self) -> None:
        try:
            super().close()
        finally:
            if self._host is not None:
                self._private(self._host.aclose())

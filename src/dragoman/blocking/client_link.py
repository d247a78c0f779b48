"""A client's conversation: whoever reads a request of the agent's also works on it, in the same thread.

The reader's role is put down meanwhile, so that another thread is not held up by a handler that asks the
user. A handler may ask the agent in turn: its thread simply reads again, inside of the handler.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from time import monotonic
from typing import Any

from dragoman.blocking.child import Child
from dragoman.blocking.client_side import BlockingClientSide, ShortWay
from dragoman.blocking.link import BlockingLink
from dragoman.blocking.plain import plain_request
from dragoman.blocking.signals import ThreadSignal
from dragoman.core import IncomingRequest, RequestReceived
from dragoman.errors import LinkClosed
from dragoman.runtime.faults import to_error
from dragoman.runtime.limits import Limits
from dragoman.sdk.sync.run import step
from dragoman.wire import Request, decode_block, error_object
from dragoman.wire.codes import CANCELLED

FLUSH = 2.0
"""Seconds that closing grants to what has not left yet: the agent may never read again."""


class ClientLink(BlockingLink):
    """A client's end of the conversation with a child process."""

    def __init__(
        self, child: Child, side: BlockingClientSide, *, name: str, limits: Limits | None = None
    ) -> None:
        super().__init__(child.read_fd, child.write_fd, side, name=name, limits=limits)
        self._child = child
        self._side = side
        self._requests: dict[IncomingRequest, tuple[ShortWay, Any]] = {}  # that have been read already
        child.watch(self.wake)

    # The usual turn of a reader.

    def wait(self, signal: ThreadSignal) -> None:
        """Read, work, read again, as long as requests come one by one; anything else is the long way."""
        while not (
            signal.is_reached or self._busy or self._inbox or self._has_notifications or not self._whole
        ):
            if not self._role.acquire(blocking=False):
                break
            self._reader = get_ident()
            try:
                block = self.read_block()
                incoming = self._take(block) if block else None
            finally:
                self._reader = 0
                self._role.release()
                if self._followers:
                    self._pass_on()
            if incoming is not None:
                self.perform(incoming)
        super().wait(signal)

    # Work.

    def begin(self, incoming: IncomingRequest) -> IncomingRequest:
        return incoming

    def _take(self, block: bytes) -> IncomingRequest | None:
        plain = plain_request(block)
        if plain is None:
            return super()._take(block)
        number, method, params = plain.groups()
        way = self._side.short_ways.get(method)
        if way is None:
            return super()._take(block)
        try:
            request = way.read(params)
        except (ValueError, TypeError, RecursionError):
            return super()._take(block)  # not so plain
        with self._books:
            event = self.connection.ask(Request(int(number), way.method))
        if type(event) is not RequestReceived:
            self._consider(event)
            return None
        self._requests[event.request] = way, request
        return event.request

    def perform(self, incoming: IncomingRequest) -> None:
        if self._at_end:
            return  # whoever asked this is dead, and the user is not to be bothered with its questions
        short = self._requests.pop(incoming, None)
        try:
            if short is not None:
                result = self._side.answer(*short)
            else:
                work = self._router.on_request(incoming)
                result = work if isinstance(work, bytes) else step(work)
        except Exception as error:  # noqa: BLE001  # it becomes the error answer; the conversation goes on
            self._look_at_deadlines()
            self.refuse(incoming, to_error(error, incoming.method))
        except BaseException:  # Ctrl-C: it is ours to hear, but the agent must not wait for ever
            self.refuse(incoming, error_object(CANCELLED))
            raise
        else:
            self._look_at_deadlines()
            self.settle(incoming, result)

    def _look_at_deadlines(self) -> None:
        """Nobody did while a handler had the thread, and before its answer the agent is neither silent nor
        late.
        """
        if self.poll_ms is not None and (now := monotonic()) >= self._deadlines.next_look:
            self._deadlines.look(now)

    def stop(self, incoming: IncomingRequest) -> None:
        """Its handler runs in the thread of somebody who called us; it is left to end by itself."""

    @contextmanager
    def lent_to(self, thread: int) -> Iterator[None]:
        """If we have the reader's role: that thread has it instead, because we are waiting for it."""
        lent = self._reader == get_ident()
        if lent:
            self._reader = thread
        try:
            yield
        finally:
            if lent:
                self._reader = get_ident()

    # What leaves.

    def drain(self) -> None:
        """Reading what comes meanwhile: an agent that waits for us to read would never read itself."""
        while self.outbox.pending and not self.outbox.broken:
            self._check_room()
            if self._inbox_size >= self.limits.backlog_hard_bytes:
                self.outbox.wait_for_room(0, check=self._check_room)
            elif self._reader == get_ident():
                self._read_ahead()
            elif self._role.acquire(blocking=False):
                self._reader = get_ident()
                try:
                    self._read_ahead()
                finally:
                    self._reader = 0
                    self._role.release()
                    self._pass_on()
            else:
                self.outbox.wait_for_room(0, check=self._check_room)
        if self.outbox.broken:
            raise LinkClosed(self.outbox.broken)

    def _check_room(self) -> None:
        """Raises `LinkClosed` if there will never be room: an agent that waits for us may not read itself."""
        if self._end_reason is not None:
            raise self._end_reason.with_traceback(None)
        if self._inbox_size >= self.limits.backlog_hard_bytes or not self._may_listen():
            self.outbox.check_stalled()

    def _read_ahead(self) -> None:
        if block := self.read_block():
            self._inbox.extend(decode_block(block))
            self._inbox_size += len(block)

    # The end.

    def _came_back(self, now: float, *, empty_handed: bool) -> None:
        super()._came_back(now, empty_handed=empty_handed)
        if empty_handed and self._child.silent:
            self._end_of_input()

    def epitaph(self) -> LinkClosed:
        return self._child.obituary()

    def close(self) -> None:
        """End the conversation, and the agent's whole process tree."""
        self.end(LinkClosed("this side closed the connection"))
        self.wake()
        has_role = self._role.acquire(timeout=FLUSH)  # or somebody's handler hangs while it reads
        try:
            self.outbox.finish(FLUSH)
            self.outbox.close()
            self._child.close(self.inlet.release())
            self.inlet.close()
        finally:
            if has_role:
                self._role.release()

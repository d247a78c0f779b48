"""Accepts connections of a listening socket, and watches each until it has sent an authorised request.

Why not `loop.create_server`: it waits a minute for a TLS handshake and for ever for a request head, it counts
nothing, and when descriptors are used up it spins and fills the log. Here a connection has a deadline for its
handshake and its request heads together, those that are not admitted are few
(`gate.connection_limits`), and a lack of descriptors costs the oldest of them, or a wait.

`AcceptedConnection` is the asyncio protocol of a socket. It hands everything to the protocol of the server,
which sees a transport whose `set_protocol` changes that protocol and nothing else.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dragoman_hub.gate.connection_limits import ConnectionLimits, UnadmittedConnections
from dragoman_hub.gate.rates import network_of

log = logging.getLogger(__name__)

STATE = "dragoman.connection"
"""The key of a request's scope that holds its connection."""

EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""The system has no room for another connection."""

RETRY = 0.1
"""Seconds until the next try when the system has no room; doubled up to `RETRY_MOST`."""

RETRY_MOST = 1.0

TELL_AGAIN = 60.0
"""The seconds until a lack of descriptors is reported again."""

BACKLOG = 512
"""Connections that may wait in the system until they are accepted."""

TLS_LIMITS = {"ssl_shutdown_timeout": 5.0}
"""The seconds for the peer to confirm the end of TLS."""

BAD_REQUEST = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class _Channel:
    """The transport as the protocol of the server sees it."""

    __slots__ = ("_connection", "_transport", "write")

    def __init__(self, connection: AcceptedConnection, transport: asyncio.Transport) -> None:
        self._connection = connection
        self._transport = transport
        self.write = transport.write  # the one that is called all the time

    def set_protocol(self, protocol: asyncio.Protocol) -> None:
        self._connection.protocol = protocol

    def get_protocol(self) -> asyncio.Protocol:
        return self._connection.protocol

    def __getattr__(self, name: str) -> Any:  # as many types as a transport has methods
        return getattr(self._transport, name)


class AcceptedConnection(asyncio.Protocol):
    """One socket, from its accept to its end."""

    __slots__ = (
        *("address", "protocol", "_acceptor", "_answers", "_is_admitted"),
        *("_opening", "_requests", "_timer", "_transport"),
    )

    def __init__(self, acceptor: Acceptor, address: str) -> None:
        self.protocol: asyncio.Protocol = asyncio.Protocol()
        self._acceptor = acceptor
        self.address = address
        self._transport: asyncio.Transport | None = None
        self._opening: asyncio.Task[None] | None = None
        self._is_admitted = False
        self._requests = 0  # that are with the application
        self._answers = 0  # requests that the application has dealt with
        self._timer: asyncio.TimerHandle | None = None
        self._await_head()

    # What the application says.

    def admit(self) -> None:
        """Note that a request on it has shown a valid token."""
        if not self._is_admitted:
            self._is_admitted = True
            self._acceptor.unadmitted_connections.discard(self)

    @contextmanager
    def request(self) -> Iterator[None]:
        """Note that the application handles a request, with its own deadlines."""
        self._requests += 1
        self._stop_timer()
        try:
            yield
        finally:
            self._requests -= 1
            self._answers += 1
            if not (self._requests or self._is_lost):
                self._await_head()

    def abort(self) -> None:
        """Close the connection now; unsent data is lost."""
        if self._transport is not None:
            self._transport.abort()
        elif self._opening is not None:
            self._opening.cancel()

    # The deadline.

    @property
    def _is_lost(self) -> bool:
        return self not in self._acceptor.connections

    def _await_head(self) -> None:
        self._stop_timer()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(self._acceptor.limits.head, self._on_deadline)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_deadline(self) -> None:
        self._timer = None
        if self._transport is not None and self._transport.get_write_buffer_size():
            # An answer is still read. Who takes nothing for a minute is given up by the system.
            self._await_head()
            return
        if not self._answers:  # after an answer it is an idle connection that ends, as it may
            log.warning(
                "%s was disconnected: no whole request came within %g s",
                self.address,
                self._acceptor.limits.head,
            )
            self._acceptor.on_refused("request")
        if self._transport is not None:
            self._transport.close()  # what the system has taken of an answer is still sent
        else:
            self.abort()

    # The asyncio protocol.

    def opening(self, task: asyncio.Task[None]) -> None:
        """The task that opens the connection, with TLS."""
        self._opening = task

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        raw_transport: Any = transport  # whose class depends on the loop
        self._transport = raw_transport
        self.protocol = self._acceptor.make_protocol(self)
        channel: Any = _Channel(self, raw_transport)
        self.protocol.connection_made(channel)

    def data_received(self, data: bytes) -> None:
        try:
            self.protocol.data_received(data)
        except Exception as error:  # noqa: BLE001 -- a parser that fails on bytes of a peer costs that peer alone
            log.warning(
                "%s was disconnected: its request is invalid (%s)", self.address, type(error).__name__
            )
            self._acceptor.on_refused("request")
            assert self._transport is not None
            if not self._requests:
                self._transport.write(BAD_REQUEST)
            self._transport.close()

    def eof_received(self) -> bool | None:
        return self.protocol.eof_received()

    def pause_writing(self) -> None:
        self.protocol.pause_writing()

    def resume_writing(self) -> None:
        self.protocol.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._is_lost:
            self._stop_timer()
            self._acceptor.forget(self)
            self.protocol.connection_lost(exc)


class Acceptor:
    """Accepts until it is closed. `make_protocol` returns the server's protocol for a connection."""

    def __init__(
        self,
        server_socket: socket.socket,
        make_protocol: Callable[[AcceptedConnection], asyncio.Protocol],
        *,
        tls: ssl.SSLContext | None = None,
        limits: ConnectionLimits,
        on_refused: Callable[[str], None],
    ) -> None:
        self.make_protocol = make_protocol
        self.limits = limits
        self.unadmitted_connections = UnadmittedConnections(limits)
        self.connections: set[AcceptedConnection] = set()
        self.on_refused = on_refused
        self._tls = tls
        self._socket = server_socket
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[None]] = set()
        server_socket.setblocking(False)
        server_socket.listen(BACKLOG)
        self._accepting = self._loop.create_task(self._accept_all(), name="accept")

    def close(self) -> None:
        """Accept no more connections, and cancel unfinished handshakes."""
        self._accepting.cancel()
        for task in self._opening:
            task.cancel()

    async def wait_closed(self) -> None:
        await asyncio.wait({self._accepting, *self._opening})

    def forget(self, connection: AcceptedConnection) -> None:
        self.connections.discard(connection)
        self.unadmitted_connections.discard(connection)

    async def _accept_all(self) -> None:
        shortage = _Shortage()
        retry = RETRY
        while True:
            try:
                connection, peer = await self._loop.sock_accept(self._socket)
            except OSError as error:
                if error.errno in EXHAUSTED:
                    shortage.begin(error, self._loop.time())
                    retry = await self._make_room(retry)
                else:
                    await asyncio.sleep(0)  # the peer left before it was accepted
                continue
            shortage.end(self._loop.time())
            retry = RETRY
            self._open(connection, peer)
            # Bytes of those that were accepted before are read first: an owner is admitted by them.
            await asyncio.sleep(0)

    async def _make_room(self, seconds: float) -> float:
        """Wait, and close who has not been admitted meanwhile; returns how long to wait the next time."""
        before = self.unadmitted_connections.all()
        await asyncio.sleep(seconds)
        count = self.unadmitted_connections.close(before)
        await asyncio.sleep(0)  # they are closed in the next turn of the loop
        return RETRY if count else min(2 * seconds, RETRY_MOST)

    def _open(self, connection: socket.socket, peer: object) -> None:
        address = network_of(str(peer[0])) if isinstance(peer, tuple) else ""
        new_connection = AcceptedConnection(self, address)
        self.connections.add(new_connection)
        if self.unadmitted_connections.add(new_connection, address):
            log.warning("%s has replaced an older connection without a token: there are too many", address)
            self.on_refused("connections")
        task = self._loop.create_task(self._bring_up(new_connection, connection), name="open connection")
        new_connection.opening(task)
        self._opening.add(task)

        def on_opened(task: asyncio.Task[None]) -> None:
            self._opening.discard(task)
            if task.cancelled() or task.exception() is not None:
                new_connection.connection_lost(None)
                connection.close()

        task.add_done_callback(on_opened)

    async def _bring_up(self, new_connection: AcceptedConnection, connection: socket.socket) -> None:
        limits = {} if self._tls is None else TLS_LIMITS | {"ssl_handshake_timeout": self.limits.head}
        try:
            await self._loop.connect_accepted_socket(
                lambda: new_connection, connection, ssl=self._tls, **limits
            )
        except OSError as error:  # ssl.SSLError and TimeoutError are of this kind
            log.info("%s did not finish its TLS handshake: %s", new_connection.address, type(error).__name__)
            self.on_refused("request")
            raise


class _Shortage:
    """Tells of a lack of descriptors, and of its end, once in a while."""

    def __init__(self) -> None:
        self._since: float | None = None
        self._last_report = -TELL_AGAIN

    def begin(self, error: OSError, now: float) -> None:
        if self._since is None and now - self._last_report >= TELL_AGAIN:
            self._since = self._last_report = now
            log.error(
                "the hub cannot accept connections: %s. Clients that are connected are served; connections "
                "without a token are closed to make room. Raise the limit of open files (ulimit -n or "
                "LimitNOFILE)",
                error.strerror,
            )

    def end(self, now: float) -> None:
        if self._since is not None:
            log.info("the hub accepts connections again, after %.1f s", now - self._since)
            self._since = None

"""A listener: serves an ASGI application on an address, secured by default.

Off loopback, TLS is demanded unless it is waived in so many words. Compression is off, because it costs forty
kilobytes a connection. What peers may cost before they are admitted is bounded: see `acceptor`. What is
logged about them is, too: see `log_rate`.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from types import ModuleType

import uvicorn
from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.transport.contract import TransportLimits
from dragoman_hub.api.server import AnnouncedRequests, HubServer
from dragoman_hub.gate.connection_limits import ConnectionLimits
from dragoman_hub.log_rate import LogRate

private_uvicorn: ModuleType | None
_missing = ""
try:
    from dragoman_hub.api import private_uvicorn
except ImportError as _error:  # another version of uvicorn, or no httptools
    private_uvicorn, _missing = None, str(_error)

log = logging.getLogger(__name__)

NETWORK = TransportLimits(frame=16 * 1024 * 1024)
"""Limits for messages from the network, which may be lower than for programs that we started ourselves."""


class Keepalive(Struct, frozen=True):
    """The seconds between pings, and until a silent peer is disconnected: together less than a minute."""

    every: float = 20.0
    within: float = 30.0


class Tls(Struct, frozen=True):
    """Files in PEM form."""

    certificate: str
    key: str


def parse_listen(text: str) -> tuple[str, int]:
    """`HOST:PORT`; port 0 takes any free one."""
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65535:
        raise LocalMistake(f"{text!r} is not a place to listen at: write HOST:PORT, such as 127.0.0.1:8765")
    return host.strip("[]") or "127.0.0.1", int(port)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def open_socket(host: str, port: int, *, tls: Tls | None, insecure: bool) -> socket.socket:
    """Bind a socket, so that the port is reserved and known; `open_listener` accepts clients. Raises
    `LocalMistake` for an address that is not allowed or not possible.
    """
    if not (is_loopback(host) or tls or insecure):
        raise LocalMistake(
            f"{host} can be reached from other machines, so TLS is needed. Use --tls-cert and --tls-key, "
            "or --insecure behind a proxy that does TLS. To reach the hub without this: dragoman hub reach"
        )
    if tls is not None:
        _check(tls)
    try:
        return _bind(host, port)
    except OSError as error:
        raise LocalMistake(
            f"can't listen at {host}:{port}: {error.strerror or error}. Choose another address with --listen"
        ) from None


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    server_socket = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # a port whose last connections are still closing is free
            server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            server_socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        server_socket.bind((host, port))
        _watch(server_socket)
    except BaseException:
        server_socket.close()
        raise
    return server_socket


def _check(tls: Tls) -> None:
    """Raise `LocalMistake` for files that cannot be used, before anything is begun."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, tls.key)
    except OSError as error:  # ssl.SSLError is of this kind
        why = error.strerror or str(error)
        raise LocalMistake(
            f"TLS does not work with the certificate {tls.certificate} and the key {tls.key}: {why}"
        ) from None


def _watch(server_socket: socket.socket) -> None:
    """Let the system send what is written at once: asyncio asks for that only where it knows that a socket
    is one of TCP, which it does not of an accepted one. And let it give up peers that have vanished, or take
    nothing for a minute: a server cannot, because what it closes stays open as long as there is something
    left to send. Accepted sockets inherit all of it.
    """
    server_socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_NODELAY", 1),
        ("TCP_KEEPIDLE", 20),
        ("TCP_KEEPINTVL", 10),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 60_000),
    ):
        if hasattr(socket, name):
            server_socket.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


@asynccontextmanager
async def open_listener(
    app: object,
    server_socket: socket.socket,
    *,
    tls: Tls | None = None,
    limits: TransportLimits = NETWORK,
    keepalive: Keepalive | None = None,
    connections: ConnectionLimits | None = None,
    on_refused: Callable[[str], None] | None = None,
) -> AsyncIterator[None]:
    """Serve for the length of the block; open connections are closed at its end. `on_refused` gets the reason
    when a connection is closed before its first request.
    """
    keepalive = keepalive or Keepalive()
    config = uvicorn.Config(
        AnnouncedRequests(app),
        http="h11" if private_uvicorn is None else private_uvicorn.HeadLimitedProtocol,
        ws="websockets-sansio" if private_uvicorn is None else private_uvicorn.ManyProtocol,
        ws_max_size=limits.frame,
        ws_ping_interval=keepalive.every,
        ws_ping_timeout=keepalive.within,
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # an address is whose it is, not what a header says
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
        timeout_graceful_shutdown=2,
    )
    server = _server(config, connections or ConnectionLimits(), on_refused or (lambda why: None))
    rate = LogRate()
    with rate.filtering():
        async with _serving(server, server_socket), _running(rate.flush_regularly()):
            yield


@asynccontextmanager
async def _serving(server: HubServer, server_socket: socket.socket) -> AsyncIterator[None]:
    try:
        server_socket.listen(server.config.backlog)
    except OSError as error:  # somebody was faster since it was bound
        raise LocalMistake(f"cannot listen at {server_socket.getsockname()}: {error.strerror}") from None
    running = asyncio.get_running_loop().create_task(server.serve(sockets=[server_socket]))
    up = asyncio.get_running_loop().create_task(server.is_up.wait())
    try:
        await asyncio.wait((running, up), return_when=asyncio.FIRST_COMPLETED)
        yield
    finally:
        up.cancel()
        server.stop()
        await asyncio.wait((running, up))
        server_socket.close()


@asynccontextmanager
async def _running(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.get_running_loop().create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait((task,))


def _server(config: uvicorn.Config, limits: ConnectionLimits, on_refused: Callable[[str], None]) -> HubServer:
    if private_uvicorn is not None:
        server: HubServer = private_uvicorn.GuardedServer(config, limits=limits, on_refused=on_refused)
        return server
    log.warning(
        "uvicorn %s is not a version that the hub knows (%s): request heads have no deadline, and the number "
        "of connections without a token has no bound. Install uvicorn 0.54",
        uvicorn.__version__,
        _missing,
    )
    return HubServer(config)

"""A proxy that filters by host name: the only network access of a sandbox with a filtered network.

The launcher forks it before it makes the namespaces, so it has the network of this machine, and hands it
sockets that listen on the loopback inside. It lets through what the profile names: HTTP by the name in the
request, TLS by the name in the first message of the client, which has to be the one that was asked for. It
looks the name up once, and connects to the address that it has judged. What passes afterwards it does not
read. Nothing else leaves: not another protocol, no address, no second request behind the first.

It reads what the confined say, so it confines itself: it writes no files and has no capabilities. Made of the
standard library alone.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from errno import EINVAL
from typing import NamedTuple

from dragoman_local.sandbox import system_calls as kernel
from dragoman_local.sandbox.destinations import Destination, is_name, is_public, parse_destination

MOST_CONNECTIONS = 256
"""The most simultaneous connections; a further one waits. Package managers open some fifty."""

HEAD_SECONDS = 10.0
"""The seconds for the head of a request, and for the first message of TLS; a slower client gets no answer."""
CONNECT_SECONDS = 15.0
MOST_ADDRESSES = 4
HEAD_BYTES = 64 * 1024
CHUNK = 64 * 1024
MOST_REPORTS = 50
"""The most reports of refusals: a command that tries everything must not fill its own output."""

_REQUEST = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]+) HTTP/1\.[01]")
_NAME, _VALUE = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), re.compile(rb"[\t\x20-\x7e\x80-\xff]*")
_AUTHORITY = re.compile(r"([^:@/?#\[\]]+)(?::([0-9]{1,5}))?")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_BETWEEN_TWO = frozenset(
    {b"host", b"connection", b"proxy-connection", b"keep-alive", b"te", b"trailer", b"upgrade"}
    | {b"proxy-authorization", b"proxy-authenticate", b"http2-settings"}
)
"""Fields that are for the next program on the way, or that are written anew."""

_UNKNOWN_NAME = bytes((21, 3, 1, 0, 2, 2, 112))
"""What TLS says to a client whose name is not served."""


class Refused(Exception):
    """A refusal: the client gets this status and sentence, and the user gets the sentence."""

    def __init__(self, status: str, why: str) -> None:
        super().__init__(why)
        self.status = status


class Target(NamedTuple):
    """The destination of a client."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host[:253]}:{self.port}"


class Head(NamedTuple):
    """The head of a request, parsed strictly: a head that two programs could read differently is refused."""

    method: bytes
    target: str
    fields: tuple[tuple[bytes, bytes], ...]

    def values(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.fields if key.lower() == name]


def run(control: int, places: Sequence[str], ports: Sequence[int], profile: str) -> None:
    """Run the proxy of one sandbox until the launcher ends. The listening sockets come over `control`."""
    with socket.socket(fileno=control) as link:
        _, ancillary, _, _ = link.recvmsg(1, socket.CMSG_SPACE(4 * (len(ports) + 1)))
    if not ancillary:
        return  # the sandbox could not be built
    data = ancillary[0][2]
    numbers = [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data), 4)]
    listeners = [socket.socket(fileno=number) for number in numbers]
    kernel.restrict_writes([], kernel.landlock_version())
    kernel.keep_capabilities(0)
    kernel.install_filter()
    threading.stack_size(256 * 1024)
    proxy = Proxy([parse_destination(place) for place in places], profile)
    for listener, port in zip(listeners[1:], ports, strict=True):
        way = Bridge(port)
        threading.Thread(target=proxy.serve, args=(listener, way), daemon=True).start()
    proxy.serve(listeners[0], proxy.answer)


class Bridge:
    """A port of this machine that is the same port inside."""

    def __init__(self, port: int) -> None:
        self._port = port

    def __call__(self, client: socket.socket) -> None:
        with suppress(OSError), _dial([("127.0.0.1", self._port), ("::1", self._port)]) as upstream:
            _relay(client, upstream)


class Proxy:
    """The rules of one sandbox. `report` is called for each refusal once; `resolve` and `dial` are the
    system's.
    """

    def __init__(
        self,
        places: Sequence[Destination],
        profile: str,
        *,
        report: Callable[[str], None] | None = None,
        resolve: Callable[[str, int], list[str]] | None = None,
    ) -> None:
        self._places = places
        self._profile = profile
        self._report = report or _tell
        self._resolve = resolve or _resolve
        self._told: set[str] = set()
        self._room = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def serve(self, listener: socket.socket, way: Callable[[socket.socket], None]) -> None:
        """Run a thread for each connection; all listeners share the limit. Returns when the listener is shut
        down, which the launcher never does.
        """
        while True:
            self._room.acquire()
            try:
                client, _ = listener.accept()
                threading.Thread(target=self._attend, args=(client, way), daemon=True).start()
            except (OSError, RuntimeError) as error:
                self._room.release()
                if isinstance(error, OSError) and error.errno == EINVAL:
                    return
                time.sleep(0.1)  # no descriptor or no thread is left: others end first

    def _attend(self, client: socket.socket, way: Callable[[socket.socket], None]) -> None:
        try:
            with client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                way(client)
        except (OSError, RuntimeError):  # one of the two is gone, which the other sees, or no thread is left
            pass
        finally:
            self._room.release()

    def answer(self, client: socket.socket) -> None:
        """Answer one request of one client."""
        try:
            raw, rest = _read_head(client, b"")
            head = parse_head(raw)
            if head.method == b"CONNECT":
                self._tunnel(client, parse_authority(head.target, 0), rest)
            else:
                self._request(client, head, rest)
        except Refused as refusal:
            self._tell_once(str(refusal))
            text = f"dragoman: {refusal}\n".encode(errors="replace")
            status = f"HTTP/1.1 {refusal.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            with suppress(OSError):
                client.sendall(
                    f"{status}Content-Length: {len(text)}\r\nConnection: close\r\n\r\n".encode() + text
                )
                _drain(client)

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told and len(self._told) < MOST_REPORTS:
            self._told.add(sentence)
            self._report(f"dragoman: {sentence}")

    def connect(self, target: Target) -> socket.socket:
        """Connect to a permitted place, at a permitted address. Raises `Refused`."""
        if not is_name(target.host):
            raise Refused(
                "403 Forbidden", f"the sandbox refuses {target}: addresses are refused, names are not"
            )
        covering = [place for place in self._places if place.covers(*target)]
        if not covering:
            raise Refused(
                "403 Forbidden",
                f"the sandbox refuses {target}: it is not in {self._profile}; to permit it, choose "
                f"the profile {_with_place(self._profile, target)}",
            )
        is_private = any(place.private for place in covering)
        try:
            addresses = ["127.0.0.1", "::1"] if target.host == "localhost" else self._resolve(*target)
        except OSError as error:
            raise Refused(
                "502 Bad Gateway", f"{target} cannot be reached: its name is not found ({error.strerror})"
            ) from error
        judged = [address for address in addresses if is_private or is_public(address)]
        if not judged:
            raise Refused(
                "403 Forbidden",
                f"the sandbox refuses {target}: its name leads to {addresses[0]}, which is not public; "
                f"to permit that, write {target.host}/private in the profile",
            )
        try:
            upstream = _dial([(address, target.port) for address in judged[:MOST_ADDRESSES]])
        except OSError as error:
            raise Refused(
                "502 Bad Gateway", f"{target} cannot be reached: {error.strerror or error}"
            ) from error
        if not is_private and upstream.getsockname()[0] == upstream.getpeername()[0]:
            upstream.close()
            raise Refused(
                "403 Forbidden",
                f"the sandbox refuses {target}: its name leads to this machine; "
                f"to permit that, write {target.host}/private in the profile",
            )
        return upstream

    def _tunnel(self, client: socket.socket, target: Target, rest: bytes) -> None:
        """Decide a tunnel by its first bytes: TLS for the name, or a request of HTTP for it."""
        with self.connect(target) as upstream:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            deadline = time.monotonic() + HEAD_SECONDS
            rest = rest or _receive(client, deadline)
            if rest[:1] != b"\x16":
                self._request_inside(client, upstream, target, rest)
                return
            try:
                hello = read_hello(rest, lambda: _receive(client, deadline))
                if server_name(hello.message) != target.host:
                    raise ValueError("the name in its TLS is another one")
            except ValueError as error:
                client.sendall(_UNKNOWN_NAME)
                _drain(client)
                self._tell_once(f"the sandbox refuses {target}: {error}")
                return
            upstream.sendall(hello.raw)
            _relay(client, upstream)

    def _request_inside(
        self, client: socket.socket, upstream: socket.socket, target: Target, rest: bytes
    ) -> None:
        raw, rest = _read_head(client, rest)
        try:
            head = parse_head(raw)
        except Refused as refusal:
            refused = f"the sandbox refuses {target}: neither TLS nor HTTP is spoken to it"
            raise Refused("403 Forbidden", refused) from refusal
        if not head.target.startswith("/") or head.method == b"CONNECT":
            raise Refused("400 Bad Request", f"a request in the tunnel to {target} names no path")
        request, missing = rewrite(head, target, head.target, rest)
        upstream.sendall(request)
        _relay(client, upstream, missing)

    def _request(self, client: socket.socket, head: Head, rest: bytes) -> None:
        target, path = split_absolute(head.target)
        request, missing = rewrite(head, target, path, rest)
        with self.connect(target) as upstream:
            upstream.sendall(request)
            _relay(client, upstream, missing)


# What clients say.


def parse_head(raw: bytes) -> Head:
    """Parse a head. Raises `Refused`."""
    first, *lines = raw.split(b"\r\n")
    request = _REQUEST.fullmatch(first)
    fields = [line.split(b":", 1) for line in lines]
    if request is None or not all(
        len(field) == 2 and _NAME.fullmatch(field[0]) and _VALUE.fullmatch(field[1]) for field in fields
    ):
        raise Refused("400 Bad Request", "a request cannot be read without doubt")
    return Head(request[1], request[2].decode(), tuple((name, value.strip(b" \t")) for name, value in fields))


def parse_authority(text: str, port: int) -> Target:
    """Parse `HOST:PORT`; `port` is the default, and 0 means that a port is required. Raises `Refused`."""
    match = _AUTHORITY.fullmatch(text)
    number = int(match[2] or port) if match else 0
    if match is None or not 0 < number < 65536:
        raise Refused("400 Bad Request", f"the sandbox refuses {text[:100]!r}: it is not a name with a port")
    return Target(match[1].lower().removesuffix("."), number)


def split_absolute(text: str) -> tuple[Target, str]:
    """Return host and path of `http://HOST/PATH`. Raises `Refused`."""
    scheme, _, rest = text.partition("://")
    if scheme.lower() != "http":
        raise Refused("400 Bad Request", f"the proxy of the sandbox got {text[:100]!r}, not http://…")
    authority = re.split("[/?#]", rest, maxsplit=1)[0]
    path = rest[len(authority) :].partition("#")[0]
    return parse_authority(authority, 80), path if path.startswith("/") else f"/{path}"


def rewrite(head: Head, target: Target, path: str, rest: bytes) -> tuple[bytes, int]:
    """Return the request to send, with the received part of its body, and the number of missing bytes. It
    announces that no other request follows. Raises `Refused`.
    """
    hosts = head.values(b"host")
    if len(hosts) != 1 or parse_authority(hosts[0].decode("latin-1"), 80) != target:
        raise Refused("400 Bad Request", f"a request to {target} names another host, or none, or several")
    if head.values(b"transfer-encoding"):
        raise Refused("411 Length Required", f"a request to {target} does not say how long its body is")
    lengths = head.values(b"content-length")
    if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
        raise Refused("400 Bad Request", f"a request to {target} has an invalid length")
    body = rest[: int(lengths[0]) if lengths else 0]
    lines = [b"%s %s HTTP/1.1" % (head.method, path.encode()), b"Host: " + hosts[0]]
    lines += [b"%s: %s" % field for field in head.fields if field[0].lower() not in _BETWEEN_TWO]
    missing = int(lengths[0]) - len(body) if lengths else 0
    return b"\r\n".join([*lines, b"Connection: close", b"", body]), missing


class Hello(NamedTuple):
    """The first message of TLS: the received bytes, and the message in them."""

    raw: bytes
    message: bytes


def read_hello(raw: bytes, more: Callable[[], bytes]) -> Hello:
    """Read a whole ClientHello, in any number of records. Raises `ValueError`."""
    message, at = b"", 0
    while True:
        while len(raw) < at + 5 or len(raw) < at + 5 + int.from_bytes(raw[at + 3 : at + 5], "big"):
            if len(raw) > HEAD_BYTES:
                raise ValueError("its TLS begins with a message that is too long")
            raw += more()
        size = int.from_bytes(raw[at + 3 : at + 5], "big")
        if raw[at] != 0x16 or raw[at + 1] != 3 or not 0 < size <= 1 << 14:
            raise ValueError("its data is not TLS")
        message += raw[at + 5 : at + 5 + size]
        at += 5 + size
        if message[0] != 1:
            raise ValueError("its data is not TLS")
        if len(message) >= 4 and len(message) >= 4 + (length := int.from_bytes(message[1:4], "big")):
            if len(message) != 4 + length:
                raise ValueError("its TLS has more in the first message than belongs there")
            return Hello(raw, message[4:])


def server_name(message: bytes) -> str:
    """Return the one name in a ClientHello. Raises `ValueError` if there is none, or more than one."""
    view = _Bytes(message)
    view.take(34)  # version and random
    for size in (1, 2, 1):  # session, ciphers, compressions
        view.block(size)
    extensions = _Bytes(view.block(2))
    if view.rest:
        raise ValueError("its TLS cannot be read")
    names = []
    while extensions.rest:
        kind, content = int.from_bytes(extensions.take(2), "big"), _Bytes(extensions.block(2))
        if kind == 0:
            entries = _Bytes(content.block(2))
            while entries.rest:
                if entries.take(1) != b"\0":
                    raise ValueError("its TLS cannot be read")
                names.append(entries.block(2))
    if len(names) != 1:
        raise ValueError(
            "its TLS does not say which name it wants" if not names else "its TLS wants two names"
        )
    return names[0].decode("latin-1").lower().removesuffix(".")


class _Bytes:
    """Bytes that are taken from the front. Raises `ValueError` when they are too few."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def take(self, count: int) -> bytes:
        if len(self.rest) < count:
            raise ValueError("its TLS cannot be read")
        data, self.rest = self.rest[:count], self.rest[count:]
        return data

    def block(self, size: int) -> bytes:
        """The bytes after a length."""
        return self.take(int.from_bytes(self.take(size), "big"))


# Sockets.


def _read_head(client: socket.socket, data: bytes) -> tuple[bytes, bytes]:
    """The head without its empty line, and what came behind it."""
    deadline = time.monotonic() + HEAD_SECONDS
    while b"\r\n\r\n" not in data:
        if len(data) > HEAD_BYTES:
            raise Refused("431 Request Header Fields Too Large", "a request has a head that is too long")
        data += _receive(client, deadline)
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _receive(client: socket.socket, deadline: float) -> bytes:
    """Raises `OSError` at the deadline, and at the end."""
    client.settimeout(max(0.001, deadline - time.monotonic()))
    data = client.recv(CHUNK)
    if not data:
        raise ConnectionResetError
    client.settimeout(HEAD_SECONDS)
    return data


def _resolve(host: str, port: int) -> list[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _dial(addresses: Sequence[tuple[str, int]]) -> socket.socket:
    """The first that answers. Raises the last one's `OSError`."""
    failure: OSError | None = None
    for address, port in addresses:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        upstream = socket.socket(family, socket.SOCK_STREAM)
        try:
            upstream.settimeout(CONNECT_SECONDS)
            upstream.connect((address, port))
            upstream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return upstream
        except OSError as error:
            failure = error
            upstream.close()
    raise failure or OSError("there is no address")


def _relay(client: socket.socket, upstream: socket.socket, most: int = sys.maxsize) -> None:
    """Both directions at once, until the other side has ended; `most` is what the client may still say."""
    client.settimeout(None)
    upstream.settimeout(None)
    threading.Thread(target=_copy, args=(client, upstream, most), daemon=True).start()
    try:
        _copy(upstream, client, sys.maxsize)
    finally:
        with suppress(OSError):  # the other direction ends with it
            client.shutdown(socket.SHUT_RDWR)


def _copy(source: socket.socket, sink: socket.socket, most: int) -> None:
    """So many bytes, and the end, however it comes: who breaks off a request that is silent ends it."""
    try:
        while data := source.recv(CHUNK):
            if part := data[:most]:
                sink.sendall(part)
                most -= len(part)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        for end in (source, sink):
            with suppress(OSError):  # it may be closed already
                end.shutdown(socket.SHUT_RDWR)


def _drain(client: socket.socket) -> None:
    """Read for another moment: closing a socket with unread bytes would discard the last sent data."""
    client.shutdown(socket.SHUT_WR)
    client.settimeout(1.0)
    deadline = time.monotonic() + 1.0
    while time.monotonic() < deadline and client.recv(CHUNK):
        pass


# What is told.


def _with_place(profile: str, target: Target) -> str:
    """The profile that would permit it."""
    place = target.host if target.port in (80, 443) else str(target)
    if "+net:" in profile:
        return profile.replace("+net:", f"+net:{place},", 1)
    return profile.replace("+net", f"+net:{place}", 1)


def _tell(sentence: str) -> None:
    """On the standard error of the command."""
    with suppress(OSError):
        os.write(2, sentence.encode(errors="replace") + b"\n")

"""The proxy of a filtered network: what a hostile client says to it, and what reaches a server."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from dragoman.testing.pace import patience
from dragoman_local.sandbox import proxy
from dragoman_local.sandbox.destinations import parse_destination
from dragoman_local.sandbox.proxy import Bridge, Proxy, Target, read_hello, server_name
from tests.every import every

NAME = "api.example"


class Upstream:
    """A server that keeps what it was told, and answers each connection with one line."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.heard: list[bytes] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            client, _ = self.listener.accept()
            with client, suppress(OSError):
                client.settimeout(patience(10))  # the first word may take a while
                said = b""
                with suppress(TimeoutError):
                    while chunk := client.recv(65536):
                        said += chunk
                        client.settimeout(0.2)
                        if said == b"stop":
                            return
                self.heard.append(said)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"stop")
        self._thread.join()
        self.listener.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Upstream]:
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def upstream(server: Upstream) -> Upstream:
    server.heard.clear()
    return server


def proxy_for(*places: str, leads_to: str = "127.0.0.1", told: list[str] | None = None) -> Proxy:
    profile = f"workspace+net:{','.join(places)}"
    heard = [] if told is None else told
    destinations = [parse_destination(place) for place in places]
    return Proxy(destinations, profile, report=heard.append, resolve=lambda host, port: [leads_to])


@contextmanager
def client_of(house: Proxy) -> Iterator[socket.socket]:
    """Our end of a connection that the proxy answers."""
    ours, theirs = socket.socketpair()

    def answer() -> None:
        with theirs, suppress(OSError):
            house.answer(theirs)

    thread = threading.Thread(target=answer)
    thread.start()
    with ours:
        ours.settimeout(patience(10))
        yield ours
    thread.join()


def said_to(house: Proxy, data: bytes) -> bytes:
    """All that comes back for these bytes."""
    with client_of(house) as client:
        client.sendall(data)
        return b"".join(iter(lambda: client.recv(65536), b""))


def hello_of(name: str | None) -> bytes:
    """What a real client of TLS says first."""
    context = ssl.create_default_context()
    context.check_hostname = False
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    connection = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with suppress(ssl.SSLWantReadError):
        connection.do_handshake()
    return outgoing.read()


def connect(port: int, name: str = NAME) -> bytes:
    return f"CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n\r\n".encode()


ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


# What passes.


def test_tls_for_the_name_passes_to_the_byte(upstream: Upstream) -> None:
    house = proxy_for(f"{NAME}:{upstream.port}/private")
    hello = hello_of(NAME)
    answer = said_to(house, connect(upstream.port) + hello + b"rest")
    assert upstream.heard == [hello + b"rest"]
    assert answer.startswith(ESTABLISHED + b"HTTP/1.1 200 OK")


def test_a_request_is_written_anew_with_its_body_and_no_other_one_behind_it(upstream: Upstream) -> None:
    place = f"{NAME}:{upstream.port}"
    request = (
        f"POST http://{place}/path?q#part HTTP/1.1\r\nHost: {place}\r\nProxy-Authorization: secret\r\n"
        "Connection: keep-alive, content-length\r\nX-Kept: yes\r\nContent-Length: 4\r\n\r\nbody"
        f"GET http://elsewhere.example/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n"
    )
    assert b"200 OK" in said_to(proxy_for(place + "/private"), request.encode())
    assert upstream.heard == [
        f"POST /path?q HTTP/1.1\r\nHost: {place}\r\nX-Kept: yes\r\nContent-Length: 4\r\n"
        "Connection: close\r\n\r\nbody".encode()
    ]


def test_a_head_that_is_hard_to_read_is_read_at_once() -> None:
    """A pattern that tries each blank in several ways would take years, and nobody else would be served."""
    hard = b"GET http://api.example/ HTTP/1.1\r\nX:" + b" \t" * 30_000 + b"\1\r\n\r\n"
    assert b"400" in said_to(proxy_for(NAME), hard)


def test_a_request_may_come_through_a_tunnel_and_its_body_in_pieces(upstream: Upstream) -> None:
    house = proxy_for(f"*.example:{upstream.port}/private".replace("*.example", NAME))
    with client_of(house) as client:
        client.sendall(connect(upstream.port))
        assert client.recv(100) == ESTABLISHED
        for part in (b"PUT /x HTTP/1.1\r\nHo", f"st: {NAME}:{upstream.port}\r\n".encode()):
            client.sendall(part)
        for part in (b"Content-Length: 6\r\n\r\n", b"one", b"two", b"three"):
            client.sendall(part)
        assert b"200 OK" in b"".join(iter(lambda: client.recv(65536), b""))
    assert upstream.heard[0].endswith(b"Connection: close\r\n\r\nonetwo")


def test_localhost_is_this_machine_at_the_port_that_is_permitted(upstream: Upstream) -> None:
    house = proxy_for(f"localhost:{upstream.port}", leads_to="192.0.2.1")
    place = f"localhost:{upstream.port}"
    assert b"200 OK" in said_to(house, f"GET http://{place}/ HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
    assert b"403" in said_to(house, b"GET http://localhost:1/ HTTP/1.1\r\nHost: localhost:1\r\n\r\n")


def sends_at_once(end: socket.socket) -> bool:
    return end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0


def test_small_writes_to_a_server_do_not_wait_for_each_other() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        proxy._dial([server.getsockname()]) as upstream,
    ):
        assert sends_at_once(upstream)


@every(
    ("is_bridge", "is_reset"),
    [(is_bridge, is_reset) for is_bridge in (True, False) for is_reset in (True, False)],
)
def test_who_breaks_off_a_request_that_is_silent_breaks_it_off_at_the_server(
    is_bridge: bool, is_reset: bool
) -> None:
    """A model that thinks must hear of a cancel."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as entry:
        port = server.getsockname()[1]
        client = socket.create_connection(entry.getsockname())
        theirs, _ = entry.accept()
        house = proxy_for(f"localhost:{port}")
        way = Bridge(port) if is_bridge else house.answer
        thread = threading.Thread(target=house._attend, args=(theirs, way))
        house._room.acquire()
        thread.start()
        client.sendall(f"GET http://localhost:{port}/ HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n".encode())
        with server.accept()[0] as heard:
            heard.settimeout(patience(5))
            assert heard.recv(1000).startswith(b"GET ")
            assert sends_at_once(theirs)
            if is_reset:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()
            assert heard.recv(1000) == b""
        thread.join()


# What does not. Each is tried with a proxy that permits NAME at the server's port; PORT stands for it.

HOSTILE = {
    "another name": b"CONNECT evil.example:PORT HTTP/1.1\r\n\r\n",
    "another port": b"CONNECT api.example:22 HTTP/1.1\r\n\r\n",
    "a name above": b"CONNECT example:PORT HTTP/1.1\r\n\r\n",
    "a name below": b"CONNECT x.api.example:PORT HTTP/1.1\r\n\r\n",
    "a name that ends alike": b"CONNECT evilapi.example:PORT HTTP/1.1\r\n\r\n",
    "this machine by address": b"CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n",
    "this machine by a short address": b"CONNECT 127.1:PORT HTTP/1.1\r\n\r\n",
    "this machine by a number": b"CONNECT 2130706433:PORT HTTP/1.1\r\n\r\n",
    "this machine by a hexadecimal number": b"CONNECT 0x7f000001:PORT HTTP/1.1\r\n\r\n",
    "this machine by octal numbers": b"CONNECT 0177.0.0.1:PORT HTTP/1.1\r\n\r\n",
    "this machine by zero": b"CONNECT 0:PORT HTTP/1.1\r\n\r\n",
    "this machine by IPv6": b"CONNECT [::1]:PORT HTTP/1.1\r\n\r\n",
    "this machine by a mapped address": b"CONNECT [::ffff:127.0.0.1]:PORT HTTP/1.1\r\n\r\n",
    "this machine by name": b"CONNECT localhost:PORT HTTP/1.1\r\n\r\n",
    "this machine by name with a dot": b"CONNECT localhost.:PORT HTTP/1.1\r\n\r\n",
    "no port": b"CONNECT api.example HTTP/1.1\r\n\r\n",
    "no host": b"CONNECT :PORT HTTP/1.1\r\n\r\n",
    "a port that is too large": b"CONNECT api.example:99999 HTTP/1.1\r\n\r\n",
    "a user before the host": b"CONNECT api.example:PORT@evil.example:PORT HTTP/1.1\r\n\r\n",
    "a path behind the host": b"CONNECT api.example:PORT/evil HTTP/1.1\r\n\r\n",
    "a null in the name": b"CONNECT api.example\0.evil:PORT HTTP/1.1\r\n\r\n",
    "a percent in the name": b"CONNECT api.example%00.evil:PORT HTTP/1.1\r\n\r\n",
    "a space in the name": b"CONNECT api.example :PORT HTTP/1.1\r\n\r\n",
    "a name in other letters": "CONNECT ａpi.example:PORT HTTP/1.1\r\n\r\n".encode(),
    "a user before an absolute host": b"GET http://api.example:1@evil.example/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a backslash before the host": b"GET http://evil.example\\@api.example:PORT/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "another host in the field": b"GET http://api.example:PORT/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "two fields of the host": (
        b"GET http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nHost: evil.example\r\n\r\n"
    ),
    "no field of the host": b"GET http://api.example:PORT/ HTTP/1.1\r\n\r\n",
    "a host without a scheme": b"GET api.example:PORT HTTP/1.1\r\nHost: api.example:PORT\r\n\r\n",
    "a path alone": b"GET / HTTP/1.1\r\nHost: api.example:PORT\r\n\r\n",
    "another scheme": b"GET ftp://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\n\r\n",
    "a file": b"GET file:///etc/passwd HTTP/1.1\r\nHost: api.example:PORT\r\n\r\n",
    "two lengths": (
        b"POST http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\n"
        b"Content-Length: 3\r\nContent-Length: 30\r\n\r\nabcGET / HTTP/1.1\r\n\r\n"
    ),
    "a list of lengths": (
        b"POST http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nContent-Length: 3,30\r\n\r\nabc"
    ),
    "a length with a sign": (
        b"POST http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nContent-Length: +3\r\n\r\nabc"
    ),
    "a length and chunks": (
        b"POST http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nContent-Length: 3\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"
    ),
    "chunks behind a tab": (
        b"POST http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\n"
        b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n"
    ),
    "a field with a space before its colon": (
        b"GET http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nContent-Length : 3\r\n\r\nabc"
    ),
    "a field that goes on in the next line": (
        b"GET http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nX: a\r\n Host: evil\r\n\r\n"
    ),
    "a field with a lone line feed": (
        b"GET http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nX: a\nHost: evil\r\n\r\n"
    ),
    "a field with a lone carriage return": (
        b"GET http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nX: a\rHost: evil\r\n\r\n"
    ),
    "a field with a null": (
        b"GET http://api.example:PORT/ HTTP/1.1\r\nHost: api.example:PORT\r\nX: a\0b\r\n\r\n"
    ),
    "a line break in the path": b"GET http://api.example:PORT/\nHost:evil HTTP/1.1\r\nHost: x\r\n\r\n",
    "version 2 in the open": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "version 0.9": b"GET http://api.example:PORT/\r\n\r\n",
    "what is not HTTP": b"SSH-2.0-x\r\n\r\n",
    "what is SOCKS": b"\x05\x01\x00\r\n\r\n",
    "a head without an end": b"GET http://api.example:PORT/ HTTP/1.1\r\n" + b"X: y\r\n" * 20_000,
}


@every("name", list(HOSTILE))
def test_what_a_hostile_client_says_reaches_nobody(upstream: Upstream, name: str) -> None:
    upstream.heard.clear()
    house = proxy_for(f"{NAME}:{upstream.port}/private")
    answer = said_to(house, HOSTILE[name].replace(b"PORT", str(upstream.port).encode()))
    assert answer[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 403", b"HTTP/1.1 411", b"HTTP/1.1 431"), answer
    assert upstream.heard == []


INSIDE = {
    "another name in TLS": hello_of("evil.example"),
    "a name above in TLS": hello_of("example"),
    "no name in TLS": hello_of(None),
    "an address in TLS": hello_of("127.0.0.1"),
    "a hello cut in the middle of a record that is none": hello_of(NAME)[:60] + bytes(20_000),
    "a record that is none": b"\x16\x03\x01\x00\x00",
    "a message that is none": b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
    "a message that is too long": b"\x16\x03\x01\x40\x00\x01\xff\xff\xff" + bytes(200_000),
    "another protocol": b"SSH-2.0-x\r\n\r\n",
    "version 2 in the open": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "another host": b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    "an absolute path elsewhere": b"GET http://evil.example/ HTTP/1.1\r\nHost: api.example:PORT\r\n\r\n",
    "a tunnel in the tunnel": b"CONNECT evil.example:443 HTTP/1.1\r\nHost: api.example:PORT\r\n\r\n",
}


@every("name", list(INSIDE))
def test_what_a_hostile_client_says_in_a_tunnel_reaches_nobody(upstream: Upstream, name: str) -> None:
    upstream.heard.clear()
    house = proxy_for(f"{NAME}:{upstream.port}/private")
    data = INSIDE[name].replace(b"PORT", str(upstream.port).encode())
    with client_of(house) as client, suppress(BrokenPipeError, ConnectionResetError):
        client.sendall(connect(upstream.port))
        assert client.recv(100) == ESTABLISHED
        client.sendall(data)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer[:7] == b"\x15\x03\x01\x00\x02\x02\x70" or answer[:10] == b"HTTP/1.1 4", answer
    assert [heard for heard in upstream.heard if heard] == []


def test_a_name_that_is_said_twice_is_refused() -> None:
    """No client of ours makes one: it is put together here."""

    def block(data: bytes, size: int) -> bytes:
        return len(data).to_bytes(size, "big") + data

    name = b"\0" + block(NAME.encode(), 2)

    def message(*extensions: bytes) -> bytes:
        body = b"".join(b"\0\0" + block(extension, 2) for extension in extensions)
        return bytes(34) + block(b"", 1) + block(b"\x13\x01", 2) + block(b"\0", 1) + block(body, 2)

    assert server_name(message(block(name, 2))) == NAME
    for extensions in ((block(name, 2), block(name, 2)), (block(name + name, 2),)):
        with pytest.raises(ValueError, match="two names"):
            server_name(message(*extensions))
    for broken in (message(block(b"\1" + name[1:], 2)), message(block(name, 2)) + b"x", b"", bytes(40)):
        with pytest.raises(ValueError, match=r"cannot be read|does not say"):
            server_name(broken)


def test_the_first_message_of_tls_is_read_however_it_is_cut() -> None:
    hello = hello_of(NAME)
    message = hello[5:]
    records = b"".join(
        b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece
        for piece in (message[at : at + 7] for at in range(0, len(message), 7))
    )
    for raw in (hello, records):
        rest = [raw[at : at + 1] for at in range(1, len(raw))]
        found = read_hello(raw[:1], lambda rest=rest: rest.pop(0))  # type: ignore[misc]
        assert (found.raw, server_name(found.message)) == (raw, NAME)


# Addresses.


@every(
    "address", ["127.0.0.1", "10.0.0.7", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fd00::1", "0.0.0.0"]
)
def test_a_permitted_name_that_leads_to_a_private_address_is_refused(
    upstream: Upstream, address: str
) -> None:
    told: list[str] = []
    house = proxy_for(f"{NAME}:{upstream.port}", leads_to=address, told=told)
    assert b"403" in said_to(house, connect(upstream.port))
    assert f"leads to {address}, which is not public" in told[0]
    assert "/private" in told[0]


def test_a_name_is_looked_up_once_and_what_was_judged_is_what_is_dialled(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever owns the name may answer the second look-up with another address."""
    answers = [["1.1.1.1", "10.0.0.1"], ["127.0.0.1"]]
    dialled: list[object] = []

    def dial(addresses: object) -> socket.socket:
        dialled.append(addresses)
        raise TimeoutError(110, "timed out")

    monkeypatch.setattr(proxy, "_dial", dial)
    house = Proxy([parse_destination(NAME)], "workspace+net", resolve=lambda host, port: answers.pop(0))
    assert b"502" in said_to(house, connect(443))
    assert dialled == [[("1.1.1.1", 443)]]
    assert answers == [["127.0.0.1"]]


def test_an_address_of_this_machine_that_looks_public_is_refused(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "is_public", lambda address: True)
    told: list[str] = []
    assert b"403" in said_to(proxy_for(f"{NAME}:{upstream.port}", told=told), connect(upstream.port))
    assert "leads to this machine" in told[0]
    assert [heard for heard in upstream.heard if heard] == []


class FarSocket(socket.socket):
    def getpeername(self) -> tuple[str, int]:
        return "1.1.1.1", 443  # as it would be on another machine


def test_a_public_address_of_a_permitted_name_is_reached(
    upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    near = socket.create_connection(("127.0.0.1", upstream.port))
    monkeypatch.setattr(proxy, "_dial", lambda _: FarSocket(fileno=near.detach()))
    house = proxy_for(f"{NAME}:80", leads_to="1.1.1.1")
    request = f"GET http://{NAME}/a/b?c=/d HTTP/1.1\r\nHost: {NAME}\r\n\r\n".encode()
    assert said_to(house, request).endswith(b"hi")
    assert upstream.heard[0].startswith(b"GET /a/b?c=/d HTTP/1.1\r\n")


# What is told.


def test_a_refusal_is_told_once_with_the_profile_that_would_permit_it() -> None:
    told: list[str] = []
    house = proxy_for("a.example", told=told)
    answers = {said_to(house, connect(8443, "b.example")) for _ in range(3)}
    assert told == [
        "dragoman: the sandbox refuses b.example:8443: it is not in workspace+net:a.example; "
        "to permit it, choose the profile workspace+net:b.example:8443,a.example"
    ]
    assert told[0].encode() in answers.pop()


def test_a_command_that_tries_everything_does_not_fill_its_output() -> None:
    told: list[str] = []
    house = proxy_for("a.example", told=told)
    for port in range(1, 200):
        house._tell_once(str(port))
    assert len(told) == proxy.MOST_REPORTS


@every(
    ("profile", "expected"),
    [
        ("workspace+net", "workspace+net:b.example"),
        ("workspace+net+cpu:5", "workspace+net:b.example+cpu:5"),
        ("workspace+net:a.example+cpu:5", "workspace+net:b.example,a.example+cpu:5"),
    ],
)
def test_the_profile_with_one_more_place_keeps_all_else(profile: str, expected: str) -> None:
    assert proxy._with_place(profile, Target("b.example", 443)) == expected


# Bounds.


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "HEAD_SECONDS", 0.2)


@pytest.mark.usefixtures("hurried")
@every("first", [b"", b"GET http://", connect(443)[:-2]])
def test_a_client_that_is_slow_with_its_head_gets_nothing(first: bytes) -> None:
    assert said_to(proxy_for(NAME), first) == b""


@pytest.mark.usefixtures("hurried")
def test_a_client_that_is_slow_with_its_first_message_gets_nothing(upstream: Upstream) -> None:
    house = proxy_for(f"{NAME}:{upstream.port}/private")
    assert said_to(house, connect(upstream.port) + hello_of(NAME)[:40]) == ESTABLISHED


def test_connections_are_bounded_and_whoever_is_too_many_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "MOST_CONNECTIONS", 2)
    house = proxy_for(NAME)
    started, going = threading.Semaphore(0), threading.Semaphore(0)

    def way(client: socket.socket) -> None:
        started.release()
        going.acquire()

    listener = socket.create_server(("127.0.0.1", 0))
    serving = threading.Thread(target=house.serve, args=(listener, way))
    serving.start()
    clients = [socket.create_connection(listener.getsockname()) for _ in range(4)]
    assert [started.acquire(timeout=patience(5)) for _ in range(2)] == [True, True]
    assert not started.acquire(timeout=0.1)
    going.release()
    assert started.acquire(timeout=patience(5))
    for _ in range(4):
        going.release()
    assert started.acquire(timeout=patience(5))
    listener.shutdown(socket.SHUT_RDWR)
    serving.join()
    for each in (*clients, listener):
        each.close()

"""Sends to a push service: checks its address, and makes one POST request.

A device names the address, so it is somebody else's word: it must be https, and what it resolves to must be
an address of the public internet, unless the operator allows others (`push.private`); plain http to this
machine is allowed then too. The connection goes to the very address that was checked. Redirects are not
followed, an answer is read up to its head alone, and each request has a deadline.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
import ssl
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from msgspec import Struct

LONGEST = 2048
DEADLINE = 20.0
"""The seconds for a whole request: name, connection, answer."""

HEAD = 16 * 1024
MOST_ADDRESSES = 3
"""The most addresses of one name to try, in order."""

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b")
_RETRY_AFTER = re.compile(rb"^retry-after:[ \t]*(\d{1,9})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


class BadEndpoint(Exception):
    """The hub refuses this address; the text gives the reason."""


class PushAnswer(Struct, frozen=True):
    """The push service's answer."""

    status: int
    retry_after: float = 0.0
    """The seconds that it asks us to wait; 0 if unknown."""


class PushEndpoint(Struct, frozen=True, kw_only=True):
    """A parsed address."""

    host: str
    port: int
    path: str
    is_secure: bool
    netloc: str


def parse_endpoint(url: str, *, may_be_private: bool = False) -> PushEndpoint:
    """Parse an address. Raises `BadEndpoint` if its text alone is a reason to refuse it."""
    if len(url) > LONGEST or any(not "!" <= character <= "~" for character in url):
        raise BadEndpoint(f"the endpoint must be an address of at most {LONGEST} ASCII characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadEndpoint("the endpoint is not an address") from None
    host = parts.hostname or ""
    if not host or "@" in parts.netloc:
        raise BadEndpoint("the endpoint must name a host, and no user")
    is_secure = parts.scheme == "https"
    is_local_http = parts.scheme == "http" and may_be_private and _is_loopback(host)
    if not (is_secure or is_local_http):
        raise BadEndpoint("the endpoint must be an https address")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    endpoint = PushEndpoint(
        host=host,
        port=port or (443 if is_secure else 80),
        path=path,
        is_secure=is_secure,
        netloc=parts.netloc,
    )
    literal = _literal(host)
    if literal is not None and not may_be_private and not is_public(literal):
        raise BadEndpoint(f"the endpoint leads to {host}, which is not an address of the public internet")
    return endpoint


def _literal(host: str) -> str | None:
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    literal = _literal(host)
    return host == "localhost" or (literal is not None and ipaddress.ip_address(literal).is_loopback)


def is_public(address: str) -> bool:
    """Whether an address is on the public internet. For IPv6, only global unicast addresses are, and forms of
    an IPv4 address count as that address. Tunnels, and all unknown addresses, are not public.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        is_native = ip in _GLOBAL_UNICAST and ip.is_global and not (ip.sixtofour or ip.teredo)
        inner = ipaddress.IPv4Address(ip.packed[-4:]) if ip in _NAT64 else ip.ipv4_mapped
        if inner is None:
            return is_native
        ip = inner
    return ip.is_global and not ip.is_multicast and ip not in _SPECIAL


_GLOBAL_UNICAST = ipaddress.ip_network("2000::/3")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SPECIAL = ipaddress.ip_network("192.0.0.0/24")
"""Addresses for protocols. Python calls some of them global, which no push service has."""


async def resolve(endpoint: PushEndpoint, *, may_be_private: bool = False) -> list[str]:
    """Return the addresses to try. Raises `BadEndpoint` if one is not public, `OSError` if there are none."""
    loop = asyncio.get_running_loop()
    results = await loop.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in results))
    if not may_be_private and (private := [address for address in addresses if not is_public(address)]):
        raise BadEndpoint(
            f"{endpoint.host} leads to {private[0]}, which is not an address of the public internet"
        )
    return addresses[:MOST_ADDRESSES]


async def post(
    url: str, body: bytes, headers: Mapping[str, str], *, may_be_private: bool = False
) -> PushAnswer:
    """Send a POST request. Raises `BadEndpoint`, `OSError` (also TLS) or `TimeoutError`."""
    endpoint = parse_endpoint(url, may_be_private=may_be_private)
    async with asyncio.timeout(DEADLINE):
        addresses = await resolve(endpoint, may_be_private=may_be_private)
        reader, writer = await _connect(endpoint, addresses)
        try:
            writer.write(_head(endpoint, headers, len(body)) + body)
            await writer.drain()
            return _read_answer(await reader.readuntil(b"\r\n\r\n"))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise ConnectionError(f"{endpoint.host} gave no answer that can be read: {error}") from None
        finally:
            writer.transport.abort()  # nothing else of it is read


async def _connect(
    endpoint: PushEndpoint, addresses: list[str]
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    failure: OSError = ConnectionError(f"{endpoint.host} has no address")
    for address in addresses:
        try:
            if endpoint.is_secure:
                return await asyncio.open_connection(
                    address, endpoint.port, ssl=_tls(), server_hostname=endpoint.host, limit=HEAD
                )
            return await asyncio.open_connection(address, endpoint.port, limit=HEAD)
        except OSError as error:
            failure = error
    raise failure


@lru_cache(maxsize=1)
def _tls() -> ssl.SSLContext:
    return ssl.create_default_context()


def _head(endpoint: PushEndpoint, headers: Mapping[str, str], length: int) -> bytes:
    lines = {**headers, "Host": endpoint.netloc, "Content-Length": str(length), "Connection": "close"}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"POST {endpoint.path} HTTP/1.1\r\n{text}\r\n".encode("ascii")


def _read_answer(head: bytes) -> PushAnswer:
    status = _STATUS.match(head)
    if status is None:
        raise ConnectionError("the push service did not answer in HTTP")
    wait = _RETRY_AFTER.search(head)
    return PushAnswer(int(status[1]), float(wait[1]) if wait else 0.0)

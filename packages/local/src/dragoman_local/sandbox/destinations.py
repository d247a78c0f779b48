"""The network hosts and ports that a profile permits, and the addresses that are never permitted.

A place is written `HOST`, which means its ports 80 and 443, or `HOST:PORT`. `*.HOST` means every name below
it. `/private` behind it permits addresses of a private network or of this machine. `localhost:PORT` is a port
of this machine. Made of the standard library alone: the proxy reads it in a process that has nothing else.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

USUAL_PORTS = (80, 443)

MOST = 200
"""The most places in one profile."""

_LABEL = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PLACE = re.compile(r"(?P<host>[^:/\s]+)(?::(?P<port>[0-9]{1,5}))?(?P<private>/private)?", re.ASCII)

_TRANSLATION = ipaddress.ip_network("64:ff9b::/96")
_OF_PROVIDERS = frozenset({ipaddress.ip_address("168.63.129.16")})
"""A cloud's own services, at an address that looks public."""


class Destination(NamedTuple):
    """One host and port. Port 0 means the usual ports."""

    host: str
    port: int
    private: bool

    def covers(self, host: str, port: int) -> bool:
        if port != self.port and (self.port or port not in USUAL_PORTS):
            return False
        return host.endswith(self.host[1:]) if self.host.startswith("*.") else host == self.host


def parse_destination(text: str) -> Destination:
    """Parse a destination; raises `ValueError` with the mistake."""
    match = _PLACE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a place of the network: write HOST, HOST:PORT or *.HOST")
    host, port = match["host"].lower().rstrip("."), int(match["port"] or 0)
    if match["port"] and not 0 < port < 65536:
        raise ValueError(f"{text!r} has no port between 1 and 65535")
    if host == "localhost":
        if not port:
            raise ValueError("localhost needs a port: write localhost:PORT")
        return Destination(host, port, private=True)
    name = host.removeprefix("*.")
    if not is_name(name):
        raise ValueError(f"{text!r} is not a name of a host: addresses are not permitted, names are")
    if name != host and "." not in name:
        raise ValueError(f"{text!r} is too wide: name at least two parts, as in *.example.org")
    return Destination(host, port, private=match["private"] is not None)


def is_name(host: str) -> bool:
    """Whether it can be looked up as a name. A text that a system would read as an address, such as `127.1`
    or `0x7f000001`, can't: no top-level domain begins with a digit.
    """
    if len(host) > 253 or not _NAME.fullmatch(host):
        return False
    return not host.rpartition(".")[2][0].isdigit()


def is_public(address: str) -> bool:
    """Whether an address is on the internet, and not of this machine, its network or its provider."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (ip.teredo[1] if ip.teredo else None)
        if ip in _TRANSLATION:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip.is_site_local:
            return False
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and ip not in _OF_PROVIDERS

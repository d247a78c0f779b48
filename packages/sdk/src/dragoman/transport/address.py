"""The address of a peer, as one string: a command line, `stdio:`, `unix:/path`, or a network address.

    python3 agent.py --fast      a program to start
    stdio:                       our own standard input and output
    unix:/run/agent.sock         a socket on this machine
    ws://host/acp, https://…     a server on the network

Only the form is read here; nothing is opened, looked up or checked for existence.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING

from msgspec import Struct

from dragoman.errors import LocalMistake

if TYPE_CHECKING:  # who only reads an address does not pay for transports
    from dragoman.transport.contract import TransportLimits
    from dragoman.transport.messages import MessageTransport

SCHEME = re.compile(r"([a-z][a-z0-9+.]+):", re.ASCII)
"""At least two lower case letters: `C:\\agent.exe` and `FOO:bar` are commands."""

NEEDED = {
    "ws": ("websockets", "ws"),
    "wss": ("websockets", "ws"),
    "http": ("httpx2", "http"),
    "https": ("httpx2", "http"),
}
"""Schemes that the SDK does not support alone: the package and the extra that each needs."""


class CommandAddress(Struct, frozen=True):
    """A program to start, as the words of its command."""

    command: tuple[str, ...]

    def __str__(self) -> str:
        return shlex.join(self.command)


class StdioAddress(Struct, frozen=True):
    """This process's standard input and output."""

    def __str__(self) -> str:
        return "stdio:"


class UnixAddress(Struct, frozen=True):
    """A Unix socket."""

    path: str

    def __str__(self) -> str:
        return f"unix:{self.path}"


class RemoteAddress(Struct, frozen=True):
    """A server on the network."""

    url: str

    def __str__(self) -> str:
        return self.url


Address = CommandAddress | StdioAddress | UnixAddress | RemoteAddress


def parse_address(text: str) -> Address:
    """Parse an address; raise `LocalMistake` with the mistake and a correct form."""
    text = text.strip()
    scheme = match[1] if (match := SCHEME.match(text)) else ""
    rest = text[len(scheme) + 1 :]
    if scheme == "stdio":
        if rest:
            raise LocalMistake(f"{text!r} is not an address: nothing follows `stdio:`")
        return StdioAddress()
    if scheme == "unix":
        return UnixAddress(_socket_path(text, rest))
    if scheme in NEEDED and rest.startswith("//"):
        package, extra = NEEDED[scheme]
        if find_spec(package) is None:
            raise LocalMistake(f"{text!r} needs {package}: pip install 'dragoman-sdk[{extra}]'")
        return RemoteAddress(text)
    if scheme and rest.startswith("//"):
        schemes = ", ".join(["stdio:", "unix:", *(f"{name}:" for name in NEEDED)])
        raise LocalMistake(f"{text!r} has an unknown scheme. Use {schemes}, or give a command")
    return CommandAddress(_words(text))


def _socket_path(text: str, rest: str) -> str:
    path = rest.removeprefix("//")
    if not path or "\0" in path:
        raise LocalMistake(f"{text!r} names no socket; write unix:/path/to/socket")
    return path


def _words(text: str) -> tuple[str, ...]:
    try:
        # Windows' paths are full of backslashes, which POSIX rules would swallow.
        words = (
            shlex.split(text)
            if os.name != "nt"
            else [word.strip('"') for word in shlex.split(text, posix=False)]
        )
    except ValueError as error:
        raise LocalMistake(f"{text!r} is not a command line: {str(error).lower()}") from error
    if not words:
        raise LocalMistake("an empty address: give a command, `stdio:` or `unix:/path`")
    return tuple(words)


def remote(
    address: str, *, headers: Mapping[str, str] | None = None, limits: TransportLimits | None = None
) -> MessageTransport:
    """Return a transport that connects when it is first used. Needs a running loop."""
    from dragoman.transport.contract import DEFAULT_LIMITS

    limits = limits or DEFAULT_LIMITS
    if not address.startswith(tuple(f"{scheme}://" for scheme in NEEDED)):
        raise LocalMistake(
            f"{address!r} is not an address of a server: they begin with ws:, wss:, http: or https:"
        )
    if address.startswith("ws"):
        from dragoman.transport.websocket import websocket

        return websocket(address, headers=headers, limits=limits)
    from dragoman.transport.http_client import open_http

    return open_http(address, headers=headers, limits=limits)

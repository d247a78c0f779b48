"""A peer on the network: `ws:` and `wss:` are WebSockets, `http:` and `https:` are Streamable HTTP.

A bearer token belongs into `headers`, never into the address: addresses are logged.
"""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.errors import LocalMistake
from dragoman.transport.contract import DEFAULT_LIMITS, Limits
from dragoman.transport.messages import MessageTransport

SCHEMES = ("ws://", "wss://", "http://", "https://")


def remote(
    address: str, *, headers: Mapping[str, str] | None = None, limits: Limits = DEFAULT_LIMITS
) -> MessageTransport:
    """A transport that connects when it is used. Needs a running loop."""
    if not address.startswith(SCHEMES):
        raise LocalMistake(f"{address!r} is no address of a server: they begin with {', '.join(SCHEMES)}")
    if address.startswith("ws"):
        from dragoman.transport.websocket import websocket

        return websocket(address, headers=headers, limits=limits)
    from dragoman.transport.http_client import open_http

    return open_http(address, headers=headers, limits=limits)

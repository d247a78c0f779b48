"""A transport to the address of a hub that survives lost connections: WebSocket or Streamable HTTP, opened
as often as needed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Awaitable, Callable, Mapping

from dragoman.sdk.resumption.transport import Backoff, ConnectionNotice, ResumingTransport
from dragoman.transport.contract import DEFAULT_LIMITS, Transport, TransportLimits
from dragoman.transport.websocket import KEEPALIVE, open_websocket

UNWELCOME = (401, 403)
"""Statuses of a final refusal: a token that is refused once is refused again."""

PASSING = (408, 425, 429)
"""Statuses of a temporary refusal: the server asks to come back later."""

KEEPALIVE_OF_SEVERAL = 3.0
"""The shorter keepalive with several nodes, where another node can be tried."""

_STATUS = re.compile(r"\bstatus (\d{3})$")


def resuming(
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    agent: str | None = None,
    give_up: float | None = None,
    limits: TransportLimits = DEFAULT_LIMITS,
    on_notice: Callable[[ConnectionNotice], None] | None = None,
    backoff: Callable[[int], float] | None = None,
) -> ResumingTransport:
    """Return a transport to the hub at this address; it opens no connection before it is started. Several
    addresses, separated by commas, are nodes with the same sessions: they are tried in turn.
    """
    return ResumingTransport(
        _opener(url, headers, limits),
        agent=agent,
        give_up=give_up,
        limits=limits,
        on_notice=on_notice,
        is_final=is_final,
        backoff=backoff or Backoff(),
    )


def _opener(
    url: str, headers: Mapping[str, str] | None, limits: TransportLimits
) -> Callable[[], Awaitable[Transport]]:
    addresses = url.split(",")
    urls = itertools.cycle(addresses)

    async def open_() -> Transport:
        address = next(urls)
        if address.startswith("ws"):
            keepalive = KEEPALIVE if len(addresses) == 1 else KEEPALIVE_OF_SEVERAL
            return await open_websocket(address, headers=headers, limits=limits, keepalive=keepalive)
        from dragoman.transport.http_client import open_http

        return open_http(address, headers=headers, limits=limits, all_or_nothing=True)

    return open_


def is_refusal(reason: BaseException | str) -> bool:
    """Whether the server refuses us for good."""
    return _status(reason) in UNWELCOME


def is_final(reason: BaseException, is_known: bool) -> bool:
    """Whether an error is final: a hub that was there once may come back, but an address that never was a
    hub's stays wrong.
    """
    status = _status(reason)
    return status in UNWELCOME or (not is_known and 400 <= status < 500 and status not in PASSING)


def _status(reason: BaseException | str) -> int:
    """The HTTP status at the end of an error text; 0 if there is none."""
    match = _STATUS.search(str(reason))
    return int(match[1]) if match is not None else 0

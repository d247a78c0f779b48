"""From a transport whose peer speaks a dialect to one that speaks v1."""

from __future__ import annotations

import logging
import socket
from datetime import UTC, datetime
from secrets import token_hex

from msgspec.structs import replace

from dragoman.dialect import Edge, Ledger, Position, Settings, Translator, make_edge
from dragoman.dialect.quirks import Quirks
from dragoman.sdk.interpreting.lending import LendingTransport
from dragoman.transport.contract import Transport

log = logging.getLogger(__name__)


def speaking(
    dialect: str,
    peer: Transport,
    *,
    position: Position,
    settings: Settings,
    ledger: Ledger,
    quirks: bool = True,
) -> Transport:
    """`peer` in v1, without its known `quirks`. A peer of v1 whose quirks may stay is left alone: nothing
    stands in between then.
    """
    if hasattr(socket, "AF_UNIX"):  # what the client lends is reached through one
        settings = replace(settings, client_tools=True)
    if not settings.nonce:
        settings = replace(settings, nonce=token_hex(4))
    if settings.clock is None:
        settings = replace(settings, clock=_now)
    edges: list[Edge] = [Quirks(position, settings, ledger)] if quirks else []
    if dialect != "v1":
        edges.append(make_edge(dialect, position, settings, ledger))
    if not edges:
        return peer
    return LendingTransport(peer, Translator(edges, ledger, on_mistake=_report))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _report(error: Exception) -> None:
    # Its text may hold what the peer said; the kind and the place are enough to find the mistake.
    trace, place = error.__traceback__, "somewhere"
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    log.error("an edge failed at %s: %s", place, type(error).__name__)

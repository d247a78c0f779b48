"""Limits the connections without a valid token: in total, and for each address.

When a bound is reached, a connection is closed to make room: the oldest one of the address that holds too
many, or the oldest one of the address that holds the most. Admitted connections are never closed for it. An
owner who connects is the newest, and is admitted by the first request; nobody can keep others out by opening
connections and saying nothing. Pure: it knows addresses and an `abort` method.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from msgspec import Struct


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """Limits for connections without a valid token, and the time limit of a request head."""

    head: float = 10.0
    """The seconds from the accept, or from the last answer, to a complete request head, with TLS."""

    unadmitted: int = 128
    """The most unadmitted connections. They need descriptors, of which many systems allow 1024."""

    unadmitted_per_address: int = 64
    """The same for one address. Browsers open six; all users behind a proxy or a router share one address."""


class Abortable(Protocol):
    """A connection that can be closed without waiting."""

    def abort(self) -> None: ...


class UnadmittedConnections:
    """All connections of one listener without a valid token, oldest first."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self._limits = limits
        self._by_address: dict[str, dict[Abortable, None]] = {}
        self._addresses: dict[Abortable, str] = {}

    def __len__(self) -> int:
        return len(self._addresses)

    def all(self) -> list[Abortable]:
        """All of them, the oldest first."""
        return list(self._addresses)

    def add(self, connection: Abortable, address: str) -> int:
        """Add a new connection; return how many were closed to make room for it (0 or 1)."""
        same = self._by_address.get(address, {})
        count = 0
        if len(same) >= self._limits.unadmitted_per_address:
            count = self._close_oldest_of(address)
        elif len(self._addresses) >= self._limits.unadmitted:
            count = self._close_oldest_of(max(self._by_address, key=self._held_by))
        self._by_address.setdefault(address, {})[connection] = None
        self._addresses[connection] = address
        return count

    def discard(self, connection: Abortable) -> None:
        """Remove a connection that was admitted or closed."""
        address = self._addresses.pop(connection, None)
        if address is None:
            return
        same = self._by_address[address]
        del same[connection]
        if not same:
            del self._by_address[address]

    def close(self, connections: Iterable[Abortable]) -> int:
        """Close those of these connections that are still unadmitted; return how many there were."""
        open_connections = [connection for connection in connections if connection in self._addresses]
        for connection in open_connections:
            self.discard(connection)
            connection.abort()
        return len(open_connections)

    def _held_by(self, address: str) -> int:
        return len(self._by_address[address])

    def _close_oldest_of(self, address: str) -> int:
        return self.close([next(iter(self._by_address[address]))])

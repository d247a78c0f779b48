"""Authorises requests: checks the token, the host name and the origin.

A page of somebody else's, opened in a browser on this machine, can reach every port of it. It cannot choose
the `Host` and `Origin` headers that its browser sends, and it does not know our token; each of the three is
asked for. Tokens are kept as hashes and compared in constant time. A browser cannot set headers on a
WebSocket, so whoever holds a token may trade it for a ticket: good once, for half a minute.

An address that keeps bringing wrong tokens is told to wait. A good token is good from there all the same:
many people share an address, and none of them shall be able to lock the others out.

Nothing here listens. Time and randomness come from the caller's side only in tests.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman_hub.gate.rates import WRONG_TOKENS, Buckets, network_of, whole_seconds
from dragoman_hub.gate.real_paths import real_paths

Scope: TypeAlias = Literal["observe", "prompt", "approve", "admin"]
INCLUDE_OBSERVE: frozenset[Scope] = frozenset({"prompt", "admin"})

ALL: frozenset[Scope] = frozenset({"observe", "prompt", "approve", "admin"})

TICKET_SECONDS = 30.0
TICKETS = 1000
"""The most open tickets."""


class AdmissionRefusal(Struct, frozen=True):
    """The reason why a request is refused; the sender only learns its status."""

    status: int
    why: str
    retry: int = 0
    """The seconds after which a retry is worth it; 0 if unknown."""
    reason: str = ""
    """The reason for the person at the other end."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Headers for an answer with this status."""
        if self.status == 401:
            return [(b"www-authenticate", b"Bearer")]
        return [(b"retry-after", str(self.retry).encode())] if self.retry else []


class Grant(Struct, frozen=True):
    """The permissions of a token."""

    name: str
    scopes: frozenset[Scope] = ALL
    agents: tuple[str, ...] = ()
    """Patterns of agents' names, in shell syntax; none means all agents."""
    roots: tuple[str, ...] = ()
    """Folders below which sessions may be, with links resolved; none means all folders."""
    token: str = ""
    """The token of that name that it came from: a rotated one is another. Reveals nothing about the token."""

    def may(self, scope: Scope) -> bool:
        """Whether the scopes allow it; `prompt` and `admin` include `observe`. `approve` does not: answering
        does not require reading the session.
        """
        return scope in self.scopes or (scope == "observe" and not self.scopes.isdisjoint(INCLUDE_OBSERVE))

    def may_use(self, agent: str) -> bool:
        return not self.agents or any(fnmatchcase(agent, pattern) for pattern in self.agents)

    def may_open(self, cwd: str) -> bool:
        """Whether a folder, with its links resolved, is a root or below one. In an event loop it uses the
        last result of `look_at`, elsewhere it reads the disk.
        """
        if not self.roots:
            return True
        if not _is_folder_name(cwd):
            return False
        real = real_paths.get(cwd)
        return real is not None and any(is_below(real, root) for root in self.roots)

    def paths_to_look_at(self, paths: Iterable[str]) -> list[str]:
        """Paths that `look_at` must resolve before `may_open` can judge them."""
        if not self.roots:
            return []
        return [path for path in paths if _is_folder_name(path) and real_paths.needs_look(path)]

    async def look_at(self, paths: Iterable[str]) -> None:
        """Resolve the folders, before `may_open` is called."""
        await real_paths.look(self.paths_to_look_at(paths))


def _is_folder_name(path: str) -> bool:
    return os.path.isabs(path) and "\0" not in path


def is_below(path: str, root: str) -> bool:
    """Compare whole names: /home/ann/app2 is not below /home/ann/app."""
    return path == root or path.startswith(root if root.endswith(os.sep) else root + os.sep)


def new_token() -> str:
    """Return a new token of 256 random bits."""
    return secrets.token_urlsafe(32)


def hash_token(token: str) -> str:
    # A token is random: nothing would be gained by a slow hash, and each request would pay for it.
    return hashlib.sha256(token.encode()).hexdigest()


class Admission:
    """Checks one request at a time. `hosts` are our host names, with their ports."""

    def __init__(
        self,
        grants: Mapping[str, Grant],
        *,
        hosts: Iterable[str],
        origins: Iterable[str] = (),
        without_token: Grant | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`without_token` is the grant of clients without a token; None gives them nothing."""
        self._grants = dict(grants)  # hash of the token → what it is good for
        self._without_token = without_token
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower() for origin in origins}
        self._tickets: dict[str, tuple[Grant, float]] = {}
        self._clock = clock
        self._wrong = Buckets(WRONG_TOKENS, clock=clock)
        self.on_used: Callable[[Grant], object] = lambda grant: None
        """Told of each grant by which somebody came in."""
        self.on_unknown: Callable[[], object] = lambda: None
        """Called before an unknown token is refused: it may have been made a moment ago."""

    def admit(
        self, headers: Mapping[bytes, bytes], *, ticket: str = "", address: str = ""
    ) -> Grant | AdmissionRefusal:
        """Admit by the headers of a request, or by a ticket, which is then used up.
        `address` is the peer's.
        """
        refusal = self.check_address(headers)
        if refusal is not None:
            return refusal
        kind, _, token = headers.get(b"authorization", b"").decode(errors="replace").partition(" ")
        if not ticket and (kind.lower() != "bearer" or not token):
            if self._without_token is not None and b"authorization" not in headers:
                return self._without_token
            return AdmissionRefusal(401, "no token was given")
        grant = self._redeem(ticket) if ticket else self._find_grant(token.strip())
        if grant is None and not ticket:
            self.on_unknown()
            grant = self._find_grant(token.strip())
        if grant is None:
            return self.refuse_wrong("an invalid ticket" if ticket else "an unknown token", address)
        self.on_used(grant)
        return grant

    def check_address(self, headers: Mapping[bytes, bytes]) -> AdmissionRefusal | None:
        """Return why a request has a wrong host, or comes from a page that is not allowed; tokens are not
        checked.
        """
        host = headers.get(b"host", b"").decode(errors="replace").lower()
        if host not in self._hosts:
            return AdmissionRefusal(421, f"a request for an unknown host: {host[:80]!r}")
        origin = headers.get(b"origin")
        if origin is not None and not self._is_ours(origin.decode(errors="replace").lower()):
            return AdmissionRefusal(403, "a page of another origin")
        return None

    def ticket(self, grant: Grant) -> str:
        """Return a ticket for a grant, which works once and for a short time."""
        now = self._clock()
        self._tickets = {key: ticket for key, ticket in self._tickets.items() if ticket[1] > now}
        while len(self._tickets) >= TICKETS:
            del self._tickets[next(iter(self._tickets))]
        ticket = new_token()
        self._tickets[hash_token(ticket)] = (grant, now + TICKET_SECONDS)
        return ticket

    def replace(self, grants: Mapping[str, Grant]) -> None:
        """Replace the tokens after a change of their file; the tickets of removed tokens are removed too."""
        self._grants = dict(grants)
        current = set(self._grants.values())
        self._tickets = {key: ticket for key, ticket in self._tickets.items() if ticket[0] in current}

    def holds(self, grant: Grant) -> bool:
        """Whether the grant of an admitted client is still valid."""
        return grant in self._grants.values()

    def grant_of(self, token: str) -> Grant | None:
        """Return the current grant of a token, by its identifier (`Grant.token`)."""
        return next((grant for grant in self._grants.values() if grant.token == token), None)

    @property
    def hosts(self) -> list[str]:
        """Our host names, with their ports."""
        return sorted(self._hosts)

    @property
    def origins(self) -> list[str]:
        """The allowed pages of other origins."""
        return sorted(self._origins)

    def rename(self, *, hosts: Iterable[str], origins: Iterable[str]) -> None:
        """Set other host names and other allowed pages."""
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower() for origin in origins}

    def refuse_wrong(self, why: str, address: str) -> AdmissionRefusal:
        """Count an invalid token or ticket against the address, which must wait after too many."""
        wait = self._wrong.take(network_of(address)) if address else 0.0
        return (
            AdmissionRefusal(429, f"{why}, once again", whole_seconds(wait))
            if wait
            else AdmissionRefusal(401, why)
        )

    def _is_ours(self, origin: str) -> bool:
        _, _, host = origin.partition("://")
        return origin in self._origins or host in self._hosts

    def _find_grant(self, token: str) -> Grant | None:
        digest, known_grants = hash_token(token), self._grants.items()
        # All of them are compared, so that time tells nothing.
        matches = [grant for known, grant in known_grants if hmac.compare_digest(known, digest)]
        return matches[0] if matches else None

    def _redeem(self, ticket: str) -> Grant | None:
        entry = self._tickets.pop(hash_token(ticket), None)
        return None if entry is None or entry[1] < self._clock() else entry[0]


def local_hosts(port: int) -> list[str]:
    """Return the names of this machine for itself."""
    return [name for host in ("127.0.0.1", "localhost", "::1") for name in names_of(host, port)]


def names_of(host: str, port: int) -> list[str]:
    """Return a host and a port as clients write them: usual ports may be left out."""
    shown_host = f"[{host}]" if ":" in host else host
    return [f"{shown_host}:{port}", shown_host] if port in (80, 443) else [f"{shown_host}:{port}"]

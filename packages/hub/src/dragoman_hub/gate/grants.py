"""The tokens of a running hub: notices changes of their file, and reports tokens that were removed.

    live = LiveGrants(store, admission, on_revoked=end_connections_of)
    live.refresh()                    # at the start, and on SIGHUP
    group.create_task(live.watch())   # looks at the file once a second; for an unknown token, at once

`on_revoked` gets names. A name may have come back with another token or other rights, so that whoever ends
connections asks `admission.holds(grant)` for each that goes by such a name. A file that cannot be read
changes nothing; one that is gone revokes everything.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from dragoman.errors import LocalMistake
from dragoman_hub.gate.admission import Admission, Grant
from dragoman_hub.gate.grants_store import Stamp, Token, TokenStore

log = logging.getLogger(__name__)

EVERY = 1.0
"""The seconds between two checks of the file: a revoked token may work for this long."""


def grants_of(tokens: Iterable[Token], now: float) -> dict[str, Grant]:
    """Return the currently valid grants, by hash, for an `Admission`."""
    return {digest: grant for token in tokens for digest, grant in token.grants(now).items()}


class LiveGrants:
    """Keeps an `Admission` up to date with the file. Starts no task by itself."""

    def __init__(
        self,
        store: TokenStore,
        admission: Admission,
        *,
        on_revoked: Callable[[frozenset[str]], None] = lambda names: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._admission = admission
        self._on_revoked = on_revoked
        self._clock = clock
        self._tokens: Sequence[Token] = ()
        self._stamp: Stamp | None = None
        self._grants: dict[str, Grant] = {}
        self._used: dict[str, str] = {}  # days that are not in the file yet
        admission.on_used = self.on_used
        admission.on_unknown = self.refresh

    def refresh(self) -> frozenset[str]:
        """Read the file again; return the names with a revoked token."""
        stamp = self._store.stamp()
        if stamp != self._stamp:
            self._stamp = stamp
            try:
                self._tokens = self._store.read()
            except LocalMistake as mistake:
                log.error("the tokens stay as they were: %s", mistake)
        # Time alone revokes too: tokens expire, and rotated ones have their grace.
        grants = grants_of(self._tokens, self._clock())
        if grants == self._grants:
            return frozenset()
        lost_grants = set(self._grants.values()) - set(grants.values())
        self._grants = grants
        self._admission.replace(grants)
        names = frozenset(grant.name for grant in lost_grants)
        if names:
            log.info("revoked or changed: %s", ", ".join(sorted(names)))
            self._on_revoked(names)
        return names

    def on_used(self, grant: Grant) -> None:
        """Note the use of a token; its day is stored once."""
        day = time.strftime("%Y-%m-%d", time.gmtime(self._clock()))
        last_days = {token.name: token.last_used for token in self._tokens}
        if grant.name in last_days and last_days[grant.name] != day:
            self._used[grant.name] = day

    async def watch(self, *, every: float = EVERY) -> None:
        """Refresh until cancelled."""
        while True:
            await asyncio.sleep(every)
            self.refresh()
            await self.note_used()

    async def note_used(self) -> None:
        """Store the new days in a thread, because it waits for the disk."""
        if not self._used:
            return
        days, self._used = self._used, {}
        try:
            await asyncio.to_thread(self._store.note_used, days)
        except (LocalMistake, OSError) as error:
            log.warning("the times when tokens were used could not be stored: %s", error)

"""Pairing: a secret that a device may exchange once, within minutes, for its own token.

    pairing, code = pairings.begin(grant, name="phone", scopes=["approve"], seconds=600)
    token = await pairings.exchange(code, device="Safari on iPhone", address="10.0.0.7")

A code is `ID.SECRET`. Only a hash of the secret is kept, in memory: a hub that is started again knows no
pairing. The first device that brings the code gets the token; a second one, a late one and a guesser are
refused. A pairing gives no more than the token that began it may do, for no longer than that token lasts, and
ends with it. Time is the hub's own, and monotonic: no clock that is set back makes a pairing longer.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.text.sanitize import sanitize_line
from dragoman_hub.gate.admission import Admission, AdmissionRefusal, Grant, Scope, hash_token
from dragoman_hub.gate.grants_store import NAME, TokenStore

log = logging.getLogger(__name__)

PairingState: TypeAlias = Literal["open", "used", "expired", "blocked", "withdrawn"]

DEVICE_SCOPES: tuple[Scope, ...] = ("observe", "prompt", "approve")
"""The default scopes of a device: everything except administering the hub."""

LEAST, MOST = 10.0, 3600.0
"""The shortest and longest time in seconds that a pairing may be open."""

PAIRINGS = 16
"""The most known pairings, including ended ones."""

WRONG_SECRETS = 5
"""Wrong secrets for one pairing before it is blocked. Nobody guesses 128 bits; a damaged
link needs one try.
"""

DEVICE_LENGTH = 60

REASONS: dict[PairingState, str] = {
    "used": "This pairing code was already used. Create a new one for each device: dragoman hub pair",
    "expired": "This pairing code has expired. Create a new one: dragoman hub pair",
    "blocked": "This pairing code was tried with wrong values too often.",
    "withdrawn": "This pairing code was withdrawn.",
}
"""The text for a device, by the state of the pairing."""


class Pairing(Struct, kw_only=True):
    """One pairing and its result."""

    id: str
    digest: str
    """The hash of the secret."""
    giver: Grant
    name: str
    scopes: tuple[Scope, ...]
    until: float
    token_seconds: float | None
    """The most seconds that the device's token is valid; None: as long as the token that
    began the pairing.
    """
    state: PairingState = "open"
    wrong: int = 0
    device: str = ""
    """The name that the device gave itself."""


class DeviceToken(Struct, frozen=True, kw_only=True):
    """The token that a device gets for its code."""

    token: str
    name: str
    scopes: tuple[Scope, ...]


class Pairings:
    """All pairings of one hub."""

    def __init__(
        self,
        admission: Admission,
        store: TokenStore,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._admission = admission
        self._store = store
        self._clock = clock
        self._pairings: dict[str, Pairing] = {}

    @property
    def hosts(self) -> list[str]:
        """The names under which a device may reach the hub."""
        return self._admission.hosts

    @property
    def origins(self) -> list[str]:
        """The pages of other hubs that may bring a code."""
        return self._admission.origins

    def begin(
        self,
        giver: Grant,
        *,
        name: str = "device",
        scopes: Iterable[Scope] = DEVICE_SCOPES,
        seconds: float = 600.0,
        token_seconds: float | None = None,
    ) -> tuple[Pairing, str]:
        """Start a pairing; its code can't be shown again. Raises `LocalMistake` for an invalid one."""
        device_scopes = tuple(sorted(set(scopes)))
        lacking = [scope for scope in device_scopes if not giver.may(scope)]
        if lacking:
            raise LocalMistake(f"a token without the scope {lacking[0]} cannot give it to a device")
        if not device_scopes or not NAME.fullmatch(name):
            raise LocalMistake(
                "a device needs a scope, and a name of up to 64 letters, digits, '.', '_', '-'"
            )
        if not LEAST <= seconds <= MOST:
            raise LocalMistake(f"a pairing is open for {LEAST:g} to {MOST:g} seconds")
        self._make_room()
        secret = secrets.token_urlsafe(16)
        pairing = Pairing(
            id=secrets.token_hex(4),
            digest=hash_token(secret),
            giver=giver,
            name=name,
            scopes=device_scopes,
            until=self._clock() + seconds,
            token_seconds=token_seconds,
        )
        self._pairings[pairing.id] = pairing
        log.info("token %s began the pairing %s for %s", giver.name, pairing.id, ", ".join(device_scopes))
        return pairing, f"{pairing.id}.{secret}"

    def find(self, pairing_id: str) -> Pairing | None:
        """Return the pairing in its current state; None if it is unknown."""
        pairing = self._pairings.get(pairing_id)
        if pairing is not None and pairing.state == "open":
            if not self._admission.holds(pairing.giver):
                pairing.state = "withdrawn"
            elif self._clock() >= pairing.until:
                pairing.state = "expired"
        return pairing

    def withdraw(self, pairing: Pairing) -> None:
        """Make the code useless; nothing changes if it was already used."""
        if pairing.state == "open":
            pairing.state = "withdrawn"

    async def exchange(self, code: str, *, device: str, address: str) -> DeviceToken | AdmissionRefusal:
        """Return the token for the first device with the code. Raises `LocalMistake` or `OSError` if it could
        not be stored; then the code is valid again.
        """
        pairing = self._redeem(code, address)
        if isinstance(pairing, AdmissionRefusal):
            return pairing
        pairing.device = sanitize_line(device, exact=True)[:DEVICE_LENGTH]
        expires = None if pairing.token_seconds is None else time.time() + pairing.token_seconds
        try:
            pairing.name, token = await asyncio.to_thread(
                self._store.add_device,
                pairing.name,
                device=pairing.device,
                scopes=pairing.scopes,
                agents=pairing.giver.agents,
                roots=pairing.giver.roots,
                expires=expires,
                giver=pairing.giver.token,
            )
        except (LocalMistake, OSError):
            pairing.state = "open"
            raise
        log.info(
            "pairing %s made the token %s (%s) for %s, by the token %s",
            pairing.id,
            pairing.name,
            ", ".join(pairing.scopes),
            pairing.device or "an unnamed device",
            pairing.giver.name,
        )
        return DeviceToken(token=token, name=pairing.name, scopes=pairing.scopes)

    def _redeem(self, code: str, address: str) -> Pairing | AdmissionRefusal:
        """Take the pairing of a code. No wait is in here: of two devices, one is first."""
        pairing_id, _, secret = code.partition(".")
        pairing = self.find(pairing_id)
        if pairing is None:
            return self._admission.refuse_wrong("an unknown pairing code", address)
        if not hmac.compare_digest(pairing.digest, hash_token(secret)):
            pairing.wrong += 1
            if pairing.wrong >= WRONG_SECRETS and pairing.state == "open":
                pairing.state = "blocked"
                log.warning("pairing %s is blocked after %d wrong secrets", pairing.id, pairing.wrong)
            return self._admission.refuse_wrong("a wrong pairing code", address)
        if pairing.state != "open":
            return AdmissionRefusal(
                410, f"a pairing code that is {pairing.state}", reason=REASONS[pairing.state]
            )
        pairing.state = "used"
        return pairing

    def _make_room(self) -> None:
        """Forget the oldest finished pairing, or else the oldest."""
        if len(self._pairings) < PAIRINGS:
            return
        for pairing_id in list(self._pairings):
            pairing = self.find(pairing_id)
            if pairing is not None and pairing.state != "open":
                break
        else:
            pairing_id = next(iter(self._pairings))
        del self._pairings[pairing_id]

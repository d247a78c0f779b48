"""`_dragoman/hub/pair…`: an administrator starts a pairing, asks for its result, and withdraws it."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import convert
from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman.wire.codes import invalid_params
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.gate.admission import Scope
from dragoman_hub.gate.pairing import DEVICE_SCOPES, Pairing, Pairings
from dragoman_hub.session.frames import value_of


class _PairParams(Struct, frozen=True, kw_only=True):
    name: str = "device"
    scopes: tuple[Scope, ...] = DEVICE_SCOPES
    seconds: float = 600.0
    """How long the code is good."""
    tokenSeconds: float | None = None
    """How long the device's token is good, at most; None: as long as the token that began it."""


class PairingMethods:
    """The three methods; the gate has checked scopes."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub

    async def begin(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`pair`: start a pairing; only this answer has the code."""
        try:
            request = convert({name: value_of(raw) for name, raw in params.items()}, _PairParams)
            pairing, code = self._pairings.begin(
                client.grant,
                name=request.name,
                scopes=request.scopes,
                seconds=request.seconds,
                token_seconds=request.tokenSeconds,
            )
        except (LocalMistake, msgspec.ValidationError) as error:
            raise invalid_params(str(error)) from None
        names = {"hosts": self._pairings.hosts, "origins": self._pairings.origins}
        return {"id": pairing.id, "code": code, "seconds": request.seconds, **names}

    async def status(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`pair/status`: return the result, and which device came; `unknown` after a restart of the hub."""
        pairing_id = client.text(params, "id")
        pairing = self._pairings.find(pairing_id)
        return {"id": pairing_id, "state": "unknown"} if pairing is None else _describe(pairing)

    async def withdraw(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`pair/withdraw`: make the code useless."""
        pairing = self._pairings.find(client.text(params, "id"))
        if pairing is not None:
            self._pairings.withdraw(pairing)
        return await self.status(client, params)

    @property
    def _pairings(self) -> Pairings:
        if self._hub.pairings is None:
            raise ErrorAnswer(-32603, "Internal error: this hub has no token file, so it can't pair devices")
        return self._hub.pairings


def _describe(pairing: Pairing) -> dict[str, Any]:
    return {
        "id": pairing.id,
        "state": pairing.state,
        "name": pairing.name,
        "device": pairing.device,
        "scopes": list(pairing.scopes),
    }

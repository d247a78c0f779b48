"""`_dragoman/hub/push…`: a device asks how to subscribe to Web Push, subscribes, and unsubscribes."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import convert
from dragoman.errors import ErrorAnswer, LocalMistake
from dragoman.wire.codes import invalid_params
from dragoman.wire.envelope import JsonObject
from dragoman_hub.clients.client import ClientHub, HubClient
from dragoman_hub.push.notifier import PushNotifier
from dragoman_hub.session.frames import value_of

NOT_OFFERED = "this hub sends no push messages"


class _Keys(Struct, frozen=True):
    p256dh: str
    auth: str


class _SubscribeParams(Struct, frozen=True):
    """As browsers write a subscription down."""

    endpoint: str
    keys: _Keys
    answers: bool = False
    """Whether it shows buttons with which permissions are answered."""


class PushMethods:
    """The three methods; scopes were checked at the gate."""

    def __init__(self, hub: ClientHub) -> None:
        self._hub = hub

    async def describe(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`push`: the key to subscribe with, or the reason why nothing is sent."""
        push = self._hub.push
        if isinstance(push, PushNotifier):
            return {"key": push.key.public}
        return {"reason": push or NOT_OFFERED}

    async def subscribe(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`push/subscribe`: the same subscription may come again, and counts once."""
        notifier = self._notifier
        try:
            request = convert({name: value_of(raw) for name, raw in params.items()}, _SubscribeParams)
            await notifier.subscribe(
                client.grant,
                endpoint=request.endpoint,
                p256dh=request.keys.p256dh,
                auth=request.keys.auth,
                answers=request.answers,
            )
        except (LocalMistake, msgspec.ValidationError) as error:
            raise invalid_params(str(error)) from None
        return {}

    async def unsubscribe(self, client: HubClient, params: dict[str, Raw]) -> JsonObject:
        """`push/unsubscribe`: whether there was one."""
        return {"removed": self._notifier.unsubscribe(client.grant, client.text(params, "endpoint"))}

    @property
    def _notifier(self) -> PushNotifier:
        push = self._hub.push
        if not isinstance(push, PushNotifier):
            raise ErrorAnswer(-32603, f"Internal error: {push or NOT_OFFERED}")
        return push

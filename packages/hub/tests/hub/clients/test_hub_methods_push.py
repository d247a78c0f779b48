"""A device subscribes to Web Push with what its browser says, and unsubscribes."""

from __future__ import annotations

from typing import Any, cast

import pytest

from dragoman.errors import LocalMistake
from dragoman_hub.clients.hub_methods import NOT_OFFERED
from dragoman_hub.gate.admission import Grant
from dragoman_hub.push.notifier import PushNotifier
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged

PUSH = "_dragoman/hub/push"
BROWSER = {"endpoint": "https://push.example/1", "keys": {"p256dh": "p", "auth": "a"}}


class Notifier(PushNotifier):
    """Notes who subscribes."""

    def __init__(self) -> None:
        self.key = cast(Any, type("Key", (), {"public": "the key"}))
        self.subscribed: list[Any] = []

    async def subscribe(self, grant: Grant, **subscription: Any) -> None:  # type: ignore[override]
        if subscription["endpoint"] == "http://push.example":
            raise LocalMistake("a push service has an https address")
        self.subscribed.append((grant.name, subscription))

    def unsubscribe(self, grant: Grant, endpoint: str) -> bool:
        return any(endpoint == each["endpoint"] for name, each in self.subscribed if name == grant.name)


@pytest.fixture
def notifier(monkeypatch: pytest.MonkeyPatch) -> Notifier:
    for name in ("on_change", "on_event", "aclose"):
        if hasattr(PushNotifier, name):
            monkeypatch.setattr(PushNotifier, name, lambda *_, **__: None)
    return Notifier()


async def test_a_device_subscribes_and_unsubscribes(notifier: Notifier) -> None:
    async with staged({"one": obedient}) as stage:
        stage.hub.push = notifier
        client = await stage.client(Grant("phone")).begin()
        assert await client.call(PUSH) == {"key": "the key"}
        assert await client.call(f"{PUSH}/subscribe", {**BROWSER, "answers": True}) == {}
        assert await client.call(f"{PUSH}/subscribe", {**BROWSER, "expirationTime": None}) == {}
        said = {"endpoint": BROWSER["endpoint"], "p256dh": "p", "auth": "a"}
        assert notifier.subscribed == [
            ("phone", {**said, "answers": True}),
            ("phone", {**said, "answers": False}),
        ]
        for endpoint, is_known in ((BROWSER["endpoint"], True), ("https://push.example/2", False)):
            removed = await client.call(f"{PUSH}/unsubscribe", {"endpoint": endpoint})
            assert removed == {"removed": is_known}
        wrong: tuple[dict[str, Any], ...] = ({}, {**BROWSER, "keys": {}}, {**BROWSER, "endpoint": 7})
        for params in (*wrong, {**BROWSER, "endpoint": "http://push.example"}):
            assert (await client.refusal(f"{PUSH}/subscribe", params))["code"] == -32602
        stage.hub.push = ""


@pytest.mark.parametrize("why", ["", "no contact is set"])
async def test_a_hub_that_sends_nothing_says_why(why: str) -> None:
    async with staged({"one": obedient}) as stage:
        stage.hub.push = why
        said = why or NOT_OFFERED
        client = await stage.client().begin()
        assert await client.call(PUSH) == {"reason": said}
        for method, params in (("subscribe", BROWSER), ("unsubscribe", {"endpoint": "x"})):
            refused = await client.refusal(f"{PUSH}/{method}", params)
            assert (refused["code"], refused["message"]) == (-32603, f"Internal error: {said}")

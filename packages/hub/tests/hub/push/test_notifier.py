"""Devices are told what they may know, by a real hub and a push service on this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import Agent
from dragoman.errors import LocalMistake
from dragoman_hub.gate.admission import Grant
from dragoman_hub.push.answers import AnswerTickets
from dragoman_hub.push.encryption import VapidKey
from dragoman_hub.push.notifier import PushNotifier, PushPaces
from dragoman_hub.push.setup import open_push
from dragoman_hub.push.subscriptions import MOST, OF_ONE_TOKEN, PushSubscription, SubscriptionStore
from tests.hub.push.push_service import BrowserKeys, PushService, push_service
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Stage, staged

pytestmark = pytest.mark.bound(30)

OWNER = Grant("owner", token="o1")


class PushScene:
    """A hub with a notifier, its service, and the keys of one browser."""

    def __init__(self, stage: Stage, service: PushService, notifier: PushNotifier, gate: Gate) -> None:
        self.stage, self.service, self.notifier, self.gate = stage, service, notifier, gate
        self.keys = BrowserKeys()

    def params(self, name: str = "phone") -> dict[str, Any]:
        return {"endpoint": self.service.url + name, "keys": self.keys.public}

    async def subscribe(self, grant: Grant, name: str, *, answers: bool = False) -> None:
        p256dh, auth = self.keys.public["p256dh"], self.keys.public["auth"]
        await self.notifier.subscribe(
            grant, endpoint=self.service.url + name, p256dh=p256dh, auth=auth, answers=answers
        )

    async def heard(self) -> tuple[str, str]:
        message, _ = await self.service.next(self.keys)
        return message["kind"], message["session"]


@asynccontextmanager
async def scene(
    tmp_path: Path,
    *grants: Grant,
    agent: Callable[[], Agent] | None = None,
    tickets: AnswerTickets | None = None,
    rules_seconds: float = 20.0,
) -> AsyncIterator[PushScene]:
    grants_by_token = {grant.token: grant for grant in grants or (OWNER,)}
    gate = Gate()
    async with push_service() as service, staged({"one": agent or (lambda: obedient(gate))}) as stage:
        notifier = PushNotifier(
            SubscriptionStore(tmp_path / "push.json"),
            VapidKey.open(tmp_path / "vapid.pem"),
            grant_of=grants_by_token.get,
            may_be_private=True,
            paces=PushPaces(ask=0.0, rules=rules_seconds, tries=(0.0, 0.0)),
        )
        notifier.tickets = tickets or notifier.tickets
        stage.hub.push = notifier
        try:
            yield PushScene(stage, service, notifier, gate)
        finally:
            stage.hub.push = "the test is over"
            await notifier.aclose()


async def test_a_question_and_an_end_are_told_and_nothing_that_was_said(tmp_path: Path) -> None:
    async with scene(tmp_path) as push:
        client = await push.stage.client(OWNER).begin()
        assert (await client.call("_dragoman/hub/push"))["key"] == push.notifier.key.public
        await client.call("_dragoman/hub/push/subscribe", push.params())
        session = await client.new("/tmp")
        client.prompt(session, "ask secret.txt")
        message, headers = await push.service.next(push.keys)
        assert message == {
            "session": session,
            "kind": "permission",
            "text": "An agent waits for your permission.",
            "about": message["about"],
        }
        assert (headers["content-encoding"], headers["urgency"]) == ("aes128gcm", "high")
        assert headers["authorization"].startswith("vapid t=")
        request = await client.asked()
        await client.call("_dragoman/hub/detach", {"sessionId": session})
        other = await push.stage.client(OWNER).begin()
        await other.call(
            "_dragoman/hub/answer",
            {
                "sessionId": session,
                "request": message["about"],
                "result": {"outcome": {"outcome": "selected", "optionId": "allow"}},
            },
        )
        assert await push.heard() == ("ended", session)
        assert request["params"]["sessionId"] == session


async def test_who_has_the_session_open_or_has_stopped_it_is_not_told_of_its_end(tmp_path: Path) -> None:
    async with scene(tmp_path) as push:
        client = await push.stage.client(OWNER).begin()
        await client.call("_dragoman/hub/push/subscribe", push.params())
        seen, stopped, left = [await client.new() for _ in range(3)]
        await client.answer(client.prompt(seen, "say 1"))
        client.prompt(stopped, "wait")
        await push.gate.waiting.wait()
        client.say({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": stopped}})
        await client.call("_dragoman/hub/detach", {"sessionId": stopped})
        push.gate.waiting.clear()
        client.prompt(left, "wait")
        await push.gate.waiting.wait()
        await client.call("_dragoman/hub/detach", {"sessionId": left})
        push.gate.open.set()
        assert await push.heard() == ("ended", left)
        assert push.service.requests.empty()


async def test_a_device_hears_what_its_token_may_see_and_nothing_once_it_is_revoked(tmp_path: Path) -> None:
    answerer = Grant("answerer", frozenset({"approve"}), token="a1")
    stranger = Grant("stranger", frozenset({"observe"}), agents=("other",), token="s1")
    async with scene(tmp_path, answerer, stranger) as push:
        for grant in (answerer, stranger, Grant("revoked", token="r1")):
            await push.subscribe(grant, grant.name)
        client = await push.stage.client(OWNER).begin()
        session = await client.new()
        client.prompt(session, "ask")
        client.allow(await client.asked())
        line, _, _ = await push.service.requests.get()
        assert line == "POST /push/answerer HTTP/1.1"
        assert [each.owner for each in push.notifier.store] == ["answerer", "stranger"]
        assert push.service.requests.empty()


async def test_a_service_that_is_busy_is_asked_again_and_one_that_forgot_the_device_is_not(
    tmp_path: Path,
) -> None:
    async with scene(tmp_path) as push:
        client = await push.stage.client(OWNER).begin()
        await client.call("_dragoman/hub/push/subscribe", push.params())
        session = await client.new()
        push.service.answers = [(503, ""), (429, "Retry-After: 0\r\n"), (201, "")]
        client.prompt(session, "ask")
        kinds = {(await push.heard())[0] for _ in range(3)}
        assert kinds == {"permission"}
        push.service.answers = [(410, "")]
        client.allow(await client.asked())
        client.prompt(session, "ask")
        await push.heard()
        await push.notifier._owner.finish(20)
        assert len(push.notifier.store) == 0
        assert (await client.call("_dragoman/hub/push/unsubscribe", push.params())) == {"removed": False}


async def test_what_is_no_subscription_is_refused_and_nobody_ends_that_of_another(tmp_path: Path) -> None:
    guest = Grant("guest", frozenset({"observe"}), token="g1")
    async with scene(tmp_path, OWNER, guest) as push:
        client = await push.stage.client(OWNER).begin()
        for params in (
            {},
            {"endpoint": push.service.url, "keys": {"p256dh": "x", "auth": "y"}},
            {"endpoint": "http://192.0.2.1/x", "keys": push.keys.public},
        ):
            assert (await client.refusal("_dragoman/hub/push/subscribe", params))["code"] == -32602
        await client.call("_dragoman/hub/push/subscribe", push.params())
        await client.call("_dragoman/hub/push/subscribe", push.params())
        other = await push.stage.client(guest).begin()
        assert (await other.call("_dragoman/hub/push/unsubscribe", push.params())) == {"removed": False}
        assert len(push.notifier.store) == 1
        assert (await client.call("_dragoman/hub/push/unsubscribe", push.params())) == {"removed": True}
        assert len(SubscriptionStore(tmp_path / "push.json")) == 0


async def test_a_hub_without_push_says_why(tmp_path: Path) -> None:
    async with staged({"one": obedient}) as stage:
        stage.hub.push = "the hub lacks cryptography"
        client = await stage.client(OWNER).begin()
        assert await client.call("_dragoman/hub/push") == {"reason": "the hub lacks cryptography"}
        refusal = await client.refusal("_dragoman/hub/push/subscribe", {})
        assert "lacks cryptography" in refusal["message"]


async def test_a_package_that_is_missing_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "dragoman_hub.push.encryption", None)
    push = open_push(tmp_path, grant_of=lambda token: None)
    assert isinstance(push, str)
    assert "cryptography: run pip install dragoman " in push


def subscription(number: int, owner: str) -> PushSubscription:
    return PushSubscription(
        endpoint=f"https://push.example/{number}",
        p256dh="",
        auth="",
        owner=owner,
        token=owner,
        created=float(number),
    )


def test_subscriptions_are_bounded_and_kept_for_their_owners_eyes(tmp_path: Path) -> None:
    path = tmp_path / "push.json"
    store = SubscriptionStore(path)
    for number in range(OF_ONE_TOKEN + 1):
        store.add(subscription(number, "ann"))
    assert len(store) == OF_ONE_TOKEN
    assert store.find("https://push.example/0") is None  # the oldest of that token
    for number in range(100, 100 + MOST - OF_ONE_TOKEN):
        store.add(subscription(number, f"token-{number}"))
    with pytest.raises(LocalMistake, match="already sends to 64 devices"):
        store.add(subscription(1000, "late"))
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(SubscriptionStore(path)) == MOST
    path.write_text("[")
    with pytest.raises(LocalMistake, match="not a file of subscriptions"):
        SubscriptionStore(path)

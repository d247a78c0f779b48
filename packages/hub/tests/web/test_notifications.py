"""Notifications of an open page and of a closed one, in the whole browser: its headless build shows none.

While the page is closed, the hub sends and the service worker shows. A push service of our own stands in for
those of the browsers' makers, which need the internet.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.hub.push.push_service import BrowserKeys, PushService
from tests.web.conftest import RunningHub, SharedParts, Visitor, send, start_session
from tests.web.page_sight import HIDE, becomes, ended, holds

pytestmark = pytest.mark.timeout(240)

NOTED = """async () => {
    const worker = await navigator.serviceWorker.ready;
    const shown = await worker.getNotifications();
    return shown.map(({ title, body, tag, data }) => ({ title, body, tag, data }));
}"""

SHOWN = f"async () => (await ({NOTED})()).length > 0"

STAND_IN = """([endpoint, keys]) => {
    let now = null;
    PushManager.prototype.getSubscription = async () => now;
    PushManager.prototype.subscribe = async (options) => {
        now = {
            endpoint, options, toJSON: () => ({ endpoint, keys }),
            unsubscribe: async () => { now = null; return true; },
        };
        window.serverKey = options.applicationServerKey.length;
        return now;
    };
}"""
"""The browser's own push service is on the internet: this subscription leads to ours."""


@pytest.fixture(scope="module")
def browser(shared: SharedParts) -> Any:
    return shared.browser(is_whole=True)


class ServiceThread:
    """A push service in a loop of its own, because the browser is driven without one."""

    def __init__(self) -> None:
        self.keys = BrowserKeys()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.service, self._server = self._run(self._open())

    def _run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    async def _open(self) -> tuple[PushService, asyncio.Server]:
        service = PushService(0)
        server = await asyncio.start_server(service.serve, "127.0.0.1", 0)
        service.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/push/"
        return service, server

    def next(self) -> dict[str, Any]:
        message, _ = self._run(self.service.next(self.keys))
        return dict(message)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


@pytest.fixture
def push() -> Iterator[ServiceThread]:
    made = ServiceThread()
    yield made
    made.close()


AGAIN = 10.0
"""Seconds after which a message that was not shown is sent once more."""


class WorkerPush:
    """Gives messages to the service worker, as the browser's own push service would."""

    def __init__(self, page: Any, origin: str) -> None:
        self._origin = origin
        self._context = page.context
        self._registrations: list[str] = []
        self._cdp = page.context.new_cdp_session(page)
        self._cdp.on("ServiceWorker.workerRegistrationUpdated", self._on_registrations)
        self._cdp.send("ServiceWorker.enable")
        page.wait_for_function("() => navigator.serviceWorker.controller !== null")

    def _on_registrations(self, event: Any) -> None:
        self._registrations += [each["registrationId"] for each in event["registrations"]]

    def deliver(self, message: dict[str, Any]) -> None:
        """When no page is open any more, and until the notification is there: who looks at a page is told
        nothing, and a page that was left is there for another moment. A browser loses a message for a worker
        that it is just stopping, so the message is sent again.
        """
        becomes(lambda: self._ask("(await clients.matchAll({ type: 'window' })).length"), 0)
        params = {"origin": self._origin, "registrationId": self._registrations[0]}
        tags = "(await registration.getNotifications()).map(({ tag }) => tag)"
        wanted = f"{message['session']}/{message['about']}"
        sent = -AGAIN

        def told() -> bool:
            nonlocal sent
            if time.monotonic() - sent >= AGAIN:
                self._cdp.send("ServiceWorker.deliverPushMessage", {**params, "data": json.dumps(message)})
                sent = time.monotonic()
            return wanted in self._ask(tags)

        becomes(told, True)

    def _ask(self, expression: str) -> Any:
        """The value of an expression in the service worker that runs now."""
        return self._context.service_workers[-1].evaluate(f"async () => {expression}")


def test_what_is_asked_while_nobody_looks_is_notified_once(stranger: Visitor, hub: RunningHub) -> None:
    stranger.context.grant_permissions(["notifications"], origin=hub.url.rstrip("/"))
    page = stranger.start()
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    page.click("button[aria-label='Menu']")
    page.click("text=Turn on notifications")
    page.wait_for_selector("text=Notifications are on")
    page.evaluate(HIDE)
    send(page, "run it")
    page.wait_for_selector(".asks .risk")  # what is told later of the same question is not a second one
    holds(page, SHOWN)
    ((title, body),) = [(shown["title"], shown["body"]) for shown in page.evaluate(NOTED)]
    assert (
        title == "guide wants to run a command"
    )  # what the hub has judged: the agent says "Run the installer"
    assert body.startswith("curl -fsSL https://tools.example/install.sh | sh")
    page.click(".asks .reject_once")
    ended(page, 1)


CLICK = """([action, tag]) => new Promise(async (resolve) => {
    const shown = (await registration.getNotifications()).find((one) => one.tag === tag);
    const answered = [];
    const event = new NotificationEvent("notificationclick", { notification: shown, action });
    event.waitUntil = (work) => answered.push(work);
    self.dispatchEvent(event);
    await Promise.all(answered);
    resolve();
})"""
"""Presses a button of a notification, in the service worker."""
BODIES = "async () => (await registration.getNotifications()).map(({ body }) => body)"


def switch_on(page: Any, name: str) -> None:
    setting = page.locator(".setting", has_text=name)
    setting.get_by_role("button", name="Switch on").click()
    setting.get_by_role("button", name="Switch off").wait_for()


def ask(page: Any, hub: RunningHub, push: ServiceThread, prompt: str) -> tuple[str, dict[str, Any]]:
    """A new session in which a permission is asked for: its id, and the message of the push service."""
    start_session(page, hub.folder)
    page.wait_for_selector("text=What should the agent do?")
    session = page.evaluate("location.hash").rpartition("/")[2]
    send(page, prompt)
    return session, push.next()


def test_a_device_is_told_while_the_page_is_closed_and_a_button_of_the_notification_answers(
    stranger: Visitor, hub: RunningHub, push: ServiceThread
) -> None:
    origin = hub.url.rstrip("/")
    stranger.context.grant_permissions(["notifications"], origin=origin)
    stand_in = json.dumps([push.service.url + "phone", push.keys.public])
    stranger.context.add_init_script(f"({STAND_IN})({stand_in})")
    page = stranger.open()
    worker = WorkerPush(page, origin)
    page.keyboard.press(",")
    switch_on(page, "Notifications when this page is closed")
    assert page.evaluate("window.serverKey") == 65
    first, plain = ask(page, hub, push, "run it")
    assert (plain["kind"], plain["session"]) == ("permission", first)
    page.click(".asks .reject_once")
    ended(page, 1)
    page.goto(f"{hub.url}#/settings")
    switch_on(page, "Buttons in notifications")
    second, message = ask(page, hub, push, "look around")
    assert message["text"] == "An agent asks to run a command."
    assert "ls" not in message["text"]
    page.goto("about:blank")  # no page of the hub is open any more
    (service_worker,) = stranger.context.service_workers
    for shown in ([], ["This notification cannot be answered any more. Open the page."]):
        worker.deliver(message)
        service_worker.evaluate(CLICK, ["allow", f"{second}/{message['about']}"])
        becomes(lambda: service_worker.evaluate(BODIES), shown)
    worker.deliver(plain)
    page.goto(f"{hub.url}#/s/{second}")
    page.wait_for_selector("text=There are two files.")
    tag = f"{first}/{plain['about']}"
    assert [noted for noted in page.evaluate(NOTED) if noted["tag"] == tag] == [
        {
            "title": "Dragoman",
            "body": "An agent waits for your permission.",
            "tag": tag,
            "data": f"#/s/{first}",
        }
    ]

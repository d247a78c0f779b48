"""How the board of a hundred agents on ten hubs scrolls, in real Chromium, while they work.

    .venv/bin/python -m tests.web.measure_hubs [HUBS] [SESSIONS]

The page is that of a real hub; the other hubs are sockets of our own inside the browser, which answer as hubs
do, list SESSIONS sessions each (a tenth of them running, a tenth waiting) and tell ten changes a second each.
The longest column is scrolled up and down. Printed as JSON: the longest task meanwhile, as time of the clock
and of the processor, and how many took the processor for longer than 50 ms. It takes a minute, so it is no
part of `make test`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from tests.browser import open_browser
from tests.web.measure_board import SCROLL, SCROLLS
from tests.web.measure_reading import measured_hub, trace_tasks

FEED = """([hubs, count]) => {
    const STATES = "running idle idle closed failed idle idle closed idle waiting".split(" ");
    const stored = [];
    for (let at = 0; at < hubs; at += 1)
        stored.push({ key: `hub${at}`, name: `hub ${at}`, address: `http://hub${at}.example`, token: "t" });
    localStorage.setItem("dragoman.hubs", JSON.stringify(stored));
    const realFetch = window.fetch, RealSocket = window.WebSocket;
    const isOther = (address) => String(address).includes(".example/");
    window.fetch = async (address, options) =>
        isOther(address) ? new Response(JSON.stringify({ ticket: "t" })) : realFetch(address, options);
    window.told = 0;
    class Socket {
        constructor(address) {
            const hub = new URL(address).host;
            this.sessions = Array.from({ length: count }, (_, at) => ({
                sessionId: `${hub}-${at}`, agent: `agent ${at % 10}`, cwd: `/home/ann/project-${at}`,
                title: `Session ${at} of ${hub}`, state: STATES[at % 10], cursor: "1",
                updatedAt: new Date(Date.now() - at * 60000).toISOString(),
            }));
            setTimeout(() => this.onopen());
            setInterval(() => this.change(), 100);
        }
        change() {
            const running = this.sessions.filter(({ state }) => state === "running");
            const session = running[Math.floor(Math.random() * running.length)];
            session.cursor = String(Number(session.cursor) + 1);
            session.updatedAt = new Date().toISOString();
            window.told += 1;
            this.tell({ method: "_dragoman/hub/session", params: { session: { ...session } } });
        }
        tell(message) {
            this.onmessage({ data: JSON.stringify({ jsonrpc: "2.0", ...message }) });
        }
        send(text) {
            const { id, method, params } = JSON.parse(text);
            setTimeout(() => this.tell({ id, result: this.answer(method, params) }));
        }
        answer(method, params) {
            switch (method) {
                case "_dragoman/hub/sessions":
                    return { sessions: this.sessions };
                case "_dragoman/hub/inbox":
                    return { requests: this.sessions.filter((one) => one.state === "waiting").map((one) => ({
                        sessionId: one.sessionId, request: "7", method: "session/request_permission",
                        params: { toolCall: { toolCallId: "c", title: "Run the tests" }, options: [] },
                    })) };
                case "_dragoman/hub/progress":
                    return { progress: params.sessionIds.map((sessionId) => ({
                        sessionId, cursor: this.sessions.find((one) => one.sessionId === sessionId).cursor,
                        line: { kind: "message", text: `Working on **part ${Math.random()}** of it` },
                        usage: { cost: { amount: 0.12, currency: "USD" } },
                        changes: { files: 2, added: 10, removed: 3 },
                    })) };
                case "initialize":
                    return { _meta: { dragoman: { agents: [], scopes: ["admin", "approve", "prompt"] } } };
            }
            return {};
        }
        close() {}
    }
    window.WebSocket = function (address) {
        return isOther(address) ? new Socket(address) : new RealSocket(address);
    };
}"""

COUNTED = """(wanted) => {
    const counts = [...document.querySelectorAll(".board-count")].map((count) => Number(count.textContent));
    return counts.reduce((sum, count) => sum + count, 0) >= wanted;
}"""
"""Whether the board knows of as many sessions, whatever it draws of them."""


def main() -> None:
    hubs, sessions = [int(number) for number in (*sys.argv[1:], "10", "100")[:2]]
    with tempfile.TemporaryDirectory() as name, measured_hub(Path(name)) as (url, token):
        print(json.dumps(measure(url, token, hubs, sessions)))


def measure(url: str, token: str, hubs: int, sessions: int) -> dict[str, object]:
    """The figures of one board; see the text at the top."""
    with open_browser() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(600_000)
        page.add_init_script(f"({FEED})({json.dumps([hubs, sessions])})")
        page.goto(f"{url}#token={token}")
        page.wait_for_selector(".app[data-health=live]")
        page.keyboard.press("b")
        page.wait_for_function("() => document.querySelectorAll('.tile-line').length >= 30")
        page.wait_for_function(COUNTED, arg=hubs * sessions)
        before = page.evaluate("window.told")
        scrolling = trace_tasks(browser, page, lambda: page.evaluate(SCROLL, SCROLLS))
        told = page.evaluate("window.told") - before
        tiles = page.locator(".tile").count()
    assert scrolling.result > 0, "there was nothing to scroll"
    return {
        "hubs": hubs,
        "sessions": hubs * sessions,
        "tiles": tiles,
        "changes": told,
        "scrolls": SCROLLS,
        "longest_ms": scrolling.longest,
        "longest_processor_ms": scrolling.longest_processor,
        "tasks_above_50_ms": scrolling.above_50,
    }


if __name__ == "__main__":
    main()

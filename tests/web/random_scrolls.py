"""Sessions made without a browser, and a browser that scrolls through one in random ways."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

from dragoman.testing.pace import patience

WANDER = """async ([steps, seed]) => {
    const timeline = document.querySelector(".timeline");
    const frames = (count) => new Promise((done) => {
        const step = () => (count-- > 0 ? requestAnimationFrame(step) : done());
        step();
    });
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    const tops = () => {
        const { top, bottom } = timeline.getBoundingClientRect();
        const shown = new Map();
        for (const item of timeline.querySelectorAll(".item.drawn:not(.folded)")) {
            const box = item.getBoundingClientRect();
            if (box.height && box.bottom > top && box.top < bottom) shown.set(item, box.top);
        }
        return shown;
    };
    const faults = [];
    let longest = 0;
    let most = 0;
    const observer = new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
    });
    observer.observe({ entryTypes: ["longtask"] });
    const compare = (before, moved, what) => {
        for (const [item, top] of before) {
            if (!item.isConnected || !item.classList.contains("drawn")) continue;
            const off = item.getBoundingClientRect().top - (top - moved);
            if (Math.abs(off) > 1.5) faults.push(`${what}: ${item.dataset.cursor} is ${off} px off`);
        }
    };
    for (let step = 0; step < steps; step += 1) {
        const isJump = random() < 0.2;
        await new Promise((done) => setTimeout(done)); // people scroll between frames, not within one
        const before = tops();
        const start = timeline.scrollTop;
        if (isJump) timeline.scrollTop = random() * timeline.scrollHeight;
        else timeline.scrollTop += Math.round((random() - 0.5) * 1600);
        const moved = timeline.scrollTop - start;
        await frames(3);
        const shown = tops();
        if (!shown.size) faults.push(`step ${step} to ${timeline.scrollTop}: nothing is drawn`);
        // Who comes close to the end is taken there.
        const isAtEnd = timeline.scrollHeight - timeline.scrollTop - timeline.clientHeight < 1;
        if (!isJump && !isAtEnd) compare(before, moved, `step ${step} by ${moved}`);
        await frames(3);
        compare(shown, 0, `step ${step} at rest`);
        most = Math.max(most, timeline.querySelectorAll(".item.drawn").length);
    }
    observer.disconnect();
    return { faults: faults.slice(0, 10), longest, most };
}"""


def say(
    url: str,
    token: str,
    folder: Path,
    prompts: Iterable[str],
    *,
    may_fail: bool = False,
    agent: str = "",
    then: str = "",
) -> str:
    """A new session in which these prompts have run, one after the other; its id. `then` is a prompt that has
    begun, and is not waited for.
    """
    headers = {"authorization": f"Bearer {token}"}
    with connect(
        f"{url.replace('http', 'ws', 1)}acp{f'?agent={agent}' if agent else ''}",
        additional_headers=headers,
        open_timeout=60,
        max_size=None,
    ) as hub:

        def call(name: str, method: str, *, until: str = "", **params: Any) -> dict[str, Any]:
            hub.send(json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": params}))
            while True:
                message: dict[str, Any] = json.loads(hub.recv(patience(300)))
                if message.get("id") == name:
                    assert "result" in message or (may_fail and method == "session/prompt"), message
                    return dict(message.get("result", {}))
                if until and message.get("method") == until:
                    return {}

        call("initialize", "initialize", protocolVersion=1, clientCapabilities={})
        session = str(call("new", "session/new", cwd=str(folder), mcpServers=[])["sessionId"])
        for number, text in enumerate(prompts):
            prompt = [{"type": "text", "text": text}]
            call(f"prompt {number}", "session/prompt", sessionId=session, prompt=prompt)
        if then:
            prompt = [{"type": "text", "text": then}]
            call("then", "session/prompt", until="session/update", sessionId=session, prompt=prompt)
    return session

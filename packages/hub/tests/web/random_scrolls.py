"""Sessions made without a browser, and a browser that scrolls through one in random ways, all over it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count as count_up
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

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


JUMP = """(jump) => new Promise((resolve, reject) => {
    const timeline = document.querySelector(".timeline");
    const marks = [...document.querySelectorAll(".turn-mark")];
    const mark = typeof jump === "number" ? marks[Math.floor(jump * marks.length)] : null;
    const done = {
        Home: () => timeline.scrollTop === 0 && document.querySelector(".item.drawn")?.matches(".of-user"),
        End: () => timeline.querySelector(".jump").hidden && timeline.querySelector(".item.of-end.drawn"),
    }[jump] ?? (() => mark.hasAttribute("aria-current") && document.activeElement.matches(".item.of-user"));
    const began = performance.now();
    const spent = () => Math.round(performance.now() - began);
    const fail = () => reject(new Error(`${jump} (${mark?.title ?? "a key"}) led nowhere`));
    const look = () => (done() ? resolve(spent()) : spent() > 120_000 ? fail() : requestAnimationFrame(look));
    if (mark) mark.click();
    else timeline.dispatchEvent(new KeyboardEvent("keydown", { key: jump, bubbles: true }));
    requestAnimationFrame(look);
})"""
"""Goes somewhere; the milliseconds until it was on the screen."""

STANDING = """() => {
    const items = [...document.querySelectorAll(".timeline .item")];
    const focused = document.activeElement.closest(".item");
    return { cursors: items.map(({ dataset }) => dataset.cursor), at: focused?.dataset.cursor ?? null };
}"""
"""Where the messages of the page stand in the session, and where the one is that was gone to."""


class Roaming(NamedTuple):
    """What came of going all over a session."""

    places: int
    scrolls: int
    faults: list[str]
    most_drawn: int


def roam(page: Any, *, scrolls: int, seed: int) -> Roaming:
    """Goes to every mark of the rail in random order, by keys to start and end in between, and scrolls
    at each of these places. Faults are what stands where it should not: a message that moved by another
    distance than was scrolled, messages out of order, marks that lead to turns in another order than theirs.
    """
    random = Random(seed)
    marks = page.locator(".turn-mark").count()
    ways: list[float | str] = [(mark + 0.5) / marks for mark in range(marks)]
    ways += ["Home", "End"] * (marks // 8 + 1)
    random.shuffle(ways)
    faults: list[str] = []
    led_to: dict[float, int] = {}
    most = count = 0
    for number, way in enumerate(ways):
        page.evaluate(JUMP, way)
        standing = page.evaluate(STANDING)
        if isinstance(way, float):
            led_to[way] = _entry(standing["at"])
        steps = max(1, scrolls // len(ways))
        outcome = page.evaluate(WANDER, [steps, seed + number])
        count += steps
        faults += [f"behind {way}: {fault}" for fault in outcome["faults"]]
        for cursors in (standing["cursors"], page.evaluate(STANDING)["cursors"]):
            if any(_entry(one) > _entry(other) for one, other in pairwise(cursors)):
                faults.append(f"behind {way}: messages stand in another order: {cursors}")
        most = max(most, outcome["most"])
    entries = [led_to[way] for way in sorted(led_to)]
    if entries != sorted(set(entries)) or len(entries) != marks:
        faults.append(f"the marks lead to {entries}")
    return Roaming(len(ways), count, faults, most)


def _entry(cursor: str) -> int:
    """The number of the journal's entry that a cursor is of."""
    return int(cursor.split(".")[0].split(":")[0])


Call = Callable[..., dict[str, Any]]


@contextmanager
def calling(url: str, token: str, *, agent: str = "", may_fail: bool = False) -> Iterator[Call]:
    """Calls methods of a hub until the block is left. With `until`, a call ends with the first notification
    of this name. With `may_fail`, a prompt may be answered with an error.
    """
    headers = {"authorization": f"Bearer {token}"}
    numbers = count_up()
    with connect(
        f"{url.replace('http', 'ws', 1)}acp{f'?agent={agent}' if agent else ''}",
        additional_headers=headers,
        open_timeout=60,
        max_size=None,
    ) as hub:

        def call(method: str, *, until: str = "", **params: Any) -> dict[str, Any]:
            name = next(numbers)
            hub.send(json.dumps({"jsonrpc": "2.0", "id": name, "method": method, "params": params}))
            while True:
                message: dict[str, Any] = json.loads(hub.recv(patience(300)))
                if message.get("id") == name and "method" not in message:
                    assert "result" in message or (may_fail and method == "session/prompt"), message
                    return dict(message.get("result", {}))
                if until and message.get("method") == until:
                    return {}

        call("initialize", protocolVersion=1, clientCapabilities={})
        yield call


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
    with calling(url, token, agent=agent, may_fail=may_fail) as call:
        session = str(call("session/new", cwd=str(folder), mcpServers=[])["sessionId"])
        for text in prompts:
            call("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])
        if then:
            prompt = [{"type": "text", "text": then}]
            call("session/prompt", until="session/update", sessionId=session, prompt=prompt)
    return session


def close(url: str, token: str, sessions: Iterable[str]) -> None:
    """End these sessions, and what runs in them."""
    with calling(url, token) as call:
        for session in sessions:
            call("session/close", sessionId=session)

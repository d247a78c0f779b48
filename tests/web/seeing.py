"""What a page shows, now or soon, and what it is asked about."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

# A browser without a screen shows every page at all times, so the page has to be told that nobody looks.
HIDE = "() => Object.defineProperty(document, 'visibilityState', { value: 'hidden' })"


def text_of(page: Any) -> str:
    return str(page.inner_text(".timeline"))


def reads(page: Any, words: str) -> None:
    """The conversation says so, now or soon."""
    page.wait_for_function("t => document.querySelector('.timeline').innerText.includes(t)", arg=words)


def asked(page: Any, prompts: list[str]) -> None:
    """These are the prompts that are shown, now or soon."""
    page.wait_for_function(
        "t => JSON.stringify([...document.querySelectorAll('.bubble')].map(b => b.innerText)) === t",
        arg=json.dumps(prompts, separators=(",", ":")),
    )


ENDED = """(turns) => {
    if (document.querySelectorAll(".item.of-end").length === turns) return true;
    const marks = document.querySelectorAll(".turn-mark");
    const isOver = ({ dataset }) => !["running", "waiting"].includes(dataset.state);
    return turns > 1 && marks.length === turns && isOver(marks[turns - 1]);
}"""


def ended(page: Any, turns: int) -> None:
    """So many turns of the session have ended, by what is shown: far away, by marks of the rail."""
    page.wait_for_function(ENDED, arg=turns)


def faults(page: Any) -> list[str]:
    """What a scan for barriers finds to be serious."""
    page.evaluate(AXE.read_text())  # an injected element would be refused by our own policy
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['nodes'][0]['html'][:160]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def refusals(url: str, token: str, session: str) -> dict[str, str]:
    """What the hub itself refuses to the holder of a token, and the scope that it names."""
    wanted: dict[str, dict[str, Any]] = {
        "_dragoman/hub/answer": {"request": "1", "result": {"outcome": {"outcome": "cancelled"}}},
        "session/prompt": {"prompt": [{"type": "text", "text": "run it"}]},
    }
    headers = {"authorization": f"Bearer {token}"}
    with connect(f"{url.replace('http', 'ws', 1)}acp", additional_headers=headers, open_timeout=60) as hub:

        def call(method: str, **params: Any) -> dict[str, Any]:
            hub.send(json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}))
            while True:
                heard: dict[str, Any] = json.loads(hub.recv(60))
                if heard.get("id") == method:
                    return heard

        ours = {"dragoman": {"lazy": True}}
        call("initialize", protocolVersion=1, clientCapabilities={}, _meta=ours)
        answers = {name: call(name, sessionId=session, **params) for name, params in wanted.items()}
    return {name: answer["error"]["data"]["scope"] for name, answer in answers.items()}

"""How the terminal client feels, in a terminal of ours. Prints JSON.

-m chat.measure stream RATE SECONDS     keys are pressed while an agent talks: how late does each appear,
                                        and how long did the application do nothing but one thing?
-m chat.measure open COUNT agent|hub    a session of COUNT updates, told by its agent or by a hub: from the
                                        start of the program to its end on the screen
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chat.talker import END
from chat.terminal import Terminal, in_terminal
from dragoman_hub.session.notes import note
from dragoman_local.journal import Entry, open_journal
from harness.processes import cpu_of
from hub.place import running_hub
from peers.measure import load_mix

BENCH = Path(__file__).resolve().parent.parent
PATHS = os.pathsep.join(filter(None, (str(BENCH), os.environ.get("PYTHONPATH"))))
AGENT = f"{sys.executable} -m chat.talker"
READY = "●"
KEYS = [chr(number) for number in (*range(0x0100, 0x0131), *range(0x0134, 0x0149), *range(0x0410, 0x0450))]
"""Letters that nobody else writes here: each is pressed once, so the first that is seen of it is its echo."""

BETWEEN = (0.04, 0.09)
"""Seconds between two keys: quick typing, and in no step with the clock of the screen."""


def chat(folder: str, *words: str) -> list[str]:
    env = ["--env", f"PYTHONPATH={PATHS}"]
    figures = str(Path(folder, "figures.json"))
    return [sys.executable, "-m", "chat.app", figures, "--cwd", folder, "--no-history", *env, *words]


def settings(folder: str, **more: str) -> Mapping[str, str]:
    places = {f"XDG_{name}_HOME": folder for name in ("DATA", "CONFIG", "STATE", "CACHE")}
    return {"HOME": folder, "PYTHONPATH": PATHS, **places, **more}


def stream(rate: int, seconds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        with in_terminal(chat(folder, "--agent", AGENT), env=settings(folder)) as terminal:
            terminal.until(READY)
            terminal.idle(0.5)
            terminal.press(f"{rate} {seconds}\r")
            terminal.idle(0.5)
            began, used = time.monotonic(), cpu_of(terminal.pid)
            late = typed(terminal, began + seconds - 1.5)
            ended, used = time.monotonic(), cpu_of(terminal.pid) - used
            terminal.until(END)
            terminal.end()
        stalls = json.loads(Path(folder, "figures.json").read_text())["stalls"]
    late.sort()
    return {
        "keys": len(late),
        "key_p50": late[len(late) // 2],
        "key_p99": late[int(len(late) * 0.99)],
        "stall": max((late for moment, late, _ in stalls if began <= moment <= ended), default=0.0),
        "stall_cpu": max((spent for moment, _, spent in stalls if began <= moment <= ended), default=0.0),
        "cpu": used / (ended - began),
    }


def typed(terminal: Terminal, until: float) -> list[float]:
    """Seconds from each key to its echo."""
    chance = random.Random(7)
    late = []
    for key in KEYS:
        if time.monotonic() > until:
            break
        late.append(-terminal.press(key) + terminal.until(key))
        terminal.idle(chance.uniform(*BETWEEN))
    return late


def opened(where: list[str], session: str, env: Mapping[str, str], folder: str) -> dict[str, float]:
    """Behind the start of the same program for a session of which there is nothing to tell. That is done
    twice: with the first, a hub starts its agent.
    """
    empty = empty_cpu = 0.0
    for _ in range(2):
        with in_terminal(chat(folder, *where), env=env) as terminal:
            empty, empty_cpu = terminal.until(READY) - terminal.began, cpu_of(terminal.pid)
            terminal.end()
    with in_terminal(chat(folder, *where, "--resume", session), env=env) as terminal:
        whole, whole_cpu = terminal.until(END) - terminal.began, cpu_of(terminal.pid)
        terminal.end()
    return {"empty": empty, "empty_cpu": empty_cpu, "whole": whole, "whole_cpu": whole_cpu}


async def through_hub(count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        await fill(Path(place, "hub.db"), place, count)
        async with running_hub(Path(place)) as hub:
            env = settings(place, DRAGOMAN_TOKEN=hub.token)
            return await asyncio.to_thread(opened, ["--hub", hub.url], "long", env, place)


async def fill(path: Path, folder: str, count: int) -> None:
    """What is in the journal of a hub after one long turn."""
    now, mix = time.time(), load_mix()
    prompt = [{"type": "text", "text": "go"}]
    asked = {"sessionId": "long", "prompt": prompt, "_meta": {"dragoman": {"key": "k", "by": "owner"}}}
    made = note("made", agent="bench", cwd=folder, folders=[], session="long", result={}, n=1)
    ended = note("turn_ended", key="k", by="owner", result={"stopReason": "end_turn"})
    end = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": END}}
    updates = [_frame(method="session/update", params={"sessionId": "long", "update": one}) for one in mix]
    last = _frame(method="session/update", params={"sessionId": "long", "update": end})
    async with open_journal(path, durability="off") as journal:
        await journal.append(
            "long",
            [
                Entry("note", made, now),
                Entry("to_agent", _frame(id=1, method="session/prompt", params=asked), now),
                *(Entry("to_client", updates[number % len(updates)], now) for number in range(count)),
                Entry("to_client", last, now),
                Entry("to_client", _frame(id=1, result={"stopReason": "end_turn"}), now),
                Entry("note", ended, now),
            ],
        )
        await journal.describe("long", agent="bench", cwd=folder, title="long", state="idle")


def _frame(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}, separators=(",", ":")).encode()


def main(words: list[str]) -> dict[str, float]:
    if words[0] == "stream":
        return stream(int(words[1]), int(words[2]))
    count = int(words[1])
    if words[2] == "hub":
        return asyncio.run(through_hub(count))
    with tempfile.TemporaryDirectory() as folder:
        return opened(["--agent", AGENT], f"replay-{count}", settings(folder), folder)


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1:])))

"""What a hub still holds of a session that was closed: nothing, but for what is named here.

The hub is searched as a whole, from object to object: whoever keeps something for each session and does not
let go of it is found, however it is kept.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakSet

import msgspec
import pytest

from dragoman.testing.pace import deadline
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import WITHIN, Stage, Talker, staged

KEPT = {
    "hub.pool.seats.process.abandoned_ids": "late words of the agent about it are for nobody",
    "hub.methods._ours._history_of._known": "a cache of what is stored, with a bound",
    "hub.methods._ours._progress_of._known": "a cache of what is stored, with a bound",
    "hub.broker._lending._released_terminals": "people go on looking at what was printed, with a bound",
}
"""Where a session may still be named that was closed, and why."""

ERASED = frozenset({"hub.pool.seats.process.abandoned_ids"})
"""Where one may still be named that was deleted."""

FILES = {"readTextFile": True, "writeTextFile": True}


def inner(value: object) -> Iterator[tuple[str, object]]:
    """What an object holds, each with the name of the attribute; what is in a collection has none."""
    if isinstance(value, Mapping | OrderedDict):
        yield from (("", item) for pair in list(value.items()) for item in pair)
    elif isinstance(value, list | tuple | set | frozenset | deque | WeakSet):
        yield from (("", item) for item in list(value))
    elif type(value).__module__.startswith("dragoman"):
        if isinstance(value, msgspec.Struct):
            yield from ((name, getattr(value, name)) for name in value.__struct_fields__)
        names = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
        yield from ((name, getattr(value, name)) for name in names if hasattr(value, name))
        yield from vars(value).items() if hasattr(value, "__dict__") else ()


def holders(stage: Stage, session: str, *, is_deleted: bool) -> set[str]:
    """The places from which the session is reached, by the shortest ways. Of one that is closed, what is
    stored stays.
    """
    found: set[str] = set()
    but = ERASED if is_deleted else KEPT
    seen = {id(stage.hub)} if is_deleted else {id(stage.hub), id(stage.journal)}
    waiting: deque[tuple[str, object]] = deque([("hub", stage.hub)])
    while waiting:
        path, value = waiting.popleft()
        for name, item in inner(value):
            place = f"{path}.{name}" if name else path
            if place in but:
                continue
            if isinstance(item, LiveSession) or (isinstance(item, str | bytes) and _names(item, session)):
                found.add(place)
            elif id(item) not in seen and not isinstance(item, str | bytes | int | float | None):
                seen.add(id(item))
                waiting.append((place, item))
    return found


def _names(text: str | bytes, session: str) -> bool:
    return session in text if isinstance(text, str) else session.encode() in text


async def work(stage: Stage, folder: Path) -> tuple[str, list[Talker]]:
    """Everything that a session can have: turns, files of a client and of the hub, terminals, questions of
    which one is open, people who watch, follow, wait and look back.
    """
    lender = await stage.client().begin(fs=FILES)
    other = await stage.client(Grant("other")).begin()
    confined = await stage.client(Grant("confined", roots=(str(folder),))).begin()
    for client in (other, confined):
        await client.call("_dragoman/hub/watch")
    session = await lender.new(str(folder))
    reading = lender.prompt(session, f"read {folder}/a.txt")
    asked = await lender.asked("fs/read_text_file")
    lender.say({"id": asked["id"], "result": {"content": "lent"}})
    await lender.answer(reading)
    for client in (other, confined):
        await client.call("_dragoman/hub/attach", {"sessionId": session})
        for words in (f"read {folder}/a.txt", f"write {folder}/b.txt words", "run true", "say 3"):
            await client.answer(client.prompt(session, words))
    for method in ("turns", "history", "changes"):
        await other.call(f"_dragoman/hub/{method}", {"sessionId": session})
    await other.call("_dragoman/hub/progress", {"sessionIds": [session]})
    waiting = lender.prompt(session, "ask")
    question = await lender.asked()
    lender.allow(question)
    await lender.answer(waiting)
    await other.call("_dragoman/hub/detach", {"sessionId": session})
    lender.prompt(session, "ask again")
    await lender.asked(after=len(lender.heard))
    lender.prompt(session, "say 1")
    return session, [lender, other, confined]


@pytest.mark.parametrize("end", ["session/close", "session/delete", "session/archive"])
async def test_a_hub_holds_nothing_of_a_session_that_has_ended(end: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words")
    (tmp_path / "policy.toml").write_text(
        '[[rule]]\ndecision = "allow"\nkind = ["read", "edit", "execute"]\n'
    )
    options: dict[str, Any] = {"policy": str(tmp_path / "policy.toml"), "changes": True, "home": ""}
    async with staged({"one": obedient}, **options) as stage:
        session, clients = await work(stage, tmp_path)
        search = partial(holders, stage, session, is_deleted=end == "session/delete")
        assert search(), "the search finds what is there"
        await clients[0].call(end, {"sessionId": session})
        async with deadline(WITHIN):
            while leftovers := search():
                before = len(asyncio.all_tasks())
                for _ in range(100):
                    await asyncio.sleep(0)
                if len(asyncio.all_tasks()) == before and search() == leftovers:
                    break
        assert leftovers == set()

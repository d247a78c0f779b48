"""Clients of different dialects on one session, coming and going at random: whoever is there at the end knows
the same, and so does whoever reads the history only.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from dragoman.dialect import EdgeSettings, Ledger
from dragoman.sdk.interpreter.dialect_transport import speaking
from dragoman.transport.contract import Transport
from dragoman.transport.memory import memory_pair
from dragoman_hub.api.history_api import HistoryApi, HistoryDoor
from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import Stage, Talker, staged

pytestmark = pytest.mark.bound(60)

SETUP: dict[str, Any] = {"cwd": "/tmp", "mcpServers": []}


def client(stage: Stage, dialect: str) -> Talker:
    """A client of this dialect, at the edge that a hub has for it."""
    here, there = memory_pair()
    spoken: Transport = there
    if dialect == "observer":
        stage.hub.accept(there, Grant("watcher", frozenset({"observe"})))
        return Talker(here)
    if dialect != "v1":
        spoken = speaking(
            dialect, there, position="client", settings=EdgeSettings(cwd="/tmp"), ledger=Ledger()
        )
    stage.hub.accept(spoken, Grant("owner"))
    return Talker(here)


async def arrived(stage: Stage, dialect: str, session: str) -> Talker:
    """A client that has loaded the session, in its own words."""
    one = client(stage, dialect)
    if dialect == "v2":
        await one.call("initialize", {"protocolVersion": 2, "clientCapabilities": {}, "clientInfo": INFO})
        await one.call("session/resume", {"sessionId": session, "replayFrom": {"type": "start"}, **SETUP})
    else:
        await one.begin()
        if dialect == "observer":
            await one.call("_dragoman/hub/attach", {"sessionId": session, "after": ""})
            return one
        await one.call("session/load", {"sessionId": session, **SETUP})
    return one


INFO = {"name": "test", "version": "1"}


def known(one: Talker) -> str:
    """What the agent has said, as far as this client knows."""
    texts: dict[str, str] = {}
    for message in one.heard:
        update = (message.get("params") or {}).get("update") or {}
        kind = update.get("sessionUpdate") or update.get("@type") or ""
        message_id = update.get("messageId", "")
        if kind == "agent_message":  # of version 2: the whole message, instead of what there was
            texts[message_id] = "".join(block["text"] for block in update["content"])
        elif kind.startswith("agent_message"):
            text = update["text"] if "text" in update else update["content"]["text"]
            texts[message_id] = texts.get(message_id, "") + text
    return "".join(texts.values())


class Reader:
    """Of the thread protocol: opens nothing, and asks for the entries of a thread."""

    def __init__(self, stage: Stage) -> None:
        here, there = memory_pair()
        door = HistoryDoor(there, HistoryApi(stage.journal), stage.hub.owner, grant=Grant("anybody"))
        settings = EdgeSettings(cwd="/tmp")
        spoken = speaking("threads", door, position="client", settings=settings, ledger=Ledger())
        stage.hub.accept(spoken, Grant("reader", frozenset({"observe"})))
        self._talker = Talker(here)
        self._asked = 0

    async def read(self, thread: str) -> str:
        """What the agent has said, by the entries of the thread."""
        self._asked += 1
        question = {"id": self._asked, "method": "getThreadEntries", "params": {"threadId": thread}}
        self._talker.transport.write(json.dumps(question).encode() + b"\n")  # that wire has no `jsonrpc`
        entries = (await self._talker.answer(self._asked))["result"]["entries"]
        chunks = (one["chunks"] for one in entries if one["type"] == "message" and one["role"] == "assistant")
        return "".join(chunk["chunk"] for found in chunks for chunk in found)


@pytest.mark.parametrize("seed", range(3))
async def test_who_is_there_at_the_end_knows_the_same_in_any_dialect(seed: int) -> None:
    chance = random.Random(seed)
    async with staged({"one": obedient}) as stage:
        writer = await client(stage, "v1").begin()
        session = await writer.new()
        guests: dict[str, Talker] = {}
        reader = Reader(stage)
        expected = ""
        for _ in range(12):
            for dialect in DIALECTS:
                if dialect in guests and chance.random() < 0.4:
                    await guests.pop(dialect).transport.aclose()
                elif dialect not in guests and chance.random() < 0.6:
                    guests[dialect] = await arrived(stage, dialect, session)
            count = chance.randint(1, 20)
            await writer.answer(writer.prompt(session, f"say {count}"))
            expected += "".join(f"{number} " for number in range(count))
            if chance.random() < 0.5:
                assert await reader.read(session) == expected
        for dialect in DIALECTS:
            if dialect not in guests:
                guests[dialect] = await arrived(stage, dialect, session)
        for dialect, one in guests.items():
            await one.until(lambda _, one=one: known(one) == expected)  # type: ignore[misc]
            assert known(one) == expected, dialect
        assert known(writer) == expected
        assert await reader.read(session) == expected


DIALECTS = ("v1", "v2", "crow", "observer")
"""`observer` is one of version 1 with the scope to look, and no other."""

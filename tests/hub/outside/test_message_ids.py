"""A message has one id: live, replayed, resumed in the middle, in other dialects, after a crash."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hub.outside.test_dialects import INFO, SETUP, arrived, client
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import Talker, staged, text

pytestmark = pytest.mark.bound(60)


def texts_by_id(heard: list[dict[str, Any]]) -> dict[str, str]:
    """What a client shows that puts together whatever has one id."""
    shown: dict[str, str] = {}
    for message in heard:
        update = (message.get("params") or {}).get("update") or {}
        if "messageId" not in update or "content" not in update:
            continue
        content = update["content"]
        if isinstance(content, list):
            shown[update["messageId"]] = "".join(block["text"] for block in content)
        else:
            shown[update["messageId"]] = shown.get(update["messageId"], "") + content["text"]
    return shown


async def talking(one: Talker, session: str, words: str) -> dict[str, Any]:
    """A turn of a client of version 2; what it was acknowledged with."""
    before = len(one.heard)
    receipt: dict[str, Any] = await one.call("session/prompt", {"sessionId": session, "prompt": text(words)})
    await one.until(lambda told: _state(told) == "idle", after=before)
    return receipt


def _state(told: dict[str, Any]) -> str:
    return str(((told.get("params") or {}).get("update") or {}).get("state"))


async def test_a_message_has_one_id_for_ever() -> None:
    async with staged({"obedient": obedient}) as stage:
        one = client(stage, "v2")
        await one.call("initialize", {"protocolVersion": 2, "capabilities": {}, "info": INFO})
        session = (await one.call("session/new", SETUP))["sessionId"]
        receipts = [await talking(one, session, "say 3"), await talking(one, session, "say 2")]
        live = texts_by_id(one.heard)
        assert sorted(live.values()) == ["0 1 ", "0 1 2 ", "say 2", "say 3"]
        assert [live[receipt["messageId"]] for receipt in receipts] == ["say 3", "say 2"]

        at = len(one.heard)
        await one.call("session/resume", {"sessionId": session, "replayFrom": {"type": "start"}, **SETUP})
        assert texts_by_id(one.heard[at:]) == live, "the same client reads it again"
        assert texts_by_id((await arrived(stage, "v2", session)).heard) == live
        assert texts_by_id((await arrived(stage, "v1", session)).heard) == live

        await stage.crash()
        await stage.start()
        assert texts_by_id((await arrived(stage, "v2", session)).heard) == live
        third = await talking(await arrived(stage, "v2", session), session, "say 1")
        again = texts_by_id((await arrived(stage, "v2", session)).heard)
        assert live.items() < again.items()
        assert again[third["messageId"]] == "say 1"


async def test_who_comes_in_the_middle_of_a_message_hears_its_id() -> None:
    async with staged({"obedient": obedient}) as stage:
        one = await client(stage, "v1").begin()
        session = await one.new()
        prompt = one.prompt(session, "say 4")
        await one.answer(prompt)
        ids = {
            message["params"]["update"]["messageId"]
            for message in one.heard
            if message.get("method") == "session/update" and "content" in message["params"]["update"]
        }
        assert len(ids) == 1
        marked = stage.client(cursors=True)
        await marked.begin()
        await marked.call("session/load", {"sessionId": session, **SETUP})
        chunks = [
            message["params"]
            for message in marked.heard
            if message.get("method") == "session/update"
            and message["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
        ]
        cursor = chunks[1]["_meta"]["dragoman"]["cursor"]
        late = stage.client(cursors=True)
        await late.begin()
        await late.call("session/resume", {"sessionId": session, **SETUP}, after=cursor)
        await late.until(lambda told: told in late.heard and late.texts()[-1:] == ["3 "])
        rest = [
            message["params"]["update"]
            for message in late.heard
            if message.get("method") == "session/update" and "content" in message["params"]["update"]
        ]
        assert [update["content"]["text"] for update in rest] == ["2 ", "3 "]
        assert {update["messageId"] for update in rest} == ids

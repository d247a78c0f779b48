"""Prompts that wait for their turn: in order, edited, withdrawn."""

from __future__ import annotations

from typing import Any

from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged, text

AWARE: dict[str, Any] = {"cursors": True, "events": True}


async def test_prompts_queue_in_order_and_can_be_edited_and_withdrawn() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client(**AWARE).begin()
        session = await client.new()
        running = client.prompt(session, "wait", key="a")
        await gate.waiting.wait()
        client.prompt(session, "second", key="b")
        gone = client.prompt(session, "third", key="c")
        last = client.prompt(session, "fourth", key="d")
        await client.until(lambda one: one.get("params", {}).get("key") == "d")
        edited = {"sessionId": session, "key": "b", "prompt": text("better")}
        guest = await stage.client(Grant("guest", frozenset({"observe", "prompt"}))).begin()
        for method in ("edit", "withdraw"):
            refusal = await guest.refusal(f"_dragoman/hub/queue/{method}", edited)
            assert refusal["code"] == -32003
        await client.call("_dragoman/hub/queue/edit", edited)
        admin = await stage.client(Grant("admin", frozenset({"observe", "prompt", "admin"}))).begin()
        await admin.call("_dragoman/hub/queue/withdraw", {"sessionId": session, "key": "c"})
        assert (await client.answer(gone))["result"]["stopReason"] == "cancelled"
        snapshot = (await client.call("_dragoman/hub/attach", {"sessionId": session}))["snapshot"]
        said = stage.hub.pool.seats["one"].initialize_result["agentCapabilities"]
        assert snapshot["promptCapabilities"] == said["promptCapabilities"] != {}
        assert [(one["key"], one["prompt"]) for one in snapshot["queue"]] == [
            ("b", text("better")),
            ("d", text("fourth")),
        ]
        gate.open.set()
        await client.answer(running)
        await client.answer(last)
        assert gate.prompts == ["wait", "better", "fourth"]


async def test_a_prompt_that_is_edited_keeps_what_its_client_lends() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client(**AWARE).begin(fs={"readTextFile": True})
        session = await client.new()
        running = client.prompt(session, "wait", key="a")
        await gate.waiting.wait()
        last = client.prompt(session, "second", key="b")
        await client.until(lambda one: one.get("params", {}).get("key") == "b")
        edited = {"sessionId": session, "key": "b", "prompt": text("read /tmp/only-in-the-editor.txt")}
        await client.call("_dragoman/hub/queue/edit", edited)
        gate.open.set()
        await client.answer(running)
        asked = await client.asked("fs/read_text_file")
        client.say({"id": asked["id"], "result": {"content": "not saved yet"}})
        assert (await client.answer(last))["result"]["stopReason"] == "end_turn"
        assert client.texts()[-1] == "not saved yet"

"""A message has one id: live, replayed, resumed in the middle, in other dialects, after a crash, through
`dragoman connect` and through another node than the session's.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import deadline
from tests.hub.cluster.together import LEASE, nodes
from tests.hub.outside.process import DRAGOMAN, HubProcess, running_hub
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


class LineClient:
    """An editor that speaks version 2 to `dragoman connect`: JSON lines, and nothing of ours."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout
        self.heard: list[dict[str, Any]] = []
        self._setup: dict[str, Any] = {"cwd": str(folder), "mcpServers": []}

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        number = len(self.heard) + 1000
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self._stdin.write(json.dumps(request).encode() + b"\n")
        while (told := await self.hear()).get("id") != number:
            pass
        result: dict[str, Any] = told["result"]
        return result

    async def hear(self) -> dict[str, Any]:
        async with deadline(30):
            told: dict[str, Any] = json.loads(await self._stdout.readline())
        self.heard.append(told)
        return told

    async def new(self) -> str:
        session: str = (await self.call("session/new", **self._setup))["sessionId"]
        return session

    async def prompt(self, session: str, words: str) -> dict[str, Any]:
        """A turn, from what it is acknowledged with to its end."""
        before = len(self.heard)
        receipt = await self.call("session/prompt", sessionId=session, prompt=text(words))
        while not any(_state(told) == "idle" for told in self.heard[before:]):
            await self.hear()
        return receipt

    async def replay(self, session: str) -> dict[str, str]:
        """What it shows of a session that it reads from the start."""
        before = len(self.heard)
        await self.call("session/resume", sessionId=session, replayFrom={"type": "start"}, **self._setup)
        return texts_by_id(self.heard[before:])


@asynccontextmanager
async def line_client(hub: HubProcess) -> AsyncIterator[LineClient]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(*DRAGOMAN, "connect", f"ws://{hub.place}/acp"),
        stdin=pipe,
        stdout=pipe,
        stderr=asyncio.subprocess.DEVNULL,
        env={**os.environ, "DRAGOMAN_TOKEN": hub.token},
    )
    editor = LineClient(process, hub.work)
    try:
        answer = await editor.call("initialize", protocolVersion=2, capabilities={}, info=INFO)
        assert answer["protocolVersion"] == 2
        yield editor
    finally:
        process.kill()
        await process.communicate()


async def test_a_message_has_one_id_through_connect(tmp_path: Path) -> None:
    with running_hub(tmp_path) as hub:
        async with line_client(hub) as editor:
            session = await editor.new()
            receipts = [await editor.prompt(session, "one"), await editor.prompt(session, "two")]
            live = texts_by_id(editor.heard)
            assert sorted(live.values()) == ["You said: one", "You said: two", "one", "two"]
            assert [live[receipt["messageId"]] for receipt in receipts] == ["one", "two"]
            assert await editor.replay(session) == live, "the same editor reads it again"
        async with line_client(hub) as another:
            assert await another.replay(session) == live, "another process reads it"
        hub.kill()
        hub.start()
        async with line_client(hub) as later:
            assert await later.replay(session) == live, "after a kill of the hub"
            third = await later.prompt(session, "three")
            assert (await later.replay(session))[third["messageId"]] == "three"


async def test_a_message_has_one_id_at_every_node_of_a_cluster() -> None:
    async with nodes("a", "b", "c", agents={"obedient": obedient}, lease=LEASE) as group:
        maker = await group["a"].client().begin()
        session = await maker.new()
        owner = group.owner(session)
        other, third = sorted(group.nodes.keys() - {owner})
        far = await arrived(group[other], "v2", session)
        receipts = [await talking(far, session, "say 3"), await talking(far, session, "say 2")]
        live = texts_by_id(far.heard)
        assert sorted(live.values()) == ["0 1 ", "0 1 2 ", "say 2", "say 3"]
        assert [live[receipt["messageId"]] for receipt in receipts] == ["say 3", "say 2"]
        for node in (owner, other, third):
            for dialect in ("v1", "v2"):
                assert texts_by_id((await arrived(group[node], dialect, session)).heard) == live, node

        await group.crash(owner)
        assert texts_by_id((await arrived(group[third], "v2", session)).heard) == live, "it has moved"
        last = await talking(far, session, "say 1")
        again = texts_by_id((await arrived(group[third], "v2", session)).heard)
        assert live.items() < again.items()
        assert again[last["messageId"]] == "say 1"
        assert again.items() <= texts_by_id(far.heard).items(), "and who followed it there knows the same"

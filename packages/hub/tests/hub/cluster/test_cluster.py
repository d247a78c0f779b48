"""Sessions of several nodes: reached from each, taken over, given away."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.errors import JournalError
from dragoman_hub.gate.admission import Grant
from tests.hub.cluster.together import LEASE, Group, nodes
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.raw_agents import eventually
from tests.hub.sessions.stage import Talker

pytestmark = pytest.mark.bound(25)

AWARE: dict[str, Any] = {"cursors": True, "events": True}
LOAD = {"cwd": "/tmp", "mcpServers": []}


async def far_client(group: Group) -> tuple[Talker, str, str, str]:
    """A client of another node than the session's, which has loaded it: the client, the session, the node
    that has it, and the client's node.
    """
    client = await group["a"].client().begin()
    session = await client.new()
    owner = group.owner(session)
    other = next(name for name in group.nodes if name != owner)
    far = await group[other].client().begin()
    await far.call("session/load", {"sessionId": session, **LOAD})
    return far, session, owner, other


async def test_a_session_of_one_node_is_prompted_and_followed_from_another() -> None:
    async with nodes("a", "b", agents={"one": obedient}) as group:
        first = await group["a"].client().begin()
        session = await first.new()
        owner = group.owner(session)
        other = "b" if owner == "a" else "a"
        guest = await group[other].client().begin()
        await guest.call("session/load", {"sessionId": session, **LOAD})
        answer = await guest.answer(guest.prompt(session, "say 3"))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert guest.texts() == ["0 ", "1 ", "2 "]
        home = await group[owner].client().begin()
        await home.call("session/load", {"sessionId": session, **LOAD})
        assert home.texts("user_message_chunk") == ["say 3"]
        assert home.texts() == ["0 ", "1 ", "2 "]
        assert group.owner(session) == owner, "it did not move"


async def test_a_question_is_answered_from_another_node() -> None:
    async with nodes("a", "b", "c", agents={"one": obedient}) as group:
        writer = await group["a"].client().begin()
        session = await writer.new()
        others = []
        for name in ("a", "b", "c"):
            client = await group[name].client(**AWARE).begin()
            await client.call("_dragoman/hub/attach", {"sessionId": session})
            others.append(client)
        prompt = writer.prompt(session, "ask")
        for client in others:
            await client.asked()
        listed = await others[1].call("_dragoman/hub/inbox")
        assert [one["sessionId"] for one in listed["requests"]] == [session]
        others[2].allow(await others[2].asked())
        await writer.answer(prompt)
        assert writer.texts() == ["yes"]
        for client in others[:2]:
            await client.until(lambda one: one.get("method") == "$/cancel_request")


async def test_a_turn_on_a_lost_node_is_ended_honestly_and_the_queue_goes_on_at_another() -> None:
    gate = Gate()
    async with nodes("a", "b", "c", agents={"one": lambda: obedient(gate)}, lease=LEASE) as group:
        far, session, owner, _ = await far_client(group)
        waits = far.prompt(session, "wait")
        queued = far.prompt(session, "say 2")
        await gate.waiting.wait()
        await group.crash(owner)
        cut = await far.answer(waits)
        assert "cut short" in cut["error"]["message"]
        assert (await far.answer(queued))["result"] == {"stopReason": "end_turn"}
        assert far.texts() == ["0 ", "1 "]
        assert [text.split("\n")[-1] for text in gate.prompts].count("wait") == 1, "it is not run twice"


async def test_who_loads_a_session_whose_node_is_lost_is_told_all_of_it() -> None:
    """Though the client was told a part of it before, by the node that is gone."""
    async with nodes("a", "b", agents={"one": obedient}, lease=LEASE) as group:
        far, session, owner, _ = await far_client(group)
        await far.answer(far.prompt(session, "say 2"))
        await group.crash(owner)
        far.heard.clear()
        await far.call("session/load", {"sessionId": session, **LOAD})
        assert far.texts() == ["0 ", "1 "]


async def test_a_late_word_of_the_node_before_does_not_move_a_session_again() -> None:
    """The client would be told a second time what the node that has the session is telling it."""
    gate = Gate()
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}) as group:
        client = await group["a"].client().begin()
        session = await client.new()
        prompt = client.prompt(session, "wait")
        await gate.waiting.wait()
        (router,) = group["a"].cluster.routers
        before = router.branch("b" if group.owner(session) == "a" else "a")
        router.on_elsewhere(before, prompt, session, "")
        assert router.sessions[session].held_frames is None, "it does not move"
        gate.open.set()
        await client.answer(prompt)


async def test_what_a_node_tells_while_it_is_asked_to_tell_it_again_is_heard_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gate = Gate()
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}) as group:
        far, session, owner, other = await far_client(group)
        prompt = far.prompt(session, "wait")
        await gate.waiting.wait()
        router = next(router for router in group[other].cluster.routers if prompt in router.pending)
        is_told = asyncio.Event()
        on_block, ask = router.on_block, router.calls.ask

        def watch(branch: Any, block: bytes, session: str = "", position: Any = None) -> None:
            on_block(branch, block, session, position)
            if b"agent_message_chunk" in block:
                is_told.set()

        async def ask_late(branch: Any, method: str, params: Any, seconds: float) -> Any:
            if method == "session/resume":
                gate.open.set()
                await is_told.wait()
            return await ask(branch, method, params, seconds)

        monkeypatch.setattr(router, "on_block", watch)
        monkeypatch.setattr(router.calls, "ask", ask_late)
        router.on_elsewhere(router.branch(owner), prompt, session, "")
        await far.answer(prompt)
        await far.answer(far.prompt(session, "say 1"))
        assert far.texts() == ["waited", "0 "]


async def test_a_node_that_was_cut_off_loses_its_sessions_and_writes_nothing_more() -> None:
    gate = Gate()
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}, lease=LEASE) as group:
        far, session, owner, _ = await far_client(group)
        waits = far.prompt(session, "wait")
        await gate.waiting.wait()
        group[owner].network.cut = True
        await far.answer(waits)
        assert (await far.answer(far.prompt(session, "say 1")))["result"]
        gate.open.set()  # the agent of the one that was cut off goes on
        last = (await group.journal.info(session)).last  # type: ignore[union-attr]
        group[owner].network.cut = False
        await far.until(lambda one: True)
        again = await group[owner].client().begin()
        await again.call("session/load", {"sessionId": session, **LOAD})
        assert again.texts() == ["0 "], "nothing of what it did without its lease is in the stream"
        # It appends nothing before it has a lease again, so that it is the lease that tells it.
        await eventually(lambda: session not in group[owner].hub.sessions)
        assert (await group.journal.info(session)).last >= last  # type: ignore[union-attr]


async def test_a_drained_node_gives_its_idle_sessions_away_and_their_clients_notice_nothing() -> None:
    async with nodes("a", "b", agents={"one": obedient}) as group:
        client = await group["a"].client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 2"))
        owner = group.owner(session)
        await group[owner].cluster.drain()
        assert (await client.answer(client.prompt(session, "say 1")))["result"]
        assert group.owner(session) != owner
        assert client.texts() == ["0 ", "1 ", "0 "]


async def test_a_token_with_roots_follows_its_session_to_another_node(tmp_path: Path) -> None:
    async with nodes("a", "b", agents={"one": obedient}) as group:
        owner = await group["a"].client().begin()
        session = await owner.new(str(tmp_path))
        guest = await group["b"].client(Grant("guest", roots=(os.path.realpath(tmp_path),))).begin()
        await guest.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        await group[group.owner(session)].cluster.drain()
        await owner.answer(owner.prompt(session, "say 1"))
        await eventually(lambda: guest.texts() == ["0 "])


async def test_prompts_that_wait_at_a_drained_node_go_on_at_another_though_nobody_asks() -> None:
    gate = Gate()
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}) as group:
        client = await group["a"].client().begin()
        session = await client.new()
        owner = group.owner(session)
        client.prompt(session, "wait")
        client.prompt(session, "say 2")
        await gate.waiting.wait()
        draining = asyncio.create_task(group[owner].cluster.drain())
        await client.transport.aclose()
        gate.open.set()
        await draining
        other = group["b" if owner == "a" else "a"]
        reader = await other.client().begin()
        while True:
            await reader.call("session/load", {"sessionId": session, **LOAD})
            if reader.texts()[-2:] == ["0 ", "1 "]:
                break
            await asyncio.sleep(0.05)
        assert group.owner(session) == other.name


async def test_a_node_is_drained_although_the_journal_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(stream: str) -> None:
        raise JournalError("the disk cannot be read now")

    async with nodes("a", "b", agents={"one": obedient}) as group:
        client = await group["a"].client().begin()
        session = await client.new()
        owner = group[group.owner(session)]
        home = await owner.client().begin()
        await home.call("session/load", {"sessionId": session, **LOAD})
        owner.hub.begin_draining()
        home.prompt(session, "say 2", key="k")
        live = owner.hub.sessions[session]
        await eventually(lambda: live.state.queue and live.log.is_idle)
        with monkeypatch.context() as failing:
            failing.setattr(owner.hub.journal, "info", fail)
            await owner.cluster.drain()
        other = group["b" if owner.name == "a" else "a"]
        await eventually(lambda: session in other.hub.sessions)
        await eventually(lambda: other.hub.sessions[session].state.answers)


async def test_a_node_that_starts_again_goes_on_with_its_agents_and_its_turns() -> None:
    gate = Gate()
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}) as group:
        far, session, owner, _ = await far_client(group)
        member = group[owner]
        waits = far.prompt(session, "wait")
        await gate.waiting.wait()
        kept = dict(member.kept)
        member.kept.clear()
        await member.crash()
        member.kept.update(kept)
        member.network.cut = False
        await member.start()
        gate.open.set()
        assert (await far.answer(waits))["result"] == {"stopReason": "end_turn"}
        await far.answer(far.prompt(session, "say 1"))
        assert far.texts() == ["waited", "0 "]


async def test_a_client_that_watches_hears_of_sessions_at_every_node() -> None:
    async with nodes("a", "b", agents={"one": obedient}) as group:
        watcher = await group["a"].client(**AWARE).begin()
        await watcher.call("_dragoman/hub/watch")
        seen = []
        for name in ("a", "b"):
            client = await group[name].client().begin()
            seen.append(await client.new())
        assert len({group.owner(session) for session in seen}) == 2, "they are spread"
        for session in seen:
            await watcher.until(
                lambda one, session=session: (  # type: ignore[misc]
                    one.get("method") == "_dragoman/hub/session"
                    and one["params"]["session"]["sessionId"] == session
                )
            )

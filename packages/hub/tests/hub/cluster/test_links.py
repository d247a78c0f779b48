"""What passes between nodes about one client: large messages, lost words, slow readers, and a way back."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.testing.pace import patience
from dragoman.transport.memory import memory_pair
from dragoman_hub.cluster import link_messages as words
from dragoman_hub.cluster import links
from dragoman_hub.cluster.link_messages import Word
from dragoman_hub.cluster.links import Links
from dragoman_hub.engine import bounds
from dragoman_hub.gate.admission import Grant
from dragoman_local.journal.contract import PAGE_BYTES
from tests.hub.cluster.together import Group, Member, nodes
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Talker

pytestmark = pytest.mark.bound(25)

LOAD = {"cwd": "/tmp", "mcpServers": []}


async def afar(group: Group, client: Talker) -> tuple[str, Member]:
    """A new session of the client, and the node that does not have it."""
    session = await client.new()
    owner = group.owner(session)
    return session, next(node for name, node in group.nodes.items() if name != owner)


async def test_a_message_that_is_larger_than_a_word_passes_both_ways() -> None:
    async with nodes("a", "b", agents={"one": obedient}) as group:
        session, far = await afar(group, await group["a"].client().begin())
        client = await far.client().begin()
        text = "long " * (words.MOST // 2)
        answer = await client.answer(client.prompt(session, text))
        assert answer["result"] == {"stopReason": "end_turn"}
        assert client.texts() == [f"You said: {text}"]


@pytest.mark.parametrize("lost", [3, 5, 8])
async def test_words_that_are_lost_cost_a_link_and_nothing_else(
    lost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = lost
    send = Links.send

    def losing(self: Links, node: str, word: Word) -> None:
        nonlocal left
        left -= word.kind == words.DATA
        if word.kind != words.DATA or left != 0:
            send(self, node, word)

    async with nodes("a", "b", agents={"one": obedient}) as group:
        session, far = await afar(group, await group["a"].client().begin())
        client = await far.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        monkeypatch.setattr(Links, "send", losing)
        for _ in range(3):
            assert (await client.answer(client.prompt(session, "say 3")))["result"]
        assert left <= 0, "nothing was lost"
        assert client.texts() == ["0 ", "1 ", "2 "] * 3


async def test_what_a_client_waits_for_at_another_node_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "CLIENT", (500_000, 2_000_000))
    gate = Gate()
    async with nodes("a", "b", agents={"one": lambda: obedient(gate)}) as group:
        session, far = await afar(group, await group["a"].client().begin())
        client = await far.client().begin()
        first = client.prompt(session, "wait")
        await gate.waiting.wait()
        second = client.prompt(session, "x" * 300_000)
        refused = await client.answer(client.prompt(session, "y" * 300_000))
        assert "too many requests" in refused["error"]["message"]
        gate.open.set()
        for request in (first, second):
            assert "result" in await client.answer(request)
        assert "result" in await client.answer(client.prompt(session, "z" * 300_000))
        assert far.hub.bounds.routers.held_bytes == 0


class Reluctant(Talker):
    """Reads nothing until it is told to."""

    def feed(self, block: bytes) -> None:
        super().feed(block)
        if b'"session/update"' in block:
            self.transport.pause()


async def test_a_slow_reader_at_another_node_is_told_no_more_than_it_has_room_for() -> None:
    async with nodes("a", "b", agents={"one": obedient}) as group:
        first = await group["a"].client().begin()
        session, far = await afar(group, first)
        for _ in range(12):
            assert (await first.answer(first.prompt(session, "x" * 400_000)))["result"]
        here, there = memory_pair()
        slow = Reluctant(here)
        far.hub.accept(there, Grant("owner"))
        await slow.begin()
        load = slow.ask("session/load", {"sessionId": session, **LOAD})
        await slow.until(lambda one: one.get("method") == "session/update")
        assert (await first.answer(first.prompt(session, "say 1")))["result"], "nobody else waits for it"
        clients = group[group.owner(session)].hub.clients
        behind = max(client.transport.pending for client in clients if client.is_guest)
        assert 0 < behind < PAGE_BYTES + 1_000_000, "the rest of ten megabytes is still in the journal"
        slow.feed = Talker.feed.__get__(slow)  # type: ignore[method-assign]
        here.resume()
        assert "result" in await slow.answer(load)
        assert len(slow.texts()) == 13


async def test_a_client_that_comes_by_another_way_leaves_its_first_one() -> None:
    ours: dict[str, Any] = {"client": "the-same-client", "cursors": True}
    async with nodes("a", "b", "c", agents={"one": obedient}) as group:
        session, far = await afar(group, await group["a"].client().begin())
        old = await far.client(**ours).begin()
        await old.call("session/load", {"sessionId": session, **LOAD})
        elsewhere = next(
            node for name, node in group.nodes.items() if name not in (far.name, group.owner(session))
        )
        new = await elsewhere.client(**ours).begin()
        await new.call("session/load", {"sessionId": session, **LOAD})
        await old.until_ended()
        assert (await new.answer(new.prompt(session, "say 1")))["result"]


async def test_an_old_connection_of_a_client_does_not_take_the_place_of_its_latest() -> None:
    """As a node opens it that was cut off, and whose client has long gone elsewhere."""
    ours: dict[str, Any] = {"client": "the-same-client", "cursors": True}
    async with nodes("a", "b", "c", agents={"one": obedient}) as group:
        session, far = await afar(group, await group["a"].client().begin())
        old = await far.client(**ours).begin()
        for client in far.hub.clients:  # the way between nodes may take longer than two calls of a test
            client.since -= 60.0
        elsewhere = next(
            node for name, node in group.nodes.items() if name not in (far.name, group.owner(session))
        )
        new = await elsewhere.client(**ours).begin()
        await new.call("session/load", {"sessionId": session, **LOAD})
        old.ask("session/load", {"sessionId": session, **LOAD})
        await old.until_ended()
        assert (await new.answer(new.prompt(session, "say 1")))["result"]
        assert not new.ended_with


async def test_what_a_node_claimed_and_never_stored_is_free_again() -> None:
    async with nodes("a", "b", agents={"one": obedient}, lease=patience(0.5)) as group:
        await group["a"].cluster.owners.claim("never-made")
        await group.crash("a")
        owners = group["b"].cluster.owners
        client = await group["b"].client().begin()
        session = await client.new()
        while owners.is_known("never-made"):  # until its node is dead, and somebody has looked
            await client.answer(client.prompt(session, "say 1"))
        assert group.owner(session) == "b"


async def test_a_node_that_is_back_is_noticed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "BEAT_SECONDS", 1000.0)
    async with nodes("a", "b", agents={"one": obedient}) as group:
        session, far = await afar(group, await group["a"].client().begin())
        client = await far.client().begin()
        await client.call("session/load", {"sessionId": session, **LOAD})
        owner = group.owner(session)
        await group.crash(owner)
        asked = client.prompt(session, "say 2")
        back = Member(owner, group, {"one": obedient})
        await back.start()  # before its lease has run out
        group.nodes[owner] = back
        assert (await client.answer(asked))["result"]
        assert client.texts() == ["0 ", "1 "]

"""Two peers of different dialects, joined in memory: each hears its own, and the end is orderly."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from dragoman.sdk.interpreter import Interpretation, InterpretedConversation
from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair


class Ends:
    """The peers, of whom each says frames and records what it hears."""

    def __init__(self, joined: InterpretedConversation, client: Any, agent: Any) -> None:
        self.joined = joined
        self.client, self.agent = client, agent
        self.client_hears, self.agent_hears = SinkRecorder(), SinkRecorder()
        client.start(self.client_hears)
        agent.start(self.agent_hears)

    def ask(self, **members: Any) -> None:
        self.client.write(encode(members))

    def tell(self, **members: Any) -> None:
        self.agent.write(encode(members))

    async def client_heard(self, count: int) -> list[Any]:
        return await heard(self.client_hears, count)

    async def agent_heard(self, count: int) -> list[Any]:
        return await heard(self.agent_hears, count)


def encode(members: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


async def heard(recorder: SinkRecorder, count: int) -> list[Any]:
    """All that was heard, as soon as it is this many frames."""
    await recorder.until(lambda: recorder.stream.count(b"\n") >= count)
    return [json.loads(line) for line in recorder.stream.splitlines()]


@asynccontextmanager
async def joined(client: str, agent: str, *, strict: bool = False) -> AsyncIterator[Ends]:
    (ours, for_client), (theirs, for_agent) = memory_pair(), memory_pair()
    between = InterpretedConversation(
        for_client, for_agent, Interpretation(client, agent, strict=strict, quirks=False)
    )
    ends = Ends(between, ours, theirs)
    async with between:
        yield ends
    for recorder in (ends.client_hears, ends.agent_hears):
        await recorder.until_ended()
        assert recorder.faults == []
    await ours.aclose()
    await theirs.aclose()


UPDATE = "session/update"


def update(**fields: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": fields}


async def test_each_side_speaks_its_own_dialect_and_hears_its_own() -> None:
    async with joined("koog", "haven") as ends:
        ends.ask(id=1, method="initialize", params={"protocolVersion": 1, "clientCapabilities": {}})
        (asked,) = await ends.agent_heard(1)
        assert asked["params"] == {"protocolVersion": 1, "capabilities": {}}
        info = {"name": "gardener", "version": "1"}
        ends.tell(id=1, result={"protocolVersion": 1, "capabilities": {}, "agentInfo": info})
        call = {"id": "c", "name": "Mend", "status": "pending", "kind": "command"}
        ends.tell(method=UPDATE, params=update(sessionUpdate="tool_call", **call))
        introduced, told = await ends.client_heard(2)
        assert introduced["result"]["serverInfo"] == info
        assert told["params"]["update"]["toolCallId"] == "c"
        assert told["params"]["update"]["kind"] == "execute"
        assert [entry.dialect for entry in ends.joined.ledger.entries] == []


async def test_the_ledger_is_one_for_both_sides() -> None:
    async with joined("haven", "koog") as ends:
        ends.ask(id=9, method="session/cancel", params={"sessionId": "s"})
        ends.tell(method=UPDATE, params={"sessionId": "s", "type": "plan", "entries": []})
        await ends.client_heard(2)
        await ends.agent_heard(1)
        assert sorted(entry.dialect for entry in ends.joined.ledger.entries) == ["haven", "koog"]


async def test_between_two_peers_of_v1_nothing_is_changed() -> None:
    odd = b'{ "jsonrpc":"2.0", "method" : "session/update", "params":{"a":1.50}, "x":1}\nno frame\n'
    async with joined("v1", "v1") as ends:
        ends.agent.write(odd)
        ends.client.write(odd)
        await ends.client_hears.until_size(len(odd))
        await ends.agent_hears.until_size(len(odd))
        assert ends.client_hears.stream == ends.agent_hears.stream == odd


async def test_a_client_that_hangs_up_leaves_no_question_open() -> None:
    async with joined("haven", "v1") as ends:
        call = {"toolCallId": "c", "title": "Mend"}
        options = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
        params = {"sessionId": "s", "toolCall": call, "options": options}
        ends.tell(id="q", method="session/request_permission", params=params)
        await ends.client_heard(1)
        await ends.client.aclose()
        await ends.joined.wait_ended()
        (answer,) = await ends.agent_heard(1)
        assert answer == {"jsonrpc": "2.0", "id": "q", "result": {"outcome": {"outcome": "cancelled"}}}


async def test_when_the_agent_ends_what_it_said_arrives_before_the_end() -> None:
    async with joined("haven-legacy", "haven") as ends:
        text = {"type": "text", "text": "x"}
        for _ in range(5):
            ends.tell(method=UPDATE, params=update(sessionUpdate="agent_message_chunk", content=text))
        await ends.agent.aclose()
        await ends.joined.wait_ended()
    told = [json.loads(line) for line in ends.client_hears.stream.splitlines()]
    assert [frame["params"]["update"]["type"] for frame in told] == ["agent_message_chunk"] * 5


async def test_strict_ends_at_the_first_loss_and_names_it() -> None:
    async with joined("haven", "v1", strict=True) as ends:
        ends.tell(method=UPDATE, params=update(sessionUpdate="plan", entries=[]))
        await ends.client_heard(1)
        assert ends.joined.ledger.entries == []
        ends.tell(method=UPDATE, params=update(sessionUpdate="usage_update", used=1, size=2))
        ends.tell(id=3, method="session/request_permission", params={"options": []})
        await ends.joined.wait_ended()
        assert ends.joined.stopped_by is not None
        assert ends.joined.stopped_by.what == "an update that the reference does not list"


async def test_without_strict_a_loss_ends_nothing() -> None:
    async with joined("haven", "v1") as ends:
        ends.tell(method=UPDATE, params=update(sessionUpdate="usage_update", used=1, size=2))
        ends.tell(method=UPDATE, params=update(sessionUpdate="plan", entries=[]))
        assert len(await ends.client_heard(2)) == 2
        assert ends.joined.stopped_by is None
        assert [entry.outcome for entry in ends.joined.ledger.entries] == ["lost"]


async def test_closing_again_does_no_harm() -> None:
    async with joined("koog", "koog") as ends:
        await ends.joined.aclose(grace=0)
        await ends.joined.aclose()

"""What a peer did not advertise is refused here, by its name, and never sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dragoman import Agent, Client, Turn, connect
from dragoman.errors import NotAdvertised
from dragoman.schema.codec import read
from dragoman.schema.v1 import ClientCapabilities, ElicitationSchema, SelectedPermissionOutcome
from dragoman.sdk.capabilities import AGENT_REQUESTS, CLIENT_REQUESTS, peer_capabilities
from tests.every import every
from tests.sdk.ends import raw_agent, raw_client
from tests.sdk.table import AGENT, CLIENT

GATED_AT_AGENTS = sorted(name for name, method in AGENT_REQUESTS.items() if method.capability)
GATED_AT_CLIENTS = sorted(name for name, method in CLIENT_REQUESTS.items() if method.capability)


@every(
    ("tree", "path", "given"),
    [
        ({}, "terminal", False),
        ({"terminal": False}, "terminal", False),
        ({"terminal": True}, "terminal", True),
        ({"fs": {"readTextFile": True}}, "fs.readTextFile", True),
        ({"fs": {"readTextFile": True}}, "fs.writeTextFile", False),
        ({"elicitation": None}, "elicitation", False),
        ({"elicitation": {}}, "elicitation", True),
        ({"elicitation": {}}, "elicitation.url", False),
        ({"elicitation": {"url": {}}}, "elicitation.url", True),
        ({"elicitation": {"url": None}}, "elicitation.url", False),
        ({}, "no.such.path", False),
    ],
)
def test_absent_and_null_mean_no_and_true_and_any_object_mean_yes(tree: Any, path: str, given: bool) -> None:
    found = peer_capabilities(read(msgspec.json.encode(tree), ClientCapabilities))
    assert (path in found) is given
    assert (path in found) is given  # and again, from memory


def test_a_peer_that_said_nothing_has_nothing() -> None:
    assert "terminal" not in peer_capabilities(msgspec.UNSET)


@pytest.mark.parametrize("method", GATED_AT_AGENTS)
async def test_a_client_never_asks_an_agent_for_what_it_did_not_offer(method: str) -> None:
    entry = AGENT_REQUESTS[method]
    assert entry.capability is not None
    async with raw_agent() as (handle, agent):
        message = read(msgspec.json.encode(AGENT[method].params), entry.params)
        with pytest.raises(NotAdvertised) as refused:
            await handle.ask(method, message, entry.result)
        assert (refused.value.capability, refused.value.method) == (entry.capability, method)
        assert entry.capability in str(refused.value)
        assert len(agent.seen) == 1  # the handshake


@pytest.mark.parametrize("method", GATED_AT_CLIENTS)
async def test_an_agent_never_asks_a_client_for_what_it_did_not_offer(method: str) -> None:
    entry = CLIENT_REQUESTS[method]
    refusals: list[NotAdvertised] = []
    agent = Agent("x")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        message = read(msgspec.json.encode(CLIENT[method].params), entry.params)
        with pytest.raises(NotAdvertised) as refused:
            await turn.client.ask(method, message, entry.result)
        refusals.append(refused.value)

    async with raw_client(agent) as client:
        client.prompt(1, await client.open())
        await client.answer_to(1)
        assert all("method" not in frame for frame in client.seen)
    assert refusals[0].capability == entry.capability


@pytest.mark.parametrize(
    ("what", "capability"),
    [
        ("read_text_file", "fs.readTextFile"),
        ("write_text_file", "fs.writeTextFile"),
        ("create_terminal", "terminal"),
        ("elicit", "elicitation.form"),
        ("elicit_url", "elicitation.url"),
    ],
)
async def test_what_a_turn_borrows_is_refused_by_name(what: str, capability: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {
        "read_text_file": ("/x",),
        "write_text_file": ("/x", "text"),
        "create_terminal": ("ls",),
        "elicit": ("m", ElicitationSchema(properties={})),
        "elicit_url": ("m", "http://x", "e"),
    }
    refusals: list[NotAdvertised] = []
    agent = Agent("x")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        with pytest.raises(NotAdvertised) as refused:
            await getattr(turn, what)(*arguments[what])
        refusals.append(refused.value)

    async with connect(agent) as handle:
        await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert refusals[0].capability == capability


async def test_permission_needs_no_capability() -> None:
    agent, client = Agent("x"), Client()
    asked: list[Any] = []

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("t") as call:
            asked.append(await call.ask())

    @client.request_permission
    async def decide(question: Any) -> Any:
        from dragoman.schema.v1 import RequestPermissionResponse

        return RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id="allow_once"))

    async with connect(agent, client=client) as handle:
        await (await handle.new_session(cwd="/tmp")).prompt("go")
    assert bool(asked[0])


async def test_more_folders_are_sent_only_to_an_agent_that_takes_them() -> None:
    async with raw_agent() as (handle, agent):
        with pytest.raises(NotAdvertised) as refused:
            await handle.new_session(cwd="/tmp", additional_directories=["/more"])
        assert refused.value.capability == "sessionCapabilities.additionalDirectories"
        assert len(agent.seen) == 1

"""A session with a model in the shape that servers send: bytes as they go over the wire, replayed over HTTP.

`recordings` has the bodies of five answers in each wire format, written down as the vendors' servers stream
them: text and thoughts in pieces, tool calls at once, arguments in pieces that are no JSON alone, pings,
usage in a last chunk, fields that nobody asked for. The server cuts them anywhere, also within a character.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dragoman import TurnResult
from dragoman.schema.v1 import AgentThoughtChunk, SessionUpdate, TextContent
from dragoman.testing.models.http import LINE_LIMIT, ModelConnection
from tests.agents.review.model_ground import make_shop, model_reviewer

pytestmark = pytest.mark.bound(40)  # the model layer takes seconds to import on a busy machine

RECORDINGS = Path(__file__).with_name("recordings")
STREAM = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
ODD = 7
"""Bytes of a chunk: no event, no number and not every character is in one piece."""


class ReplayServer:
    """Answers each request with the next recording; what was asked is kept."""

    def __init__(self, bodies: Sequence[bytes]) -> None:
        self._bodies = list(bodies)
        self.requests: list[dict[str, Any]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = ModelConnection(reader, writer)
        try:
            while connection.lasting and (incoming := await connection.receive()) is not None:
                self.requests.append(json.loads(incoming.body))
                await connection.head(200, STREAM)
                await connection.send(self._bodies.pop(0), split=ODD)
                await connection.finish()
        finally:
            connection.close()


@asynccontextmanager
async def replaying(api: str, bodies: Sequence[bytes]) -> AsyncIterator[tuple[ReplayServer, str]]:
    server = ReplayServer(bodies)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, limit=LINE_LIMIT)
    async with listener:
        port = listener.sockets[0].getsockname()[1]
        yield server, f"http://127.0.0.1:{port}" + ("/v1" if api == "openai" else "")


def recorded(api: str, name: str) -> bytes:
    return (RECORDINGS / api / f"{name}.sse").read_bytes()


async def replayed(
    folder: Path, api: str, *names: str
) -> tuple[TurnResult, list[SessionUpdate], ReplayServer]:
    async with (
        replaying(api, [recorded(api, name) for name in names]) as (server, address),
        model_reviewer(folder, address, api=api) as session,
    ):
        prompt = session.prompt("review shop.py")
        updates = [update async for update in prompt]
        return prompt.result, updates, server


def tool_results(api: str, request: dict[str, Any]) -> dict[str, str]:
    """What the model was told about its calls, by their ids."""
    if api == "openai":
        return {
            message["tool_call_id"]: message["content"]
            for message in request["messages"]
            if message["role"] == "tool"
        }
    blocks = [block for message in request["messages"] for block in message["content"]]
    return {
        block["tool_use_id"]: str(block["content"]) for block in blocks if block.get("type") == "tool_result"
    }


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_recorded_session_is_reviewed_verified_and_counted(tmp_path: Path, api: str) -> None:
    folder = make_shop(tmp_path / "project")
    result, updates, server = await replayed(folder, api, "1", "2", "3", "4", "5")
    assert result.stop_reason == "end_turn"
    assert "I’ll read the file and its callers first." in result.text
    assert "in `price` ✓. I did not look at naïve callers" in result.text
    assert "**1. high: Division by zero**" in result.text
    assert "An empty cart has count 0 — cart.py:3 calls it that way." in result.text
    assert "Verified by a second check: cart.py passes a count of 0, and nothing checks it." in result.text
    assert "+    return total / count if count else 0.0" in result.text
    assert "Rounds down" not in result.text.partition("## Summary")[0]
    assert "clever reported 2 findings: 1 verified, 1 refuted and left out." in result.text
    titles = [call.title for call in result.tool_calls.values()]
    assert {"Read shop.py", "Find references to price"} <= set(titles)
    assert all(call.status == "completed" for call in result.tool_calls.values())
    looked, reported = (tool_results(api, server.requests[at]) for at in (1, 2))
    assert len(looked) == 2, "both calls of the first answer have their results"
    assert "return total / count" in "".join(looked.values())
    assert len(reported) == 4
    assert len(server.requests) == 5
    assert result.usage is not None
    assert (result.usage.input_tokens, result.usage.output_tokens) == (8735, 453)
    assert result.usage.cached_read_tokens == 4096
    thoughts = [
        update.content.text
        for update in updates
        if isinstance(update, AgentThoughtChunk) and isinstance(update.content, TextContent)
    ]
    if api == "anthropic":
        assert "The cart calls price with a count." in "".join(thoughts)


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_recorded_refusal_is_told_and_takes_nothing_from_the_rules(tmp_path: Path, api: str) -> None:
    folder = make_shop(tmp_path / "project")
    (folder / "shop.py").write_text("def run(seen=[]):\n    return seen\n")
    result, _, server = await replayed(folder, api, "refusal")
    assert "python/mutable-argument-default" in result.text
    assert "clever refused to review" in result.text
    assert result.stop_reason == "end_turn"
    assert len(server.requests) == 1


@pytest.mark.parametrize("api", ["openai", "anthropic"])
async def test_a_stream_that_breaks_off_within_a_call_runs_no_half_of_it(tmp_path: Path, api: str) -> None:
    folder = make_shop(tmp_path / "project")
    body = recorded(api, "2")
    async with (
        replaying(api, [body[: len(body) // 2]]) as (_, address),
        model_reviewer(folder, address, api=api) as session,
    ):
        result = await session.prompt("review shop.py")
    assert "model/finding" not in result.text
    assert result.stop_reason == "end_turn"

"""What an agent sends is parsed where it enters: whatever comes out of the hub, live, at a load or from its
history, is JSON in UTF-8, in order, and complete but for what was no message.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dragoman.transport.contract import Transport
from dragoman.transport.websocket import open_websocket
from dragoman_hub.agents.invalid_frames import LOG_SECONDS, InvalidFrames
from dragoman_hub.session.message_ids import OWN_MESSAGE
from tests.house import COUNTED
from tests.hub import mutations
from tests.hub.mutations import SESSION, is_of_session, message_in, strictly
from tests.hub.outside.process import UNHURRIED, HubProcess, leave, running_hub
from tests.hub.sessions.stage import Talker

MUTATED = int(os.environ.get("DRAGOMAN_MUTATIONS", "1500"))
"""Lines of the storm that something happened to; `make test-all` sends twenty thousand."""

AGENT = """
import json, sys

for line in sys.stdin:
    message = json.loads(line)
    result = {"stopReason": "end_turn"}
    if message.get("method") == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {}}
    elif message.get("method") == "session/new":
        result = {"sessionId": sys.argv[2]}
    elif message.get("method") == "session/prompt":
        with open(sys.argv[1], "rb") as lines:
            sys.stdout.buffer.write(lines.read())
    if "id" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
        sys.stdout.buffer.write(json.dumps(answer).encode() + b"\\n")
        sys.stdout.buffer.flush()
"""


class StrictTalker(Talker):
    """Reads with a parser that is not ours and takes nothing but JSON in UTF-8."""

    def __init__(self, transport: Transport, **ours: Any) -> None:
        self.invalid: list[bytes] = []
        super().__init__(transport, **ours)

    def feed(self, block: bytes) -> None:
        for line in filter(None, block.split(b"\n")):
            try:
                self.heard.append(strictly(line))
            except ValueError:
                self.invalid.append(line)
        self._news.set()


async def strict_client(hub: HubProcess, **ours: Any) -> StrictTalker:
    transport = await open_websocket(f"ws://{hub.place}/acp", headers=hub.headers)
    client = StrictTalker(transport, **ours)
    await client.begin()
    return client


def without_cursor(message: dict[str, Any]) -> dict[str, Any]:
    """As the agent sent it."""
    meta = dict(message["params"].get("_meta", {}))
    if "dragoman" not in meta:
        return message
    del meta["dragoman"]
    params = {name: value for name, value in message["params"].items() if name != "_meta"}
    return {**message, "params": {**params, "_meta": meta} if meta else params}


def of_agent(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the agent said, without the echo of the prompt and the hub's own words."""
    notes = [one for one in messages if "id" not in one and one["method"] != "_dragoman/hub/event"]
    echo = '"user_message_chunk"'
    return [without_own_id(without_cursor(one)) for one in notes if echo not in json.dumps(one)]


def without_own_id(message: dict[str, Any]) -> dict[str, Any]:
    """Without the id that the hub gives a message of an agent that gives it none."""
    update = message["params"].get("update")
    if isinstance(update, dict) and str(update.get("messageId")).startswith(OWN_MESSAGE):
        del update["messageId"]
    return message


async def history_of(client: Talker) -> list[dict[str, Any]]:
    """All of it, page by page from its end."""
    found: list[dict[str, Any]] = []
    before: dict[str, Any] = {}
    while True:
        page = await client.call("_dragoman/hub/history", {"sessionId": SESSION, "limit": 5000, **before})
        found[:0] = [one["message"] for one in page["messages"]]
        if not page["more"]:
            return found
        before = {"before": page["messages"][0]["cursor"]}


@pytest.mark.bound(60)
async def test_nothing_but_valid_messages_comes_out_of_a_storm_of_mutated_lines(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    storm = b"\n".join(mutations.lines(MUTATED, seed=7)) + b"\n"
    (tmp_path / "storm").write_bytes(storm)
    lines = [line for line in storm.split(b"\n") if line and not line.isspace()]
    messages = [message_in(line) for line in lines]
    expected = [one for one in messages if one is not None and is_of_session(one)]
    command = json.dumps([sys.executable, "-c", AGENT, str(tmp_path / "storm"), SESSION])
    config = f'{UNHURRIED}\n[agents.storm]\ncommand = {command}\ndialect = "v1"\n'
    with running_hub(tmp_path, config=config) as hub:
        live = await strict_client(hub, cursors=True)
        session = (await live.call("session/new", {"cwd": str(hub.work), "mcpServers": []}, agent="storm"))[
            "sessionId"
        ]
        assert session == SESSION
        await live.answer(live.prompt(session, "go"))
        late = await strict_client(hub)
        await late.call("session/load", {"sessionId": session, "cwd": str(hub.work), "mcpServers": []})
        history = await history_of(late)
        status = await late.call("_dragoman/hub/status")
        await leave(live, late)
    invalid = messages.count(None)
    assert len(expected) > MUTATED / 3
    assert live.invalid == late.invalid == []
    for heard in (of_agent(live.heard), of_agent(late.heard), of_agent(history)):
        assert len(heard) == len(expected)
        assert heard == expected
    agent = next(one for one in status["agents"] if one["name"] == "storm")
    assert agent["invalidFrames"] == invalid > MUTATED / 4
    assert_log_is_short_and_silent(hub.log.read_text(), invalid)
    counts = f"{MUTATED} mutated of {len(lines)} lines, {len(expected)} valid and passed on"
    record_property(COUNTED, f"frames live, at load and in history: {counts}, {invalid} dropped and counted")


def assert_log_is_short_and_silent(text: str, invalid: int) -> None:
    complaints = [line for line in text.splitlines() if "agent storm sent" in line]
    assert 1 <= len(complaints) < 10 + invalid / 100
    assert "agent_message_chunk" not in text


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_flood_of_invalid_lines_makes_one_log_line_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    invalid = InvalidFrames("noisy", clock=clock)
    with caplog.at_level(logging.WARNING):
        for _ in range(1000):
            invalid.add(30, "the text is not JSON")
        clock.now = LOG_SECONDS
        invalid.add(40, "the text is not UTF-8")
        invalid.add(50, "the text is not JSON")
        invalid.flush()
        invalid.flush()
    assert invalid.count == 1002
    told = [record.getMessage() for record in caplog.records]
    assert [line.partition(", dropped")[0] for line in told] == [
        "agent noisy sent 1 invalid message (30 bytes)",
        "agent noisy sent 1000 invalid messages (30010 bytes)",
        "agent noisy sent 1 invalid message (50 bytes)",
    ]

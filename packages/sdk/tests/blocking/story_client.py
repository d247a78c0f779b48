"""The client of the interop story without `await`. Its handlers are the async ones of the other face.

Arguments: `story`, the story's orders as JSON, and the agent's command. It prints what it has seen as one
JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from dragoman.blocking import AgentHandle, Session, connect
from dragoman.errors import CallFailed
from dragoman.schema.v1 import (
    AgentMessageChunk,
    ContentBlock,
    SessionConfigSelect,
    SessionUpdate,
    TextContent,
)
from tests.interop.python import our_client as awaited


def turn(session: Session, *blocks: str | ContentBlock) -> dict[str, Any]:
    updates: list[SessionUpdate] = []
    running = session.prompt(*blocks)
    try:
        for update in running:
            updates.append(update)
            if isinstance(update, AgentMessageChunk) and update.content == TextContent(text="waiting"):
                session.cancel()
    except CallFailed as error:
        return awaited.told(updates) | {"error": error.code}
    return awaited.told(updates) | {"stop": running.result.stop_reason}


def failing(work: Callable[[], Any]) -> int:
    try:
        work()
    except CallFailed as error:
        return error.code
    return 0


def story(agent: AgentHandle, orders: list[str]) -> dict[str, Any]:
    name = agent.info.name if agent.info else None
    report: dict[str, Any] = {"initialize": {"version": agent.protocol_version, "agent": name}}
    session = agent.new_session(cwd="/story")
    assert session.modes is not None
    report["modes"] = [mode.id for mode in session.modes.available_modes]
    session.set_mode("loud")
    (option,) = session.set_config_option("model", "large")
    assert isinstance(option, SessionConfigSelect)
    report["model"] = option.current_value
    agent.notify("_story/note", {"text": "noted"})
    report["shout"] = agent.call("_story/shout", {"text": "hey"})
    report["no such method"] = failing(lambda: agent.call("_story/none", {}))
    for order in orders:
        report[order] = turn(session, order)
    report["blocks"] = turn(session, "blocks", *awaited.BLOCKS)
    loaded = agent.load_session("stored", cwd="/story")
    report["load"] = awaited.told(list(loaded.late))
    report["load what is lost"] = failing(lambda: agent.load_session("lost", cwd="/story"))
    report["written"] = awaited.files["/story/out.txt"]
    report["hints"] = awaited.hints
    report["unknown"] = awaited.unknown
    return report


if __name__ == "__main__":
    _, orders, *command = sys.argv[1:]
    with connect(command, client=awaited.client) as connected:
        seen = story(connected, json.loads(orders))
    print(json.dumps(seen))

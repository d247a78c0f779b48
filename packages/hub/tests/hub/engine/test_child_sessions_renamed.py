"""Two agents call their children by the same ids: clients know each child by the hub's id, in every word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.sdk.client.subagents import SubagentTree
from dragoman_hub.engine.live_session import LiveSession
from tests.hub.engine.test_child_sessions import announce, client_of, of
from tests.hub.sessions.raw_agents import RawAgent, RawStage, eventually, raw_stage
from tests.hub.sessions.stage import Talker


def spawn(agent: RawAgent, parent: str, child: str, title: str, *, words: str) -> None:
    if words == "schema":
        announce(agent, parent, child, title=title, state={"state": "running"})
        return
    update = {"sessionUpdate": "subagent_spawned", "subagentSessionId": child, "name": title, "task": "Work"}
    agent.say(method="session/update", params={"sessionId": parent, "update": update})


def finish(agent: RawAgent, parent: str, child: str, *, words: str) -> None:
    if words == "schema":
        announce(agent, parent, child, state={"state": "idle", "stopReason": "end_turn"})
        return
    update = {"sessionUpdate": "subagent_state_update", "subagentSessionId": child, "state": "completed"}
    agent.say(method="session/update", params={"sessionId": parent, "update": update})


async def work(stage: RawStage, client: Talker, name: str, cwd: Path, *, words: str) -> str:
    """An agent with `kid`, for which `grandkid` works, in a turn that ends."""
    session = await client.new(str(cwd), agent=name)
    prompt = client.prompt(session, "work")
    agent = stage.agents[name]
    await eventually(lambda: agent.prompts)
    spawn(agent, session, "kid", f"kid of {name}", words=words)
    agent.tell("kid", f"{name} here")
    spawn(agent, "kid", "grandkid", f"grandkid of {name}", words=words)
    message: dict[str, Any] = {
        "sessionUpdate": "session_message",
        "messageId": "m",
        "recipientSessionId": "grandkid",
    }
    message |= {"senderSessionId": "kid", "content": []}
    agent.say(method="session/update", params={"sessionId": "grandkid", "update": message})
    agent.tell("grandkid", f"{name} below")
    finish(agent, "kid", "grandkid", words=words)
    finish(agent, session, "kid", words=words)
    agent.end_turn()
    await client.answer(prompt)
    return session


def updates(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message["params"] for message in messages if message.get("method") == "session/update"]


def family_in(messages: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """By their last lines: for whom the subagents work, and how they stand."""
    tree = SubagentTree()
    for params in updates(messages):
        tree.hear(read(msgspec.json.encode(params), v1.SessionNotification))
    return {tree.last_line(child.id): (tree.requester(child.id), child.standing) for child in tree}


def family_of(name: str) -> dict[str, tuple[str, str]]:
    return {
        f"{name} here": (f"kid of {name}, for main session", "done"),
        f"{name} below": (f"grandkid of {name}, for kid of {name}, for main session", "done"),
    }


@pytest.mark.parametrize("words", ["schema", "draft"])
async def test_children_with_equal_ids_of_two_agents_are_told_apart_live_and_on_load(
    words: str, tmp_path: Path
) -> None:
    async with raw_stage("one", "two") as (stage, _):
        client = await client_of(stage).begin(subagents={})
        await work(stage, client, "one", tmp_path, words=words)
        session = await work(stage, client, "two", tmp_path, words=words)
        await eventually(lambda: {"one below", "two below"} <= set(client.texts()))
        assert family_in(client.heard) == family_of("one") | family_of("two")
        late = await client_of(stage).begin(subagents={})
        await late.call("session/load", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        await eventually(lambda: "two below" in late.texts())
        assert family_in(late.heard) == family_of("two")
        kid, grandkid = (child.id for child in _below(stage, session))
        assert of(late, kid) == ["two here"]
        assert {kid, grandkid}.isdisjoint({"kid", "grandkid"})
        messages = [params["update"] for params in updates(late.heard) if params["sessionId"] == grandkid]
        assert (messages[0]["senderSessionId"], messages[0]["recipientSessionId"]) == (kid, grandkid)
        history = (await late.call("_dragoman/hub/history", {"sessionId": session}))["messages"]
        names = [
            params["update"].get("sessionId") or params["update"].get("subagentSessionId")
            for params in updates([item["message"] for item in history])
            if params["update"]["sessionUpdate"].startswith("subagent")
        ]
        assert names == [kid, kid]


def _below(stage: RawStage, session: str) -> list[LiveSession]:
    """The child of a session, and the child of that."""
    (child,) = stage.hub.children.open_children(stage.hub.sessions[session])
    return [child, *stage.hub.children.open_children(child)]

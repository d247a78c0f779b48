"""Three levels of child sessions, however they are announced: who asks for whom, and how it ends."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman_app.cli.inbox import describe_request
from tests.hub.engine.test_child_sessions import (
    ALLOWED,
    CANCELLED,
    OPTIONS,
    Family,
    announce,
    ask,
    client_of,
    family,
)
from tests.hub.sessions.raw_agents import eventually, raw_stage
from tests.subagents.family import CHAIN, FAMILY

ENDED = {"state": "idle", "stopReason": "end_turn"}


def tell_of(home: Family, parent: str, child: str, words: str) -> None:
    """Announce a child in the words of the schema or of the draft, and speak in it."""
    update: dict[str, Any] = {"sessionUpdate": "subagent_update", "sessionId": child, "title": child}
    update |= {"state": {"state": "running"}, "capabilities": {"cancel": {}}}
    if words == "draft":
        update = {"sessionUpdate": "subagent_spawned", "subagentSessionId": child, "name": child}
        update |= {"task": "Work", "capabilities": {"cancel": True}}
    home.agent.say(method="session/update", params={"sessionId": parent, "update": update})
    home.agent.tell(child, f"{child} works")


async def begin(home: Family, words: str) -> list[dict[str, Any]]:
    """All three ask at once; gives what the inbox says of it."""
    for parent, child in zip((home.session, *FAMILY), FAMILY, strict=False):
        tell_of(home, parent, child, words)
        ask(home.agent, f"ask {child}", child)
    await eventually(lambda: all(name in home.hub.sessions and home.state(name).questions for name in FAMILY))
    return list((await home.client.call("_dragoman/hub/inbox"))["requests"])


@pytest.mark.parametrize("words", ["schema", "draft"])
async def test_everybody_who_asks_is_named_and_answered(words: str, tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        waiting = await begin(home, words)
        assert {request["sessionId"]: request["requester"] for request in waiting} == CHAIN
        for request in waiting:
            text = describe_request(request, now=0.0)
            assert f"  │ {request['requester']}: " in text
            assert "“Delete it”" in text
            members = {"sessionId": request["sessionId"], "request": request["request"], "result": ALLOWED}
            assert await home.client.call("_dragoman/hub/answer", members) == {"settled": True}
        await eventually(lambda: all(f"ask {name}" in home.agent.answers for name in FAMILY))
        assert [home.agent.answers[f"ask {name}"]["result"] for name in FAMILY] == [ALLOWED] * 3


@pytest.mark.parametrize("words", ["schema", "draft"])
async def test_a_cancel_of_the_parent_ends_what_all_its_children_wait_for(words: str, tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        await begin(home, words)
        home.client.say({"method": "session/cancel", "params": {"sessionId": home.session}})
        await eventually(lambda: all(f"ask {name}" in home.agent.answers for name in FAMILY))
        assert [home.agent.answers[f"ask {name}"]["result"] for name in FAMILY] == [CANCELLED] * 3
        assert (await home.client.call("_dragoman/hub/inbox"))["requests"] == []


async def test_a_snapshot_has_the_tree_with_states(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        await begin(home, "schema")
        update = {"sessionUpdate": "subagent_update", "sessionId": "formatter", "state": ENDED}
        home.agent.say(method="session/update", params={"sessionId": "linter", "update": update})
        await eventually(lambda: home.state("linter").child("formatter").work == "idle")
        tree = home.hub.children.tree(home.hub.sessions[home.session])
        assert [(line["sessionId"], line["parent"], line["state"]) for line in tree] == [
            ("reviewer", home.session, "running"),
            ("linter", "reviewer", "running"),
            ("formatter", "linter", "idle"),
        ]
        listed = (await home.client.call("_dragoman/hub/sessions"))["sessions"]
        work = {line["sessionId"]: line.get("work") for line in listed}
        assert work["formatter"] == ENDED


async def test_an_editor_that_knows_no_children_shows_who_asks(tmp_path: Path) -> None:
    """In the words that it shows anyway: the title of the tool call, also one that the request leaves out."""
    async with family(tmp_path, subagents=False) as home:
        tell_of(home, home.session, "reviewer", "schema")
        tell_of(home, "reviewer", "linter", "schema")
        update = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Run the linter"}
        home.agent.say(method="session/update", params={"sessionId": "linter", "update": update})
        home.agent.ask(
            "r", "session/request_permission", "linter", toolCall={"toolCallId": "t"}, options=OPTIONS
        )
        request = await home.client.asked()
        assert request["params"]["sessionId"] == home.session
        assert request["params"]["toolCall"]["title"] == "linter, for reviewer: Run the linter"
        assert request["params"]["_meta"]["dragoman"]["requester"] == CHAIN["linter"]


async def test_a_form_of_a_child_says_who_asks_in_its_message(tmp_path: Path) -> None:
    async with raw_stage("one") as (stage, _):
        client = await client_of(stage).begin(elicitation={"form": {}})
        session = await client.new(str(tmp_path))
        client.prompt(session, "work")
        agent = stage.agents["one"]
        await eventually(lambda: agent.prompts)
        announce(agent, session, "kid", title="name\nfinder")
        schema = {"type": "object", "properties": {"name": {"type": "string"}}}
        agent.ask("r", "elicitation/create", "kid", mode="form", message="Which?", requestedSchema=schema)
        request = await client.asked("elicitation/create")
        assert request["params"]["sessionId"] == session
        assert request["params"]["message"] == "name finder: Which?"

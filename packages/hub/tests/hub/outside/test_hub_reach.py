"""What a token reaches: agents and folders, however a request names them, and every folder of a session.

Clients and agents of these tests say raw JSON lines.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_hub.gate.admission import Grant
from tests.hub.sessions.raw_agents import eventually, raw_stage
from tests.hub.sessions.stage import Talker, text

HUB = "_dragoman/hub/"

# Folders.


async def test_a_token_with_a_root_reaches_no_session_that_has_a_folder_outside(tmp_path: Path) -> None:
    project, outside = tmp_path / "proj", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    confined = Grant("confined", roots=(str(project),))
    async with raw_stage("one") as (stage, owner):
        places = {"cwd": str(project), "mcpServers": [], "additionalDirectories": [str(outside)]}
        session = (await owner.call("session/new", places))["sessionId"]
        agent = stage.agents["one"]
        prompt = owner.prompt(session, "needle")
        await eventually(lambda: agent.prompts)
        agent.tell(session, "needle")
        agent.ask("q", "session/request_permission", session, toolCall={"toolCallId": "t"}, options=[])
        await owner.asked()
        client = await stage.client(confined, events=True).begin()
        await client.call(f"{HUB}watch", {"on": True})
        inside = {"cwd": str(project), "mcpServers": []}
        about = {"sessionId": session}
        for method, params in (
            (f"{HUB}attach", about),
            (f"{HUB}history", about),
            (f"{HUB}turns", about),
            (f"{HUB}changes", about),
            (f"{HUB}files", {**about, "pattern": ""}),
            (f"{HUB}file", {**about, "path": "a"}),
            (f"{HUB}answer", {**about, "request": "1", "result": {"outcome": {"outcome": "cancelled"}}}),
            (f"{HUB}handover", {**about, "agent": "one", "force": True}),
            ("session/load", {**about, **inside}),
            ("session/resume", {**about, **inside}),
            ("session/fork", {**about, **inside}),
            ("session/status", about),
            ("session/set_title", {**about, "title": "mine"}),
            ("session/prompt", {**about, "prompt": text("write outside")}),
            ("session/archive", about),
            ("session/close", about),
            ("session/delete", about),
            ("_vendor/ask", about),
        ):
            error = await client.refusal(method, params)
            assert (error["code"], error["data"]) == (-32003, {"scope": "sessions"}), method
        for is_open in (True, False):
            assert (await client.call("session/list"))["sessions"] == []
            assert (await client.call(f"{HUB}sessions"))["sessions"] == []
            assert (await client.call(f"{HUB}inbox"))["requests"] == []
            assert (await client.call(f"{HUB}search", {"text": "needle"}))["found"] == []
            assert (await client.call(f"{HUB}progress", {"sessionIds": [session]}))["progress"] == []
            if is_open:
                agent.end_turn()
                await owner.answer(prompt)
                await owner.call("session/close", about)
        assert session not in str([one for one in client.heard if "method" in one]), "nothing was told of it"
        assert len(agent.prompts) == 1
        assert not agent.calls


async def test_a_session_that_gets_a_folder_outside_is_gone_for_who_followed_it_with_a_root(
    tmp_path: Path,
) -> None:
    project, outside = tmp_path / "proj", tmp_path / "outside"
    project.mkdir()
    outside.mkdir()
    async with raw_stage("one") as (stage, owner):
        session = await owner.new(str(project))
        client = await stage.client(Grant("confined", roots=(str(project),))).begin()
        about = {"sessionId": session, "cwd": str(project), "mcpServers": []}
        await client.call("session/resume", about)
        agent = stage.agents["one"]
        first = client.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        agent.end_turn()
        await client.answer(first)
        await owner.call("session/resume", {**about, "additionalDirectories": [str(outside)]})
        error = await client.refusal("session/prompt", {"sessionId": session, "prompt": text("outside")})
        assert error["data"] == {"scope": "sessions"}
        client.say({"method": "_vendor/news", "params": {"sessionId": session}})
        owner.prompt(session, "secret plans")
        await eventually(lambda: len(agent.prompts) == 2)
        agent.tell(session, "secret plans")
        await owner.until(lambda one: "secret plans" in str(one))
        await client.call(f"{HUB}inbox")
        assert "secret plans" not in str(client.heard)
        assert not agent.notes


async def test_a_token_with_a_root_loads_no_session_of_which_its_agent_alone_knows_the_folder(
    tmp_path: Path,
) -> None:
    async with raw_stage("one", capabilities={"loadSession": True}) as (stage, _):
        client = await stage.client(Grant("confined", roots=(str(tmp_path),))).begin()
        params = {"sessionId": "made-elsewhere", "cwd": str(tmp_path), "mcpServers": []}
        assert (await client.refusal("session/load", params))["code"] == -32002
        assert not stage.agents["one"].calls


# What is judged is what is done.


def say_raw(client: Talker, method: str, params: str) -> int:
    """A request in these very bytes, whatever a JSON parser makes of them."""
    client.transport.write(
        b'{"jsonrpc":"2.0","id":4711,"method":"%b","params":%b}\n' % (method.encode(), params.encode())
    )
    return 4711


ODD_WAYS = (
    '{%s,"":"me","_meta":{"dragoman":{"agent":"two"}}}',
    '{%s,"agent":"me","_meta":{"dragoman":{"agent":"two"}}}',
    '{%s,"_meta":{"dragoman":{"agent":"me"}},"_meta":{"dragoman":{"agent":"two"}}}',
    '{%s,"_meta":{"dragoman":{"agent":"me","agent":"two"}}}',
    '{%s,"_meta":{"dragoman":{"agent":"me"},"dragoman":{"agent":"two"}}}',
    '{%s,"_meta":{"dr\\u0061goman":{"\\u0061gent":"two"}}}',
)


@pytest.mark.parametrize("params", ODD_WAYS)
async def test_a_token_for_one_agent_reaches_no_other_however_it_names_it(
    params: str, tmp_path: Path
) -> None:
    limited = Grant("limited", agents=("me",))
    async with raw_stage("me", "two") as (stage, _):
        stranger = stage.agents["two"]
        for method, more in (
            ("session/new", f'"cwd":{json.dumps(str(tmp_path))},"mcpServers":[]'),
            ("authenticate", '"methodId":"m"'),
            ("_vendor/agent", '"x":1'),
            (f"{HUB}agents/check", '"x":1'),
        ):
            client = await stage.client(limited, agent="me").begin()
            answer = await client.answer(say_raw(client, method, params % more))
            assert answer["error"]["data"] == {"scope": "agents"}, method
        client = stage.client(limited)
        answer = await client.answer(say_raw(client, "initialize", params % '"protocolVersion":1'))
        assert answer["error"]["data"] == {"scope": "agents"}
        assert not hasattr(stranger, "transport"), "it was never started"


async def test_what_an_agent_gets_of_a_request_is_what_the_gate_has_read(tmp_path: Path) -> None:
    """A member that is there twice is read differently by different parsers."""
    inside, outside = tmp_path / "in", tmp_path / "out"
    inside.mkdir()
    outside.mkdir()
    async with raw_stage("me") as (stage, _):
        client = await stage.client(Grant("confined", roots=(str(inside),))).begin()
        session = await client.new(str(inside))
        agent = stage.agents["me"]
        twice = f'{{"type":"resource_link","name":"x","uri":"file://{outside}/a","uri":"file://{inside}/a"}}'
        say_raw(client, "session/prompt", f'{{"sessionId":"{session}","prompt":[{twice}]}}')
        await eventually(lambda: agent.prompts)
        assert str(outside) not in agent.raw_text
        deep = f'{{"sessionId":"{session}","a":{{"path":"{outside}/x","path":"{inside}/x"}}}}'
        say_raw(client, "_vendor/ask", deep)
        await eventually(lambda: agent.calls)
        assert agent.calls[0]["params"]["a"] == {"path": f"{inside}/x"}
        assert str(outside) not in agent.raw_text

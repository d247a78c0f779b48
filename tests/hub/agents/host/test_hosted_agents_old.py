"""An agent host of a hub 0.1.0 that still runs: a later hub goes on with it, or ends it and says so.

`old_host` speaks as that version did, on what it has left (see `test_old_journals`); `host-protocol.jsonl` is
what a real host of that version said, and holds both of them to it.
"""

from __future__ import annotations

import asyncio
import json
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman.hub.agents.host import records
from dragoman.hub.agents.host.hosted_agents import find_hosted
from tests.hub.agents.host.raw_hub import Journal
from tests.hub.fixtures import host_protocol
from tests.hub.fixtures.make import real_host
from tests.hub.fixtures.scenes import OLD, OldScene, OldWatcher, opened, started_host
from tests.hub.fixtures.scripted_agent import ScriptedAgent, lines_of
from tests.hub.fixtures.scripted_hub import Line, play

pytestmark = [
    pytest.mark.bound(30),
    pytest.mark.in_turn("old_scene"),
    pytest.mark.skipif(sys.platform == "win32", reason="no agent is kept on Windows"),
]

BLANK = {"agent": 1, "taken": {}, "records": [], "next_frame": 1, "state": None}
"""A host whose agent was just started."""


def golden() -> list[Line]:
    return [json.loads(line) for line in (OLD / "host-protocol.jsonl").read_text().splitlines()]


# Both halves are held to what was recorded.


def test_a_real_host_says_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "agents" / "a.sock"
    with real_host(path):
        secret = path.with_name("a.sock.secret")
        assert [stat.S_IMODE(file.stat().st_mode) for file in (path, secret)] == [0o600, 0o600]
        assert len(secret.read_bytes()) == 32
        assert play(golden(), path) == golden()
    assert list(path.parent.iterdir()) == []


def test_the_old_host_of_the_tests_says_what_was_recorded(tmp_path: Path) -> None:
    path, scene = tmp_path / "a.sock", tmp_path / "scene"
    scene.write_text(json.dumps(BLANK))
    with started_host(path, scene, tmp_path / "log") as host:
        assert play(golden(), path) == golden()
        host.process.wait()
    assert not path.exists()


def test_the_records_of_the_package_are_those_of_the_recording() -> None:
    assert records.VERSION == host_protocol.VERSION
    assert {name: getattr(records, name) for name in host_protocol.KINDS} == host_protocol.KINDS
    write = host_protocol.encode_write("stream", 7, b"{}\n")
    assert records.write_head("stream", 7, 3) + b"{}\n" == write.encode()


async def test_the_hub_hears_from_an_old_host_what_was_not_acknowledged(tmp_path: Path) -> None:
    frames = host_protocol.HostRecord("FRAMES", 8, b'{"eight":8}\n{"nine":9}\n').shown()
    (tmp_path / "scene").write_text(json.dumps({**BLANK, "taken": {"one": 5}, "records": [frames]}))
    path = tmp_path / "kept" / "a.sock"
    path.parent.mkdir(mode=0o700)
    with started_host(path, tmp_path / "scene", tmp_path / "log") as host:
        agent = await find_hosted(path)
        assert agent is not None
        assert (agent.pid, agent.host_pid, agent.taken_numbers) == (1, host.process.pid, {"one": 5})
        agent.acknowledge(8)
        heard = Journal(agent, base=8)
        agent.start(heard)
        await heard.until(1)
        assert heard.frames == [b'{"nine":9}']
        await agent.aclose()
        assert await host.end() == "the hub has closed it"


# The hub goes on where the old one was.


async def test_a_turn_that_went_on_meanwhile_is_told_to_its_end(old_scene: OldScene) -> None:
    with old_scene.old_host():
        async with opened(old_scene) as (_, watcher):
            session = old_scene.sessions["open"]
            await watcher.load(session)
            ended = await watcher.event(session, "turn_ended")
            assert (ended["key"], ended["stopReason"]) == ("open-open", "end_turn")
            rest = watcher.told(session)[len(session["told"]) :]
            texts = [
                told["params"]["update"]["content"]["text"] for told in rest if "update" in told["params"]
            ]
            assert texts == ["the rest"]
            assert [told["params"].get("event") for told in rest] == [None, "turn_ended"]


async def test_questions_are_asked_again_whole_and_their_answers_reach_the_agent(old_scene: OldScene) -> None:
    with old_scene.old_host() as host:
        async with opened(old_scene) as (_, watcher):
            for name in ("permission", "secret", "elicitation"):
                session = old_scene.sessions[name]
                (question,) = session["questions"]
                await watcher.load(session)
                request = await asked(watcher, session)
                assert request["method"] == question["method"]
                assert without_meta(request["params"]) == without_meta(question["params"])
                if name == "elicitation":
                    watcher.say(
                        {"id": request["id"], "result": {"action": "accept", "content": {"name": "Ada"}}}
                    )
                else:
                    watcher.allow(request)
                ended = await watcher.event(session, "turn_ended", key=session["turn"]["key"])
                assert ended["stopReason"] == "end_turn"
                (said,) = [one for one in watcher.texts(session=session["id"]) if one.startswith("answered")]
                assert ("Ada" if name == "elicitation" else '"optionId": "allow"') in said
            secret = old_scene.sessions["secret"]
            (waiting,) = secret["queue"]
            await watcher.event(secret, "turn_ended", key=waiting["key"])
            assert host.prompts(secret["id"]) == [waiting["prompt"]], "what waited is given whole"


async def test_the_queue_goes_on_in_the_old_agent_once_its_turn_has_ended(old_scene: OldScene) -> None:
    with old_scene.old_host() as host:
        async with opened(old_scene) as (_, watcher):
            session = old_scene.sessions["queue"]
            await watcher.load(session)
            assert host.prompts(session["id"]) == [], "a turn that runs is not begun again"
            watcher.say({"method": "session/cancel", "params": {"sessionId": session["id"]}})
            ended = await watcher.event(session, "turn_ended", key=session["turn"]["key"])
            assert ended["stopReason"] == "cancelled"
            await watcher.event(session, "turn_ended", key=session["queue"][-1]["key"])
            assert host.prompts(session["id"]) == [prompt["prompt"] for prompt in session["queue"]]
            assert old_scene.prompts() == [], "no other process has done anything"


@pytest.mark.parametrize("old_scene", ["sqlite"], indirect=True)
async def test_an_adopted_host_is_greeted_as_before_and_ends_with_the_hub_that_ends_its_agents(
    old_scene: OldScene,
) -> None:
    with old_scene.old_host() as host:
        async with opened(old_scene):
            pass
        assert await host.end() == "the hub has closed it"
        hello, *rest = [line for line in host.lines() if line.get("from") == "hub"]
        assert (hello["kind"], hello["number"]) == ("HELLO", host_protocol.VERSION)
        assert "START" in [line["kind"] for line in rest]
        assert not old_scene.socket.exists()


@pytest.mark.parametrize("old_scene", ["sqlite"], indirect=True)
async def test_a_prompt_that_was_stored_and_did_not_reach_the_agent_is_given_once(
    old_scene: OldScene,
) -> None:
    session = old_scene.sessions["queue"]
    old_scene.host["taken"].pop(session["id"])
    old_scene.host["state"]["turns"].pop(session["id"])
    with old_scene.old_host() as host:
        async with opened(old_scene) as (_, watcher):
            await watcher.load(session)
            await watcher.until(lambda _: len(watcher.texts(session=session["id"])) == 4)
            assert host.prompts(session["id"]) == [session["turn"]["prompt"]]


@pytest.mark.parametrize("old_scene", ["sqlite"], indirect=True)
async def test_frames_whose_acknowledgement_was_lost_are_not_told_twice(old_scene: OldScene) -> None:
    session = old_scene.sessions["secret"]
    (frames,) = old_scene.host["records"]
    again = ScriptedAgent({"asked": 2}).receive(
        {"id": 1, "method": "session/prompt", "params": {"sessionId": session["id"], **session["turn"]}}
    )
    frames["number"] -= len(again)
    frames["payload"] = lines_of(again).decode() + frames["payload"]
    with old_scene.old_host():
        async with opened(old_scene) as (_, watcher):
            await watcher.load(old_scene.sessions["open"])
            await watcher.event(old_scene.sessions["open"], "turn_ended")
            await watcher.load(session)
            assert len(watcher.told(session)) == len(session["told"])
            inbox = (await watcher.call("_dragoman/hub/inbox"))["requests"]
            assert [request["sessionId"] for request in inbox].count(session["id"]) == 1


# No host is left alone.


@pytest.mark.parametrize("old_scene", ["sqlite"], indirect=True)
async def test_an_agent_that_died_without_a_hub_ends_its_turns_behind_what_it_has_said(
    old_scene: OldScene,
) -> None:
    with old_scene.old_host("--agent-ended") as host:
        async with opened(old_scene) as (_, watcher):
            for name in ("open", "permission"):
                await watcher.load(old_scene.sessions[name])
            ended = await watcher.event(old_scene.sessions["open"], "turn_ended")
            assert ended["stopReason"] == "end_turn", "it had said so before"
            ended = await watcher.event(old_scene.sessions["permission"], "turn_ended")
            assert "status 3" in ended["error"]["message"]
            assert await host.end() == "the hub has closed it"


@pytest.mark.parametrize("old_scene", ["sqlite"], indirect=True)
async def test_a_host_that_speaks_another_version_is_ended_and_its_turns_with_it(old_scene: OldScene) -> None:
    with old_scene.old_host("--speaks", "1") as host:
        async with opened(old_scene) as (_, watcher):
            await asyncio.to_thread(host.process.wait)
            for name in ("open", "permission"):
                session = old_scene.sessions[name]
                await watcher.load(session)
                ended = await watcher.event(session, "turn_ended", key=session["turn"]["key"])
                assert "cut short" in ended["error"]["message"]


async def asked(watcher: OldWatcher, session: dict[str, Any]) -> dict[str, Any]:
    return await watcher.until(
        lambda message: (
            "id" in message
            and "method" in message
            and message.get("params", {}).get("sessionId") == session["id"]
        )
    )


def without_meta(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "_meta"}

"""The guide with foreign ends: our agents as an IDE starts them and speaks to them, by lines of JSON alone,
and the script that tests an agent against agents that share no code with us.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.testing.models import call, hold, scripted_model, turn
from dragoman.testing.pace import patience
from tests.agents.code.test_agent_process import environment
from tests.forks import DRAGOMAN
from tests.kit.kit_agents import alive
from tests.seeds.lines import FOREIGN, Frame, LinePeer, lines, text
from tests.seeds.test_003_guide_lines import INITIALIZE

pytestmark = pytest.mark.bound(60)  # whole programs are started, on a machine that may be busy

CODER = [*DRAGOMAN, "agent", "code"]
PLAIN_AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("plain_agent.py"))]
KOOG_AGENT = [sys.executable, "-I", "-S", str(FOREIGN / "koog" / "agent.py")]
SHOP = """\
import subprocess


def total(prices, seen=[]):
    seen.extend(prices)
    return sum(seen)


def pack(command):
    subprocess.run(command, shell=True, check=True)


def price_of(name, prices):
    try:
        return prices[name]
    except:
        return None


def names_of(prices):
    return sorted(prices)
"""


async def begun(peer: LinePeer, folder: Path) -> str:
    await peer.ask("initialize", INITIALIZE)
    made = await peer.ask("session/new", {"cwd": str(folder), "mcpServers": []})
    session: str = made["result"]["sessionId"]
    return session


async def test_the_agent_that_is_registered_in_an_ide_is_started_from_there_and_finds_the_bugs_of_a_file(
    tmp_path: Path,
) -> None:
    """`editors install` writes the file; what it names is run as an IDE runs it, and reviews code of our own
    making: the bugs on their lines, and nothing in what is right.
    """
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    (project / "shop.py").write_text(SHOP)
    env = {**environment(tmp_path), "HOME": str(home)}
    command = [*DRAGOMAN, "editors", "install", "jetbrains", "--agent", "review", "--yes"]
    subprocess.run(command, env=env, check=True, capture_output=True, timeout=patience(30))
    registered = json.loads((home / ".jetbrains/acp.json").read_text())["agent_servers"]
    (entry,) = registered.values()
    command = [entry["command"], *entry["args"]]
    async with lines(*command, env={**env, **entry.get("env", {})}) as ide:
        ide.answer = lambda request: {"result": {"content": Path(request["params"]["path"]).read_text()}}
        session = await begun(ide, project)
        link = {"type": "resource_link", "uri": (project / "shop.py").as_uri(), "name": "shop.py"}
        prompt = [text("Review this file for issues"), link]
        answer = await ide.ask("session/prompt", {"sessionId": session, "prompt": prompt})
        await ide.close()
    assert answer["result"]["stopReason"] == "end_turn"
    said = "".join(
        update["content"]["text"]
        for update in ide.updates()
        if update["sessionUpdate"] == "agent_message_chunk"
    )
    rows = SHOP.splitlines()
    found = {rows[int(number) - 1].strip() for number in re.findall(r"shop\\?\.py:(\d+)", said)}
    assert found == {
        "def total(prices, seen=[]):",
        "subprocess.run(command, shell=True, check=True)",
        "except:",
    }


def examined(*agent: str, folder: Path) -> tuple[int, dict[str, str]]:
    """The status of `check agent`, and how it judged handshake, session, prompt and format."""
    ids = "INIT-05,SES-04,TURN-03,TURN-04,UPD-01,STD-03"
    command = [*DRAGOMAN, "check", "agent", "--quiet", "--scene", "story", "--only", ids, "--format", "json"]
    done = subprocess.run(
        [*command, "--", *agent],
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(50),
    )
    (part,) = json.loads(done.stdout)["parts"]
    return done.returncode, {row["requirement"]: row["status"] for row in part["verdicts"]}


def test_a_script_tells_a_good_agent_from_one_with_the_mistakes_of_the_guide(tmp_path: Path) -> None:
    status, good = examined(*PLAIN_AGENT, folder=tmp_path)
    assert (status, set(good.values()), len(good)) == (0, {"passed"}, 6)
    status, bad = examined(*KOOG_AGENT, folder=tmp_path)
    assert status == 1
    assert bad["UPD-01"] == "failed", "updates without their wrapper, or of no kind"


async def test_an_edit_is_asked_about_by_lines_and_a_refusal_leaves_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("x = 1\n")
    edit = call("edit", path="a.py", old="x = 1", new="x = 2")
    asked: list[Frame] = []

    def decide(request: Frame) -> Frame | None:
        if request["method"] != "session/request_permission":
            return {"error": {"code": -32601, "message": "Method not found"}}
        assert file.read_text() == "x = 1\n", "nothing is done before the answer"
        asked.append(request["params"])
        kind = "reject_once" if len(asked) == 1 else "allow_once"
        options = request["params"]["options"]
        chosen = next(option["optionId"] for option in options if option["kind"] == kind)
        return {"result": {"outcome": {"outcome": "selected", "optionId": chosen}}}

    async with scripted_model([turn(edit), turn("No."), turn(edit), turn("Yes.")]) as model:
        env = environment(tmp_path, DRAGOMAN_MODEL="small", DRAGOMAN_BASE_URL=model.openai_url)
        async with lines(*CODER, env=env) as ide:
            ide.answer = decide
            await ide.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            made = await ide.ask("session/new", {"cwd": str(tmp_path), "mcpServers": []})
            session = made["result"]["sessionId"]
            prompt = {"sessionId": session, "prompt": [text("Change x")]}
            await ide.ask("session/prompt", prompt)
            assert file.read_text() == "x = 1\n"
            await ide.ask("session/prompt", prompt)
            assert file.read_text() == "x = 2\n"
            await ide.close()
    diff = {"type": "diff", "path": str(file), "oldText": "x = 1\n", "newText": "x = 2\n"}
    assert [request["toolCall"]["content"] for request in asked] == [[diff], [diff]]
    states = [update["status"] for update in ide.updates() if "status" in update]
    assert [state for state in states if state in ("completed", "failed")] == ["failed", "completed"]


async def test_a_cancel_by_lines_stops_tools_and_the_model_and_leaves_no_call_open(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pids")
    run = call("run", command="sleep 60 & echo $$ $! > pids; wait")
    async with scripted_model([turn(run), turn("Half", hold())]) as model:
        env = environment(tmp_path, DRAGOMAN_MODEL="small", DRAGOMAN_BASE_URL=model.openai_url)
        async with lines(*CODER, env=env) as ide:
            ide.answer = lambda request: {"error": {"code": -32601, "message": "Method not found"}}
            await ide.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
            made = await ide.ask("session/new", {"cwd": str(tmp_path), "mcpServers": []})
            session = made["result"]["sessionId"]
            await ide.ask("session/set_mode", {"sessionId": session, "modeId": "full"})
            prompt = {"sessionId": session, "prompt": [text("Go")]}
            waiting = ide.request("session/prompt", prompt)
            reading = asyncio.create_task(ide.answered(waiting))
            pids = (await asyncio.to_thread((tmp_path / "pids").read_text)).split()
            ide.send(method="session/cancel", params={"sessionId": session})
            assert (await reading)["result"] == {"stopReason": "cancelled"}
            assert len(pids) == 2
            assert not [pid for pid in pids if alive(int(pid))], "the tool and its children"
            ends = [update["status"] for update in ide.updates() if update.get("status") == "failed"]
            assert ends == ["failed"], "the call is not left open"
            waiting = ide.request("session/prompt", prompt)
            await ide.until(lambda frame: '"text": "Half"' in json.dumps(frame))  # and the model thinks on
            ide.send(method="session/cancel", params={"sessionId": session})
            assert (await ide.answered(waiting))["result"] == {"stopReason": "cancelled"}
            await ide.close()

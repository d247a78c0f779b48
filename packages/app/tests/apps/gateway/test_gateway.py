"""What a gateway leaves on disk, decisions and nothing that was said; and what it tells of errors."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from dragoman.errors import CallFailed, PeerDied
from dragoman.schema import v1
from dragoman_app.apps.console import UsageMistake
from dragoman_app.apps.gateway.gateway import Gateway, GatewayRules
from dragoman_app.apps.gateway.plan import make_gateway_plan
from dragoman_app.apps.gateway.report import TurnEvent
from dragoman_app.apps.target import ChosenAgent
from dragoman_local.known import AgentSource, KnownAgent
from dragoman_local.sandbox.wall import can_hold
from tests.apps.gateway.stage import make_gateway
from tests.sandbox import walled_agent
from tests.subagents.family import SHAPES, arguments


async def ignore(event: TurnEvent) -> None: ...


async def test_a_gateway_stores_its_decisions_and_nothing_that_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STATE", "CONFIG", "DATA", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    folder = tmp_path / "project"
    folder.mkdir()

    async with make_gateway(folder) as gateway:
        session = await gateway.open_session(cwd=str(folder), owner="somebody")
        for text in ("pomegranate", "/ask new.txt"):
            await session.turn([v1.TextContent(text=text)], ignore)
    stored = [path.read_text(errors="replace") for path in tmp_path.rglob("*") if path.is_file()]
    assert any("new.txt" in text and "deny" in text for text in stored)
    assert not any("pomegranate" in text for text in stored)


async def test_what_looks_like_a_secret_in_an_agents_last_words_is_not_told(tmp_path: Path) -> None:
    key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz"
    async with make_gateway(tmp_path) as gateway:
        died = gateway.explain(PeerDied("agent", returncode=3, stderr=f"401 for {key}"))
        failed = gateway.explain(CallFailed(-32603, f"quota of {key} used up", method="session/prompt"))
    assert "401 for" in str(died.message)
    assert key not in f"{died.message} {failed.message}"


@pytest.mark.parametrize("shape", SHAPES)
async def test_what_a_subagent_asks_is_decided_as_in_its_session(shape: str, tmp_path: Path) -> None:
    known = KnownAgent(name="family", command=tuple(arguments(shape)), source=AgentSource.COMMAND)
    rules = GatewayRules(approve="all")
    async with Gateway(ChosenAgent(known, {}, "family"), rules, cwd=str(tmp_path)) as gateway:
        session = await gateway.open_session(cwd=str(tmp_path), owner="somebody")
        report = await session.turn([v1.TextContent(text="Go")], ignore)
    assert report.text == "I ask for help. answers: allow allow allow"
    assert report.refusals == []


async def test_a_report_says_that_nothing_is_permitted_because_nothing_can_be_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("no folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    async with make_gateway(tmp_path, approve="all") as gateway:
        session = await gateway.open_session(cwd=str(tmp_path), owner="somebody")
        report = await session.turn([v1.TextContent(text="/ask new.txt")], ignore)
    assert [note for note in report.notes if "audit.jsonl cannot be written" in note]
    assert [refusal.why for refusal in report.refusals] == ["the audit log cannot be written"]


@pytest.mark.bound(30)
async def test_the_agent_of_a_gateway_is_behind_the_wall_and_its_sessions_in_it(tmp_path: Path) -> None:
    if reason := can_hold("workspace"):
        pytest.skip(f"no sandbox can be held here: {reason}")
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(walled_agent.__file__, folder / "agent.py")
    agent = shlex.join([sys.executable, str(folder / "agent.py")])
    said = {"agent": agent, "command": [], "cwd": str(folder), "env": [], "sandbox": "workspace"}
    more = {"approve": "all", "policy": None, "shell_lines": False, "silence": 0, "max_sessions": 2}
    plan = make_gateway_plan(argparse.Namespace(**said, **more, dialect=None))
    with pytest.raises(UsageMistake, match="outside"):  # though the client itself would allow it
        plan.folders.choose(str(tmp_path), [str(tmp_path)])
    async with Gateway(plan.target, plan.rules, cwd=plan.folders.cwd) as gateway:
        session = await gateway.open_session(cwd=str(folder), owner="somebody")
        prompt = f"write inside\nwrite {tmp_path}/outside"
        await session.turn([v1.TextContent(text=prompt)], ignore)
    assert (folder / "inside").exists()
    assert not (tmp_path / "outside").exists()

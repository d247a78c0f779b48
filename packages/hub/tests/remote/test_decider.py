"""Who decides here what an agent there may do, for an editor that knows nothing of it: as raw frames."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.transports import SinkRecorder
from dragoman.transport.memory import memory_pair
from dragoman_hub.remote.conversation import RemoteConversation
from dragoman_hub.remote.decider import AccessDecider
from dragoman_local.workspace.settings import LocalRules


@pytest.fixture(autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    return home


def line_of(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


class Line:
    """An editor and an agent, with a decider between them."""

    def __init__(self, rules: LocalRules) -> None:
        self.client, client = memory_pair()
        self.agent, agent = memory_pair()
        self.client_hears, self.agent_hears = SinkRecorder(), SinkRecorder()
        self.client.start(self.client_hears)
        self.agent.start(self.agent_hears)
        self.relay = RemoteConversation(
            client,
            agent,
            decider=AccessDecider(policy=rules.policy, approve=rules.approve, command=["claude"]),
        ).relay

    async def write(self, path: str, answer: str | None) -> dict[str, Any]:
        """What the agent is told when it asks to write there, and the editor's person answers so."""
        before = len(self.agent_hears.stream.splitlines())
        asked = len(self.client_hears.stream.splitlines())
        params = {"sessionId": "s", "kind": "write", "path": path, "text": "new"}
        self.agent.write(line_of(id=before + 1, method="_dragoman/access/permit", params=params))
        if answer is not None:
            await self.client_hears.until(lambda: len(self.client_hears.stream.splitlines()) > asked)
            question = json.loads(self.client_hears.stream.splitlines()[-1])
            self.question = question["params"]
            outcome = {"outcome": {"outcome": "selected", "optionId": answer}}
            self.client.write(line_of(id=question["id"], result=outcome))
        await self.agent_hears.until(lambda: len(self.agent_hears.stream.splitlines()) > before)
        reply: dict[str, Any] = json.loads(self.agent_hears.stream.splitlines()[-1])
        return reply


async def test_an_answer_for_good_to_an_agent_there_is_no_rule_for_agents_here(
    tmp_path: Path, own_places: Path
) -> None:
    line = Line(LocalRules())
    async with line.relay:
        assert "result" in await line.write(str(tmp_path / "a.txt"), "always")
        assert "result" in await line.write(str(tmp_path / "a.txt"), "allow")
    assert not (own_places / "config").exists()


async def test_the_editor_is_not_shown_a_file_of_this_machine_in_place_of_one_there(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a file of this machine")
    line = Line(LocalRules())
    async with line.relay:
        assert "error" in await line.write(str(tmp_path / "a.txt"), "reject")
    assert "a file of this machine" not in json.dumps(line.question)


async def test_what_the_command_line_allows_is_in_the_audit_log(tmp_path: Path, own_places: Path) -> None:
    line = Line(LocalRules(approve="all"))
    async with line.relay:
        assert "result" in await line.write(str(tmp_path / "a.txt"), None)
    entries = [
        json.loads(text) for text in (own_places / "state/dragoman/audit.jsonl").read_text().splitlines()
    ]
    assert [(entry["method"], entry["kind"]) for entry in entries] == [("ssh", "mode"), ("fs/write", "edit")]

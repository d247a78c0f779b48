"""The hub's policy: its decisions are written down, and it changes when the hub is told to read it again."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from dragoman.workspace.policy.policy_parser import PolicyError
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import Talker, staged

DENY = '[[rule]]\ndecision = "deny"\nname = "nothing is deleted"\nkind = "delete"\n'
ALLOW = '[[rule]]\ndecision = "allow"\nkind = "delete"\n'


@pytest.fixture(autouse=True)
def nobodys_own_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def answered(client: Talker, session: str) -> str:
    """What the agent says to the answer that it gets, if it gets one without a person."""
    before = len(client.texts(session=session))
    await client.answer(client.prompt(session, "ask"))
    return client.texts(session=session)[before:][0]


async def test_every_decision_of_the_policy_is_in_the_audit_log(tmp_path: Path) -> None:
    policy, audit = tmp_path / "policy.toml", tmp_path / "state/audit.jsonl"
    policy.write_text(DENY)
    async with staged({"one": obedient}, policy=str(policy), audit=str(audit)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        assert await answered(client, session) == "no"
    (line,) = [json.loads(one) for one in audit.read_text().splitlines()]
    assert (line["session"], line["agent"], line["outcome"], line["by"]) == (session, "one", "deny", "policy")
    assert "nothing is deleted" in line["rule"]


async def test_nothing_is_permitted_that_cannot_be_written_down(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW)
    (tmp_path / "file").touch()
    async with staged({"one": obedient}, policy=str(policy), audit=str(tmp_path / "file/audit")) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        assert await answered(client, session) == "no"
        stage.hub.broker.load_policy("")
        asked = client.prompt(session, "ask")
        client.allow(await client.asked())  # a person permits it, and nobody could know that later
        await client.answer(asked)
        assert client.texts()[-1] == "no"


async def test_a_policy_is_loaded_when_the_hub_is_told_to_and_a_broken_one_changes_nothing(
    tmp_path: Path,
) -> None:
    policy, other = tmp_path / "policy.toml", tmp_path / "other.toml"
    policy.write_text(DENY)
    async with staged({"one": obedient}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        policy.write_text("nonsense = 1\n")
        assert await answered(client, session) == "no"
        why = stage.hub.broker.load_policy(str(policy))
        assert why.startswith(f"the policy stays as it was: {policy}:1: ")
        assert "\n" not in why
        assert await answered(client, session) == "no"
        other.write_text(ALLOW)
        assert stage.hub.broker.load_policy(str(other)) == ""
        assert await answered(client, session) == "yes"
        assert stage.hub.broker.load_policy("") == ""
        asked = client.prompt(session, "ask")
        client.allow(await client.asked())
        assert (await client.answer(asked))["result"]["stopReason"] == "end_turn"


async def test_a_hub_does_not_start_with_a_policy_that_cannot_be_used(tmp_path: Path) -> None:
    options: dict[str, Any] = {"policy": str(tmp_path / "none.toml")}
    with pytest.raises(PolicyError, match="there is no such file"):
        async with staged({"one": obedient}, **options):
            pass


async def test_a_project_whose_policy_is_broken_leaves_the_question_to_people(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(ALLOW)
    (tmp_path / "project/.dragoman").mkdir(parents=True)
    (tmp_path / "project/.dragoman/policy.toml").write_text("nonsense = 1\n")
    async with staged({"one": obedient}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "project"))
        asked = client.prompt(session, "ask")
        client.allow(await client.asked())
        assert (await client.answer(asked))["result"]["stopReason"] == "end_turn"


async def test_writes_to_a_pipe_that_nobody_reads_hold_up_nobody(tmp_path: Path) -> None:
    """To show what a file holds before a write, it is opened; to open a pipe would take a thread for ever."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "other.txt").write_text("there")
    async with staged({"one": obedient}, files="hub") as stage:
        client = await stage.client().begin()
        session = ""
        for _ in range((os.cpu_count() or 1) + 5):  # as many as asyncio has threads
            session = await client.new(str(tmp_path))
            client.prompt(session, f"write {tmp_path}/pipe words")
            await client.asked(after=len(client.heard))
        assert (await client.call("_dragoman/hub/files", {"sessionId": session}))["files"] == [
            "pipe",
            "other.txt",
        ]


async def test_a_project_whose_policy_is_broken_keeps_what_the_hub_denies(tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(DENY)
    (tmp_path / "project/.dragoman").mkdir(parents=True)
    (tmp_path / "project/.dragoman/policy.toml").write_text("nonsense = 1\n")
    async with staged({"one": obedient}, policy=str(policy)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path / "project"))
        assert await answered(client, session) == "no"


async def test_a_project_whose_policy_is_broken_asks_about_files_of_clients_too(tmp_path: Path) -> None:
    """What no rule names is left to a client, but nobody knows what the rules of a broken file name."""
    (tmp_path / ".dragoman").mkdir()
    (tmp_path / ".dragoman/policy.toml").write_text("nonsense = 1\n")
    async with staged({"one": obedient}, files="client") as stage:
        client = await stage.client().begin(fs={"readTextFile": True, "writeTextFile": True})
        session = await client.new(str(tmp_path))
        prompt = client.prompt(session, f"write {tmp_path}/notes.txt words")
        client.allow(await client.asked(), "reject")
        await client.answer(prompt)
        assert not [message for message in client.heard if message.get("method") == "fs/write_text_file"]


async def test_a_question_of_the_hub_names_the_files_that_it_is_about(tmp_path: Path) -> None:
    """Editors open what `locations` names, so that a person sees what the question is about."""
    file = tmp_path / "notes.txt"
    file.write_text("old")
    async with staged({"one": obedient}, files="hub") as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        client.prompt(session, f"write {file} words")
        call = (await client.asked())["params"]["toolCall"]
        assert call["locations"] == [{"path": str(file)}]
        assert call["content"] == [{"type": "diff", "path": str(file), "oldText": "old", "newText": "words"}]

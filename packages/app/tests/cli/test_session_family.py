"""A hub's session leaves with its children: exported as one transcript, and shown as a family."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_app.cli.recordings import read_entries
from dragoman_check.trace.view.page import make_model
from dragoman_local.journal import open_journal
from tests.hub.engine.test_child_sessions import client_of
from tests.hub.engine.test_child_sessions_renamed import work
from tests.hub.sessions.raw_agents import eventually, raw_stage

CHAIN = {
    "here": "kid of two, for main session",
    "below": "grandkid of two, for kid of two, for main session",
}


@pytest.mark.parametrize("words", ["schema", "draft"])
async def test_an_export_has_the_children_and_a_view_says_for_whom_they_work(
    words: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """Another agent has children with the same ids, so the hub has given these other ids."""
    path = tmp_path / "hub.db"
    async with open_journal(path) as journal, raw_stage("one", "two", journal=journal) as (stage, _):
        client = await client_of(stage).begin(subagents={})
        await work(stage, client, "one", tmp_path, words=words)
        session = await work(stage, client, "two", tmp_path, words=words)
        await eventually(lambda: "two below" in client.texts())
    target = tmp_path / "family.ndjson"
    await asyncio.to_thread(main, ["sessions", "export", session, str(target), "--journal", str(path)])
    head, *lines = map(json.loads, target.read_text().splitlines())
    kid, grandkid = head["children"]
    assert (kid["parent"], kid["title"]) == (session, "kid of two")
    assert (grandkid["parent"], grandkid["title"]) == (kid["stream"], "grandkid of two")
    assert {line.get("stream") for line in lines} == {None, kid["stream"], grandkid["stream"]}
    assert "one here" not in target.read_text()

    rows = make_model(read_entries(target), title="t").rows
    requesters = {
        row["blocks"][0]["pieces"][0].split()[-1]: row.get("requester")
        for row in rows
        if row["kind"] == "message"
    }
    assert requesters == CHAIN
    subagents = [(row["name"], row["state"]) for row in rows if row["kind"] == "subagent"]
    ended = "completed" if words == "draft" else "end_turn"
    assert {name for name, _ in subagents} == set(CHAIN.values())
    assert [state for _, state in subagents if state == ended] == [ended, ended]
    assert main(["view", str(target)]) == 0
    assert CHAIN["below"] in target.with_suffix(".html").read_text()

    capsysbinary.readouterr()
    journal_path = ["--journal", str(tmp_path / "other.db")]
    await asyncio.to_thread(main, ["sessions", "import", str(target), *journal_path])
    await asyncio.to_thread(main, ["sessions", "show", "last", *journal_path])
    shown = capsysbinary.readouterr().out.decode()
    assert f"[{CHAIN['below']}]\ntwo below" in shown

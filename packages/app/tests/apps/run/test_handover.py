"""`--continue-with`: another agent goes on with what the first one could not finish."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_app.cli import main
from dragoman_local.journal import open_journal
from dragoman_local.journal.history import history_path
from tests.apps.run.run_process import home, run, scripted
from tests.journal.test_brief import records
from tests.together import SideBySide

together = SideBySide(2)


def notes(folder: Path) -> list[dict[str, Any]]:
    """All notes in the history of a home, the oldest stream first."""

    async def read() -> list[dict[str, Any]]:
        async with open_journal(history_path(home(folder))) as journal:
            streams = sorted((await journal.list()).streams, key=lambda info: info.created)
            return [
                {"stream": info.stream, **json.loads(entry.frame)}
                for info in streams
                async for page in journal.replay(info.stream)
                for entry in page
                if entry.direction == "note"
            ]

    return asyncio.run(read())


def titles(folder: Path) -> list[str]:
    """Of all sessions in the history of a home, the oldest first."""

    async def read() -> list[str]:
        async with open_journal(history_path(home(folder))) as journal:
            streams = sorted((await journal.list()).streams, key=lambda info: info.created)
            return [info.title for info in streams]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ('on prompt\n  say "I chose blue."\n  fail -32603 "the quota is used up"', "agent_error"),
        ('on prompt\n  say "I chose blue."\n  die 3', "agent_died"),
        ('on new\n  fail -32000 "Authentication required"', "auth_needed"),
    ],
)
@together
def test_another_agent_goes_on_when_the_first_is_out_of_quota_dead_or_logged_out(
    script: str, reason: str, tmp_path: Path
) -> None:
    first = scripted(tmp_path, script)
    done = run("--agent", first, "--continue-with", "echo", "--format", "json", "paint it", folder=tmp_path)
    (handover,) = done.named("handover")
    assert (done.status, handover["reason"], handover["agent"]) == (0, reason, "echo")
    answer = done.text.split("You said: ", 1)[1]
    assert answer.rstrip().endswith("paint it")
    if reason == "auth_needed":
        assert answer.strip() == "paint it", "nothing was said that could be told"
    else:
        assert {"agent": "I chose blue."} in records(answer)
        assert any("the mode" in loss for loss in handover["lost"])
    first_stream, second_stream = (
        note for note in notes(tmp_path) if note.keys() & {"continued", "continues"}
    )
    assert first_stream["continued"] == {"stream": second_stream["stream"], "agent": "echo"}
    continues = {"stream": first_stream["stream"]}
    assert second_stream["continues"] == continues | (
        {} if reason == "auth_needed" else {"title": "paint it"}
    )
    assert titles(tmp_path)[-1] == "paint it"


@together
def test_a_turn_that_ends_well_and_a_run_that_is_stopped_are_not_handed_over(tmp_path: Path) -> None:
    well = run("--agent", "echo", "--continue-with", "echo", "--format", "json", "hello", folder=tmp_path)
    assert (well.status, well.named("handover"), well.text) == (0, [], "You said: hello")
    slow = scripted(tmp_path, "on prompt\n  say half\n  unanswered")
    stopped = run(
        *("--agent", slow, "--continue-with", "echo", "--timeout", "1", "--format", "json", "x"),
        folder=tmp_path,
    )
    assert (stopped.status, stopped.named("handover")) == (124, [])


@together
def test_without_a_history_it_works_all_the_same_and_people_are_told(tmp_path: Path) -> None:
    first = scripted(tmp_path, 'on prompt\n  say "I chose blue."\n  die 3')
    done = run("--agent", first, "--continue-with", "echo", "--no-history", "paint it", folder=tmp_path)
    assert done.status == 0
    assert '{"agent":"I chose blue."}' in done.out
    assert "echo continues the work of" in done.err
    assert "not handed over: the mode" in done.err
    assert not history_path(home(tmp_path)).exists()


@together
def test_a_recorded_session_goes_on_with_another_agent(tmp_path: Path) -> None:
    first = scripted(tmp_path, 'on prompt\n  say "I chose blue."')
    run("--agent", first, "paint it", folder=tmp_path)
    for which in (("--continue",), ("--session", "last")):
        done = run(*which, "--continue-with", "echo", "--format", "json", "and the door", folder=tmp_path)
        assert done.status == 0
        assert {"agent": "I chose blue."} in records(done.text), which
        assert done.named("handover")[0]["reason"] == "recorded"
        assert done.text.rstrip().endswith("and the door")
    unknown = run("--session", "nobody", "--continue-with", "echo", "x", folder=tmp_path)
    assert (unknown.status, "no session 'nobody'" in unknown.err) == (2, True)


def test_sessions_handover_shows_the_brief_or_runs_the_other_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run("--agent", scripted(tmp_path, 'on prompt\n  say "I chose blue."'), "paint it", folder=tmp_path)
    for name, value in home(tmp_path).items():
        monkeypatch.setenv(name, value)
    assert main(["sessions", "handover", "last", "--brief", "--json"]) == 0
    shown = json.loads(capfd.readouterr().out)
    assert {"agent": "I chose blue."} in records(shown["brief"])
    assert shown["lost"]
    assert main(["sessions", "handover", "last"]) == 1
    assert "--agent" in capfd.readouterr().err
    assert main(["sessions", "handover", "nobody", "--agent", "echo"]) == 1
    assert "no session 'nobody'" in capfd.readouterr().err

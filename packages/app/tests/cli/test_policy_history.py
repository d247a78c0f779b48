"""What `dragoman policy test` and `suggest` make of sessions that were recorded."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman_app.cli import main, policy_history
from dragoman_local.journal import Entry, open_journal
from dragoman_local.workspace.proof.policy_trial import PolicyTrial, Verdict
from dragoman_local.workspace.proof.recorded_acts import RecordedAct
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.stage import staged
from tests.workspace.proof.recording import Recording

RULES = """
[[rule]]
decision = "deny"
path = "secret.txt"
[[rule]]
decision = "allow"
kind = "edit"
path = "free.txt"
"""

Test = Callable[..., tuple[int, str, str]]


@pytest.fixture
def policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Test:
    """Runs the command for a user with rules."""
    (tmp_path / "config/dragoman").mkdir(parents=True)
    (tmp_path / "config/dragoman/policy.toml").write_text(RULES)
    for name in ("DATA", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("HOME", str(tmp_path))

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(["policy", *arguments])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def record(path: Path, session: Recording, *, name: str = "one", cwd: str = "") -> None:
    async def fill() -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        async with open_journal(path) as journal:
            entries = [Entry(direction, frame, time.time()) for direction, frame in session.entries]  # type: ignore[arg-type]
            await journal.append(name, entries)
            await journal.describe(name, agent="claude", cwd=cwd)

    asyncio.run(fill())


async def test_a_hub_that_runs_is_judged_as_it_has_judged(policy: Test, tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "data/dragoman/hub.db", durability="off")
    (tmp_path / "data/dragoman").mkdir(parents=True)
    audit = tmp_path / "audit.jsonl"
    async with journal, staged({"one": obedient}, files="hub", journal=journal, audit=str(audit)) as stage:
        client = await stage.client().begin()
        session = await client.new(str(tmp_path))
        for name, option in [("a", "allow"), ("b", "reject"), ("secret.txt", ""), ("free.txt", "")]:
            before = len(client.heard)
            asked = client.prompt(session, f"write {tmp_path}/{name} words")
            if option:
                client.allow(await client.asked(after=before), option)
            await client.answer(asked)
        asked = client.prompt(session, "ask")
        client.allow(await client.asked(after=len(client.heard)))
        await client.answer(asked)
        status, out, err = await asyncio.to_thread(policy, "test", "--history", "--json")
    assert (status, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    told = [(each["outcome"], each["answer"], each["by"]) for each in found["verdicts"]]
    person = told[0][2]
    assert person not in ("", "policy", "hub")
    assert told == [
        ("ask", "allow", person),
        ("ask", "deny", person),
        ("deny", "deny", ""),
        ("allow", "allow", ""),
        ("ask", "allow", person),
    ]
    lines = [json.loads(line) for line in audit.read_text().splitlines()]
    judged = [
        "ask" if line["by"] == "person" else line["outcome"] for line in lines if line["outcome"] != "ask"
    ]
    assert [each["outcome"] for each in found["verdicts"]] == judged


def test_another_policy_is_tried_without_taking_its_place(policy: Test, tmp_path: Path) -> None:
    session = Recording(cwd=str(tmp_path))
    session.command("make")
    session.command("git push", "no")
    record(tmp_path / "data/dragoman/history.db", session)
    other = tmp_path / "other.toml"
    other.write_text(
        '[[rule]]\ndecision = "allow"\ncommand = "git push"\n[[rule]]\ndecision = "deny"\ncommand = "make"\n'
    )
    status, out, _ = policy("test", "--history", "--policy", str(other))
    assert status == 0
    assert "2 actions in 1 sessions" in out
    assert "Would be denied, was allowed: 1\n  one #4  make\n" in out
    assert "Would be allowed, was refused: 1\n  one #6  git push\n" in out
    assert "2 questions; the sandbox would answer 2 of them" in policy("test", "--history")[1]


def test_only_what_happened_since_then_is_judged(policy: Test, tmp_path: Path) -> None:
    session = Recording(cwd=str(tmp_path))
    session.command("make")
    record(tmp_path / "data/dragoman/history.db", session)
    assert "0 actions in 0 sessions" in policy("test", "--history", "--since", "0s")[1]
    assert "1 actions in 1 sessions" in policy("test", "--history", "--since", "1d")[1]


def test_nothing_recorded_and_a_broken_policy_are_said_and_not_passed_over(
    policy: Test, tmp_path: Path
) -> None:
    status, _, err = policy("test", "--history")
    assert status == 1
    assert "nothing is recorded yet" in err
    record(tmp_path / "data/dragoman/history.db", Recording(cwd=str(tmp_path)))
    (tmp_path / "config/dragoman/policy.toml").write_text("nonsense = 1\n")
    session = Recording(cwd=str(tmp_path))
    session.command("make")
    record(tmp_path / "data/dragoman/history.db", session, name="two")
    status, _, err = policy("test", "--history")
    assert status == 1
    assert "policy.toml:1" in err


def test_a_journal_that_is_elsewhere_is_named_as_left_out(policy: Test, tmp_path: Path) -> None:
    (tmp_path / "config/dragoman/hub.toml").write_text('journal = "nats://127.0.0.1:4222"\n')
    record(tmp_path / "data/dragoman/history.db", Recording(cwd=str(tmp_path)))
    status, _, err = policy("test", "--history")
    assert (status, err) == (0, "The journal of your hub is on NATS, and is not read.\n")


def test_what_an_agent_wrote_moves_no_cursor(policy: Test, tmp_path: Path) -> None:
    session = Recording(cwd=str(tmp_path))
    session.command("git push \x1b[2J", "no")
    record(tmp_path / "data/dragoman/history.db", session)
    other = tmp_path / "other.toml"
    other.write_text('[[rule]]\ndecision = "allow"\nunreadable = true\n')
    out = policy("test", "--history", "--policy", str(other))[1]
    assert "was refused: 1" in out
    assert "\x1b" not in out


def test_suggested_rules_are_shown_and_written_behind_the_others(policy: Test, tmp_path: Path) -> None:
    session = Recording(cwd=str(tmp_path))
    for line in ("npm test", "npm test", "git push"):
        session.command(line)
    record(tmp_path / "data/dragoman/history.db", session)
    file = tmp_path / "config/dragoman/policy.toml"
    status, out, err = policy("suggest")
    assert (status, err, file.read_text()) == (0, "", RULES)
    assert out.startswith(
        "# 3 questions, of which these rules would have saved 2.\n\n# Saves 2 questions, such as: npm test\n"
    )
    status, again, err = policy("suggest", "--write")
    assert (status, again, err) == (0, out, f"Written to {file}.\n")
    assert file.read_text().startswith(RULES.lstrip())
    assert "1 questions; " in policy("test", "--history")[1]
    assert json.loads(policy("suggest", "--json")[1]) == {
        "questions": 1,
        "saved": 0,
        "rules": [],
        "written": None,
    }


def test_rules_are_suggested_for_a_file_that_is_not_there_yet(policy: Test, tmp_path: Path) -> None:
    session = Recording(cwd=str(tmp_path))
    session.command("npm test")
    record(tmp_path / "data/dragoman/history.db", session)
    file = tmp_path / "new.toml"
    found = json.loads(policy("suggest", "--least", "1", "--write", "--json", "--policy", str(file))[1])
    assert (found["saved"], found["written"], found["rules"][0]["examples"]) == (1, str(file), ["npm test"])
    assert "0 questions; " in policy("test", "--history", "--policy", str(file))[1]


def test_a_session_is_learnt_from_by_its_name(policy: Test, tmp_path: Path) -> None:
    for name in ("one", "two"):
        session = Recording(cwd=str(tmp_path))
        session.command(f"make {name}")
        session.edit(f"{tmp_path}/src/a.py")
        record(tmp_path / "data/dragoman/history.db", session, name=name)
    status, out, _ = policy("learn", "one")
    assert status == 0
    assert out.startswith(
        "# A sandbox that was enough: the profile workspace\n# Changed in its folders: src\n"
    )
    assert "# 2 questions, of which these rules would have saved 2.\n" in out
    assert 'command = "make one"' in out
    assert 'path = "src/a.py"' in out
    assert "two" not in out
    found = json.loads(policy("learn", "last", "--json")[1])
    assert (found["sandbox"], found["needs"]["writes"]) == ("workspace", ["src"])
    status, _, err = policy("learn", "three")
    assert status == 1
    assert "no session 'three'" in err


def test_a_session_without_a_name_is_none_and_not_all_of_them(policy: Test, tmp_path: Path) -> None:
    session = Recording(cwd=str(tmp_path))
    session.command("make")
    record(tmp_path / "data/dragoman/history.db", session)
    status, out, err = policy("learn", "")
    assert (status, out) == (1, "")
    assert "no session '' is recorded" in err


def test_a_journal_without_sessions_has_no_last_one(policy: Test, tmp_path: Path) -> None:
    async def make() -> None:
        (tmp_path / "data/dragoman").mkdir(parents=True)
        async with open_journal(tmp_path / "data/dragoman/history.db"):
            pass

    asyncio.run(make())
    status, _, err = policy("learn", "last")
    assert status == 1
    assert "no session is recorded yet" in err


def test_a_long_list_of_files_ends_and_the_table_has_straight_columns(policy: Test, tmp_path: Path) -> None:
    session = Recording(cwd=str(tmp_path))
    for number in range(25):
        session.edit(f"{tmp_path}/{number}.txt")
    session.request("fs/read_text_file", {"path": f"{tmp_path}/0.txt"}, {"result": {"content": "a"}})
    record(tmp_path / "data/dragoman/history.db", session)
    assert " and 5 more; --json has all\n" in policy("learn", "one")[1]
    assert len(json.loads(policy("learn", "one", "--json")[1])["needs"]["writes"]) == 25
    lines = policy("test", "--history")[1].splitlines()
    heads = [line for line in lines if line.endswith("deny")]
    rows = [line for line in lines if line.startswith(("asked for", "files and terminals"))]
    assert len(rows) == 2
    assert {len(line) for line in (*heads, *rows)} == {len(heads[0])}


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Has each session judged by a process of its own, up to three; holds those that were started."""
    started: list[int] = []
    fork = os.fork

    def fork_and_note() -> int:
        started.append(fork())
        return started[-1]

    monkeypatch.setattr(os, "fork", fork_and_note)
    monkeypatch.setattr(policy_history, "SHARE_ENTRIES", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    return started


def record_many(path: Path, cwd: Path) -> None:
    for number in range(7):
        session = Recording(cwd=str(cwd))
        session.command(f"make {number}", "no" if number % 3 else "yes")
        session.command("git push")
        session.edit(f"{cwd}/{number}.txt", old="a" * number)
        session.request("session/request_permission", {"toolCall": 7}, {"result": {}})
        record(path, session, name=f"session {number}", cwd=str(cwd))


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process judges all")
def test_a_history_that_several_processes_judge_gets_the_answers_of_one(
    policy: Test, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[int]
) -> None:
    path = tmp_path / "data/dragoman/history.db"
    record_many(path, tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as base, base:
        base.execute("update entries set sum = 0 where number in (2, 5, 6) and sequence = 5")
    calls = [("test", "--history"), ("test", "--history", "--json"), ("suggest", "--least", "1", "--json")]
    found = [policy(*call) for call in calls]
    assert len(processes) == 2 * len(calls)
    monkeypatch.setattr(policy_history, "SHARE_ENTRIES", 1_000)
    assert [policy(*call) for call in calls] == found
    assert len(processes) == 2 * len(calls)
    status, out, err = found[1]
    assert (status, json.loads(out)["sessions"]) == (0, 7)
    assert [line.partition(" is read")[0] for line in err.splitlines()] == [
        f"session {number}" for number in (1, 4, 5)
    ]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process judges all")
def test_what_a_process_could_not_judge_is_judged_by_the_first_one(
    policy: Test, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[int]
) -> None:
    record_many(tmp_path / "data/dragoman/history.db", tmp_path)
    first, judge = os.getpid(), PolicyTrial.judge

    def judge_in_the_first(trial: PolicyTrial, recorded: RecordedAct) -> Verdict | None:
        if os.getpid() != first and recorded.stream == "session 4":
            raise MemoryError
        return judge(trial, recorded)

    monkeypatch.setattr(PolicyTrial, "judge", judge_in_the_first)
    found = policy("test", "--history", "--json")
    assert len(processes) == 2
    monkeypatch.setattr(policy_history, "SHARE_ENTRIES", 1_000)
    assert policy("test", "--history", "--json") == found
    assert json.loads(found[1])["sessions"] == 7


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process judges all")
def test_an_answer_that_was_cut_off_is_none(
    policy: Test, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: list[int]
) -> None:
    record_many(tmp_path / "data/dragoman/history.db", tmp_path)
    first, encode = os.getpid(), msgspec.msgpack.encode
    monkeypatch.setattr(
        msgspec.msgpack, "encode", lambda value: encode(value)[: None if os.getpid() == first else -9]
    )
    found = policy("test", "--history", "--json")
    assert len(processes) == 2
    monkeypatch.setattr(policy_history, "SHARE_ENTRIES", 1_000)
    assert policy("test", "--history", "--json") == found
    assert json.loads(found[1])["sessions"] == 7


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process judges all")
def test_no_process_is_left_when_the_first_one_fails(
    policy: Test, tmp_path: Path, processes: list[int]
) -> None:
    record_many(tmp_path / "data/dragoman/history.db", tmp_path)
    other = tmp_path / "other"
    (other / ".dragoman").mkdir(parents=True)
    (other / ".dragoman/policy.toml").write_text("nonsense = 1\n")
    session = Recording(cwd=str(other))
    session.command("make")
    record(tmp_path / "data/dragoman/history.db", session, name="broken", cwd=str(other))
    status, out, err = policy("test", "--history")
    assert (status, out) == (1, "")
    assert "nonsense" in err
    assert len(processes) == 2
    for process in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)

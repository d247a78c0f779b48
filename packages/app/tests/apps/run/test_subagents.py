"""Subagents in `dragoman run`: who works for whom, what they say, and who asks for permission for whom."""

import re
import sys
from pathlib import Path

import msgspec
import pytest

from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman_app.apps.run import events
from dragoman_app.apps.run.subagents import FamilyNarrator
from tests.apps.run.run_process import run
from tests.subagents.family import CHAIN, FAMILY, SHAPES, command

ANSWERED = "I ask for help. answers: allow allow allow"


@pytest.mark.parametrize("shape", SHAPES)
def test_three_levels_of_subagents_work_speak_and_ask(shape: str, tmp_path: Path) -> None:
    done = run("--agent", command(shape), "--approve", "all", "--format", "json", "Go", folder=tmp_path)
    assert done.status == 0
    assert done.text == ANSWERED, "the words of subagents are not those of the agent"
    decisions = {event["what"]: event["requester"] for event in done.named("decision")}
    latest = {event["sessionId"].split("-")[0]: event for event in done.named("subagent")}
    words = {event["sessionId"].split("-")[0]: event["inner"].get("text") for event in done.named("child")}
    assert [words[name] for name in FAMILY] == [f"{name} heard allow." for name in FAMILY] or shape != "v1"
    assert decisions == {f"Edit {name}.py": CHAIN[name] for name in FAMILY}
    assert {name: event["requester"] for name, event in latest.items()} == CHAIN
    assert {name: event["level"] for name, event in latest.items()} == {
        "reviewer": 1,
        "linter": 2,
        "formatter": 3,
    }
    assert {(event["standing"], event["lastLine"]) for event in latest.values()} == {
        ("done", f"{name} heard allow.") for name in FAMILY
    }


def test_what_a_subagent_may_not_do_is_told_with_its_name(tmp_path: Path) -> None:
    done = run("--agent", command("claude"), "--approve", "none", "Go", folder=tmp_path)
    assert "answers: reject reject reject" in done.out
    assert "linter, for reviewer, for main session: not allowed: Edit linter.py" in done.err
    assert "· linter, for reviewer, for main session: done: linter heard reject." in done.out


@pytest.mark.skipif(sys.platform == "win32", reason="terminals as POSIX has them")
def test_a_person_reads_who_asks_for_whom_and_sees_the_tree(tmp_path: Path) -> None:
    from tests.apps.run.teletype import in_terminal

    with in_terminal("--agent", command("v1"), "--no-color", "Go", folder=tmp_path) as person:
        for name in FAMILY:
            person.read_until(f"{CHAIN[name]}: ")
            person.type("1\n")
        assert person.wait() == 0
    for name in FAMILY:
        assert re.search(rf"\n{CHAIN[name]}: .+ wants to change a file:\n", person.shown)
    assert "· reviewer: reviewer reads the code." in person.shown
    tree = "\n".join(
        f"{'  ' * level}✓ {name}: done — {name} heard allow." for level, name in enumerate(FAMILY, 1)
    )
    assert tree in person.shown


@pytest.mark.skipif(sys.platform == "win32", reason="terminals as POSIX has them")
def test_a_cancel_ends_the_questions_of_all_subagents(tmp_path: Path) -> None:
    from tests.apps.run.teletype import CTRL_C, in_terminal

    with in_terminal("--agent", command("v1"), "Go", folder=tmp_path) as person:
        person.read_until("Choose y (")
        person.type(CTRL_C)
        person.wait()
    assert "answers: cancelled cancelled cancelled" in person.shown


def test_a_subagent_that_was_at_work_when_the_run_ended_is_not_said_to_run() -> None:
    def announced(child: str, **state: str) -> v1.SessionNotification:
        update = {"sessionUpdate": "subagent_update", "sessionId": child, "state": state}
        return v1.SessionNotification(
            session_id="s", update=read(msgspec.Raw(msgspec.json.encode(update)), v1.SessionUpdate)
        )

    narrator = FamilyNarrator()
    for note in (announced("a", state="running"), announced("b", state="idle", stopReason="end_turn")):
        list(narrator.tell(note))
    told = [event for event in narrator.tell_lost() if isinstance(event, events.SubagentEvent)]
    assert [(event.session_id, event.state, event.standing, event.phase) for event in told] == [
        ("a", "unknown", "unknown", "after")
    ]

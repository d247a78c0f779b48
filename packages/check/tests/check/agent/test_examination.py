from __future__ import annotations

import pytest

from dragoman_check.agent import connection
from dragoman_check.agent.examination import Examination, examine
from dragoman_check.examination_control import blame_once
from dragoman_check.verdict import judge
from tests.check.agent.agents import settings

pytestmark = pytest.mark.bound(60)


def names(found: Examination) -> list[str]:
    return [recording.facts["scene"] for recording in found.recordings]


async def test_an_agent_is_met_before_anything_is_tried() -> None:
    found = await examine(settings(), scenes=())
    assert names(found) == ["hello"]
    assert found.profile.name == "raw"
    assert found.failure == found.profile.blocked_by == ""
    assert {mark.name for mark in found.recordings[0].marks} == {"initialize", "new", "hello"}
    assert found.recordings[0].facts["exit"] == 0


async def test_an_agent_of_the_second_version_is_examined_in_it() -> None:
    found = await examine(settings("second"), scenes=("bare", "writes"))
    assert found.profile.version == 2
    assert names(found) == ["hello", "bare"], "what only the first version has is not tried"
    verdicts = {one.requirement: one.status for one in judge(found.recordings, "agent", only=["TURN-03"])}
    assert verdicts == {"TURN-03": "passed"}


async def test_an_agent_that_kills_the_servers_of_a_closed_session_has_ended_them() -> None:
    found = await examine(settings("kills"), scenes=("servers",))
    [logs] = [one.facts["logs"] for one in found.recordings if "logs" in one.facts]
    assert [log[-2:] for log in logs] == [["tools/list", "ended"]] * 2
    assert [one.status for one in judge(found.recordings, "agent", only=["CLO-03"])] == ["passed"]


async def test_a_refusal_of_malformed_capabilities_is_one_finding() -> None:
    found = await examine(settings("strict"), scenes=("versions",))
    verdicts = judge(found.recordings, "agent", only=["INIT-06", "INIT-13", "INIT-15", "LEN-01"])
    blame_once(verdicts, found.recordings)
    statuses = {one.requirement: one.status for one in verdicts}
    assert statuses == {
        "INIT-06": "passed",
        "INIT-13": "recorded",
        "INIT-15": "failed",
        "LEN-01": "recorded",
    }
    assert verdicts[-1].reason == "shown by the same answer as INIT-15"


async def test_an_agent_that_only_greets_passes_nothing_about_sessions() -> None:
    found = await examine(settings("greets"))
    verdicts = judge(found.recordings, "agent")
    passed = {one.requirement for one in verdicts if one.status == "passed"}
    areas = {"RPC", "INIT", "AUTH", "EXT", "ERR", "STD", "LEN"}
    about_sessions = {name for name in passed if name.split("-")[0] not in areas}
    assert about_sessions == {"DEL-06"}, "which is about what it advertises"
    assert all(one.evidence for one in verdicts if one.status == "passed")
    assert all(one.reason for one in verdicts if one.status == "not exercised")
    statuses = {one.requirement: one.status for one in verdicts}
    assert statuses["INIT-14"] == statuses["INIT-21"] == statuses["LOAD-03"] == "failed"


async def test_what_was_advertised_and_refused_is_a_failure() -> None:
    found = await examine(settings("boasts"), scenes=("again", "roots"))
    verdicts = judge(found.recordings, "agent", only=["LOAD-03", "LOAD-04", "RES-03", "INIT-14"])
    statuses = {one.requirement: one.status for one in verdicts}
    assert statuses == {
        "INIT-14": "failed",
        "LOAD-03": "failed",
        "LOAD-04": "not exercised",
        "RES-03": "not exercised",
    }
    whys = {finding.why for one in verdicts for finding in one.findings}
    assert "loadSession was advertised, and session/load was answered with -32601" in whys
    assert "additionalDirectories was advertised, and a folder that is there was refused" in whys


async def test_a_session_is_loaded_and_resumed_where_it_was_made() -> None:
    found = await examine(settings("remembers"), scenes=("again",))
    [first] = [one for one in found.recordings if one.facts["scene"] == "first"]
    verdicts = {
        one.requirement: one for one in judge([first], "agent", only=["LOAD-03", "LOAD-04", "RES-03"])
    }
    assert {name: one.status for name, one in verdicts.items()} == dict.fromkeys(verdicts, "passed")
    late = await examine(settings("replays late"), scenes=("again",))
    assert [one.status for one in judge(late.recordings, "agent", only=["LOAD-04"])] == ["failed"]
    chatty = await examine(settings("resumes with history"), scenes=("again",))
    assert [one.status for one in judge(chatty.recordings, "agent", only=["RES-03"])] == ["failed"]


async def test_an_answer_under_another_id_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SHORT", 0.2)
    found = await examine(settings("shifted", patience=2.0))
    assert found.failure == "no handshake: request 1001 was answered under id 1002"
    assert [one.status for one in judge(found.recordings, "agent", only=["RPC-03"])] == ["failed"]


async def test_nothing_is_held_against_an_agent_that_forgives_everything() -> None:
    found = await examine(
        settings("forgives", patience=6.0), scenes=("probes", "lists", "servers", "versions")
    )
    verdicts = judge(found.recordings, "agent")
    assert [one.requirement for one in verdicts if one.status == "failed"] == []
    statuses = {one.requirement: one.status for one in verdicts}
    assert statuses["INIT-16"] == statuses["LEN-05"] == statuses["SES-03"] == "warned"
    assert statuses["SES-10"] == "not exercised"


async def test_one_cause_is_one_finding() -> None:
    found = await examine(settings("forgives"), scenes=("probes",))
    verdicts = judge(found.recordings, "agent", only=["INIT-16", "SES-03", "LEN-05"])
    blame_once(verdicts, found.recordings)
    assert [one.status for one in verdicts] == ["warned", "warned", "warned"]
    frames = [(one.connection, one.frames) for verdict in verdicts for one in verdict.findings]
    methods = {found.recordings[at - 1].frames[min(numbers) - 1].method for at, numbers in frames}
    assert methods > {"initialize", "session/new"}
    general = [(one.connection, min(one.frames)) for one in verdicts[2].findings]
    assert "initialize" not in {found.recordings[at - 1].frames[number - 1].method for at, number in general}


async def test_an_agent_that_ends_at_once_cannot_be_examined() -> None:
    found = await examine(settings("exits"))
    assert found.failure == "the agent ended before it answered initialize\n  there is no model"
    assert names(found) == ["hello"]


async def test_an_agent_that_does_not_answer_cannot_be_examined() -> None:
    found = await examine(settings("mute", patience=0.2))
    assert found.failure.startswith("no handshake")


async def test_a_command_that_does_not_exist_cannot_be_examined() -> None:
    chosen = settings()
    found = await examine(type(chosen)(command=["/no/such/agent"], cwd="."))
    assert "/no/such/agent" in found.failure


@pytest.mark.parametrize(("fault", "refused"), [("login", "session/new"), ("paid", "session/prompt")])
async def test_an_agent_behind_a_login_is_asked_only_what_needs_no_session(fault: str, refused: str) -> None:
    seen: list[tuple[str, int, int]] = []
    found = await examine(
        settings(fault),
        progress=lambda *told: seen.append(told),
        scenes=("story", "versions", "lists"),
    )
    assert found.profile.blocked_by == refused
    assert seen == [("versions", 1, 1)]
    assert names(found) == ["hello", "version 0", "version 2", "version 65535", "malformed"]


async def test_an_agent_that_dies_of_a_frame_is_asked_the_rest_by_another_connection() -> None:
    found = await examine(settings("dies"), scenes=("probes",))
    died = [recording for recording in found.recordings if "died" in recording.facts]
    assert [recording.facts["died"] for recording in died] == ["no JSON", "not UTF-8"]
    marks = [mark.name for recording in found.recordings for mark in recording.marks]
    for name in ("no version", "no JSON", "not UTF-8", "a number", "answer to nothing", "id 7", "after all"):
        assert marks.count(name) == 1, name


async def test_an_agent_that_hangs_ends_no_examination(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "SHORT", 1.0)
    found = await examine(settings("hangs", patience=10.0), scenes=("probes",))
    hung = [recording.facts["hung"] for recording in found.recordings if "hung" in recording.facts]
    assert {"no JSON", "not UTF-8"} <= set(hung)
    marks = {mark.name for recording in found.recordings for mark in recording.marks}
    assert {"no JSON", "a number", "after all"} <= marks

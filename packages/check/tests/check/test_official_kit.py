"""Ids of the official test kit beside ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_app.cli.recordings import write_recording
from dragoman_check.manifest import requirements
from dragoman_check.official_kit import ABSENT, JUDGED_OTHERWISE, KIT_IDS, kit_ids
from dragoman_check.rules import rules_by_requirement
from tests.check.conversations import agent, client, make_recording

AREAS = {
    "TRANSPORT": 2,
    "JSONRPC": 5,
    "INIT": 4,
    "SCHEMA": 2,
    "SESSION": 2,
    "PROMPT": 3,
    "CANCEL": 2,
    "LOAD": 3,
    "RESUME": 2,
    "LIST": 2,
    "DELETE": 2,
    "CLOSE": 2,
    "ADDDIRS": 1,
    "MODES": 2,
    "CONFIG": 3,
    "PROMPTCAP": 3,
    "AUTH": 5,
    "CLIENTCAP": 3,
    "EXT": 1,
    "META": 1,
    "ERROR": 1,
    "SHUTDOWN": 1,
    "STDERR": 1,
    "INFO-PARSE": 1,
    "INFO-INVALIDREQ": 1,
    "INFO-UNKNOWNSESSION": 1,
}
"""The areas of the kit's suite for version 1, and how many requirements each has."""

SECOND: dict[str, int | list[int]] = {
    "INIT": 4,
    "SESSION": [3],
    "PROMPT": [1, 3, 5],
    "STATE": 3,
    "PERM": 1,
    "CLIENTCAP": 2,
    "CANCEL": 8,
    "TRANSPORT": [1, 3],
    "BATCH": 8,
    "RESUME": 5,
    "LIST": 4,
    "CLOSE": 2,
    "DELETE": 3,
    "ADDDIRS": 2,
    "MCP": 2,
    "CONFIG": [1, 2, 3, 4, 6],
    "AUTH": 7,
    "PATCH": [1, 3, 4, 5, 6, 7, 8, 9],
    "ENUM": 3,
    "META": 1,
    "EXT": 3,
    "INFO-CONCURRENT": 1,
    "INFO-CANCEL": 2,
    "INFO-BATCH": 2,
}
"""The areas of its suite for version 2: which of their numbers above 200 are there."""

KIT = {f"ACP-{area}-{number:03}" for area, count in AREAS.items() for number in range(1, count + 1)}


KIT_2 = {
    f"ACP-{area}-{200 + number}"
    for area, numbers in SECOND.items()
    for number in (range(1, numbers + 1) if isinstance(numbers, int) else numbers)
}


def test_every_requirement_of_the_kit_has_counterparts_here_or_a_reason() -> None:
    ours = {ident for ids in KIT_IDS.values() for ident in ids}
    assert len(KIT) == 56
    assert ours | ABSENT.keys() == KIT | KIT_2
    assert not ours & ABSENT.keys()
    assert JUDGED_OTHERWISE.keys() <= ours


def test_ids_stand_beside_requirements_that_bind_agents() -> None:
    for name in KIT_IDS:
        assert "agent" in requirements()[name].sides, name
    assert kit_ids("WS-01") == ()
    assert kit_ids("TURN-04") == ("ACP-PROMPT-001",)
    assert kit_ids("TURN-04", version=2) == ("ACP-STATE-203",)


def test_what_is_of_version_2_there_is_judged_in_version_2_here() -> None:
    for name, ids in KIT_IDS.items():
        if any(ident in KIT_2 for ident in ids):
            rules = [rule for rule in rules_by_requirement()[name] if rule.side == "agent"]
            assert any(2 in rule.versions for rule in rules), name


def test_a_report_and_an_explanation_name_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    prompt = client("session/prompt", {"sessionId": "s", "prompt": []}, id=1)
    answer = agent(result={"stopReason": "bored"}, id=1)
    write_recording(tmp_path / "r.ndjson", make_recording(prompt, answer), title="a test")
    assert main(["check", "trace", str(tmp_path / "r.ndjson")]) == 1
    assert "FAILED TURN-04 SCHEMA (agent)" in (text := capsys.readouterr().out)
    assert "official kit: ACP-PROMPT-001" in text
    assert main(["check", "explain", "EXT-07"]) == 0
    text = capsys.readouterr().out
    assert "ACP-EXT-001 of the official test kit: the kit accepts any answer" in text
    assert main(["check", "explain", "CLO-02"]) == 0
    text = capsys.readouterr().out
    assert "ACP-CLOSE-002 of the official test kit" in text
    assert "ACP-CANCEL-208 of the official test kit" in text

"""A report in the words of the official test kit."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_app.cli.recordings import write_recording
from dragoman_check.official_kit import ABSENT, NEAREST, SHARED, requirements_of, suite
from dragoman_check.report.text import kit_verdicts
from tests.check.conversations import agent, client, make_recording
from tests.check.rules.test_version2 import idle, turn


def test_every_requirement_of_a_suite_has_a_row() -> None:
    for version in (1, 2):
        rows = kit_verdicts({}, version=version)
        assert [row.ident for row in rows] == suite(version)
        assert all(row.requirements or row.note for row in rows)
    assert len(suite(1)) == 56
    assert set(suite(1)) & set(suite(2)) == SHARED
    assert NEAREST.keys() <= ABSENT.keys()


def test_the_worst_counts_and_what_showed_before_what_did_not() -> None:
    assert requirements_of("ACP-LOAD-001") == ("LOAD-03", "LOAD-07")

    def status(*found: str) -> str | None:
        verdicts = dict(zip(requirements_of("ACP-LOAD-001"), found, strict=False))
        (row,) = [row for row in kit_verdicts(verdicts, version=1) if row.ident == "ACP-LOAD-001"]  # type: ignore[arg-type]
        return row.status

    assert status("passed", "failed") == "failed"
    assert status("not exercised", "passed") == "passed"
    assert status("not applicable", "not exercised") == "not exercised"
    assert status() == "not exercised"


def test_a_report_lists_the_ids_if_it_is_asked_to(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "r.ndjson"
    prompt = client("session/prompt", {"sessionId": "s", "prompt": []}, id=1)
    write_recording(path, make_recording(prompt, agent(result={"stopReason": "bored"}, id=1)), title="a test")
    assert main(["check", "trace", str(path), "--ids", "tck", "--only", "ACP-PROMPT-001"]) == 1
    out = capsys.readouterr().out
    assert "acp-tck, version 1" in out
    assert f"  {'failed':<14} {'ACP-PROMPT-001':<24} TURN-04\n" in out
    second = tmp_path / "second.ndjson"
    write_recording(second, turn(idle()).recording, title="a test")
    assert main(["check", "trace", str(second), "--ids", "tck", "--side", "agent"]) == 1
    out = capsys.readouterr().out
    assert "acp-tck, version 2" in out
    assert f"  {'warned':<14} {'ACP-STATE-201':<24} TURN-27\n" in out
    assert "not judged     ACP-BATCH-201" in out

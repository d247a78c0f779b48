from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_app.cli.recordings import read_recording
from dragoman_check.examination_control import NOT_CONFIRMED
from tests.check.agent.agents import raw


def check(*words: str) -> int:
    try:
        return main(["check", "agent", *words])
    except SystemExit as left:  # argparse leaves so
        return int(left.code or 0)


def test_recordings_are_kept_and_can_be_judged_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "kept"
    wishes = ["--scene", "versions", "--save", str(folder), "--format", "json", "--only", "INIT"]
    status = check(*wishes, "--", *raw())
    out, err = capsys.readouterr()
    assert status == 0
    assert err == "scene 1 of 1: versions\n"
    assert json.loads(out)
    names = [path.name for path in sorted(folder.iterdir())]
    assert names[:2] == ["01-hello.ndjson", "02-version-0.ndjson"]
    recording = read_recording(folder / "04-version-65535.ndjson")
    assert recording.facts["scene"] == "version 65535"
    assert recording.stretches("initialize")[0][0].params["protocolVersion"] == 65535


def test_what_is_kept_and_shown_has_no_secrets_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "open-sesame")
    monkeypatch.setenv("OTHER_TOKEN", "one short sentence")  # of a prompt
    key = "glpat-" + "a1B2" * 5
    agent = ["sh", "-c", f'echo {key} >&2; exec "$@"', "agent", *raw("sesame"), "--token", "open-sesame"]
    for folder, wish in (("hidden", []), ("clear", ["--no-redact"])):
        wishes = ["--scene", "bare", "--save", str(tmp_path / folder), "--format", "json"]
        check(*wishes, *wish, "--only", "INIT", "--", *agent)
        kept = "".join(file.read_text() for file in (tmp_path / folder).iterdir())
        shown = capsys.readouterr().out
        assert [secret in kept for secret in (key, "one short sentence", "open-sesame")] == [bool(wish)] * 3
        assert ("open-sesame" in shown) == bool(wish)


def test_a_failure_that_does_not_show_again_is_a_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wishes = ["--scene", "versions", "--only", "INIT-07", "--format", "json", "--cwd", str(tmp_path)]
    assert check(*wishes, "--", *raw("unsteady")) == 0
    out, err = capsys.readouterr()
    [verdict] = json.loads(out)["parts"][0]["verdicts"]
    assert (verdict["status"], verdict["reason"]) == ("warned", NOT_CONFIRMED)
    assert verdict["findings"], "its frames are shown"
    assert "repeating failed scenes to be sure: versions" in err


def test_a_failure_that_shows_again_is_a_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wishes = ["--scene", "versions", "--only", "INIT-15", "--format", "json", "--cwd", str(tmp_path)]
    assert check(*wishes, "--", *raw("strict")) == 1
    [verdict] = json.loads(capsys.readouterr().out)["parts"][0]["verdicts"]
    assert (verdict["status"], verdict["reason"]) == ("failed", "")


def test_an_agent_behind_a_login_has_an_exit_status_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--scene", "lists", "--quiet", "--only", "SES", "--", *raw("login")) == 3
    out, err = capsys.readouterr()
    assert "log in first" in out
    assert err == ""


def test_an_agent_that_ends_at_once_has_an_exit_status_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert check("--", *raw("exits")) == 4
    assert "there is no model" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((), "after --"),
        (("--scene", "dance", "--", "x"), "unknown scene 'dance'"),
        (("--prompts", "/no/such/file", "--", "x"), "/no/such/file"),
        (("--only", "NOPE-99", "--", "x"), "NOPE-99"),
        (("--format", "paper", "--", "x"), "paper"),
        (("--timeout", "-1", "--", "x"), "seconds"),
    ],
)
def test_a_command_line_that_makes_no_sense_starts_nothing(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(*words) == 2
    assert complaint in capsys.readouterr().err


def test_a_folder_with_something_in_it_is_not_written_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("x")
    assert check("--save", str(tmp_path), "--", "x") == 2
    assert "not empty" in capsys.readouterr().err

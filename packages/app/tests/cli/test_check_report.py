"""The commands `check trace`, `translate`, `endpoint`, `list` and `explain`, and their exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman_app.cli import main
from dragoman_app.cli.recordings import write_recording
from tests.check.conversations import Said, agent, client, make_recording
from tests.forks import DRAGOMAN

PROMPT = client("session/prompt", {"sessionId": "s", "prompt": []}, id=2)
BROKEN = agent(result={"stopReason": "because"}, id=2)
KEPT = agent(result={"stopReason": "end_turn"}, id=2)
ONLY = ("--only", "TURN-04", "--side", "agent")


def recorded(tmp_path: Path, *said: Said, name: str = "r.ndjson") -> str:
    write_recording(tmp_path / name, make_recording(*said), title="a test")
    return str(tmp_path / name)


def run(*words: str) -> int:
    return main(["check", *words])


def test_a_recording_that_breaks_a_requirement_ends_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("trace", recorded(tmp_path, PROMPT, BROKEN), *ONLY) == 1
    told = capsys.readouterr().out
    assert told.startswith("FAILED TURN-04")
    assert "r.ndjson:3 frame 2 → client" in told
    assert "agent: 1 failed" in told


def test_a_recording_that_keeps_it_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("trace", recorded(tmp_path, PROMPT, KEPT), *ONLY) == 0
    assert capsys.readouterr().out == "agent: 1 passed\n"


def test_a_recording_that_shows_nothing_is_not_praised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("trace", recorded(tmp_path, PROMPT), *ONLY) == 0
    assert capsys.readouterr().out.startswith("agent: 1 not exercised\n")


def test_files_of_one_peer_are_judged_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = [recorded(tmp_path, PROMPT, KEPT), recorded(tmp_path, PROMPT, BROKEN, name="second.ndjson")]
    assert run("trace", *files, *ONLY) == 1
    told = capsys.readouterr().out
    assert "second.ndjson:3 frame 2" in told
    assert "agent: 1 failed\n" in told


def test_plain_frames_are_judged_at_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain.ndjson").write_bytes(b"\n".join([PROMPT[1], b"", BROKEN[1], b""]))
    assert run("trace", str(tmp_path / "plain.ndjson"), *ONLY) == 1
    assert "plain.ndjson:3 frame 2" in capsys.readouterr().out


def test_a_waiver_makes_a_broken_requirement_end_with_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    waivers = tmp_path / "waivers.toml"
    waivers.write_text('[[waiver]]\nrequirement = "TURN-04"\nreason = "we know"\n')
    assert run("trace", recorded(tmp_path, PROMPT, BROKEN), *ONLY, "--waivers", str(waivers)) == 0
    assert "waived: we know" in capsys.readouterr().out


def test_one_run_writes_several_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {name: tmp_path / f"report.{name}" for name in ("json", "sarif", "junit", "html")}
    wishes = [word for name, path in files.items() for word in ("--format", f"{name}={path}")]
    assert run("trace", recorded(tmp_path, PROMPT, BROKEN), *ONLY, *wishes, "--format", "badge-json") == 1
    assert json.loads(files["json"].read_text())["counts"]["failed"] == 1
    assert all(path.stat().st_size for path in files.values())
    assert json.loads(capsys.readouterr().out)["message"] == "0 kept, 1 broken"


def test_a_pack_is_judged_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = recorded(tmp_path, PROMPT, KEPT)
    run("trace", file, "--side", "agent", "--pack", "review-agent-mistakes")
    told = capsys.readouterr().out
    assert "warned         no turn that ends before its updates" in told
    assert "the turn ended without any update" in told


def test_frames_are_shown_without_secrets_unless_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "open-sesame-please")
    told_all = agent(result={"stopReason": "open-sesame-please"}, id=2)
    file = recorded(tmp_path, PROMPT, told_all)
    assert run("trace", file, *ONLY) == 1
    assert "open-sesame" not in capsys.readouterr().out
    assert run("trace", file, *ONLY, "--no-redact") == 1
    assert "open-sesame" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ("--only", "NO-01"),
        ("--pack", "nothing"),
        ("--format", "pdf"),
        ("--format", "text", "--format", "json"),
        ("--waivers", "/nowhere/at/all.toml"),
    ],
)
def test_wishes_that_make_no_sense_end_with_2(
    words: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("trace", recorded(tmp_path, PROMPT), *words) == 2
    told = capsys.readouterr()
    assert told.err.startswith("dragoman check trace: ")
    assert told.out == ""


@pytest.mark.parametrize("content", [None, b"hello\nworld\n"])
def test_what_is_no_recording_ends_with_2(
    content: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "file").write_bytes(content)
    assert run("trace", str(tmp_path / "file")) == 2
    assert "file" in capsys.readouterr().err


def test_the_list_tells_what_is_judged_and_why_the_rest_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "TURN-04", "HTTP-01") == 0
    told = capsys.readouterr().out
    assert "TURN-04  A SCHEMA     judged" in told
    assert "HTTP-01  C MUST       not judged" in told
    assert "why: " in told
    assert told.endswith("1 of 2 requirements are judged\n")
    assert run("list", "--unjudged", "TURN-04", "HTTP-01") == 0
    assert "TURN-04" not in capsys.readouterr().out


def test_the_list_can_be_of_packs_or_of_one_side(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--packs") == 0
    assert "review-agent-checklist: " in capsys.readouterr().out
    assert run("list", "--side", "server", "TURN", "WS") == 0
    assert "TURN" not in capsys.readouterr().out
    assert run("list", "NO-01") == 2


def test_a_requirement_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("explain", "turn-04", "HTTP-01") == 0
    told = capsys.readouterr().out
    assert "TURN-04: " in told
    assert "breaking it is a failure" in told
    assert "\n  change   " in told
    assert "not judged: " in told
    assert run("explain", "NO-01") == 2


def test_an_agent_means_the_same_behind_the_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    agent_command = (*DRAGOMAN, "agent", "echo")
    assert run("translate", "--scene", "lists", "--only", "INIT-05,TURN-04", "--", *agent_command) == 0
    assert capsys.readouterr().out == "0 worse, 0 lost, 0 other\n"


def test_without_an_agent_there_is_nothing_to_translate(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("translate") == 2
    assert run("translate", "--scene", "dance", "--", "/nowhere/at/all") == 2
    assert "unknown scene 'dance'" in capsys.readouterr().err
    assert run("translate", "--", "/nowhere/at/all") == 4
    assert "without the interpreter" in capsys.readouterr().err


def test_an_endpoint_must_be_an_address_that_answers(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("endpoint", "agent.py") == 2
    assert run("endpoint", "http://127.0.0.1:1/acp", "--header", "nothing") == 2
    assert run("endpoint", "http://127.0.0.1:1/acp") == 4
    assert capsys.readouterr().err.count("dragoman check endpoint: ") == 3

"""The command `dragoman check client`, with clients that are processes: few, because each takes its time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_app.cli import main
from dragoman_app.cli.check_stand_in import recorder_for
from dragoman_app.cli.recordings import read_recording
from tests.forks import DRAGOMAN

KEY = "glpat-" + "a1B2" * 5
RUN = [*DRAGOMAN, "run", f"hello {KEY}", "--no-history", "--approve", "all"]


def check(*words: str) -> int:
    try:
        return main(["check", "client", *words])
    except SystemExit as left:  # argparse leaves so
        return int(left.code or 0)


@pytest.mark.timeout(120)
def test_our_own_client_has_no_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept, place = tmp_path / "kept", tmp_path / "place"
    place.mkdir()
    wishes = ["--profile", "full", "--profile", "bare", "--save", str(kept), "--cwd", str(place)]
    status = check(*wishes, "--format", "json", "--strict", "--", *RUN, "--agent", "{agent}")
    out, err = capsys.readouterr()
    assert status == 0, out
    assert json.loads(out)
    assert err.splitlines()[0].startswith("dragoman check client: run 1 of 2")
    recording = read_recording(kept / "full.ndjson")
    assert recording.facts["over"] is True
    assert "exit" in recording.facts
    assert recording.stretches("read through a link")
    assert read_recording(kept / "bare.ndjson").stretches("after all")
    assert [file.name for file in kept.iterdir() if KEY in file.read_text()] == []
    assert "hello [redacted]" in (kept / "full.ndjson").read_text()
    assert list(place.iterdir()) == []


def test_a_client_that_never_starts_its_agent_could_not_be_examined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [sys.executable, "-S", "-E", "-c", "import sys; sys.exit('I want no agent')", "{agent}"]
    assert check("--profile", "full", "--quiet", "--", *command) == 4
    err = capsys.readouterr().err
    assert "did not start the stand-in; its last output: I want no agent" in err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--", "client"), "does not say where the agent goes"),
        (("--profile", "dance", "--", "client", "{agent}"), "unknown profile 'dance'"),
        (("--only", "NOPE-99", "--", "client", "{agent}"), "NOPE-99"),
    ],
)
def test_a_mistake_is_told_before_anything_is_started(
    words: tuple[str, ...], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(*words) == 2
    assert complaint in capsys.readouterr().err


def test_recordings_of_another_examination_are_not_mixed_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "full.ndjson").write_text("")
    assert check("--save", str(tmp_path), "--", "client", "{agent}") == 2
    assert "already has recordings" in capsys.readouterr().err


def test_a_client_that_cannot_be_started_could_not_be_examined(capsys: pytest.CaptureFixture[str]) -> None:
    assert check("--quiet", "--", "/no/such/client", "{agent}") == 4
    assert "/no/such/client" in capsys.readouterr().err


def test_without_a_command_it_waits_for_somebody_to_use_the_stand_in(tmp_path: Path) -> None:
    command = [*DRAGOMAN, "check", "client", "--save", str(tmp_path / "kept")]
    with subprocess.Popen(
        [*command, "--only", "INIT"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stderr is not None
        assert waiting.stdout is not None
        lines = [waiting.stderr.readline() for _ in range(4)]
        server = json.loads(lines[2])
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
        stand_in = [server["command"], *server["args"]]
        done = subprocess.run(
            stand_in, input=json.dumps(hello) + "\n", capture_output=True, text=True, timeout=patience(60)
        )
        report = waiting.stdout.read()
    assert json.loads(done.stdout)["result"]["protocolVersion"] == 1
    assert "Ctrl-C" in lines[3]
    assert "INIT-" in report or "client" in report
    assert waiting.returncode in (0, 1)
    assert read_recording(tmp_path / "kept" / "full.ndjson").facts["input"] == "closed"


def test_a_second_connection_has_a_file_of_its_own(tmp_path: Path) -> None:
    for _ in range(2):
        recorder_for(tmp_path / "odd.ndjson").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["odd.2.ndjson", "odd.ndjson"]

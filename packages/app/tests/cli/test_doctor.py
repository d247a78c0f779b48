"""`dragoman doctor` as a process: its exit status, its words, and that it always ends and leaves nothing."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.runtime.limits import HANDSHAKE_SECONDS
from dragoman.testing import RawPeer
from dragoman.testing.pace import patience
from dragoman.transport.tree import look_up
from dragoman_app.apps.run.exits import EXITS
from dragoman_app.cli import doctor
from dragoman_app.cli.commands import COMMANDS
from dragoman_app.cli.parser import make_parser
from tests.cli.command_forks import run_command
from tests.forks import DRAGOMAN, module
from tests.interop.programs import ROOT
from tests.together import SideBySide
from tests.transport.programs import alive, eventually

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and modes of POSIX")
together = SideBySide(2)

DOCTOR = [sys.executable, "-m", "dragoman", "doctor"]
SCRIPT = [*DRAGOMAN, "agent", "script"]


def examined(*arguments: str, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return run_command("doctor", *arguments, cwd=cwd or ROOT, env={**os.environ, **env})


def a_script(folder: Path, text: str) -> list[str]:
    (folder / "x.script").write_text(text)
    return [*SCRIPT, str(folder / "x.script")]


@together
def test_a_healthy_agent_gets_a_line_for_every_step() -> None:
    done = examined("echo")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "echo (built-in): dragoman agent echo"
    assert [line.split()[1] for line in lines if line.startswith("ok")] == [
        *("command", "program", "start", "initialize", "auth", "session", "stdout", "end")
    ]
    assert lines[-1] == "It works."


@together
def test_the_example_of_the_official_sdk_is_healthy() -> None:
    done = examined("--", *module("tests.interop.python.official_agent"))
    assert done.returncode == 0, done.stdout
    assert "session/new works" in done.stdout


@pytest.mark.parametrize(
    ("script", "outcome"),
    [
        ("on new\n  fail -32000 Authenticate\n", "auth_needed"),
        ("on initialize\n  die 7\n", "agent_died"),
        ('on initialize\n  answer {"protocolVersion": 9}\n', "protocol_error"),
        ("on new\n  fail -32603 Broken\n", "agent_error"),
        ("on initialize\n  unanswered\n", "timeout"),
    ],
)
@together
def test_the_exit_status_tells_the_outcome(tmp_path: Path, script: str, outcome: str) -> None:
    seconds = 1.0 if outcome == "timeout" else patience(20)
    done = examined("--timeout", f"{seconds}", "--json", "--", *a_script(tmp_path, f"agent x\n{script}"))
    assert done.stderr == ""
    report = json.loads(done.stdout)
    assert (report["outcome"], report["status"], done.returncode) == (outcome, *[EXITS[outcome].status] * 2)
    assert report["steps"][-1]["verdict"] in ("ok", "failed")
    assert report["frames"]


def test_every_status_is_the_one_of_run_and_stands_in_the_help_and_on_the_page() -> None:
    page = (ROOT / "docs" / "known-agents.md").read_text("utf-8")
    (row,) = [command for command in COMMANDS if command.name == "doctor"]
    for outcome, status in doctor.STATUSES.items():
        assert outcome == "ok" or EXITS[outcome].status == status
        assert f"\n  {status:>3}  " in row.examples
        assert f"\n| {status} | `{outcome}` | " in page


@together
def test_a_failure_shows_means_advice_frames_and_standard_error(tmp_path: Path) -> None:
    command = a_script(tmp_path, 'agent x\non initialize\n  complain "unknown option --acp"\n  die 2\n')
    done = examined("--", *command)
    assert done.returncode == 9
    for told in ("means: ", "do:    ", '→ {"jsonrpc":"2.0","id":1,"method":"initialize"', "standard error:"):
        assert told in done.stdout
    assert done.stdout.splitlines()[-1].startswith("It does not work: after ")


@together
def test_what_a_terminal_would_obey_is_shown_instead(tmp_path: Path) -> None:
    noise = a_script(tmp_path, 'agent x\nstart\n  line "\\u001b]0;mine\\u0007"\n  complain "\\u001b[2J"\n')
    for arguments in (["--verbose"], ["--json"]):
        done = examined(*arguments, "--", *noise)
        assert done.returncode == 0
        assert "\x1b" not in done.stdout
        assert "mine" in done.stdout


@together
def test_secrets_are_in_no_output(tmp_path: Path) -> None:
    config = tmp_path / "dragoman" / "config.toml"
    config.parent.mkdir()
    script = a_script(tmp_path, "agent x\non initialize\n  die\n")
    shell = f"echo $GIVEN $OUR_TOKEN >&2; echo $GIVEN; exec {' '.join(script)}"
    config.write_text(
        f'[agents.leaky]\ncommand = ["/bin/sh", "-c", "{shell}"]\n'
        'env = { GIVEN = "set-on-purpose" }\nallow = ["OUR_TOKEN"]\n'
    )
    for arguments in ([], ["--json"]):
        done = examined("leaky", *arguments, XDG_CONFIG_HOME=str(tmp_path), OUR_TOKEN="handed-on")
        assert done.returncode == 9
        assert "[GIVEN] [OUR_TOKEN]" in done.stdout
        assert "set-on-purpose" not in done.stdout + done.stderr
        assert "handed-on" not in done.stdout + done.stderr


@together
def test_an_agent_of_the_hubs_file_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "dragoman"
    folder.mkdir()
    script = a_script(tmp_path, 'agent mine\non prompt\n  say "x"\n')
    (folder / "hub.toml").write_text(f"[agents.housed]\ncommand = {json.dumps(script)}\n")
    done = examined("housed", XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("housed (config): ")
    (folder / "hub.toml").write_text("broken = [\n")
    assert examined("housed", XDG_CONFIG_HOME=str(tmp_path)).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["ehco"], 2, "did you mean echo?"),
        (["echo", "--timeout", "0"], 2, "not a number of seconds"),
        (["echo", "--cwd", "/no/such/folder"], 2, "no such folder"),
        ([], 2, "required: AGENT"),
    ],
)
@together
def test_a_mistake_is_told_on_standard_error(arguments: list[str], status: int, told: str) -> None:
    done = examined(*arguments)
    assert (done.returncode, done.stdout) == (status, "")
    assert told in done.stderr


@together
def test_a_well_known_agent_that_is_not_installed_is_examined_all_the_same(tmp_path: Path) -> None:
    done = examined("codex", PATH=str(tmp_path), HOME=str(tmp_path), SHELL="/bin/sh")
    assert done.returncode == 127
    assert "codex-acp is not on PATH" in done.stdout
    assert "npm install -g @agentclientprotocol/codex-acp" in done.stdout


@together
def test_a_program_that_only_the_login_shell_knows_is_found_with_a_warning(tmp_path: Path) -> None:
    for name, text in {
        "shell": f'#!/bin/sh\nPATH="{tmp_path}/more:$PATH" exec /bin/sh -c "$4"\n',
        "more/hidden-agent": f"#!/bin/sh\nexec {sys.executable} -m dragoman agent echo\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    done = examined("--", "hidden-agent", "--acp", SHELL=str(tmp_path / "shell"))
    assert done.returncode == 0, done.stdout
    assert "only the PATH of your login shell has it" in done.stdout
    assert f"give them its full path, {tmp_path}/more/hidden-agent" in done.stdout


@pytest.mark.bound(15)  # what does not end by itself is given some seconds to
@together
async def test_an_interrupt_ends_the_agent_too(tmp_path: Path) -> None:
    agent = a_script(tmp_path, "agent x\non initialize\n  stall\n")
    async with RawPeer([*DOCTOR, "--", *agent]) as peer:
        await peer.read_until(lambda line: b"program" in line)
        await eventually(lambda: _runs(peer, "x.script"))
        started = [pid for pid in peer.processes() if pid != peer.pid]
        peer.send_signal(signal.SIGINT)
        assert await peer.wait(seconds=10) == 130
        await eventually(lambda: not any(map(alive, started)))


def _runs(peer: RawPeer, word: str) -> bool:
    return any(word in _command(pid) for pid in peer.processes() if pid != peer.pid)


def _command(pid: int) -> str:
    if look_up(pid) is None:
        return ""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:  # it ended while we looked
        return ""


def test_it_waits_as_long_as_a_run_does() -> None:
    parser = make_parser()
    doctor = parser.parse_args(["doctor", "echo"])
    run = parser.parse_args(["run", "--agent", "echo", "hello"])
    assert doctor.timeout == run.start_timeout == HANDSHAKE_SECONDS

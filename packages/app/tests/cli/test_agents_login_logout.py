"""`dragoman agents logout`, against real processes."""

import subprocess
from pathlib import Path

import pytest

from tests.apps.run.run_process import home, scripted
from tests.cli.command_forks import run_command


def logout(folder: Path, agent: str) -> subprocess.CompletedProcess[str]:
    return run_command("agents", "logout", agent, cwd=folder, env=home(folder))


def test_an_agent_that_can_forgets_who_is_logged_in(tmp_path: Path) -> None:
    note = tmp_path / "note"
    can = '{"auth": {"logout": {}}}'
    script = f'agent account\n  capabilities {can}\non logout\n  save {note} "gone"\n  answer {{}}\n'
    done = logout(tmp_path, scripted(tmp_path, script))
    assert (done.returncode, note.read_text()) == (0, "gone")
    assert "Logged out" in done.stdout


@pytest.mark.parametrize(
    ("agent", "status", "told"),
    [
        ("echo", 1, "can't log out over the protocol"),
        ("no-such-agent", 2, "no agent"),
        ("sh -c 'exit 3'", 1, "was not logged out"),
    ],
)
def test_who_cannot_says_so(agent: str, status: int, told: str, tmp_path: Path) -> None:
    done = logout(tmp_path, agent)
    assert done.returncode == status
    assert told in done.stderr

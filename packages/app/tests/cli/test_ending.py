"""Every command that holds a terminal or an agent ends when it is told to, and its agents with it.

Real terminals: a person closes the window, a service manager sends a signal, `kill` is
used. The agent ignores all of it, and so does the child that it started.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.apps.run.run_process import DRAGOMAN, home
from tests.cli.held import CLOSED, ENDS_WITHIN, PATIENCE, Held, is_running, wait_until
from tests.slow import sampled
from tests.together import SideBySide

together = SideBySide()

AGENT = str(Path(__file__).with_name("stubborn_agent.py"))


def ends_with_its_agent(
    command: Sequence[str],
    folder: Path,
    how: str,
    *,
    prompt: str = "",
    ignores_hangup: bool = False,
    is_read: bool = True,
) -> int:
    """Start it, wait until its agent is stuck, end it so. Returns the exit status; nothing may be left."""
    pids = folder / "pids"
    held = Held(command, folder, ignores_hangup=ignores_hangup, is_read=is_read)
    try:
        if prompt:
            held.wait_for(lambda: "ready" in held.shown, "the prompt")
            held.type(prompt)
        held.wait_for(lambda: pids.exists() or held.process.poll() is not None, "the agent's start")
        assert pids.exists(), held.read()
        agents = [int(pid) for pid in pids.read_text().split()]
        held.end(how)
        held.wait_for(lambda: held.process.poll() is not None, f"the end by {how}", ENDS_WITHIN)
        held.wait_for(lambda: not any(map(is_running, agents)), f"the agents' end by {how}", ENDS_WITHIN)
        return held.process.wait()
    finally:
        held.close()
        for pid in [int(pid) for pid in pids.read_text().split()] if pids.exists() else []:
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)


def stubborn(folder: Path, where: str) -> list[str]:
    return [sys.executable, "-S", AGENT, str(folder / "pids"), where]


def chat(folder: Path, where: str) -> list[str]:
    agent = shlex.join(stubborn(folder, where))
    return [*DRAGOMAN, "chat", "--agent", agent, "--cwd", str(folder), "--no-history"]


CHATS = [
    pytest.param("start", CLOSED, 129, marks=pytest.mark.slow),
    ("turn", CLOSED, 129),
    pytest.param("question", CLOSED, 129, marks=pytest.mark.slow),
    pytest.param("start", "SIGTERM", 143, marks=pytest.mark.slow),
    pytest.param("turn", "SIGHUP", 129, marks=pytest.mark.slow),
    ("question", "SIGTERM", 143),
    pytest.param("turn", "SIGQUIT", 131, marks=pytest.mark.slow),
    ("turn", "SIGINT", 130),
]


@pytest.mark.bound(150)
@pytest.mark.parametrize(("where", "how", "status"), CHATS)
@together
def test_chat_ends_with_its_terminal_and_by_every_signal(
    where: str, how: str, status: int, tmp_path: Path
) -> None:
    prompt = "" if where == "start" else "go\r"
    assert ends_with_its_agent(chat(tmp_path, where), tmp_path, how, prompt=prompt) == status


@pytest.mark.bound(150)
@together
def test_chat_ends_with_its_terminal_though_it_was_started_deaf_to_the_hangup(tmp_path: Path) -> None:
    command = chat(tmp_path, "turn")
    assert ends_with_its_agent(command, tmp_path, CLOSED, prompt="go\r", ignores_hangup=True) == 129


@pytest.mark.bound(150)
@together
def test_a_terminal_that_does_not_read_cannot_hold_up_the_end_of_chat(tmp_path: Path) -> None:
    assert ends_with_its_agent(chat(tmp_path, "start"), tmp_path, "SIGTERM", is_read=False) == 143


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.bound(150)
@together
def test_chat_ends_with_the_pane_of_tmux_that_it_runs_in(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    line = shlex.join(chat(tmp_path, "start"))
    tmux = ["tmux", "-S", str(tmp_path / "tmux"), "-f", "/dev/null"]
    new = [*tmux, "new-session", "-d", "-x", "80", "-y", "24", f"echo $$ > {tmp_path}/shell; exec {line}"]
    subprocess.run(new, check=True, env=home(tmp_path), timeout=PATIENCE)
    try:
        wait_until(pids.exists, "the agent's start")
        processes = [int(pid) for pid in ((tmp_path / "shell").read_text() + pids.read_text()).split()]
        subprocess.run([*tmux, "kill-pane"], check=True, timeout=PATIENCE)
        wait_until(lambda: not any(map(is_running, processes)), "the end", ENDS_WITHIN)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, capture_output=True, timeout=PATIENCE)


COMMANDS: dict[str, Callable[[list[str]], list[str]]] = {
    "run": lambda agent: ["run", "--no-history", "--agent", shlex.join(agent), "hello"],
    "doctor": lambda agent: ["doctor", "--", *agent],
    "check agent": lambda agent: ["check", "agent", "--", *agent],
    "check client": lambda client: ["check", "client", "--", *client, "{agent}"],
    "check translate": lambda agent: ["check", "translate", "--", *agent],
    "tap": lambda agent: ["tap", "--", *agent],
    "login": lambda agent: ["agents", "login", shlex.join(agent)],
    "logout": lambda agent: ["agents", "logout", shlex.join(agent)],
    "translate": lambda agent: ["translate", "--client", "v1", "--agent", "v1", "--", *agent],
}


@pytest.mark.bound(150)
@pytest.mark.parametrize(("name", "how"), sampled(COMMANDS, [CLOSED, "SIGHUP", "SIGTERM", "SIGQUIT"]))
@together
def test_a_command_ends_with_its_terminal_and_by_every_signal(name: str, how: str, tmp_path: Path) -> None:
    command = [*DRAGOMAN, *COMMANDS[name](stubborn(tmp_path, "start"))]
    assert ends_with_its_agent(command, tmp_path, how) != 0


@pytest.mark.bound(150)
@pytest.mark.parametrize("how", [CLOSED, "SIGTERM"])
@together
def test_a_hub_ends_with_its_terminal(how: str, tmp_path: Path) -> None:
    held = Held([*DRAGOMAN, "hub", "--listen", "127.0.0.1:0"], tmp_path)
    try:
        held.wait_for(lambda: "The page:" in held.shown, "the hub's start")
        held.end(how)
        held.wait_for(lambda: held.process.poll() is not None, f"the end by {how}", ENDS_WITHIN)
    finally:
        held.close()


@pytest.mark.bound(150)
@together
def test_a_hub_whose_terminal_is_there_reads_its_configuration_at_a_hangup(tmp_path: Path) -> None:
    policy, config = tmp_path / "policy.toml", tmp_path / "hub.toml"
    policy.write_text('default = "deny"\n')
    config.write_text(f'[approvals]\npolicy = "{policy}"\n')
    held = Held([*DRAGOMAN, "hub", "--config", str(config), "--listen", "127.0.0.1:0"], tmp_path)
    try:
        held.wait_for(lambda: "The page:" in held.shown, "the hub's start")
        policy.write_text("nonsense = 1\n")
        held.end("SIGHUP")
        held.wait_for(lambda: "the policy stays as it was" in held.shown, "another reading of the policy")
        assert "configuration reloaded" in held.shown
        assert held.process.poll() is None
    finally:
        held.close()

"""The sandbox around the agent of a run: what it does by itself is held as what it asks for."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_local.sandbox.wall import Wall, can_hold
from tests import forks
from tests.apps.run.run_process import RUN, Done, home, run
from tests.sandbox import walled_agent

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of the session, with the agent in it, beside a home folder with a key."""
    if reason := can_hold("workspace"):
        pytest.skip(f"no sandbox can be held here: {reason}")
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("secret")
    path = tmp_path / "project"
    path.mkdir()
    shutil.copy(walled_agent.__file__, path / "agent.py")
    return path


def words(folder: Path, prompt: str, profile: str) -> list[str]:
    agent = f"{sys.executable} {folder / 'agent.py'}"
    return [prompt, "--agent", agent, "--sandbox", profile, "--approve", "all", "--format", "json"]


def turn(folder: Path, *lines: str, profile: str = "workspace") -> Done:
    return run(*words(folder, "\n".join(lines), profile), folder=folder.parent, cwd=folder)


@pytest.mark.bound(20)
def test_an_agent_reaches_nothing_outside_and_everything_without_the_wall(folder: Path) -> None:
    attempts = ("read ~/.ssh/id", f"signal {os.getpid()}", "write ~/outside", "delegate ~/delegated")
    inside = turn(folder, *attempts)
    assert inside.status == 0, inside.err
    assert inside.named("start")[0]["sandbox"] == "workspace"
    assert [text[:8] for text in json.loads(inside.text)[:2]] == ["refused:"] * 2
    outside = {"outside", "delegated"}
    assert not outside & set(os.listdir(folder.parent))  # below /tmp, it wrote to a /tmp of its own
    without = turn(folder, *attempts, profile="off")
    assert json.loads(without.text) == ["secret", "done", "done", "done"]
    assert outside <= set(os.listdir(folder.parent))
    assert without.named("start")[0]["sandbox"] == "off"


@pytest.mark.bound(20)
def test_an_agent_works_inside(folder: Path) -> None:
    done = turn(
        folder,
        "write edited",
        "run echo $((6 * 7)) > made; cat made",
        "delegate delegated",
        "lent cat edited",
    )
    assert done.status == 0, done.err
    assert json.loads(done.text) == ["done", "42", "done", "mine"]
    assert {"edited", "made", "delegated"} <= set(os.listdir(folder))


@pytest.mark.bound(20)
def test_an_agent_that_may_only_read_writes_nothing_but_temporary_files(folder: Path) -> None:
    note = f"/tmp/note-{os.urandom(8).hex()}"
    done = turn(folder, "write edited", f"write {note}", f"read {note}", profile="read-only")
    assert done.status == 0, done.err
    refused, *outcomes = json.loads(done.text)
    assert refused.startswith("refused:")
    assert outcomes == ["done", "mine"]
    assert not (folder / "edited").exists()
    assert not Path(note).exists()


@pytest.mark.bound(20)
def test_a_run_says_which_wall_is_in_force(folder: Path) -> None:
    arguments = words(folder, "run pwd", "workspace")[:-2]
    done = run(*arguments, folder=folder.parent, cwd=folder)
    assert (done.status, done.out.strip()) == (0, str(folder))
    assert "sandbox: workspace for the agent" in done.err


@pytest.mark.bound(20)
def test_an_agent_and_its_commands_have_the_network_that_was_chosen(folder: Path) -> None:
    """A port of this machine that is permitted, and one that is not."""
    ask = (
        "python3 -c \"import socket; print(socket.create_connection(('127.0.0.1', %d), 3).recv(9).decode())\""
    )
    proxied = "import urllib.request as u; u.urlopen('http://not.example/')"
    with served_once() as port, served_once() as other:
        lines = [
            f"{act} {ask % number} 2>&1 | tail -n 1" for number in (port, other) for act in ("run", "lent")
        ]
        lines.append(f'run python3 -c "{proxied}" 2>&1 | tail -n 1')
        done = turn(folder, *lines, profile=f"workspace+net:localhost:{port}")
    assert done.status == 0, done.err
    assert done.named("start")[0]["sandbox"] == f"workspace+net:localhost:{port}"
    assert json.loads(done.text) == [
        "here",
        "here",
        *["ConnectionRefusedError: [Errno 111] Connection refused"] * 2,
        "urllib.error.HTTPError: HTTP Error 403: Forbidden",
    ]
    (told,) = done.named("stderr")
    assert told["text"].startswith(
        "dragoman: the sandbox refuses not.example:80: it is not in workspace+net:"
    )


@contextmanager
def served_once() -> Iterator[int]:
    """The port of a program that says `here` to everybody."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    with listener.accept()[0] as link:
                        link.sendall(b"here")

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_no_wall_can_be_around_an_agent_elsewhere(folder: Path) -> None:
    done = run("hi", "--agent", "unix:/nowhere", "--sandbox", "workspace", folder=folder)
    assert done.status == 2
    assert "can't use the sandbox profile" in done.err


def start(folder: Path, mark: str) -> subprocess.Popen[bytes]:
    """A run whose agent has left a process behind itself, and works."""
    env = home(folder.parent, TMPDIR=str(folder.parent / "temporary"))
    (folder.parent / "temporary").mkdir()
    process = subprocess.Popen(
        [*RUN, *words(folder, f"leave {mark}", "workspace")], cwd=folder, env=env, stdout=subprocess.PIPE
    )
    end = time.monotonic() + patience(20)
    while not (folder / "ready").exists() and time.monotonic() < end:
        time.sleep(0.01)
    assert named(mark)
    return process


def named(mark: str) -> list[str]:
    """The processes that have this word in their command line, but for our own."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in text:
            found.append(pid)
    return found


def wait_until_gone(mark: str) -> None:
    end = time.monotonic() + patience(10)
    while named(mark) and time.monotonic() < end:
        time.sleep(0.01)
    assert named(mark) == []


@pytest.mark.bound(40)
def test_a_cancelled_turn_ends_and_takes_everything_along(folder: Path) -> None:
    mark = f"mark-{os.urandom(8).hex()}"
    process = start(folder, mark)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=patience(20))
    last = json.loads(output.splitlines()[-1])
    assert (last["outcome"], last["stopReason"]) == ("cancelled", "cancelled")
    wait_until_gone(mark)


KILLS = int(os.environ.get("DRAGOMAN_WALL_KILLS", "3"))


@pytest.mark.bound(60 + 6 * KILLS)
def test_nothing_is_left_of_a_run_that_is_killed(folder: Path) -> None:
    """At any moment of its start, and in its turn. The folder of a session's commands goes with the next."""
    temporary = folder.parent / "temporary"
    temporary.mkdir()
    env = home(folder.parent, TMPDIR=str(temporary))
    mounts = Path("/proc/self/mounts").read_text()
    for number in range(KILLS):
        chance = random.Random(number)
        mark = f"mark-{os.getpid()}-{number}.example"
        profile = f"workspace+net:{mark}"
        line = [*RUN, *words(folder, f"lent (setsid sleep 1000 {mark} &)\nleave {mark}", profile)]
        (folder / "ready").unlink(missing_ok=True)
        process = forks.start(line, cwd=folder, env=env, stderr=subprocess.DEVNULL)
        end = time.monotonic() + (patience(20) if number % 3 == 0 else chance.random())
        while not (folder / "ready").exists() and time.monotonic() < end:
            time.sleep(0.01)
        assert number % 3 or (folder / "ready").exists()
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
        wait_until_gone(mark)
    assert Path("/proc/self/mounts").read_text() == mounts
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(temporary))
        Wall("workspace", folders=[str(folder)]).close()
    assert not [name for name in os.listdir(temporary) if "wall" in name]

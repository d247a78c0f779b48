"""A forked command does what a started one does."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests import forks
from tests.apps.run.run_process import DRAGOMAN, home
from tests.fork_server import CommandForks, ForkServer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="descriptors are passed as on Linux")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    folder = tmp_path_factory.mktemp("forks")
    running = ForkServer(address=str(folder / "address"))
    running.run(["--version"], given=None, cwd=folder, env={}, timeout=patience(30))  # it is there
    assert (folder / "address").is_socket()
    yield running
    running.close()


def lent(address: str) -> list[str]:
    """The beginning of a command line that lends its streams to a fork."""
    return [address if word == forks.ADDRESS else word for word in forks.DRAGOMAN]


def test_status_and_output_are_those_of_a_process(server: ForkServer, tmp_path: Path) -> None:
    for arguments, given in (
        (["--version"], None),
        (["run", "--agent", "echo", "--cwd", "missing", "x"], None),
        (["run", "--agent", "echo"], "Héllo".encode()),
        (["no-such-command"], b"never read"),
    ):
        started = subprocess.run(
            [*DRAGOMAN, *arguments],
            input=given or b"",
            capture_output=True,
            cwd=tmp_path,
            env=home(tmp_path),
            timeout=patience(30),
            check=False,
        )
        forked = server.run(arguments, given=given, cwd=tmp_path, env=home(tmp_path), timeout=patience(30))
        assert (forked.returncode, forked.stdout, forked.stderr) == (
            started.returncode,
            started.stdout,
            started.stderr,
        )


def test_a_command_beyond_its_time_is_killed(server: ForkServer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "prompt")  # nobody writes into it
    done = server.run(
        ["run", "--agent", "echo", "--prompt-file", "prompt"],
        given=None,
        cwd=tmp_path,
        env=home(tmp_path),
        timeout=0.1,
    )
    assert done.returncode == -signal.SIGKILL


HELLO = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'


def test_a_fork_that_somebody_else_starts_is_talked_to_and_ends_as_it_says(server: ForkServer) -> None:
    arguments = ["agent", "echo"]
    done = subprocess.run(
        [*lent(server.address), *arguments], input=HELLO, capture_output=True, timeout=patience(30)
    )
    assert json.loads(done.stdout)["result"]["agentInfo"]["name"] == "echo"
    assert (done.returncode, done.stderr) == (0, b"")
    refused = subprocess.run(
        [*lent(server.address), "no-such-command"], capture_output=True, timeout=patience(30)
    )
    assert refused.returncode == 2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_fork(server: ForkServer, number: int) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([*lent(server.address), "agent", "echo"], stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(HELLO)
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.stdout.read() == b"", "whoever holds the other end has ended"
        assert process.wait(patience(10)) == (-number if number == signal.SIGKILL else 0)


def test_without_a_server_it_is_the_program(tmp_path: Path) -> None:
    words = [*lent(str(tmp_path / "nobody")), "--version"]
    done = subprocess.run(words, capture_output=True, timeout=patience(30), check=True)
    assert done.stdout.startswith(b"dragoman ")


PROGRAMS = {
    "text": ["-c", "import sys; print(sys.argv, sys.path[0])", "one", "two"],
    "module": ["-m", "json.tool", "--help"],
    "status": ["-c", "raise SystemExit(7)"],
    "last words": ["-c", "raise SystemExit('no')"],
    "error": ["-c", "print('so far'); 1 / 0"],
    "interrupt": ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGINT)"],
    "signal": ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"],
    "kill": ["-c", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"],
    "exit functions and threads": [
        "-c",
        "import atexit, threading, time; atexit.register(print, 'last')\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print('thread'))).start()",
    ],
    "an option of the interpreter": ["-I", "-c", "import sys; print(sys.flags.isolated)"],
}


@pytest.mark.parametrize("words", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_a_fork_ends_as_a_process_does(server: ForkServer, tmp_path: Path, words: list[str]) -> None:
    ends = []
    for command in ([sys.executable, *words], [*lent(server.address)[:-2], *words]):
        done = subprocess.run(command, capture_output=True, cwd=tmp_path, timeout=patience(30), check=False)
        ends.append((done.returncode, done.stdout, done.stderr.splitlines()[-1:]))
    assert ends[0] == ends[1]


def test_a_file_is_run_as_a_program(server: ForkServer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys, beside\nprint(__name__, __file__, sys.argv, beside.__file__)\n")
    (tmp_path / "beside.py").write_text("")
    prefixes = ([sys.executable], lent(server.address)[:-2])
    texts = {subprocess.check_output([*prefix, str(program), "one"]) for prefix in prefixes}
    assert len(texts) == 1


def test_a_program_that_keeps_nothing_back_is_heard_at_once(server: ForkServer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; print('now'); sys.stdin.readline()\n")
    for prefix in ([sys.executable], lent(server.address)[:-2]):
        with subprocess.Popen(
            [*prefix, str(program)],
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], patience(10))[0]
            assert process.stdout.readline() == b"now\n"
            process.communicate(b"\n", timeout=patience(10))


TERMINAL = "import os; print(os.isatty(1), os.tcgetpgrp(0) == os.getpid(), flush=True); input()"


@pytest.mark.parametrize("is_there", [True, False])
def test_a_terminal_is_that_of_the_program(server: ForkServer, tmp_path: Path, is_there: bool) -> None:
    """What is typed there reaches it, as a signal too."""
    ours, theirs = pty.openpty()
    prefix = lent(server.address if is_there else str(tmp_path / "nobody"))[:-2]
    with subprocess.Popen(
        [*prefix, "-c", TERMINAL], stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            shown = b""
            while b"\n" not in shown:
                shown += os.read(ours, 1000)
            assert shown.split() == [b"True", b"True"]
            deadline = time.monotonic() + patience(10)
            while process.poll() is None and time.monotonic() < deadline:
                os.write(ours, b"\x03")  # one that comes just before it waits for a line goes unheard
                time.sleep(0.05)
            assert process.returncode == -signal.SIGINT
        finally:
            process.kill()
    os.close(ours)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_fork_of_our_own_has_its_own_number(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setattr(forks, "ADDRESS", server.address if is_there else str(tmp_path / "nobody"))
    code = "import os, time; print(os.getpid(), os.getcwd(), os.environ['NAME'], flush=True); time.sleep(60)"
    command = [sys.executable, "-c", code]
    with (tmp_path / "log").open("wb") as log:
        process = forks.start(command, cwd=tmp_path, env={"NAME": "one"}, stderr=log.fileno())
    assert isinstance(process, forks.Fork) == is_there
    assert process.stdout is not None
    with process.stdout as stdout:
        assert stdout.readline().decode().split() == [str(process.pid), str(tmp_path), "one"]
        assert process.poll() is None
        process.kill()
        assert process.wait(patience(10)) == -signal.SIGKILL
        assert process.poll() == -signal.SIGKILL
        process.send_signal(signal.SIGTERM)  # to nobody: it has ended


def test_a_signal_to_a_fork_of_our_own_that_has_ended_by_itself_goes_to_nobody(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "ADDRESS", server.address)
    with (tmp_path / "log").open("wb") as log:
        process = forks.start([sys.executable, "-c", ""], cwd=tmp_path, env={}, stderr=log.fileno())
    assert process.stdout is not None
    with process.stdout as stdout:
        assert stdout.read() == b""
        process.send_signal(signal.SIGTERM)
        assert process.wait(patience(10)) in (0, -signal.SIGTERM)  # the end of its output is not yet its own


@pytest.mark.parametrize("is_there", [True, False])
def test_a_server_that_ends_before_its_first_line_fails_with_its_errors(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setattr(forks, "ADDRESS", server.address if is_there else str(tmp_path / "nobody"))
    command = [sys.executable, "-c", "import sys; sys.exit('no room')"]
    with (tmp_path / "log").open("wb") as log:
        process = forks.start(command, cwd=tmp_path, env={}, stderr=log.fileno())
    with pytest.raises(AssertionError, match="ended early with status 1:\nno room"):
        forks.first_line(process, tmp_path / "log")
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.parametrize("is_there", [True, False])
def test_the_errors_of_a_fork_of_our_own_can_go_nowhere(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setattr(forks, "ADDRESS", server.address if is_there else str(tmp_path / "nobody"))
    code = "import sys; sys.stderr.write('lost'); sys.stderr.flush(); print('said', flush=True)"
    process = forks.start([sys.executable, "-c", code], cwd=tmp_path, env={}, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    with process.stdout as stdout:
        assert stdout.read() == b"said\n"
        assert process.wait(patience(10)) == 0


@pytest.mark.parametrize("is_there", [True, False])
def test_commands_are_forks_of_the_server_of_the_run_if_there_is_one(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_there: bool
) -> None:
    monkeypatch.setattr(forks, "ADDRESS", server.address if is_there else str(tmp_path / "nobody"))
    commands = forks.for_commands()
    try:
        assert isinstance(commands, ForkServer) != is_there
        done = commands.run(["--version"], given=None, cwd=tmp_path, env={}, timeout=patience(30))
        assert (done.returncode, done.stdout.split()[0]) == (0, b"dragoman")
    finally:
        commands.close()


def test_a_terminal_that_nobody_has_is_that_of_a_fork_of_our_own(
    server: ForkServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "ADDRESS", server.address)
    ours, theirs = pty.openpty()
    process = forks.start_in_terminal([sys.executable, "-c", TERMINAL], theirs, cwd=tmp_path, env={})
    os.close(theirs)
    assert process is not None
    try:
        shown = b""
        while b"\n" not in shown:
            shown += os.read(ours, 1000)
        assert shown.split() == [b"True", b"True"]
    finally:
        os.close(ours)
        assert process.wait(patience(10)) == -signal.SIGHUP


def test_a_program_of_another_version_is_no_fork() -> None:
    assert forks.unforked([*forks.DRAGOMAN, "--version"]) == [sys.executable, "-m", "dragoman", "--version"]
    assert forks.unforked(["node", "client.mjs"]) == ["node", "client.mjs"]


def test_forks_that_ask_no_server_cannot_be_made() -> None:
    class Silent(CommandForks):
        """It forgot to say how a request is passed on."""

        def close(self) -> None:
            pass

    with pytest.raises(TypeError, match="_ask"):
        Silent()  # type: ignore[abstract]


def test_who_waits_for_the_servers_of_a_run_waits_until_both_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "ADDRESS", str(tmp_path / "servers"))
    monkeypatch.setattr(forks, "has_servers", False)
    forks.wait_for_servers()
    monkeypatch.setattr(forks, "has_servers", True)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(forks.wait_for_servers)
        for end in ("", forks.LARGE):
            assert not waiting.done()
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
                one.bind(forks.ADDRESS + end)
        waiting.result(patience(30))

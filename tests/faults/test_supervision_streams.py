"""Descriptors of every kind: closed, full, unread, files, sockets, terminals."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.faults.cases import cases, fault
from tests.faults.talk import code, line, notification, opening, prompt, read, request
from tests.faults.trial_agents import Command
from tests.faults.watch import cpu, descriptors, eventually, pipes
from tests.together import SideBySide

pytestmark = pytest.mark.bound(40)
together = SideBySide()

IN_TIME = 5.0
INITIALIZE = line(request("i", "initialize", {"protocolVersion": 1, "clientCapabilities": {}}))
NEW = line(request("n", "session/new", {"cwd": "/tmp", "mcpServers": []}))


def redirected(agent: Command, how: str, path: str | Path = "") -> list[str]:
    """The agent with its descriptors as a shell would arrange them; `$path` is the path."""
    return ["/bin/sh", "-c", f'path=$0; exec "$@" {how}', str(path), *agent]


@fault("SUP-14")
def test_requests_from_a_file_are_answered_into_a_file(agent: Command, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(INITIALIZE + NEW + line(request("x", "_x")) + b"broken\n")
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        done = subprocess.run(agent, stdin=given, stdout=taken, timeout=patience(20), check=False)
    assert done.returncode == 0
    said = [read(text) for text in (tmp_path / "out").read_bytes().splitlines()]
    assert [message["id"] for message in said if "method" not in message] == ["i", "n", "x", None]


@fault("SUP-X19")
def test_ten_thousand_requests_from_a_file_have_as_many_answers(agent: Command, tmp_path: Path) -> None:
    requests = b"".join(line(request(n, "_many")) for n in range(10_000))
    (tmp_path / "in").write_bytes(INITIALIZE + requests)
    with (tmp_path / "in").open("rb") as given, (tmp_path / "out").open("wb") as taken:
        assert (
            subprocess.run(agent, stdin=given, stdout=taken, timeout=patience(20), check=False).returncode
            == 0
        )
    answers = [read(text)["id"] for text in (tmp_path / "out").read_bytes().splitlines()]
    assert answers == ["i", *range(10_000)]


@cases(
    {"SUP-X20": "</dev/null", "SUP-X21": "<&-", "SUP-X22": "<&- >&- 2>&-", "SUP-X23": "</dev/null >/dev/full"}
)
def test_without_an_input_there_is_nothing_to_do(agent: Command, case: str) -> None:
    done = subprocess.run(
        redirected(agent, case), stdin=subprocess.DEVNULL, timeout=patience(IN_TIME), check=False
    )
    assert done.returncode == 0


@cases({"SUP-X24": ">&-", "SUP-X25": ">/dev/full"})
def test_an_output_that_takes_nothing_ends_the_agent(agent: Command, case: str) -> None:
    done = subprocess.run(
        redirected(agent, case), input=INITIALIZE + NEW, timeout=patience(IN_TIME), check=False
    )
    assert done.returncode >= 0


@fault("SUP-X26")
def test_a_closed_stderr_is_not_mistaken_for_the_wire(agent: Command) -> None:
    done = subprocess.run(
        redirected(agent, "2>&-"),
        input=INITIALIZE + NEW,
        stdout=subprocess.PIPE,
        timeout=patience(IN_TIME),
        check=False,
    )
    assert done.returncode == 0
    said = [read(text) for text in done.stdout.splitlines()]
    assert [message["id"] for message in said if "method" not in message] == ["i", "n"]


@contextmanager
def running(agent: Command, fd: int) -> Iterator[subprocess.Popen[bytes]]:
    """The agent with one descriptor for its input and its output."""
    process = subprocess.Popen(agent, stdin=fd, stdout=fd)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@fault("SUP-X27")
def test_one_socket_may_be_input_and_output(agent: Command) -> None:
    ours, theirs = socket.socketpair()
    with ours, running(agent, theirs.fileno()) as process:
        theirs.close()
        ours.settimeout(patience(10))
        ours.sendall(INITIALIZE)
        assert read(ours.makefile("rb").readline())["id"] == "i"
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(timeout=patience(IN_TIME)) == 0


@fault("SUP-X28")
def test_a_terminal_may_be_input_and_output(agent: Command) -> None:
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    with running(agent, theirs) as process, os.fdopen(ours, "r+b", buffering=0) as terminal:
        os.close(theirs)
        terminal.write(INITIALIZE)
        said = b""
        while not said.endswith(b"\n"):
            said += terminal.read(4096)
        assert read(said)["id"] == "i"
        terminal.close()
        process.wait(timeout=patience(IN_TIME))


@fault("SUP-07")
@together
async def test_a_client_that_hangs_up_while_it_is_talked_to_ends_the_agent(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.peer.send(prompt("turn", talk.session, "/stream 100000000 100"))
        await talk.said("10 ")
        talk.peer.close_stdout()
        await talk.peer.wait(seconds=IN_TIME)


@fault("SUP-X29")
@together
async def test_a_client_that_hung_up_while_idle_is_noticed_at_the_next_word(agent: Command) -> None:
    async with opening(agent) as talk:
        talk.peer.close_stdout()
        await talk.peer.send(request("x", "_x"))
        await talk.peer.wait(seconds=IN_TIME)


@fault("SUP-X30")
@together
async def test_an_agent_whose_client_hung_up_does_not_spin(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.replies()
        talk.peer.close_stdout()
        before = cpu(talk.peer.pid)
        for _ in range(50):
            await talk.peer.send(notification("_still_here"))
        assert cpu(talk.peer.pid) - before < 0.5
        talk.peer.close_stdin()
        await talk.peer.wait(seconds=IN_TIME)


@fault("SUP-08")
@together
async def test_a_closed_stderr_does_no_harm(agent: Command) -> None:
    async with opening(agent) as talk:
        talk.peer.close_stderr()
        for _ in range(20):
            answer, _ = await talk.turn("/fail")
            assert code(answer) is not None
        await talk.echoes()
        talk.peer.close_stdin()
        assert await talk.peer.wait(seconds=IN_TIME) == 0


@fault("SUP-X31")
@together
async def test_a_stderr_that_nobody_reads_does_not_stop_the_agent(agent: Command, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "stderr")
    unread = os.open(tmp_path / "stderr", os.O_RDWR)
    try:
        async with opening(redirected(agent, '2>"$path"', tmp_path / "stderr")) as talk:
            for _ in range(300):
                answer, _ = await talk.turn("/fail")
                assert code(answer) is not None
            await talk.echoes()
            talk.peer.close_stdin()
            assert await talk.peer.wait(seconds=IN_TIME) == 0
    finally:
        os.close(unread)


@fault("SUP-X32", stage="noisy")
@together
async def test_what_is_printed_never_reaches_the_wire(agent: Command) -> None:
    # With this, Python would write what is printed before `serve` through to the wire at once.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    async with opening(agent, env=env) as talk:
        for _ in range(3):
            answer, said = await talk.turn("make noise")
            assert (code(answer), said) == (None, "heard")
        talk.peer.close_stdin()
        assert await talk.peer.wait(seconds=IN_TIME) == 0
        assert [message for message in talk.heard if message.get("method") == "printed"] == []
        for stray in (
            "before it serves",
            "to descriptor one",
            "from a child",
            "and its stderr",
            "from C",
            "to stderr",
        ):
            assert stray in talk.peer.stderr


@fault("SUP-X33")
@together
async def test_children_do_not_hold_the_wire(agent: Command) -> None:
    async with opening(agent) as talk:
        wire = pipes(talk.peer.pid)
        await talk.peer.send(prompt("child", talk.session, "/child 60"))
        await talk.said("Started")
        await eventually(lambda: len(talk.peer.processes()) >= 4)
        others = [pid for pid in talk.peer.processes() if pid != talk.peer.pid]
        stderr = {os.readlink(f"/proc/{talk.peer.pid}/fd/2")}
        for pid in others:
            assert pipes(pid) & (wire - stderr) == set()


@fault("SUP-X34")
@together
async def test_the_folder_of_an_agent_may_vanish(agent: Command, tmp_path: Path) -> None:
    (folder := tmp_path / "gone").mkdir()
    async with opening(agent, cwd=folder) as talk:
        shutil.rmtree(folder)
        await talk.echoes()
        answer, _ = await talk.turn("/child 0")
        assert code(answer) is None


@cases(
    {
        "SUP-X35": {},
        "SUP-X36": {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        "SUP-X37": {"PYTHONUNBUFFERED": "1", "PYTHONDEVMODE": "1", "HOME": "/nope", "TMPDIR": "/nope"},
    }
)
@together
async def test_the_environment_changes_no_text(agent: Command, case: dict[str, str]) -> None:
    async with opening(agent, env=case) as talk:
        await talk.echoes("é€😀")


@fault("SUP-X38")
@together
async def test_trees_leave_no_descriptor_behind(agent: Command) -> None:
    async with opening(agent) as talk:
        await talk.turn("/child 0")
        before = descriptors(talk.peer.pid)
        for _ in range(12):
            assert code((await talk.turn("/child 0"))[0]) is None
        assert descriptors(talk.peer.pid) <= before + 2

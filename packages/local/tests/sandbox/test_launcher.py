"""What works in the sandbox, what ends with it, and a sandbox that cannot be built; as root and as a user."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman.testing.pace import patience
from dragoman_local.sandbox import launcher, system_calls
from dragoman_local.sandbox.boundary import Boundary
from dragoman_local.sandbox.launcher import PROCESSES_COUNTED, read_json
from dragoman_local.sandbox.plan import boundary_for
from dragoman_local.sandbox.wall import confined
from tests.sandbox.stage import STRANGER, Scene, scene

USERS = [0, STRANGER] if os.getuid() == 0 else [os.getuid()]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the sandbox is Linux's")


@pytest.fixture(scope="module", params=USERS, ids=lambda uid: "root" if uid == 0 else "user")
def ground(request: pytest.FixtureRequest) -> Iterator[Scene]:
    with scene(request.param) as stage:
        yield stage


# What must work inside.


def shell(stage: Scene, line: str) -> subprocess.CompletedProcess[bytes]:
    return stage.run(["/bin/sh", "-c", line])


def test_a_command_keeps_its_folder_its_environment_and_its_output(ground: Scene) -> None:
    done = shell(ground, "pwd; echo $VICTIM; id -u; printf '\\377\\000x'; echo wrong >&2")
    expected = f"{ground.workspace}\nyes\n{ground.uid}\n".encode() + b"\xff\x00x"
    assert (done.stdout, done.stderr, done.returncode) == (expected, b"wrong\n", 0)


@pytest.mark.parametrize(("line", "expected"), [("exit 7", 7), ("kill -TERM $$", -15), ("kill -KILL $$", -9)])
def test_a_command_ends_as_it_would_without_the_wall(ground: Scene, line: str, expected: int) -> None:
    assert shell(ground, line).returncode == expected


def test_large_output_arrives_whole(ground: Scene) -> None:
    assert len(shell(ground, "head -c 5000000 /dev/zero").stdout) == 5_000_000


def test_a_program_that_is_not_there_says_so(ground: Scene) -> None:
    done = ground.run([str(ground.workspace / "nothing")])
    assert done.returncode == 127
    assert b"there is no such program in the sandbox" in done.stderr


def test_work_in_the_workspace_goes_on(ground: Scene) -> None:
    """Files, moves between folders, commits in a repository and in a work tree, terminals, loopback."""
    commit = "git -c user.name=A -c user.email=a@b commit --quiet --message"
    program = ground.workspace / "server.py"
    program.write_text(
        "import http.server, os, threading, urllib.request as u\n"
        "s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n"
        "threading.Thread(target=s.serve_forever, daemon=True).start()\n"
        "print(u.urlopen(f'http://127.0.0.1:{s.server_port}/a.txt').read())\n"
        "ours, theirs = os.openpty(); print(os.ttyname(theirs)[:9])\n"
    )
    done = shell(
        ground,
        "set -e; echo one > a.txt; mkdir -p d; mv a.txt d/; mv d/a.txt .; git add a.txt; "
        f"{commit} second; git branch other; git log --format=%s -1; "
        f"cd linked-tree; echo two > b.txt; git add b.txt; {commit} third; git log --format=%s -1; cd ..; "
        f"{ground.python} -I -S server.py; echo kept > /tmp/x; cat /tmp/x; : > /dev/null; "
        "bash -mc 'sleep 0 & wait'",
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().split() == ["second", "third", "b'one\\n'", "/dev/pts/", "kept"]


def test_a_folder_of_the_session_below_tmp_is_there_and_its_neighbours_are_not(
    ground: Scene, tmp_path: Path
) -> None:
    if ground.uid != os.getuid():
        pytest.skip("the folder is ours alone")
    (tmp_path / "secret").write_text("x")
    folder = tmp_path / "here"
    folder.mkdir()
    boundary = ground.boundary()

    boundary = boundary_for("workspace", [str(folder)], environ=ground.environment)
    words = confined(["/bin/sh", "-c", "echo x > file; ls .."], boundary)
    done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
    assert (done.stdout, (folder / "file").read_text()) == (b"here\n", "x\n")


def test_the_read_only_profile_writes_nothing_but_temporary_files(ground: Scene) -> None:
    done = ground.run(["/bin/sh", "-c", "echo x > /tmp/x && echo x > here"], profile="read-only")
    assert done.returncode != 0
    assert b"Read-only file system" in done.stderr
    assert not (ground.workspace / "here").exists()


GREEDY = """
import os, resource, signal, sys
told = [open("/proc/self/oom_score_adj").read().strip(), resource.getrlimit(resource.RLIMIT_NOFILE)]
try:
    bytearray(400 << 20)
except MemoryError:
    told.append("no memory")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
try:
    with open("large", "wb") as file:
        file.write(bytes(2 << 20))
except OSError as error:
    told.append(error.strerror)
children = []
try:
    while len(children) < 2000:
        children.append(os.fork())
        if not children[-1]:
            signal.pause()
except OSError as error:
    told.append(error.strerror)
for child in children:
    os.kill(child, signal.SIGKILL)
print(told, resource.getrlimit(resource.RLIMIT_CPU)[0], len(children) < 301)
"""


@pytest.mark.bound(30)
def test_limits_hold(ground: Scene) -> None:
    """Of processes for root, too: there the kernel must count those of a namespace."""
    profile = "workspace+processes:301+memory:300M+cpu:50+files:77+file-size:1M"
    done = ground.run([ground.python, "-I", "-S", "-c", GREEDY], profile=profile)
    told = "['500', (77, 77), 'no memory', 'File too large', 'Resource temporarily unavailable'] 50 True\n"
    version = tuple(map(int, os.uname().release.split(".")[:2]))
    if ground.uid == 0 and version < PROCESSES_COUNTED:
        told = told.replace(", 'Resource temporarily unavailable'", "").replace("True", "False")
    assert done.stdout.decode() == told, done.stderr.decode()


def test_what_holds_already_is_not_loosened(ground: Scene) -> None:
    done = ground.run(["/bin/sh", "-c", "ulimit -n"], preexec_fn=_few_files)
    assert done.stdout == b"99\n"


def _few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (99, 99))


# What others obey and what was not there.

MADE = {
    ".mcp.json": "echo '{}' > .mcp.json",
    ".dragoman": "mkdir .dragoman && echo x > .dragoman/policy.toml",
    ".claude/settings.json": "mkdir -p .claude && echo '{}' > .claude/settings.json",
    ".envrc": "ln -s /etc/passwd .envrc",
    ".vscode": "mkdir other && echo x > other/tasks.json && mv other .vscode",
    ".zed": "mkdir -p /tmp/elsewhere && echo x > /tmp/elsewhere/tasks.json && ln -s /tmp/elsewhere .zed",
    "opencode.json": (
        "(setsid sh -c 'trap \"\" TERM; sleep 0.1; echo {} > opencode.json; sleep 1000' &); sleep 0.2"
    ),
}


def test_what_others_obey_gets_another_name_if_a_command_made_it(ground: Scene) -> None:
    if ground.uid != os.getuid():
        pytest.skip("the folder is ours alone")
    folder = ground.base / "fresh"
    folder.mkdir()
    boundary = boundary_for("workspace", [str(folder)], environ=ground.environment)
    for number in (1, 2):
        line = "; ".join(f"({line})" for line in MADE.values())
        words = ground.confined(["/bin/sh", "-c", line], boundary)
        done = subprocess.run(words, cwd=folder, capture_output=True, check=False)
        for name in MADE:
            path = folder / (".zed" if name == ".zed" else name)
            assert not os.path.lexists(path), name
            assert os.path.lexists(f"{path}-made-inside-{number}"), (name, done.stderr)
            assert f"this command made {path}, which programs obey" in done.stderr.decode()


def test_what_was_there_and_what_nobody_obeys_keeps_its_name(ground: Scene) -> None:
    done = shell(ground, "mkdir -p .vscode made; touch made/file; cat .claude/settings.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert {".vscode", ".claude", "made"} <= {path.name for path in ground.workspace.iterdir()}


# A sandbox that cannot be built.


def test_a_folder_that_was_exchanged_is_refused(ground: Scene) -> None:
    boundary = ground.boundary()
    place = replace(boundary.writable[0], inode=1)
    line = ground.confined(["/bin/true"], replace(boundary, writable=(place,)))
    done = subprocess.run(line, cwd=ground.workspace, capture_output=True, check=False, **ground.identity)
    assert done.returncode == 125
    assert b"is another file than the one that the boundary was made for" in done.stderr


def test_a_step_that_fails_ends_the_start(ground: Scene) -> None:
    line = ground.confined(["/bin/echo", "ran"], replace(ground.boundary(), temporary="/nowhere"))
    done = subprocess.run(line, cwd=ground.workspace, capture_output=True, check=False, **ground.identity)
    assert (done.returncode, done.stdout) == (125, b"")
    assert done.stderr.startswith(b"dragoman: no sandbox: a temporary folder of its own: No such file")


def test_no_second_wall_can_be_built_inside_and_it_is_said(ground: Scene) -> None:
    inner = ground.confined(["/bin/true"], Boundary(profile="read-only"))
    done = ground.run(inner)
    assert done.returncode == 125
    assert b"a user namespace: Operation not permitted" in done.stderr


# What is left behind: nothing.

LEAVERS = {
    "setsid": "setsid sleep 1000 & echo up; wait",
    "double fork": "(sleep 1000 &) ; (setsid sh -c 'sleep 1000 & sleep 1000' &) ; echo up; sleep 1000",
    "no environment": "env -i setsid sleep 1000 & echo up; wait",
    "stopped": "setsid sh -c 'kill -STOP $$; sleep 1000' & echo up; wait",
}


@pytest.mark.parametrize("line", LEAVERS.values(), ids=LEAVERS)
def test_nothing_survives_the_launcher(ground: Scene, line: str) -> None:
    """Its death is the death of the namespace: the pipe that everybody inside holds comes to its end."""
    words = ground.confined(["/bin/sh", "-c", line], ground.boundary())
    with subprocess.Popen(
        words, cwd=ground.workspace, stdout=subprocess.PIPE, start_new_session=True, **ground.identity
    ) as launcher:
        assert launcher.stdout is not None
        assert launcher.stdout.readline() == b"up\n"
        os.kill(launcher.pid, signal.SIGKILL)
        assert launcher.stdout.read() == b""


def test_the_first_process_behind_the_wall_keeps_no_capability(ground: Scene) -> None:
    rights = "^Cap(Eff|Prm|Bnd):\t0+$"  # it gives them up while the command begins
    look = f"until test $(grep -Ec '{rights}' /proc/1/status) = 3; do sleep 0.01; done"
    done = ground.run(["timeout", str(patience(2)), "/bin/sh", "-c", look])
    assert done.returncode == 0, done.stderr


def test_a_command_has_the_capabilities_that_are_shown(ground: Scene) -> None:
    status = ground.run(["/bin/grep", "CapEff", "/proc/self/status"]).stdout
    numbers = {"CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7}
    shown = " ".join(ground.boundary().levels) if ground.uid == os.getuid() else "no capabilities"
    named = sum(1 << number for name, number in numbers.items() if name in shown)
    assert (int(status.split()[1], 16), named == 0) == (named, "no capabilities" in shown)


def test_what_a_command_leaves_running_is_asked_to_end_and_ends(ground: Scene) -> None:
    polite = "(trap 'echo asked; exit' TERM; echo up > ready; while :; do sleep 0.01; done)"
    deaf = "(trap '' TERM; sleep 1000)"
    done = shell(ground, f"mkfifo ready; {polite} & {deaf} & cat ready; exit 3")
    assert (done.returncode, done.stdout.split()) == (3, [b"up", b"asked"])


def test_json_of_the_launcher_is_read_as_json_is() -> None:
    value = {"a": ['\u00e9\n"\\', 1, 2.5, True, None, {"b": []}]}
    assert read_json(json.dumps(value)) == value


def test_nothing_begins_behind_a_launcher_that_died_before_its_end_could_be_heard_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel tells the death of a parent to a child that has asked for it in time, and to no other."""
    monkeypatch.setattr(system_calls, "call", lambda *_: 0)
    monkeypatch.setattr(system_calls, "mount", lambda *_: pytest.fail("it goes on alone"))
    answers, tells = os.pipe()
    os.close(answers)
    try:
        with pytest.raises(BrokenPipeError):
            launcher._lead({}, [], {}, tells)
    finally:
        os.close(tells)

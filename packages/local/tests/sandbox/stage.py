"""A scene for escapes: a workspace, a home with secrets, a folder outside, and a process that is a victim."""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from dragoman_local.sandbox.boundary import Boundary, Profile
from dragoman_local.sandbox.plan import boundary_for
from dragoman_local.sandbox.wall import can_hold, confined
from tests.boxes import ROOT

ESCAPES = Path(__file__).with_name("escapes.py")
NAMED = Path(__file__).with_name("named.py")
NAMES = ("api.example", "x.api.example", "evil.example")
"""Names of this machine, in a scene alone."""

STRANGER = 43210
"""A user without a name, for whom nothing on this machine was prepared."""

SECRETS = (".ssh/id_ed25519", ".netrc", ".aws/credentials", ".local/share/dragoman/tokens.json", ".npmrc")

VICTIM = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(0x59616d61, -1, 0, 0, 0)  # where Yama asks, everybody of this user may trace it
segment = libc.shmget(0, 4096, 0o1600)
room = ctypes.create_string_buffer(64)
print(segment, ctypes.addressof(room), flush=True)
sys.stdin.read()
libc.shmctl(segment, 0, None)
"""


def need_wall() -> None:
    """Skips the test where the machine cannot hold a wall, and says why."""
    reason = can_hold("workspace")
    if reason is not None:
        pytest.skip(f"no wall can be held here: {reason}")


def python_for(uid: int) -> str:
    """A Python that a user can start; ours may be in a folder that only we can enter."""
    for candidate in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            words = [candidate, "-I", "-S", "-c", "import ctypes, resource"]
            if subprocess.run(words, user=uid, group=uid, extra_groups=[], check=False).returncode == 0:
                return candidate
        except OSError:
            continue
    pytest.skip("there is no Python that another user could start")


class Scene:
    """One user's workspace and everything around it."""

    def __init__(self, base: Path, *, uid: int) -> None:
        self.uid = uid
        self.base, self.workspace = base, base / "workspace"
        self.home, self.outside = base / "home", base / "outside"
        self.identity: dict[str, Any] = {}
        self.python = sys.executable
        if uid != os.getuid():
            self.identity = {"user": uid, "group": uid, "extra_groups": []}
            self.python = python_for(uid)
        # What the search path names is seen behind the wall, also in a temporary folder.
        places = (os.path.dirname(self.python), str(ROOT / "packages/local/src"), os.environ["PATH"])
        self.environment = {"HOME": str(self.home), "PATH": os.pathsep.join(places), "VICTIM": "yes"}

    def run(
        self, words: Sequence[str], *, profile: Profile = "workspace", named: bool = False, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program in the workspace, behind the wall of this profile or, if it is `off`, without one;
        `named`, where our names lead to this machine.
        """
        line = list(words) if profile == "off" else self.confined(words, self.boundary(profile))
        if named:
            line = [self.python, "-I", "-S", str(self.base / NAMED.name), str(self.base / "hosts"), *line]
        given = {"cwd": self.workspace, "env": self.environment, "capture_output": True, **options}
        return subprocess.run(line, timeout=patience(60), check=False, **given, **self.identity)

    def boundary(self, profile: Profile = "workspace", **options: Any) -> Boundary:
        boundary = boundary_for(profile, [str(self.workspace)], environ=self.environment, **options)
        for path in self.workspace.glob("*/.git/hooks"):
            os.lchown(path, self.uid, self.uid)  # the plan of a user is made by that user
        return boundary

    def confined(self, words: Sequence[str], boundary: Boundary) -> list[str]:
        return [self.python, *confined(words, boundary)[1:]]

    def files_outside(self) -> dict[str, tuple[int, int, int, bytes]]:
        found = {}
        for path in sorted(self.outside.rglob("*")):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[path.name] = (status.st_mode, status.st_uid, int(status.st_mtime), content)
        return found

    def lay_out(self, names: Sequence[str]) -> None:
        for folder in (self.workspace, self.home, self.outside):
            folder.mkdir()
        shutil.copy(ESCAPES, self.workspace)
        shutil.copy(NAMED, self.base)
        lines = ["127.0.0.1 localhost", "::1 localhost", *(f"127.0.0.1 {name}" for name in NAMES)]
        (self.base / "hosts").write_text("\n".join(lines) + "\n")
        for name in names:
            (self.outside / name).write_text("mine")
        for name in ("folder", "folder-to-move"):
            (self.outside / name).mkdir()
        for name in SECRETS:
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
            (self.home / name).write_text("_authToken=secret")
        (self.home / ".bashrc").write_text("")
        (self.workspace / "folder").mkdir()
        for name in (".dragoman/policy.toml", ".claude/settings.json"):
            (self.workspace / name).parent.mkdir()
            (self.workspace / name).write_text("")
        for name in (".", "other", "bare"):
            self.git("init", "--quiet", str(self.workspace / name))
        self.git("-C", str(self.workspace), "commit", "--quiet", "--allow-empty", "--message", "first")
        self.git("-C", str(self.workspace), "worktree", "add", "--quiet", "linked-tree")
        shutil.rmtree(self.workspace / "bare/.git/hooks", ignore_errors=True)
        for path in (self.base, *self.base.rglob("*")):
            os.lchown(path, self.uid, self.uid)

    def git(self, *words: str) -> None:
        who = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_CONFIG_GLOBAL": "/dev/null"}
        who |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b", "PATH": os.environ["PATH"]}
        subprocess.run(["git", *words], check=True, env=who, capture_output=True)

    @contextmanager
    def context(self) -> Iterator[dict[str, Any]]:
        """What escapes are told about what is outside."""
        with ExitStack() as stack:
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            abstract = f"dragoman-{os.getpid()}-{self.uid}"
            listener.bind("\0" + abstract)
            listener.listen(8)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/tmp")))
            in_tmp = self._socket(stack, folder / "socket")
            (folder / "file").write_text("secret")
            folder.chmod(0o755)
            shared = Path(f"/dev/shm/{abstract}")
            shared.write_text("secret")
            stack.callback(shared.unlink)
            port = stack.enter_context(served())
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            queue = ctypes.CDLL(None).mq_open(f"/{abstract}".encode(), os.O_CREAT | os.O_RDWR, 0o666, None)
            os.fchmod(queue, 0o666)
            os.close(queue)
            stack.callback(ctypes.CDLL(None).mq_unlink, f"/{abstract}".encode())
            descriptor = os.open(self.outside, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, descriptor)
            victim = subprocess.Popen(
                [self.python, "-I", "-S", "-c", VICTIM],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                cwd=self.outside,
                env=self.environment,
                pass_fds=[descriptor],
                start_new_session=True,
                **self.identity,
            )
            stack.enter_context(victim)
            stack.callback(victim.kill)
            assert victim.stdout is not None
            segment, address = map(int, victim.stdout.readline().split())
            run_socket = Path(f"/run/{abstract}")
            yield {
                "is_root": self.uid == 0,
                "workspace": str(self.workspace),
                "outside": str(self.outside),
                "home": str(self.home),
                "victim": victim.pid,
                "address": address,
                "segment": segment,
                "descriptor": descriptor,
                "abstract": abstract,
                "port": port,
                "own_address": _own_address(),
                "connection": connection.fileno(),
                "queue": abstract,
                "home_socket": self._socket(stack, self.home / "socket"),
                "socket": in_tmp,
                "run_socket": self._socket(stack, run_socket) if os.getuid() == 0 else "",
                "temporary_file": str(folder / "file"),
                "shared_memory": str(shared),
            }
            assert victim.poll() is None, "the process outside was ended"

    def _socket(self, stack: ExitStack, path: Path) -> str:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(path))
        stack.callback(path.unlink)
        listener.listen(8)
        path.chmod(0o777)
        return str(path)

    def try_escapes(
        self, context: Mapping[str, Any], names: Iterable[str], *, profile: Profile, named: bool = False
    ) -> dict[str, Any]:
        """What came of each attempt."""
        words = [self.python, "-I", "-S", ESCAPES.name, json.dumps({**context, "names": list(names)})]
        done = self.run(
            words, profile=profile, named=named, pass_fds=[context["descriptor"], context["connection"]]
        )
        assert done.returncode == 0, done.stderr.decode()
        outcomes: dict[str, Any] = json.loads(done.stdout)
        return outcomes


@contextmanager
def served() -> Iterator[int]:
    """The port of a program that says `served` to whoever says something, at all addresses we have."""
    listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    port = listener.getsockname()[1]
    datagrams = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    datagrams.bind(("::", port))
    ours, theirs = socket.socketpair()

    def serve() -> None:
        open_links: list[socket.socket] = []
        while True:
            for ready in select.select([listener, datagrams, theirs, *open_links], [], [])[0]:
                if ready is theirs:
                    for link in (listener, datagrams, theirs, *open_links):
                        link.close()
                    return
                with suppress(OSError):
                    if ready is listener:
                        open_links.append(listener.accept()[0])
                    elif ready is datagrams:
                        datagrams.sendto(b"served", datagrams.recvfrom(100)[1])
                    else:
                        open_links.remove(ready)
                        with ready:
                            ready.recv(4096)
                            ready.sendall(b"served")

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield port
    finally:
        ours.close()
        thread.join()


def _own_address() -> str:
    """Of this machine in its network; loopback where it has none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


@contextmanager
def scene(uid: int, names: Sequence[str] = ()) -> Iterator[Scene]:
    """In the build folder: `/tmp` would be hidden anyway, and a home may be closed to others."""
    need_wall()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix="wall-") as folder:
        Path(folder).chmod(0o755)
        stage = Scene(Path(folder), uid=uid)
        stage.lay_out(names)
        yield stage

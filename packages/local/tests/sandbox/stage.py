"""A scene for programs in the sandbox: a workspace, a home with secrets, and a folder outside."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from dragoman.testing.pace import patience
from dragoman_local.sandbox.boundary import Boundary, Profile
from dragoman_local.sandbox.plan import boundary_for
from dragoman_local.sandbox.wall import can_hold, confined
from tests.boxes import ROOT

NAMED = Path(__file__).with_name("named.py")
NAMES = ("api.example", "x.api.example", "evil.example")
"""Names of this machine, in a scene alone."""

STRANGER = 43210
"""A user without a name, for whom nothing on this machine was prepared."""

SECRETS = (".ssh/id_ed25519", ".netrc", ".aws/credentials", ".local/share/dragoman/tokens.json", ".npmrc")


def need_wall() -> None:
    """Skips the test where the machine cannot hold a sandbox, and says why. Where it could, ours must
    stand."""
    reason = can_hold("workspace")
    if reason is not None:
        assert not _has_what_walls_need(), reason
        pytest.skip(f"no sandbox can be held here: {reason}")


@cache
def _has_what_walls_need() -> bool:
    """Whether the kernel has Landlock and lets us have spaces of our own, as others find out."""
    landlock = ctypes.CDLL(None).syscall(444, 0, 0, 1) > 0
    spaces = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc", "true"]
    return landlock and bool(shutil.which("unshare")) and subprocess.run(spaces, check=False).returncode == 0


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
        # What the search path names is seen in the sandbox, also in a temporary folder.
        places = (os.path.dirname(self.python), str(ROOT / "packages/local/src"), os.environ["PATH"])
        self.environment = {"HOME": str(self.home), "PATH": os.pathsep.join(places), "VICTIM": "yes"}

    def run(
        self, words: Sequence[str], *, profile: Profile = "workspace", named: bool = False, **options: Any
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program in the workspace, in the sandbox of this profile or, if it is `off`, without one;
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

    def lay_out(self) -> None:
        for folder in (self.workspace, self.home, self.outside):
            folder.mkdir()
        shutil.copy(NAMED, self.base)
        lines = ["127.0.0.1 localhost", "::1 localhost", *(f"127.0.0.1 {name}" for name in NAMES)]
        (self.base / "hosts").write_text("\n".join(lines) + "\n")
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
def scene(uid: int) -> Iterator[Scene]:
    """In the build folder: `/tmp` would be hidden anyway, and a home may be closed to others."""
    need_wall()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix="wall-") as folder:
        Path(folder).chmod(0o755)
        stage = Scene(Path(folder), uid=uid)
        stage.lay_out()
        yield stage

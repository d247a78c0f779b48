"""Checks whether this machine supports the sandbox, and builds the command line that runs a program in it.

    reason = can_hold("workspace")             # None, or which layer refuses and what would help
    wall = Wall("workspace", folders=["/project"])
    words = wall.command_line(["/bin/ls", "-l"])   # start this instead
    wall.close()

The command line is the confined command for whoever starts it: a terminal, an agent's host, another machine.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import msgspec
from msgspec.structs import replace

from dragoman.errors import LocalMistake
from dragoman.system.files import lock, try_lock
from dragoman.system.folders import home_folder
from dragoman_local.sandbox.boundary import (
    Boundary,
    Network,
    Profile,
    SandboxChoice,
    parse_profile,
    read_profile,
)
from dragoman_local.sandbox.plan import boundary_for, showing_program

_START = (
    "import sys; sys.path.append(sys.argv.pop(1)); from dragoman_local.sandbox.launcher import main; main()"
)
_HEAD = "dragoman: no sandbox: "

MOST_BYTES = 120_000
"""The most bytes of one word of a command line on Linux."""

PROBE_SECONDS = 20.0


def confined(words: Sequence[str], boundary: Boundary) -> list[str]:
    """Return the command line that runs these words in a sandbox. The program is named by its path, or is
    found along PATH.
    """
    if os.path.dirname(words[0]):
        boundary = showing_program(boundary, words[0])
    text = msgspec.json.encode(boundary).decode()
    if len(text) > MOST_BYTES:
        raise LocalMistake(
            "the sandbox has too many places: choose a folder with fewer repositories below it"
        )
    source = str(Path(__file__).parents[2])
    return [sys.executable, "-I", "-S", "-c", _START, source, text, *words]


def can_hold(profile: Profile) -> str | None:
    """Return the reason why this machine does not support a profile; None if it does. It is tested once, with
    a real sandbox.
    """
    parts = read_profile(profile)
    return None if parts.base == "off" else _why_not(filters=parts.network is not None)


@cache
def _why_not(*, filters: bool) -> str | None:
    if sys.platform != "linux":
        return "this system is not Linux, and no other is supported yet"
    if os.uname().machine != "x86_64":
        return f"the processor {os.uname().machine} is not supported yet, x86-64 is"
    if not sys.executable or getattr(sys, "frozen", False):
        return "there is no Python to start the sandbox with: this program is frozen"
    return _explain(_try_out(filters=filters))


def _try_out(*, filters: bool) -> str:
    """The complaint of a launcher that cannot build a sandbox; empty if it can."""
    boundary = Boundary(profile="read-only", network=Network() if filters else None)
    words = confined(["/bin/true"], boundary)
    try:
        probe = subprocess.run(
            words, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"the launcher: {error}"
    if probe.returncode == 0:
        return ""
    lines = probe.stderr.decode(errors="replace").strip().splitlines()
    return (lines[-1] if lines else f"the launcher ended with {probe.returncode}").removeprefix(_HEAD)


def _explain(complaint: str) -> str | None:
    """Which layer refused, and what to set: the system says EPERM for all of them."""
    if not complaint:
        return None
    settings = {
        "/proc/sys/user/max_user_namespaces": ("0", "set user.max_user_namespaces above 0"),
        "/proc/sys/kernel/unprivileged_userns_clone": ("0", "set kernel.unprivileged_userns_clone to 1"),
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns": (
            "1",
            "AppArmor restricts user namespaces; give Python a profile with `userns`, "
            "or set kernel.apparmor_restrict_unprivileged_userns to 0",
        ),
    }
    for path, (value, advice) in settings.items():
        if _content(path) == value:
            return f"{complaint}: {advice}"
    if "Seccomp:\t2" in _content("/proc/self/status"):
        return f"{complaint}: a sandbox or a container around us forbids it (Docker: its option security-opt)"
    return complaint


def _content(path: str) -> str:
    with suppress(OSError):
        return Path(path).read_text("utf-8").strip()
    return ""


def hold_or_refuse(profile: Profile) -> None:
    """Check a profile that the user chose: raise `LocalMistake` if this machine does not support it."""
    if reason := can_hold(profile):
        raise LocalMistake(
            f"the sandbox profile {profile} can't be used here: {reason}.  "
            "Nothing was started. Choose the profile off to go without a sandbox"
        )


def chosen_sandbox(text: str | None) -> SandboxChoice:
    """Check a profile from a command line or a file. Raises `LocalMistake` for an invalid profile, and for
    one that this machine does not support: a user must never get less than the chosen one.
    """
    if not text or text == "auto":
        return "auto"
    profile = parse_profile(text)
    hold_or_refuse(profile)
    return profile


def agent_launcher(
    profile: Profile,
    program: str,
    folders: Sequence[str],
    *,
    state: Sequence[str] = (),
    secrets: Sequence[str] = (),
    environ: Mapping[str, str],
) -> tuple[str, ...]:
    """Return the command line in front of an agent's command, for these folders; `program` is the first word
    of the command. `state` are its own files and folders below the home folder of `environ`, which are
    created if they do not exist: it can't create any outside. Its `/tmp` is an empty one that ends with it.
    Reads folders: not for an event loop. Raises `LocalMistake` if the profile is not supported.
    """
    if profile == "off":
        return ()
    hold_or_refuse(profile)
    home = home_folder(environ)
    paths = [os.path.join(home, name) for name in state]
    for path in paths:
        _make_state(path)
    boundary = boundary_for(profile, folders, state=paths, secrets=secrets)
    return tuple(confined([program], replace(boundary, sets_aside=False))[:-1])


def _make_state(path: str) -> None:
    """An empty folder, or an empty object if the name is that of a file of JSON."""
    with suppress(OSError):  # what cannot be made is not granted
        if path.endswith(".json"):
            with open(path, "x", encoding="utf-8") as file:
                file.write("{}\n")
        else:
            os.makedirs(path, mode=0o700, exist_ok=True)


class Wall:
    """The sandbox of one session: its boundary, computed once, and its temporary folder. Constructing reads
    folders: not for an event loop.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        folders: Sequence[str],
        state: Sequence[str] = (),
        secrets: Sequence[str] = (),
    ) -> None:
        """Raises `LocalMistake` if no sandbox can be built around these folders."""
        self._temporary, self._held = _own_folder()
        try:
            self.boundary = boundary_for(
                profile, folders, state=state, secrets=secrets, temporary=self._temporary
            )
        except BaseException:
            self.close()
            raise

    def command_line(self, words: Sequence[str]) -> list[str]:
        return confined(words, self.boundary)

    def close(self) -> None:
        """Remove the temporary folder, with the files that commands left in it. A second
        call has no effect.
        """
        if self._held >= 0:
            shutil.rmtree(self._temporary, ignore_errors=True)
            os.close(self._held)
            self._held = -1


def _own_folder() -> tuple[str, int]:
    """A new temporary folder, and a descriptor whose lock says that it is in use. Those whose process
    was killed have no lock, and are removed.
    """
    parent = os.environ.get("TMPDIR") or "/tmp"
    draft = f"{parent}/dragoman-new-wall-{os.urandom(8).hex()}"
    os.mkdir(draft, 0o700)
    held = os.open(draft, os.O_RDONLY | os.O_DIRECTORY)
    lock(held)
    folder = draft.replace("-new-wall-", "-wall-")
    os.rename(draft, folder)
    with suppress(OSError), os.scandir(parent) as entries:  # what cannot be looked at stays
        for entry in entries:
            if entry.name.startswith("dragoman-wall-") and entry.path != folder:
                _remove_unless_held(entry)
    return folder, held


def _remove_unless_held(entry: os.DirEntry[str]) -> None:
    with suppress(OSError):
        if entry.stat(follow_symlinks=False).st_uid == os.getuid():
            held = os.open(entry.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                if try_lock(held):
                    shutil.rmtree(entry.path, ignore_errors=True)
            finally:
                os.close(held)


class SessionWall:
    """The sandbox around the commands of a session, created with the first of them; from any thread.

    With `auto` it is `workspace` where that can be held, and none where not: `reason` says why.
    """

    def __init__(self, profile: SandboxChoice, *, secrets: Sequence[str] = ()) -> None:
        self._profile: Profile = "workspace" if profile == "auto" else profile
        self._is_chosen = profile != "auto"
        self._secrets = secrets
        self._lock = threading.Lock()
        self._is_closed = False
        self._folders: tuple[str, ...] = ()
        self._wall: Wall | None = None
        self.is_told = False
        """Whether somebody was told that there is none."""
        self.reason = "" if self._profile != "off" else "it is switched off"

    def open(self, folders: Sequence[str]) -> Wall | None:
        """Return the sandbox for commands in these folders, or none. Raises `LocalMistake` if a chosen
        profile is not supported, and once it is closed.
        """
        if self._profile == "off":
            return None
        with self._lock:
            if self._folders != tuple(folders):
                self._build(folders)
            wall = self._wall
        if self._is_closed:
            self.close()
            raise LocalMistake("the session is closed")
        return wall

    @property
    def text(self) -> str:
        """The description for people, after it was opened."""
        return f"no sandbox: {self.reason}" if self._wall is None else self._profile

    def _build(self, folders: Sequence[str]) -> None:
        self._remove()
        try:
            hold_or_refuse(self._profile)
            self._wall = Wall(self._profile, folders=folders, secrets=self._secrets)
            self.reason = ""
        except LocalMistake as error:
            if self._is_chosen:
                raise
            self.reason = can_hold(self._profile) or str(error)
        self._folders = tuple(folders)

    def close(self) -> None:
        """Remove what belongs to the sandbox. It waits for nobody: a thread that is making it removes it."""
        self._is_closed = True
        if self._lock.acquire(blocking=False):
            self._remove()
            self._lock.release()

    def _remove(self) -> None:
        if self._wall is not None:
            self._wall.close()
        self._wall, self._folders = None, ()

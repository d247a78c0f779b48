"""The boundary: one value that says what a command may write, what it sees read-only, and what not at all.

`plan` makes it, people read it as text or JSON, and `launcher` gets exactly this value. It knows names of
files and nothing of processes.
"""

from __future__ import annotations

import os
from typing import Literal, TypeAlias, get_args

from msgspec import Struct, field

from dragoman.errors import LocalMistake

Profile: TypeAlias = Literal["off", "read-only", "workspace"]
"""`off`: no wall. `read-only`: writes nothing but a temporary folder. `workspace`: writes below the folders
of the session and, if it is an agent, below its own state.
"""

SandboxChoice: TypeAlias = Literal["auto", "off", "read-only", "workspace"]
"""What somebody chose; `auto` if nobody did."""

PROFILES: tuple[Profile, ...] = get_args(Profile)

LEVELS = (
    "user, mount, PID and IPC namespaces",
    "Landlock",
    "a filter of system calls",
    "no new privileges, no capabilities",
)
"""What holds a boundary, from the first to the last. All of them, or the command does not start."""


class Place(Struct, frozen=True, kw_only=True):
    """A file or folder by its path, and which one it is: a path may lead elsewhere a moment later."""

    path: str
    device: int
    inode: int


class Boundary(Struct, frozen=True, kw_only=True):
    """Everything that is neither writable nor hidden can be read, as far as the user may read it."""

    profile: Profile
    writable: tuple[Place, ...] = ()
    read_only: tuple[str, ...] = ()
    """Below what is writable, hidden or private, and to be seen but not to be changed."""
    hidden: tuple[str, ...] = ()
    temporary: str = ""
    """The folder that is `/tmp` inside; none is a new and empty one, which ends with the command."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables for caches, where the command has none of its own."""
    limits: dict[str, int] = field(default_factory=dict)
    """By the system's names: `NPROC` processes, `AS` bytes of memory, `CPU` seconds, `NOFILE` files."""
    leftovers: float = 0.3
    """Seconds that what the command left running has to end after it."""
    levels: tuple[str, ...] = LEVELS

    def text(self) -> str:
        """For people: one line for each path."""
        lines = [f"profile    {self.profile}"]
        lines += [f"writable   {place.path}" for place in self.writable]
        lines.append(f"writable   /tmp, /var/tmp ({self.temporary or 'empty, and gone with the command'})")
        lines += [f"read-only  {path}" for path in self.read_only]
        lines.append("read-only  everything else")
        lines += [f"hidden     {path}" for path in self.hidden]
        lines.append("hidden     /run, devices of the machine, processes outside")
        lines += [f"limit      {name} {value}" for name, value in self.limits.items()]
        return "\n".join([*lines, "network    as it is", *(f"held by    {level}" for level in self.levels)])


def parse_profile(text: str) -> Profile:
    """Raises `LocalMistake` for what is no profile, or not one that we can hold yet."""
    if text.startswith("workspace+net"):
        raise LocalMistake(
            "the sandbox profile workspace+net is not there yet: nothing filters the network; "
            "choose workspace, which leaves the network as it is"
        )
    for profile in PROFILES:
        if text == profile:
            return profile
    raise LocalMistake(f"{text!r} is no sandbox profile; choose one of {', '.join(PROFILES)}")


def place_of(path: str) -> Place:
    """What is at a path now. Raises the system's errors."""
    status = os.stat(path)
    return Place(path=path, device=status.st_dev, inode=status.st_ino)

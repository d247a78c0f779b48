"""The boundary of a sandbox: the paths that a command may write, may only read, or can't see.

`plan` makes it, people read it as text or JSON, and `launcher` gets exactly this value. It knows names of
files and nothing of processes.
"""

from __future__ import annotations

import os
import re
from typing import TypeAlias

from msgspec import Struct, field

from dragoman.errors import LocalMistake
from dragoman_local.sandbox.destinations import MOST, parse_destination

Profile: TypeAlias = str
"""A profile as text: a base, and additions with `+` (see `read_profile`)."""

SandboxChoice: TypeAlias = str
"""A profile, or `auto` by default."""

BASES = ("off", "read-only", "workspace")
"""`off`: no sandbox. `read-only`: writes only to a temporary folder. `workspace`: writes below the folders of
the session and, for an agent, below its own state.
"""

GRAMMAR = "workspace, read-only or off. The first two may be followed by +net:HOST,… or +memory:SIZE"

LIMITS = {"processes": "NPROC", "memory": "DATA", "cpu": "CPU", "files": "NOFILE", "file-size": "FSIZE"}
"""The names of limits in a profile, and in the system."""

GIBIBYTE = 1 << 30

DEFAULT_LIMITS = {"NPROC": 16_384, "CPU": 7 * 86_400, "NOFILE": 1 << 20, "FSIZE": 256 * GIBIBYTE, "CORE": 0}
"""Limits that no honest build reaches, even with threads of linkers on many processors. Memory has no limit:
sanitizers and virtual machines reserve terabytes and use little. If the machine runs out of memory, the
sandbox is ended first.
"""

LEAST_PROCESSES = 301
"""The system allows no smaller number for a whole namespace."""

_SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}

SAYS = b"dragoman: "
"""The prefix of the sandbox's messages on a command's standard error. The command can write the same."""

LEVELS = (
    "user, mount, PID and IPC namespaces",
    "Landlock",
    "a filter of system calls",
    "no new privileges",
    "no capabilities"
    if getattr(os, "getuid", int)()
    else "root's capabilities over files, users and signals alone: CHOWN, DAC_OVERRIDE, FOWNER, KILL, "
    "SETGID, SETUID",
)
"""The layers of a boundary, from the first to the last. The command starts only with all of them."""


_OF_WHAT = {
    "processes": " for all together",
    "memory": " for each process",
    "cpu": " seconds for each process",
    "files": " open in each process",
    "file-size": " for each file",
}


def _amount(name: str, value: int) -> str:
    """A limit as a profile says it: `256G`."""
    if name not in ("memory", "file-size"):
        return str(value)
    unit = max((unit for unit, size in _UNITS.items() if value % size == 0), key=lambda unit: _UNITS[unit])
    return f"{value // _UNITS[unit]}{unit}"


class Place(Struct, frozen=True, kw_only=True):
    """A file or folder by its path and identity: the path may lead elsewhere a moment later."""

    path: str
    device: int
    inode: int


class Network(Struct, frozen=True, kw_only=True):
    """The permitted destinations of a filtered network."""

    places: tuple[str, ...] = ()
    """See `destinations`."""
    ports: tuple[int, ...] = ()
    """Ports of this machine that are reachable inside."""


class Boundary(Struct, frozen=True, kw_only=True):
    """The boundary. Everything that is not writable or hidden is readable, as far as the user may read it."""

    profile: Profile
    writable: tuple[Place, ...] = ()
    read_only: tuple[str, ...] = ()
    """Paths below writable, hidden or private ones that are visible but can't be changed."""
    reserved: tuple[str, ...] = ()
    """Paths that other programs obey and that do not exist yet (see `reserved`)."""
    sets_aside: bool = True
    """Whether such files are renamed at the end of the command; otherwise they are only reported."""
    hidden: tuple[str, ...] = ()
    temporary: str = ""
    """The folder that is `/tmp` inside; None is a new, empty one, which ends with the command."""
    environment: dict[str, str] = field(default_factory=dict)
    """Variables for caches, if the command has none of its own."""
    limits: dict[str, int] = field(default_factory=DEFAULT_LIMITS.copy)
    """Limits by the system's names, see `LIMITS`."""
    network: Network | None = None
    """None does not restrict the network."""
    leftovers: float = 0.3
    """The seconds for remaining processes to end after the command."""
    levels: tuple[str, ...] = LEVELS

    def text(self) -> str:
        """Return one line for each path, for people."""
        lines = [f"profile    {self.profile}"]
        lines += [f"writable   {place.path}" for place in self.writable]
        lines.append(f"writable   /tmp, /var/tmp ({self.temporary or 'empty, and gone with the command'})")
        lines += [f"read-only  {path}" for path in self.read_only]
        lines.append("read-only  everything else")
        lines += [f"hidden     {path}" for path in self.hidden]
        lines.append("hidden     /run, devices of the machine, processes outside")
        names = {system: name for name, system in LIMITS.items()}
        limits = {names[name]: value for name, value in self.limits.items() if name in names}
        lines += [
            f"limit      {name} {_amount(name, value)}{_OF_WHAT[name]}" for name, value in limits.items()
        ]
        lines += (
            []
            if "memory" in limits
            else ["limit      memory none; if the machine runs out of memory, these processes end first"]
        )
        return "\n".join([*lines, *self._ways(), *(f"uses       {level}" for level in self.levels)])

    def _ways(self) -> list[str]:
        if self.network is None:
            return ["network    not restricted"]
        places = [f"network    {place}" for place in self.network.places]
        return [*places, "network    a loopback of its own; nothing else"]


class ProfileParts(Struct, frozen=True, kw_only=True):
    """A parsed profile."""

    base: str
    network: Network | None = None
    limits: dict[str, int] = field(default_factory=DEFAULT_LIMITS.copy)
    """Limits by the system's names, with the default ones."""


def parse_profile(text: str) -> Profile:
    """Check a profile and return it. Raises `LocalMistake` if it is invalid."""
    read_profile(text)
    return text


def read_profile(text: str) -> ProfileParts:
    """Parse `BASE`, `BASE+net:PLACE,…`, `BASE+LIMIT:VALUE`, in any order; `+net` alone permits no place.
    Raises `LocalMistake`.
    """
    base, *additions = text.split("+")
    if base not in BASES or (base == "off" and additions):
        raise LocalMistake(f"unknown sandbox profile {text!r}. Choose {GRAMMAR}")
    network, limits = None, dict(DEFAULT_LIMITS)
    for addition in additions:
        name, colon, value = addition.partition(":")
        if name == "net" and network is None:
            network = _read_network(value.split(",") if colon else [])
        elif name in LIMITS:
            limits[LIMITS[name]] = _read_limit(name, value)
        else:
            known = ", ".join(("net", *LIMITS))
            raise LocalMistake(
                f"{addition!r} cannot be added to a sandbox profile; known are {known}, each once"
            )
    return ProfileParts(base=base, network=network, limits=limits)


def works_in_folders(profile: Profile) -> bool:
    """Whether a profile forbids writing outside the session's folders."""
    return profile.startswith("workspace")


def _read_network(places: list[str]) -> Network:
    if len(places) > MOST:
        raise LocalMistake(
            f"a sandbox profile has {MOST} places of the network at most; these are {len(places)}"
        )
    try:
        found = [parse_destination(place.strip()) for place in places]
    except ValueError as error:
        raise LocalMistake(f"the sandbox profile has a mistake: {error}") from error
    ports = tuple(dict.fromkeys(place.port for place in found if place.host == "localhost"))
    return Network(places=tuple(place.strip() for place in places), ports=ports)


def _read_limit(name: str, text: str) -> int:
    match = _SIZE.fullmatch(text)
    if match is None:
        raise LocalMistake(f"the sandbox profile limits {name} to {text!r}; write a number, as in 512 or 4G")
    value = int(match[1]) * _UNITS[match[2]]
    least = LEAST_PROCESSES if name == "processes" else 1
    if value < least:
        raise LocalMistake(f"the sandbox profile limits {name} to {text}; {least} is the least")
    return value


def place_of(path: str) -> Place:
    """Return the file at a path with its current identity. Raises the system's errors."""
    status = os.stat(path)
    return Place(path=path, device=status.st_dev, inode=status.st_ino)

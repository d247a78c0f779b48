"""The place of an agent on another machine or in a container: `ssh:HOST`, `docker:NAME` or `podman:NAME`, and
the command to reach it.

An agent elsewhere is started like any other, by a command: `dragoman ssh`, which holds the line to it. Names
of variables stand on that command line, their values never do: they are in the environment of `dragoman ssh`,
which sends them over the line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Literal, TypeAlias

from msgspec import Struct

from dragoman.errors import LocalMistake

PlaceKind: TypeAlias = Literal["ssh", "docker", "podman"]

CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
"""A container's name or id, as docker and podman allow it."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The name of a variable to send."""

CLIENT_VARIABLES = (
    *("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    *(
        "DRAGOMAN_SSH_CONFIG",
        "DRAGOMAN_REMOTE_PYTHON",
        "KRB5CCNAME",
        "DOCKER_HOST",
        "DOCKER_CONTEXT",
        "DOCKER_CONFIG",
        "DOCKER_CERT_PATH",
    ),
    *("DOCKER_TLS_VERIFY", "CONTAINER_HOST", "CONTAINERS_CONF"),
)
"""Variables that ssh, docker and podman need here to reach the other side; they are not sent."""


class RemotePlace(Struct, frozen=True, kw_only=True):
    """A machine reached with ssh, or a container."""

    kind: PlaceKind
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def parse_place(text: str) -> RemotePlace:
    """Parse `ssh:HOST`, `docker:NAME` or `podman:NAME`. Raises `LocalMistake`."""
    kind, colon, name = text.partition(":")
    match kind:
        case "ssh" if colon:
            return RemotePlace(kind="ssh", name=check_host(name))
        case "docker" | "podman" if colon:
            if not CONTAINER.fullmatch(name):
                raise LocalMistake(f"{name!r} is not a name of a container")
            return RemotePlace(kind="docker" if kind == "docker" else "podman", name=name)
    raise LocalMistake(f"{text!r} is no place for an agent: give ssh:HOST, docker:NAME or podman:NAME")


def check_host(name: str) -> str:
    """Check a host for ssh: an alias, `user@host` or an address, but never text that ssh would read as an
    option.
    """
    if not name or name.startswith("-") or "@-" in name:
        raise LocalMistake(f"{name!r} is no host: it is empty, or would be an option of ssh")
    if any(character.isspace() or not character.isprintable() for character in name):
        raise LocalMistake(f"{name!r} is no host: it has a blank or a control character in it")
    return name


def is_map(value: object) -> bool:
    """Whether this maps a folder here to a folder there: `HERE=THERE`."""
    here, is_pair, there = value.partition("=") if isinstance(value, str) else ("", "", "")
    return bool(is_pair and here) and there.startswith("/")


def command_in(
    place: RemotePlace,
    command: Sequence[str],
    *,
    variables: Sequence[str] = (),
    maps: Sequence[str] = (),
    cwd: str = "",
) -> tuple[str, ...]:
    """Return the command that starts the agent there. The program that runs it decides what the agent may use
    here.
    """
    words = [sys.executable or "python3", "-P", "-m", "dragoman", "ssh", str(place), "--decide", "client"]
    words += [word for name in variables for word in ("--env", name)]
    words += [word for text in maps for word in ("--map", text)]
    if cwd:
        words += ["--cwd", cwd]
    return (*words, "--", *without_our_python(command))


def with_variables(command: Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """Return a command of `command_in` that also sends these variables."""
    at = command.index("--decide")
    return (*command[:at], *(word for name in names for word in ("--env", name)), *command[at:])


def with_wall(command: Sequence[str], profile: str, folder: str) -> tuple[str, ...]:
    """Return a command of `command_in` that puts the agent into a sandbox there, around
    this folder if given.
    """
    at = command.index("--decide")
    around = ("--cwd", folder) if folder else ()
    return (*command[:at], "--sandbox", profile, *around, *command[at:])


def without_our_python(command: Sequence[str]) -> tuple[str, ...]:
    """Return the command with `dragoman` in place of our Python, which the other side does not have."""
    ours = (sys.executable or "python3", "-m", "dragoman")
    if tuple(command[:3]) == ours:
        return ("dragoman", *command[3:])
    return tuple(command)

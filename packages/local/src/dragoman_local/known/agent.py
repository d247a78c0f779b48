"""An agent that can be started by name, as a plain value.

Its environment may hold secrets, so its values are never part of a text that this room makes: not of
`repr`, not of an error.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct, field


class AgentSource(StrEnum):
    """Where an agent's definition comes from."""

    CONFIG = "config"
    """A table of our configuration file."""

    BUILT_IN = "built-in"
    """It comes with this package."""

    INSTALLED = "installed"
    """`dragoman agents install` put it into a folder of ours."""

    PATH = "path"
    """A well-known agent whose program is on PATH."""

    COMMAND = "command"
    """A command line that somebody wrote out."""

    ADDRESS = "address"
    """A peer that runs already."""


class KnownAgent(Struct, frozen=True, kw_only=True):
    """Everything needed to start one agent."""

    name: str
    command: tuple[str, ...]
    """The words of its command; empty when it is reached at `address` instead."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables set for it, whatever our own environment says. Values may be secrets."""

    allow: tuple[str, ...] = ()
    """Names of our own variables that it may see beside the harmless ones."""

    source: AgentSource
    address: str | None = None
    title: str = ""
    """How its maker calls it."""

    dialect: str = "auto"
    """What it speaks: a name of `dragoman.dialect.DIALECTS`, or `auto`, which finds out."""

    place: str = ""
    """Where it lives, if not here: `ssh:HOST`, `docker:NAME` or `podman:NAME`."""

    maps: tuple[str, ...] = ()
    """Folders here and there, `HERE=THERE`, of an agent elsewhere."""

    def __repr__(self) -> str:
        fields = ((name, getattr(self, name)) for name in self.__struct_fields__ if name != "env")
        return f"KnownAgent({', '.join(f'{name}={value!r}' for name, value in fields)})"

    @property
    def command_line(self) -> str:
        """The command as one would type it, or the address."""
        return self.address or shlex.join(self.command)

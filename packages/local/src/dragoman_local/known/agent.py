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
    """Part of this package."""

    INSTALLED = "installed"
    """Installed by `dragoman agents install` into our folder."""

    PATH = "path"
    """A well-known agent whose program is on PATH."""

    COMMAND = "command"
    """A written command line."""

    ADDRESS = "address"
    """A running peer."""


class KnownAgent(Struct, frozen=True, kw_only=True):
    """Everything needed to start one agent."""

    name: str
    command: tuple[str, ...]
    """The words of its command; empty if it has an `address` instead."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables set for it, in place of our own. Values may be secrets."""

    allow: tuple[str, ...] = ()
    """Names of our own variables that it may use, besides the harmless ones."""

    source: AgentSource
    address: str | None = None
    title: str = ""
    """Its maker's name for it."""

    dialect: str = "auto"
    """Its dialect: a name of `dragoman.dialect.DIALECTS`, or `auto`, which detects it."""

    place: str = ""
    """Its machine or container, if not this machine: `ssh:HOST`, `docker:NAME` or `podman:NAME`."""

    maps: tuple[str, ...] = ()
    """Folders here and there, `HERE=THERE`, of an agent on another machine."""

    def __repr__(self) -> str:
        fields = ((name, getattr(self, name)) for name in self.__struct_fields__ if name != "env")
        return f"KnownAgent({', '.join(f'{name}={value!r}' for name, value in fields)})"

    @property
    def command_line(self) -> str:
        """The command as a user would type it, or the address."""
        return self.address or shlex.join(self.command)

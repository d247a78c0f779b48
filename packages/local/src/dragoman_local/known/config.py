"""Reads the agents from the user's configuration file.

    default_agent = "mine"

    [agents.mine]
    command = ["my-agent", "--acp"]
    env = { LOG_LEVEL = "debug" }
    allow = ["OPENAI_API_KEY"]
    dialect = "crow"
    place = "ssh:build-server"
    map = ["~/app=/srv/app"]

A file that is not there is an empty one. Everything in it must be known: a key that nobody reads is a mistake
that somebody made, and is told with file and line. The texts of these errors hold names, never values.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from msgspec import Struct, field

from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import VARIABLE, is_map, parse_place
from dragoman_local.known.agent import AgentSource, KnownAgent
from dragoman_local.known.places import Machine, our_config

TOP = ("agents", "default_agent", "$schema")
KEYS = ("command", "env", "allow", "title", "dialect", "place", "map")

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""The form of an agent's name: one word that is not an option, a path or an address."""


class ConfigMistake(LocalMistake):
    """The configuration file is invalid: the place and the mistake."""

    def __init__(self, path: str, line: int, reason: str) -> None:
        super().__init__(f"{path}:{line}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


class AgentConfig(Struct, frozen=True, kw_only=True):
    """The agents in the file."""

    path: str
    agents: Mapping[str, KnownAgent] = field(default_factory=dict)
    default_agent: str | None = None


def config_path() -> Path:
    """Return the path of the configuration file, even if it does not exist."""
    return Path(our_config(Machine()))


def read_config(path: Path | None = None) -> AgentConfig:
    """Read the user's configuration file, or the named one. Raises `LocalMistake`."""
    place = path or config_path()
    return parse_config(read_text(place), path=str(place))


def read_text(path: Path) -> str:
    """Return the text of the file; empty if it does not exist."""
    try:
        # As bytes: newlines stay what they are, and an edit writes them back so.
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise LocalMistake(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise LocalMistake(f"cannot read {path}: it is not UTF-8 text") from error


def parse_config(text: str, *, path: str) -> AgentConfig:
    """Read the text of the file. Raises `ConfigMistake`."""
    if not text:  # most people have no such file, and need no reader of TOML
        return AgentConfig(path=path)
    from dragoman_local.known.toml_text import line_of, parse_toml

    try:
        document = parse_toml(text)
    except ValueError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        line = int(match[1]) if match else max(1, text.count("\n") + 1)
        # The parser names line and column at the end of its text; we name the line in front.
        what = re.sub(r" \(at .*\)$", "", str(error)).lower()
        raise ConfigMistake(path, line, f"not valid TOML: {what}") from None
    return _ConfigReader(text, path, line_of).config(document)


class _ConfigReader:
    """Checks one parsed file; knows its text for the sake of the line numbers."""

    def __init__(self, text: str, path: str, line_of: Callable[..., int]) -> None:
        self._text = text
        self._path = path
        self._line_of = line_of

    def config(self, document: Mapping[str, object]) -> AgentConfig:
        self._only(document, TOP, ())
        tables = document.get("agents", {})
        if not isinstance(tables, Mapping):
            self._refuse(("agents",), "agents must be tables: [agents.NAME]")
        agents = {name: self._agent(name, table) for name, table in tables.items()}
        default = document.get("default_agent")
        if default is not None and not isinstance(default, str):
            self._refuse(("default_agent",), "default_agent must be the name of an agent, in quotes")
        return AgentConfig(path=self._path, agents=agents, default_agent=default)

    def _agent(self, name: str, table: object) -> KnownAgent:
        where = ("agents", name)
        if not NAME.fullmatch(name):
            self._refuse(where, f"{name!r} is not a name: use letters, digits, dots, dashes and underscores")
        if not isinstance(table, Mapping):
            self._refuse(where, f"an agent is a table: [agents.{name}]")
        self._only(table, KEYS, where)
        if "command" not in table:
            self._refuse(where, 'the command is missing: command = ["program", "argument"]')
        title = table.get("title", "")
        if not isinstance(title, str):
            self._refuse((*where, "title"), "title must be text, in quotes")
        return KnownAgent(
            name=name,
            command=self._command(table["command"], (*where, "command")),
            env=self._env(table.get("env", {}), (*where, "env")),
            allow=self._allow(table.get("allow", ()), (*where, "allow")),
            source=AgentSource.CONFIG,
            title=title,
            dialect=self._dialect(table.get("dialect", "auto"), (*where, "dialect")),
            place=self._place(table.get("place", ""), (*where, "place")),
            maps=self._maps(table.get("map", ()), (*where, "map")),
        )

    def _command(self, value: object, where: tuple[str, ...]) -> tuple[str, ...]:
        try:
            words = shlex.split(value) if isinstance(value, str) else value
        except ValueError as error:
            self._refuse(where, f"this is not a command line: {str(error).lower()}")
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self._refuse(where, 'command must be a list of words: ["program", "argument"]')
        if not words or not words[0]:
            self._refuse(where, "the command is empty")
        if any("\0" in word for word in words):
            self._refuse(where, "a command can't contain a NUL character")
        return tuple(words)

    def _dialect(self, value: object, where: tuple[str, ...]) -> str:
        if value == "auto":
            return "auto"
        from dragoman.dialect.names import CHOICES  # few files name one

        if not isinstance(value, str) or value not in CHOICES:
            self._refuse(where, f"dialect must be one of {', '.join(CHOICES)}")
        return value

    def _place(self, value: object, where: tuple[str, ...]) -> str:
        if value == "":
            return ""
        try:
            return str(parse_place(value if isinstance(value, str) else ""))
        except LocalMistake:
            self._refuse(where, "place must be ssh:HOST, docker:NAME or podman:NAME, in quotes")

    def _maps(self, value: object, where: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or not all(is_map(item) for item in value):
            self._refuse(where, 'map must be a list of folders here and there: ["~/app=/srv/app"]')
        return tuple(value)

    def _env(self, value: object, where: tuple[str, ...]) -> Mapping[str, str]:
        if not isinstance(value, Mapping):
            self._refuse(where, 'env must be a table: { NAME = "value" }')
        for name, item in value.items():
            self._variable(name, (*where, name))
            if not isinstance(item, str) or "\0" in item:
                self._refuse((*where, name), f"the value of {name} must be text, in quotes")
        return dict(value)

    def _allow(self, value: object, where: tuple[str, ...]) -> tuple[str, ...]:
        if not isinstance(value, list | tuple):
            self._refuse(where, 'allow must be a list of names: ["OPENAI_API_KEY"]')
        for name in value:
            self._variable(name, where)
        return tuple(value)

    def _variable(self, name: object, where: tuple[str, ...]) -> None:
        # A value that was put here by mistake must not be shown: `allow = ["sk-…"]`.
        if not isinstance(name, str) or not VARIABLE.fullmatch(name):
            self._refuse(where, f"{where[2]} has an entry that is not a name of a variable")

    def _only(
        self, table: Mapping[str, object], allowed_keys: tuple[str, ...], where: tuple[str, ...]
    ) -> None:
        for key in table:
            if key not in allowed_keys:
                self._refuse((*where, key), f"unknown key {key!r}. Choose from {', '.join(allowed_keys)}")

    def _refuse(self, where: tuple[str, ...], reason: str) -> NoReturn:
        raise ConfigMistake(self._path, self._line_of(self._text, *where), reason)

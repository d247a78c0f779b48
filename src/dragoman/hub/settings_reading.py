"""From the file to `HubSettings`: every mistake in it at once, each with its line.

`hub.toml:12: limits.mesage: unknown key, did you mean message? known are …`. What the command line says
(`overrides`, by dotted names) is read by the same rules and wins. A file that is not there is an empty one,
unless it was named.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.hub.settings import (
    AgentSettings,
    HubSettings,
    choices_of,
    fields_of,
    kind_of,
    settings_path,
)
from dragoman.hub.settings_lines import Lines
from dragoman.hub.settings_values import BadElement, BadValue, read_choice, read_value
from dragoman.sdk.known.config import NAME
from dragoman.sdk.known.toml_text import written_key

BUILT_IN = ("review", "code", "echo")
"""Agents that are there without being configured."""

MOST_BYTES = 1024 * 1024
"""A larger file is no configuration."""

Key: TypeAlias = tuple[str, ...]
Where: TypeAlias = Callable[[tuple[str | int, ...]], str]
"""How the place of a key is told."""


class Finding(Struct, frozen=True):
    """One mistake."""

    where: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.key}: {self.why}" if self.key else f"{self.where}: {self.why}"


class SettingsError(LocalMistake):
    """The configuration cannot be used; `findings` are all that is wrong with it."""

    def __init__(self, findings: Iterable[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


def load_settings(path: Path | None = None, *, overrides: Mapping[str, object] | None = None) -> HubSettings:
    """Read the file, or the usual one, and what the command line says. Raises `SettingsError`."""
    place = path or settings_path()
    text = _read(place, required=path is not None)
    return parse_settings(text, path=place, overrides=overrides)


def parse_settings(
    text: str, *, path: Path | str = "hub.toml", overrides: Mapping[str, object] | None = None
) -> HubSettings:
    """The same, of a text; `path` is what it is called, and where relative paths in it begin."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else max(1, text.count("\n") + 1)
        why = re.sub(r" \(at .*\)$", "", str(error)).lower()
        raise SettingsError([Finding(f"{path}:{line}", "", f"no valid TOML: {why}")]) from None
    folder = os.path.dirname(os.path.abspath(path))
    lines: list[Lines] = []

    def in_file(key: tuple[str | int, ...]) -> str:
        if not lines:  # only somebody with a mistake needs them
            lines.append(Lines(text))
        return f"{path}:{lines[0].of(key)}"

    file = _Reading(folder, in_file)
    file.table(HubSettings, tree, ())
    said = _Reading(os.getcwd(), lambda key: "command line")
    said.table(HubSettings, _nested(overrides or {}), ())
    file.judge({**file.values, **said.values})
    if file.findings or said.findings:
        raise SettingsError([*file.findings, *said.findings])
    return _build({**file.values, **said.values})


class _Reading:
    """Gathers the values of one source, and what is wrong with them."""

    def __init__(self, folder: str, where: Where) -> None:
        self.values: dict[Key, Any] = {}
        self.findings: list[Finding] = []
        self._folder = folder
        self._where = where

    def table(self, kind: type[Struct], tree: Any, path: Key) -> None:
        if not isinstance(tree, Mapping):
            self._add(path, f"must be a table: [{'.'.join(path)}]")
            return
        known = fields_of(kind)
        for name, value in tree.items():
            here = (*path, name)
            if name not in known:
                self._add(here, _unknown(name, known))
            elif here == ("agents",):
                self._agents(value)
            elif isinstance(known[name], type) and issubclass(known[name], Struct):
                self.table(known[name], value, here)
            else:
                self._value(known[name], value, here)

    def judge(self, values: Mapping[Key, Any]) -> None:
        """What is wrong between values that are good each by itself."""
        tls = {name for name in ("certificate", "key") if values.get(("tls", name))}
        if len(tls) == 1:
            self._add(("tls", *tls), "certificate and key belong together: the other one is missing")
        default = values.get(("default_agent",), "review")
        agents = {key[1] for key in values if key[0] == "agents"}
        if not values.get(("known_agents",), True) and default not in {*agents, *BUILT_IN}:
            names = ", ".join(sorted({*agents, *BUILT_IN}))
            self._add(("default_agent",), f"there is no such agent; there are {names}")

    def _agents(self, tree: Any) -> None:
        if not isinstance(tree, Mapping):
            self._add(("agents",), "must be tables: [agents.NAME]")
            return
        for name, table in tree.items():
            here = ("agents", name)
            if not NAME.fullmatch(name):
                self._add(
                    here,
                    "a name is letters, digits, '.', '_' and '-', and begins with one of the first two",
                )
            self.values[here] = True
            before = len(self.findings)
            self.table(AgentSettings, table, here)
            ways = [way for way in ("command", "url") if self.values.get((*here, way))]
            if len(self.findings) == before and len(ways) != 1 and not (not ways and name in BUILT_IN):
                self._add(here, "needs either command or url")

    def _value(self, hint: Any, value: Any, path: Key) -> None:
        choices = choices_of(hint)
        try:
            if choices:
                self.values[path] = read_choice(value, choices)
            else:
                self.values[path] = read_value(kind_of(hint), value, self._folder)
        except BadElement as bad:
            self.findings.append(Finding(self._where((*path, bad.number)), _dotted(path), str(bad)))
        except BadValue as bad:
            self._add(path, str(bad))

    def _add(self, path: Key, why: str) -> None:
        self.findings.append(Finding(self._where(path), _dotted(path), why))


def _dotted(path: Key) -> str:
    return ".".join(map(written_key, path))


def _unknown(name: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    hint = f", did you mean {near[0]}?" if near else ";"
    return f"unknown key{hint} known are {', '.join(names)}"


def _nested(flat: Mapping[str, object]) -> dict[str, Any]:
    """Dotted names as tables; what is None was not said."""
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        if value is None:
            continue
        *tables, last = name.split(".")
        inside = tree
        for table in tables:
            inside = inside.setdefault(table, {})
        inside[last] = value
    return tree


def _build(values: Mapping[Key, Any]) -> HubSettings:
    fields: dict[str, Any] = {key[0]: value for key, value in values.items() if len(key) == 1}
    for name, hint in fields_of(HubSettings).items():
        if isinstance(hint, type) and issubclass(hint, Struct):
            fields[name] = hint(**_below(values, (name,)))
    names = [key[1] for key in values if key[0] == "agents" and len(key) == 2]
    fields["agents"] = {name: AgentSettings(**_below(values, ("agents", name))) for name in names}
    return HubSettings(**fields)


def _below(values: Mapping[Key, Any], path: Key) -> dict[str, Any]:
    depth = len(path)
    return {key[-1]: value for key, value in values.items() if key[:depth] == path and len(key) == depth + 1}


def _read(path: Path, *, required: bool) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        if required:
            raise SettingsError([Finding(str(path), "", "there is no such file")]) from None
        return ""
    except OSError as error:
        why = error.strerror or "it cannot be opened"
        raise SettingsError([Finding(str(path), "", f"cannot be read: {why}")]) from None
    if len(data) > MOST_BYTES:
        raise SettingsError([Finding(str(path), "", f"is larger than {MOST_BYTES} bytes")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError([Finding(f"{path}:{line}", "", "is not UTF-8 text")]) from None

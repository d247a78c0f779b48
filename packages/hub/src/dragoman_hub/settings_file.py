"""Reads `HubSettings` from the file, and reports all mistakes at once, each with its line.

`hub.toml:12: limits.mesage: unknown key, did you mean message?`. What the command line says
(`overrides`, by dotted names) is read by the same rules and wins. A file that is not there is an empty one,
unless it was named.
"""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.text.toml import toml_pieces
from dragoman_hub.settings import (
    AgentSettings,
    HubSettings,
    choices_of,
    fields_of,
    kind_of,
    settings_path,
)
from dragoman_hub.settings_values import BadElement, BadValue, read_choice, read_value
from dragoman_local.known.config import NAME
from dragoman_local.known.toml_text import TomlStatement, statements, write_key
from dragoman_local.sandbox.boundary import works_in_folders

BUILT_IN = ("review", "code", "echo")
"""Agents that exist without configuration."""

MOST_BYTES = 1024 * 1024
"""A larger file is not a configuration."""

Key: TypeAlias = tuple[str, ...]
Where: TypeAlias = Callable[[tuple[str | int, ...]], str]
"""The form of a key's place in messages."""


class SettingsFinding(Struct, frozen=True):
    """One mistake in the file."""

    where: str
    key: str
    why: str

    def __str__(self) -> str:
        return f"{self.where}: {self.key}: {self.why}" if self.key else f"{self.where}: {self.why}"


class SettingsError(LocalMistake):
    """The configuration is invalid; `findings` are all mistakes."""

    def __init__(self, findings: Iterable[SettingsFinding]) -> None:
        self.findings = tuple(findings)
        super().__init__("\n".join(map(str, self.findings)))


def load_settings(path: Path | None = None, *, overrides: Mapping[str, object] | None = None) -> HubSettings:
    """Read the named or default file, and the command line's options. Raises `SettingsError`."""
    place = path or settings_path()
    text = _read(place, is_required=path is not None)
    return parse_settings(text, path=place, overrides=overrides)


def parse_settings(
    text: str, *, path: Path | str = "hub.toml", overrides: Mapping[str, object] | None = None
) -> HubSettings:
    """Read a text; `path` is its name, and the base of relative paths in it."""
    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r"\(at line (\d+)", str(error))
        line = int(match[1]) if match else max(1, text.count("\n") + 1)
        why = re.sub(r" \(at .*\)$", "", str(error)).lower()
        raise SettingsError([SettingsFinding(f"{path}:{line}", "", f"not valid TOML: {why}")]) from None
    folder = os.path.dirname(os.path.abspath(path))
    lines: list[TomlLines] = []

    def in_file(key: tuple[str | int, ...]) -> str:
        if not lines:  # only somebody with a mistake needs them
            lines.append(TomlLines(text))
        return f"{path}:{lines[0].of(key)}"

    file = _SettingsReading(folder, in_file)
    file.table(HubSettings, tree, ())
    command_line = _SettingsReading(os.getcwd(), lambda key: "command line")
    command_line.table(HubSettings, _nest(overrides or {}), ())
    file.judge({**file.values, **command_line.values})
    if file.findings or command_line.findings:
        raise SettingsError([*file.findings, *command_line.findings])
    return _build({**file.values, **command_line.values})


class _SettingsReading:
    """Gathers the values of one source, and what is wrong with them."""

    def __init__(self, folder: str, where: Where) -> None:
        self.values: dict[Key, Any] = {}
        self.findings: list[SettingsFinding] = []
        self._folder = folder
        self._where = where

    def table(self, kind: type[Struct], tree: object, path: Key) -> None:
        if not isinstance(tree, Mapping):
            self._add(path, f"must be a table: [{'.'.join(path)}]")
            return
        fields = fields_of(kind)
        for name, value in tree.items():
            here = (*path, name)
            if here == ("$schema",):
                continue  # for editors, which complete and check by it
            if name not in fields:
                self._add(here, _unknown(name, fields))
            elif here == ("agents",):
                self._agents(value)
            elif isinstance(fields[name], type) and issubclass(fields[name], Struct):
                self.table(fields[name], value, here)
            else:
                self._value(fields[name], value, here)

    def judge(self, values: Mapping[Key, Any]) -> None:
        """Mistakes between values that are valid by themselves."""
        tls = {name for name in ("certificate", "key") if values.get(("tls", name))}
        if len(tls) == 1:
            self._add(("tls", *tls), "set both the certificate and the key")
        default = values.get(("default_agent",), "review")
        agents = {key[1] for key in values if key[0] == "agents"}
        if not values.get(("known_agents",), True) and default not in {*agents, *BUILT_IN}:
            names = ", ".join(sorted({*agents, *BUILT_IN}))
            self._add(("default_agent",), f"unknown agent. Choose from {names}")

    def _agents(self, tree: object) -> None:
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
            self._check_wall(here)

    def _check_wall(self, agent: Key) -> None:
        profile = self.values.get((*agent, "sandbox"), "off")
        if profile != "off" and self.values.get((*agent, "url")):
            self._add((*agent, "sandbox"), "an agent that is already running can't get a sandbox")
        elif profile != "off" and self.values.get((*agent, "map")):
            self._add(
                (*agent, "sandbox"),
                "an agent on another machine can't have both a sandbox and a map: leave map out",
            )
        elif works_in_folders(profile) and not self.values.get((*agent, "cwd")):
            self._add((*agent, "sandbox"), "workspace needs cwd: the folder that its sessions are in")

    def _value(self, hint: object, value: object, path: Key) -> None:
        choices = choices_of(hint)
        try:
            if choices:
                self.values[path] = read_choice(value, choices)
            else:
                self.values[path] = read_value(kind_of(hint), value, self._folder)
        except BadElement as bad:
            self.findings.append(SettingsFinding(self._where((*path, bad.number)), _key_text(path), str(bad)))
        except BadValue as bad:
            self._add(path, str(bad))

    def _add(self, path: Key, why: str) -> None:
        self.findings.append(SettingsFinding(self._where(path), _key_text(path), why))


def _key_text(path: Key) -> str:
    return ".".join(map(write_key, path))


def _unknown(name: str, candidates: Iterable[str]) -> str:
    names = list(candidates)
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"unknown key, did you mean {near[0]}?" if near else f"unknown key. Choose from {', '.join(names)}"


def _nest(flat: Mapping[str, object]) -> dict[str, Any]:
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


def _read(path: Path, *, is_required: bool) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        if is_required:
            raise SettingsError([SettingsFinding(str(path), "", "there is no such file")]) from None
        return ""
    except OSError as error:
        why = error.strerror or "it cannot be opened"
        raise SettingsError([SettingsFinding(str(path), "", f"cannot be read: {why}")]) from None
    if len(data) > MOST_BYTES:
        raise SettingsError([SettingsFinding(str(path), "", f"is larger than {MOST_BYTES} bytes")])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SettingsError([SettingsFinding(f"{path}:{line}", "", "is not UTF-8 text")]) from None


# Lines.


KeyPath: TypeAlias = tuple[str | int, ...]

OPENING, CLOSING = "[{", "]}"


class TomlLines:
    """Finds the line of a value in a valid TOML text, which `tomllib` does not report: the text is cut into
    its statements, each of which sets one path; an element of an array is a number in it.
    """

    def __init__(self, text: str) -> None:
        self._places = list(_places(statements(text)))

    def of(self, path: Sequence[str | int]) -> int:
        """Return the line of `path`, or of its parent; 1 if there is neither."""
        best, depth = 1, 0
        for place, line in self._places:
            common = _common_depth(place, tuple(path))
            if common > depth:
                best, depth = line, common
        return best


def _places(statements: Sequence[TomlStatement]) -> Iterator[tuple[KeyPath, int]]:
    counts: dict[KeyPath, int] = {}
    header: KeyPath = ()
    plain: tuple[str, ...] = ()
    for statement in statements:
        if not statement.path:
            continue
        line = statement.first
        if statement.is_header:
            plain, header = statement.path, _with_numbers(statement.path, counts)
            if statement.text.lstrip().startswith("[["):
                # `_with_numbers` has named the last element that there was; this is the next.
                counts[header] = counts.get(header, -1) + 1
                header = (*header, counts[header])
            yield header, line
        else:
            own = (*header, *statement.path[len(plain) :])
            yield own, line
            yield from (((*own, number), at) for number, at in _elements(statement))


def _with_numbers(path: tuple[str, ...], counts: dict[KeyPath, int]) -> KeyPath:
    """A path in which each array of tables has its last element's number."""
    key_path: KeyPath = ()
    for depth, name in enumerate(path, 1):
        key_path = (*key_path, name)
        if depth < len(path) and key_path in counts:
            key_path = (*key_path, counts[key_path])
    return key_path


def _elements(statement: TomlStatement) -> Iterator[tuple[int, int]]:
    """The elements of an array, each with its line; nothing for other values."""
    text = statement.text
    at = _behind_key(text)
    while at < len(text) and text[at] in " \t":
        at += 1
    if at >= len(text) or text[at] != "[":
        return
    depth, number, fresh = 0, 0, False
    for position, character in _code(text, at):
        if depth == 1 and fresh and character not in " \t\r\n,]":
            yield number, statement.first + text.count("\n", 0, position)
            fresh = False
        if character in OPENING:
            depth += 1
            fresh = fresh or depth == 1
        elif character in CLOSING:
            depth -= 1
            if depth == 0:
                return
        elif character == "," and depth == 1:
            number, fresh = number + 1, True


def _behind_key(text: str) -> int:
    return next((at + 1 for at, character in _code(text, 0) if character == "="), len(text))


def _code(text: str, at: int) -> Iterator[tuple[int, str]]:
    """The characters outside of strings and comments; a string counts as its first quote."""
    return ((position, piece[0]) for position, piece in toml_pieces(text, at))


def _common_depth(path: KeyPath, other_path: KeyPath) -> int:
    count = 0
    for key, other_key in zip(path, other_path, strict=False):
        if key != other_key:
            break
        count += 1
    return count

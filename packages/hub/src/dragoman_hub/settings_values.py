"""Checks one value of the settings file, and explains in a sentence what it must be.

Pure, but for `~`. The texts of the mistakes say what is allowed and never what was given: somebody may have
put a key or a token in the wrong place.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

from dragoman.dialect.names import CHOICES
from dragoman.errors import LocalMistake
from dragoman.sdk.remote_place import is_map, parse_place
from dragoman_hub.gate.rates import Rate
from dragoman_hub.settings import Kind
from dragoman_local.sandbox.boundary import parse_profile

BYTES = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "kb": 1000, "mb": 10**6, "gb": 10**9}
TIMES = {"s": 1.0, "sec": 1.0, "second": 1.0, "min": 60.0, "minute": 60.0, "h": 3600.0, "hour": 3600.0}

LONGEST = 10 * 365 * 86_400.0
"""The most seconds of a setting; more is a typing mistake."""

MOST = 1_000_000_000

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s*([A-Za-z]*)")
_RATE = re.compile(r"(\d{1,9})\s*/\s*([A-Za-z]+)")
_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(?::\d{1,5})?")
_ORIGIN = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*://{_HOST.pattern}")
_HUB = re.compile(rf"https?://{_HOST.pattern}")
_NODE = re.compile(r"[A-Za-z0-9_-]{1,40}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEY = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]*|keyring:[^/]+/.+|file:.+")

REMOTE = ("ws://", "wss://", "http://", "https://", "unix:")


class BadValue(Exception):
    """A value is wrong; the text says what it must be."""


def read_value(kind: Kind, value: object, folder: str) -> Any:
    """Return a value as the hub uses it; a relative path begins at `folder`. Raises `BadValue`."""
    return READERS[kind.word](value, kind, folder)


def read_choice(value: object, choices: tuple[str, ...]) -> str:
    if value not in choices or not isinstance(value, str):
        raise BadValue(f"must be one of {', '.join(choices)}")
    return value


def read_size(value: object, least: float = 0) -> int:
    """Parse bytes, as a number or with a unit: `16 MiB`, `500 kB`."""
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    unit = BYTES.get(match[2].lower()) if match else None
    if isinstance(value, int) and not isinstance(value, bool):
        size = value
    elif match and unit is not None:
        size = int(float(match[1]) * unit)
    else:
        raise BadValue('must be a size: bytes, or a text such as "16 MiB" (KiB, MiB, GiB, kB, MB, GB)')
    if not least <= size <= 1 << 40:
        raise BadValue(f"must be a size of at least {least:g} bytes, and at most 1024 GiB")
    return size


def read_rate(value: object) -> Rate:
    """Parse `60/min`; the units are s, min and h."""
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[2].lower() not in TIMES or int(match[1]) < 1:
        raise BadValue('must be a rate of at least 1, such as "60/min" (s, min, hour)')
    return Rate(int(match[1]), TIMES[match[2].lower()])


def read_place(value: object) -> str:
    text = _text(value)
    host, colon, port = text.rpartition(":")
    bare = ":" in host and not (host.startswith("[") and host.endswith("]"))
    is_port = port.isascii() and port.isdigit() and int(port) <= 65535
    if not colon or bare or not is_port or any(character in host for character in " /@?#"):
        raise BadValue('must be HOST:PORT, such as "127.0.0.1:8765" or "[::1]:8765"')
    return text


def read_path(value: object, folder: str) -> str:
    text = _text(value)
    return os.path.normpath(os.path.join(folder, os.path.expanduser(text))) if text else ""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise BadValue("must be text, in quotes")
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise BadValue("must be text without control characters")
    return value


def _texts(value: object, matches: Callable[[str], object], must: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise BadValue(f"must be a list of {must}")
    for number, each in enumerate(value):
        if not isinstance(each, str) or not matches(each):
            raise BadElement(number, f"must be a list of {must}")
    return tuple(value)


class BadElement(BadValue):
    """The same for one element of a list."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


def _words(value: object) -> tuple[str, ...]:
    words = _texts(value, lambda each: "\0" not in each, 'words: ["program", "argument"]')
    if words and not words[0]:
        raise BadElement(0, "must begin with the name of a program")
    return words


def _variables(value: object) -> Mapping[str, str]:
    if not isinstance(value, Mapping):
        raise BadValue('must be a table of texts: { NAME = "value" }')
    for name, each in value.items():
        if not _VARIABLE.fullmatch(name) or not isinstance(each, str) or "\0" in each:
            raise BadValue('must be a table of texts whose names are names of variables: { NAME = "value" }')
    return dict(value)


def _number(value: object, kind: Kind) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not kind.least <= value <= MOST:
        raise BadValue(f"must be a whole number, {kind.least:g} or more")
    return value


def _seconds(value: Any, least: float) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not good or not least <= value <= LONGEST:
        raise BadValue(f"must be a number of seconds, {least:g} or more")
    return float(value)


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise BadValue("must be true or false")
    return value


def _url(value: object) -> str:
    text = _text(value)
    if text and not text.startswith(REMOTE):
        raise BadValue(f"must be an address that begins with {', '.join(REMOTE)}")
    return text


def _store(value: object, folder: str) -> str:
    text = _text(value)
    if text.startswith(("nats://", "tls://")):
        return text
    if "://" in text:
        raise BadValue("must be the path of a file, or an address that begins with nats:// or tls://")
    return read_path(text, folder)


def _key_place(value: object, folder: str) -> str:
    if value == "":
        return ""
    if not isinstance(value, str) or not _KEY.fullmatch(value):
        raise BadValue("must say where the key is: env:NAME, keyring:SERVICE/NAME or file:PATH")
    return f"file:{read_path(value[5:], folder)}" if value.startswith("file:") else value


def _node(value: object) -> str:
    text = _text(value)
    if text and not _NODE.fullmatch(text):
        raise BadValue("must be a name of at most 40 letters, digits, '_' and '-'")
    return text


def _agent_place(value: object) -> str:
    text = _text(value)
    try:
        return str(parse_place(text)) if text else ""
    except LocalMistake:
        raise BadValue("must be ssh:HOST, docker:NAME or podman:NAME") from None


def _sandbox(value: object) -> str:
    try:
        return parse_profile(_text(value))
    except LocalMistake as error:
        raise BadValue(str(error)) from None


READERS: dict[str, Callable[[Any, Kind, str], Any]] = {
    "text": lambda value, kind, folder: _text(value),
    "list of texts": lambda value, kind, folder: _texts(value, str.strip, 'texts: ["one", "other"]'),
    "list of words": lambda value, kind, folder: _words(value),
    "list of hosts": lambda value, kind, folder: _texts(
        value, _HOST.fullmatch, 'hosts, with their port: ["hub.example:8765"]'
    ),
    "list of origins": lambda value, kind, folder: _texts(
        value, _ORIGIN.fullmatch, 'origins, without a path: ["https://pages.example"]'
    ),
    "list of hubs": lambda value, kind, folder: _texts(
        value, _HUB.fullmatch, 'addresses of hubs, without a path: ["https://studio.example"]'
    ),
    "table of texts": lambda value, kind, folder: _variables(value),
    "path": lambda value, kind, folder: read_path(value, folder),
    "HOST:PORT": lambda value, kind, folder: read_place(value),
    "path or nats:// address": lambda value, kind, folder: _store(value, folder),
    "URL": lambda value, kind, folder: _url(value),
    "place of a key": lambda value, kind, folder: _key_place(value, folder),
    "name of a node": lambda value, kind, folder: _node(value),
    "place of an agent": lambda value, kind, folder: _agent_place(value),
    "list of mapped folders": lambda value, kind, folder: _texts(
        value, is_map, 'folders here and there: ["~/app=/srv/app"]'
    ),
    "sandbox profile": lambda value, kind, folder: _sandbox(value),
    "auto or sandbox profile": lambda value, kind, folder: "auto" if value == "auto" else _sandbox(value),
    "dialect": lambda value, kind, folder: read_choice(value, CHOICES),
    "true or false": lambda value, kind, folder: _flag(value),
    "size": lambda value, kind, folder: read_size(value, kind.least),
    "number": lambda value, kind, folder: _number(value, kind),
    "seconds": lambda value, kind, folder: _seconds(value, kind.least),
    "rate": lambda value, kind, folder: read_rate(value),
}

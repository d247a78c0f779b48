"""Patterns over JSON values, as scripts write them.

An object matches when each member it names matches; others may be there. An array matches element by
element; a last element `"..."` stands for any rest. In a string `*` stands for any text, and `"$name"` for
the value of that name: the first time it is met it takes the value, later it must be the same; `"$_"` is any
value. Inside longer text a name takes text: at least a character, and no more than it must. Numbers, true,
false and null match themselves, and `1` is not `true`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from dragoman.wire.envelope import Json, JsonObject

REST = "..."
ANYTHING = "_"

Names = JsonObject

_NAME = re.compile(r"\$(\$|[a-z_]+)", re.ASCII)
_SIGN = re.compile(r"(\*)|\$(\$|[a-z_]+)", re.ASCII)


def matches(pattern: object, value: object, names: Names) -> bool:
    """Whether `value` has the shape of `pattern`; binds names, even if the rest does not match."""
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            name in value and matches(part, value[name], names) for name, part in pattern.items()
        )
    if isinstance(pattern, list):
        return isinstance(value, list) and _matches_list(pattern, value, names)
    if isinstance(pattern, str):
        return _matches_text(pattern, value, names)
    return type(pattern) is type(value) and bool(pattern == value)


def fill(template: object, names: Names) -> Json:
    """Return the template with its names replaced. A string with a single name becomes the value of any type;
    inside longer text, names become text. Unknown names stay unchanged, `$$` is a dollar.
    """
    if isinstance(template, dict):
        return {name: fill(part, names) for name, part in template.items()}
    if isinstance(template, list):
        return [fill(part, names) for part in template]
    if not isinstance(template, str) or "$" not in template:
        return template
    whole = _NAME.fullmatch(template)
    if whole and whole[1] in names:
        return names[whole[1]]
    return _NAME.sub(lambda match: "$" if match[1] == "$" else str(names.get(match[1], match[0])), template)


def _matches_list(pattern: list[Json], value: list[Json], names: Names) -> bool:
    if pattern and pattern[-1] == REST:
        pattern = pattern[:-1]
        value = value[: len(pattern)]
    return len(pattern) == len(value) and all(
        matches(part, element, names) for part, element in zip(pattern, value, strict=True)
    )


def _matches_text(pattern: str, value: object, names: Names) -> bool:
    name = _NAME.fullmatch(pattern)
    if name and name[1] == ANYTHING:
        return True
    if name and name[1] != "$":
        bound_value = names.setdefault(name[1], value)
        return type(bound_value) is type(value) and bool(bound_value == value)
    match = _expression(pattern, names).fullmatch(value) if isinstance(value, str) else None
    if match is not None:
        names.update(match.groupdict())
    return match is not None


def _expression(pattern: str, names: Names) -> re.Pattern[str]:
    known_values = {name: str(names[name]) for _, name in _SIGN.findall(pattern) if name in names}
    # What is filled in may be a whole prompt, so only what the script alone has written is kept.
    return re.compile(_to_regex(pattern, known_values), re.DOTALL) if known_values else _compile(pattern)


@lru_cache(maxsize=256)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(_to_regex(pattern, {}), re.DOTALL)


def _to_regex(pattern: str, known_values: Mapping[str, str]) -> str:
    """The pattern as a regular expression."""
    parts, at, met = [], 0, set[str]()
    for sign in _SIGN.finditer(pattern):
        parts += [re.escape(pattern[at : sign.start()]), _sign(sign[2], known_values, met)]
        at = sign.end()
    return "".join([*parts, re.escape(pattern[at:])])


def _sign(name: str | None, known_values: Mapping[str, str], met: set[str]) -> str:
    if name is None or name == ANYTHING:
        return ".*"
    if name == "$":
        return r"\$"
    if name in known_values:
        return re.escape(known_values[name])
    if name in met:
        return f"(?P={name})"
    met.add(name)
    return f"(?P<{name}>.+?)"

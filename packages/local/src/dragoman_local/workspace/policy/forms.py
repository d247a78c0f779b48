"""Forms: what a field takes, whether a value is one that it takes, and a typed line as a value.

Pure but for patterns: `matches` looks for one in a process of its own, because a pattern may take for ever. A
value is checked before it is sent; what a field says that we do not know (a format, a type) is no reason to
refuse a value, but a field of an unknown type is never filled in.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from dragoman.schema import v1

SECONDS: Final = 3.0

_CHECK: Final = """
import re, signal, sys
if hasattr(signal, "alarm"):
    signal.alarm(10)
pattern, _, text = sys.stdin.buffer.read().decode("utf-8", "surrogatepass").partition("\\0")
try:
    found = re.search(pattern, text)
except (re.error, RecursionError, OverflowError):
    sys.exit(3)
sys.exit(0 if found else 1)
"""


def matches(pattern: str, text: str, *, seconds: float = SECONDS) -> bool | None:
    """Whether the pattern is found in the text (as JSON Schema says: anywhere), or None if nobody knows."""
    if "\0" in pattern:
        return None
    input_bytes = f"{pattern}\0{text}".encode("utf-8", "surrogatepass")
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHECK],
            input=input_bytes,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    return {0: True, 1: False}.get(process.returncode)


Value: TypeAlias = str | int | float | bool | list[str]
Matches: TypeAlias = Callable[[str, str], bool | None]
Field: TypeAlias = v1.ElicitationPropertySchema

_SECRET: Final = re.compile(
    r"passw|passphrase|secret|token|api.?key|credential|private.?key|\bpin\b|\botp\b", re.IGNORECASE
)
_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")
_NUMBER: Final = re.compile(r"\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,4})?\s*", re.ASCII)
_LARGEST: Final = sys.float_info.max
_YES: Final = frozenset({"y", "yes", "true"})
_NO: Final = frozenset({"n", "no", "false"})


class BadFormValue(ValueError):
    """A value that a field does not take; says why."""


def fields_of(form: v1.ElicitationFormMode) -> Mapping[str, Field]:
    properties = form.requested_schema.properties
    return properties if isinstance(properties, dict) else {}


def required_in(form: v1.ElicitationFormMode) -> frozenset[str]:
    required_names = form.requested_schema.required
    return frozenset(required_names) if isinstance(required_names, list) else frozenset()


def title_of(name: str, field: Field) -> str:
    title = getattr(field, "title", None)
    return title if isinstance(title, str) and title else name


def description_of(field: Field) -> str:
    """What a field says about itself; often nothing."""
    description = getattr(field, "description", None)
    return description if isinstance(description, str) else ""


def looks_secret(name: str, field: Field) -> bool:
    """Whether a field seems to ask for what a form must never ask for."""
    return _SECRET.search(f"{name} {title_of(name, field)} {description_of(field)}") is not None


def choices_of(field: Field) -> Sequence[tuple[str, str]]:
    """What may be chosen, as value and title; nothing if anything may be said."""
    if isinstance(field, v1.StringPropertySchema):
        if isinstance(field.one_of, list):
            return [(option.const, option.title) for option in field.one_of]
        return [(value, value) for value in field.enum] if isinstance(field.enum, list) else []
    if isinstance(field, v1.MultiSelectPropertySchema):
        items = field.items
        if isinstance(items, v1.TitledMultiSelectItems):
            return [(option.const, option.title) for option in items.any_of]
        if isinstance(items, v1.StringMultiSelectItems):
            return [(value, value) for value in items.enum]
    return []


def default_of(field: Field) -> Value | None:
    default: Any = getattr(field, "default", None)
    return default if isinstance(default, str | int | float | bool | list) else None


def check_value(field: Field, value: object, *, matches: Matches) -> Value:
    """The value, if the field takes it."""
    if isinstance(field, v1.StringPropertySchema):
        return _text(field, value, matches)
    if isinstance(field, v1.MultiSelectPropertySchema):
        return _several(field, value)
    if isinstance(field, v1.BooleanPropertySchema):
        if not isinstance(value, bool):
            raise BadFormValue("it must be true or false")
        return value
    if isinstance(field, v1.IntegerPropertySchema):
        if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise BadFormValue("it must be a whole number of at most 64 bits")
    elif not isinstance(field, v1.NumberPropertySchema):
        raise BadFormValue("the field is of a type that is not known here")
    elif isinstance(value, bool) or not isinstance(value, int | float) or not -_LARGEST <= value <= _LARGEST:
        raise BadFormValue("it must be a number")
    _check_range(value, field.minimum, field.maximum, "it must be {} {}")
    return value


def _check_range(size: float, least: object, most: object, text: str) -> None:
    if isinstance(least, int | float) and size < least:
        raise BadFormValue(text.format("at least", least))
    if isinstance(most, int | float) and size > most:
        raise BadFormValue(text.format("at most", most))


def _text(field: v1.StringPropertySchema, value: object, matches: Matches) -> str:
    if not isinstance(value, str):
        raise BadFormValue("it must be text")
    choices = [choice for choice, _ in choices_of(field)]
    if choices and value not in choices:
        raise BadFormValue(f"it must be one of {', '.join(choices)}")
    _check_range(len(value), field.min_length, field.max_length, "it must have {} {} characters")
    if isinstance(field.format, str) and field.format in _FORMATS:
        is_good, why = _FORMATS[field.format]
        try:
            good = is_good(value)
        except ValueError:
            good = False
        if not good:
            raise BadFormValue(f"it must be {why}")
    if isinstance(field.pattern, str) and matches(field.pattern, value) is False:
        raise BadFormValue(f"it does not match the pattern {field.pattern}")
    return value


def _several(field: v1.MultiSelectPropertySchema, value: object) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadFormValue("it must be a list of texts")
    choices = [choice for choice, _ in choices_of(field)]
    unknown = [item for item in value if item not in choices]
    if unknown:
        raise BadFormValue(f"{unknown[0]!r} is none of {', '.join(choices)}")
    if len(set(value)) != len(value):
        raise BadFormValue("something is chosen twice")
    _check_range(len(value), field.min_items, None, "{} {} must be chosen")
    _check_range(len(value), None, field.max_items, "{} {} may be chosen")
    return value


_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)

_FORMATS: Final[dict[str, tuple[Callable[[str], object], str]]] = {
    "email": (_EMAIL.fullmatch, "an e-mail address"),
    "uri": (
        lambda value: urlsplit(value).scheme and not re.search(r"\s", value),
        "an address with a scheme, such as https://example.org",
    ),
    "date": (
        lambda value: _DATE.fullmatch(value) and date.fromisoformat(value),
        "a date, such as 2025-12-31",
    ),
    "date-time": (
        lambda value: "T" in value.upper() and datetime.fromisoformat(value).tzinfo,
        "a date and time with a zone, such as 2025-12-31T23:59:00Z",
    ),
}
"""Whether a text is of a format (also a `ValueError` says that it is not), and what it must be."""


def parse_line(field: Field, line: str) -> Any:
    """What somebody typed, as a value of the field's type; not checked yet."""
    if isinstance(field, v1.BooleanPropertySchema):
        answer = line.strip().casefold()
        return True if answer in _YES else False if answer in _NO else line
    if isinstance(field, v1.IntegerPropertySchema):
        return int(line) if re.fullmatch(r"\s*[+-]?\d{1,19}\s*", line, re.ASCII) else line
    if isinstance(field, v1.NumberPropertySchema):
        return float(line) if _NUMBER.fullmatch(line) else line
    if isinstance(field, v1.MultiSelectPropertySchema):
        return [_choice(field, item.strip()) for item in line.split(",") if item.strip()]
    return _choice(field, line) if choices_of(field) else line


def _choice(field: Field, text: str) -> str:
    """A choice by its value, else by its number."""
    choices = [value for value, _ in choices_of(field)]
    if text not in choices and text.isdecimal() and len(text) < 7 and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    return text


# Addresses that a person is asked to open.


def host_of(url: str) -> str | None:
    """Where an address leads; None if it is none."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return None


def cautions(url: str) -> list[str]:
    """What to look at before an address is opened."""
    host = host_of(url)
    if host is None:
        return ["this is no proper address"]
    parts = urlsplit(url)
    warnings = []
    if parts.scheme != "https":
        warnings.append(f"it is not https but {parts.scheme or 'nothing'}")
    if "xn--" in host or not host.isascii():
        warnings.append("its host holds letters that may look like others")
    if "@" in parts.netloc:
        warnings.append("it holds a login, and what stands before the @ is not its host")
    return warnings

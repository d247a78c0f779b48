"""Forms: what a field takes, whether a value is one that it takes, and a typed line as a value.

Pure but for patterns, which a `Matches` checks (see `patterns`). A value is checked before it is sent; what a
field says that we do not know (a format, a type) is no reason to refuse a value, but a field of an unknown
type is never filled in.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from dragoman.schema import v1

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
    if isinstance(field, v1.BooleanPropertySchema):
        if not isinstance(value, bool):
            raise BadFormValue("it must be true or false")
        return value
    if isinstance(field, v1.IntegerPropertySchema):
        if isinstance(value, bool) or not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise BadFormValue("it must be a whole number of at most 64 bits")
        return _in_range(field, value)
    if isinstance(field, v1.NumberPropertySchema):
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not -_LARGEST <= value <= _LARGEST
        ):
            raise BadFormValue("it must be a number")
        return _in_range(field, value)
    if isinstance(field, v1.MultiSelectPropertySchema):
        return _several(field, value)
    raise BadFormValue("the field is of a type that is not known here")


def _in_range(field: v1.IntegerPropertySchema | v1.NumberPropertySchema, value: float) -> int | float:
    if isinstance(field.minimum, int | float) and value < field.minimum:
        raise BadFormValue(f"it must be at least {field.minimum}")
    if isinstance(field.maximum, int | float) and value > field.maximum:
        raise BadFormValue(f"it must be at most {field.maximum}")
    return value


def _text(field: v1.StringPropertySchema, value: object, matches: Matches) -> str:
    if not isinstance(value, str):
        raise BadFormValue("it must be text")
    choices = [choice for choice, _ in choices_of(field)]
    if choices and value not in choices:
        raise BadFormValue(f"it must be one of {', '.join(choices)}")
    if isinstance(field.min_length, int) and len(value) < field.min_length:
        raise BadFormValue(f"it must have at least {field.min_length} characters")
    if isinstance(field.max_length, int) and len(value) > field.max_length:
        raise BadFormValue(f"it must have at most {field.max_length} characters")
    if isinstance(field.format, str) and (why := _FORMATS.get(field.format, _any)(value)):
        raise BadFormValue(why)
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
    if isinstance(field.min_items, int) and len(value) < field.min_items:
        raise BadFormValue(f"at least {field.min_items} must be chosen")
    if isinstance(field.max_items, int) and len(value) > field.max_items:
        raise BadFormValue(f"at most {field.max_items} may be chosen")
    return value


def _any(_: str) -> str | None:
    return None


def _email(value: str) -> str | None:
    return None if _EMAIL.fullmatch(value) else "it must be an e-mail address"


def _uri(value: str) -> str | None:
    try:
        good = bool(urlsplit(value).scheme) and not re.search(r"\s", value)
    except ValueError:
        good = False
    return None if good else "it must be an address with a scheme, such as https://example.org"


def _date(value: str) -> str | None:
    try:
        if not re.fullmatch(r"\d{4}-\d\d-\d\d", value, re.ASCII):
            raise ValueError
        date.fromisoformat(value)
    except ValueError:
        return "it must be a date, such as 2025-12-31"
    return None


def _date_time(value: str) -> str | None:
    try:
        if "T" not in value.upper() or datetime.fromisoformat(value).tzinfo is None:
            raise ValueError
    except ValueError:
        return "it must be a date and time with a zone, such as 2025-12-31T23:59:00Z"
    return None


_FORMATS: Final[dict[str, Callable[[str], str | None]]] = {
    "email": _email,
    "uri": _uri,
    "date": _date,
    "date-time": _date_time,
}


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

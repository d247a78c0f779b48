"""Answers an agent's questions to the user: from a file, by a person, or not at all.

    service = ElicitationService(answers=FormAnswers.load("answers.toml"), asker=forms, agent="claude")
    client.elicit(service.elicit)

Nothing is ever answered by default. A question that nobody answers is told to `on_open` as plain data and
kept in `service.open`, and the agent gets `cancel`: it learns that nothing was said, not that somebody
declined.

A file of answers is JSON or TOML. In its plain form its keys are names of fields:

    branch = "main"
    count = 3

With a table `fields`, it may also say which addresses may be opened, by host:

    [fields]
    branch = "main"
    [urls]
    "example.org" = "accept"

A form is answered only if every required field has an answer, at least one field has, and all values are
taken. Defaults of the form are not answers.

A value is checked before it is sent. What a field says that we do not know (a format, a type) is not a reason
to refuse a value, but a field of an unknown type is never filled in. `matches` looks for a pattern in a
process of its own, because a pattern may take for ever.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final, Literal, Protocol, TypeAlias, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.schema.codec import write

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
    """Whether the pattern matches anywhere in the text (as in JSON Schema), or None if that is unknown."""
    if "\0" in pattern:
        return None
    try:
        process = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CHECK],
            input=f"{pattern}\0{text}".encode("utf-8", "surrogatepass"),
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
_BOOLEANS: Final = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}


class BadFormValue(ValueError):
    """A value is not valid for its field; the text gives the reason."""


def fields_of(form: v1.ElicitationFormMode) -> Mapping[str, Field]:
    return fields if isinstance(fields := form.requested_schema.properties, dict) else {}


def required_in(form: v1.ElicitationFormMode) -> frozenset[str]:
    return frozenset(names) if isinstance(names := form.requested_schema.required, list) else frozenset()


def title_of(name: str, field: Field) -> str:
    return title if isinstance(title := getattr(field, "title", None), str) and title else name


def description_of(field: Field) -> str:
    """Return the description of a field; often empty."""
    return text if isinstance(text := getattr(field, "description", None), str) else ""


def looks_secret(name: str, field: Field) -> bool:
    """Whether a field seems to ask for a secret, which a form must never do."""
    return _SECRET.search(f"{name} {title_of(name, field)} {description_of(field)}") is not None


def choices_of(field: Field) -> Sequence[tuple[str, str]]:
    """Return the choices as value and title; empty if any value is allowed."""
    match field.items if isinstance(field, v1.MultiSelectPropertySchema) else field:
        case v1.StringPropertySchema(one_of=list(titled)) | v1.TitledMultiSelectItems(any_of=titled):
            return [(option.const, option.title) for option in titled]
        case v1.StringPropertySchema(enum=list(values)) | v1.StringMultiSelectItems(enum=values):
            return [(value, value) for value in values]
    return []


def default_of(field: Field) -> Value | None:
    default: Any = getattr(field, "default", None)
    return default if isinstance(default, str | int | float | bool | list) else None


def check_value(field: Field, value: Any, *, matches: Matches) -> Value:
    """Return the value, if the field accepts it."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match field:
        case v1.StringPropertySchema():
            _check_text(field, value, matches)
        case v1.MultiSelectPropertySchema():
            _check_several(field, value)
        case v1.BooleanPropertySchema():
            _demand(isinstance(value, bool), "it must be true or false")
        case v1.IntegerPropertySchema() | v1.NumberPropertySchema():
            is_whole = isinstance(field, v1.IntegerPropertySchema)
            is_small = is_number and -(2**63) <= value < 2**63 and isinstance(value, int)
            _demand(is_small or not is_whole, "it must be a whole number of at most 64 bits")
            _demand(is_number and -_LARGEST <= value <= _LARGEST, "it must be a number")
            _check_range(value, field.minimum, field.maximum, "it must be {} {}")
        case _:
            raise BadFormValue("the field is of a type that is not known here")
    return cast(Value, value)


def _demand(is_good: bool, why: str) -> None:
    if not is_good:
        raise BadFormValue(why)


def _check_range(size: float, least: object, most: object, text: str) -> None:
    _demand(not isinstance(least, int | float) or size >= least, text.format("at least", least))
    _demand(not isinstance(most, int | float) or size <= most, text.format("at most", most))


def _check_text(field: v1.StringPropertySchema, value: Any, matches: Matches) -> None:
    _demand(isinstance(value, str), "it must be text")
    choices = [choice for choice, _ in choices_of(field)]
    _demand(not choices or value in choices, f"it must be one of {', '.join(choices)}")
    _check_range(len(value), field.min_length, field.max_length, "it must have {} {} characters")
    if isinstance(field.format, str) and field.format in _FORMATS:
        is_good, why = _FORMATS[field.format]
        try:
            _demand(bool(is_good(value)), "")
        except ValueError:
            raise BadFormValue(f"it must be {why}") from None
    if isinstance(field.pattern, str):
        _demand(matches(field.pattern, value) is not False, f"it does not match the pattern {field.pattern}")


def _check_several(field: v1.MultiSelectPropertySchema, value: Any) -> None:
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    _demand(is_list, "it must be a list of texts")
    choices = [choice for choice, _ in choices_of(field)]
    unknown = [item for item in value if item not in choices]
    _demand(not unknown, f"{', '.join(map(repr, unknown[:1]))} is not one of {', '.join(choices)}")
    _demand(len(set(value)) == len(value), "something is chosen twice")
    _check_range(len(value), field.min_items, None, "{} {} must be chosen")
    _check_range(len(value), None, field.max_items, "{} {} may be chosen")


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
    """Return a typed line as a value of the field's type; not checked yet."""
    match field:
        case v1.BooleanPropertySchema():
            return _BOOLEANS.get(line.strip().casefold(), line)
        case v1.IntegerPropertySchema():
            return int(line) if re.fullmatch(r"\s*[+-]?\d{1,19}\s*", line, re.ASCII) else line
        case v1.NumberPropertySchema():
            return float(line) if _NUMBER.fullmatch(line) else line
        case v1.MultiSelectPropertySchema():
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
    """Return the host of an address; None if the text is not an address."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return None


def cautions(url: str) -> list[str]:
    """Return warnings to show before an address is opened."""
    host = host_of(url)
    if host is None:
        return ["this is not a proper address"]
    parts = urlsplit(url)
    found = (
        (parts.scheme != "https", f"it is not https but {parts.scheme or 'nothing'}"),
        ("xn--" in host or not host.isascii(), "its host contains letters that look like other letters"),
        ("@" in parts.netloc, "it contains a login: the text before the @ is not its host"),
    )
    return [caution for is_so, caution in found if is_so]


class AnswersError(LocalMistake):
    """A file of answers is invalid."""


class FormUnanswered(Exception):
    """Nobody answers the question, or no answer is valid for the form; the text gives the reason."""


class FormAnswers(Struct, frozen=True, kw_only=True):
    """The prepared answers of a file."""

    fields: Mapping[str, Any] = {}
    urls: Mapping[str, Literal["accept", "decline"]] = {}

    @classmethod
    def load(cls, path: str) -> FormAnswers:
        try:
            return cls.parse(Path(path).read_bytes(), path)
        except OSError as error:
            raise AnswersError(f"cannot read {path}: {error.strerror}") from None

    @classmethod
    def parse(cls, text: bytes, source: str) -> FormAnswers:
        try:
            data: Any = (
                tomllib.loads(text.decode("utf-8")) if source.endswith(".toml") else msgspec.json.decode(text)
            )
        except (tomllib.TOMLDecodeError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise AnswersError(f"{source}: {error}") from None
        if not isinstance(data, dict):
            raise AnswersError(f"{source}: answers are an object of fields and values")
        if not isinstance(data.get("fields"), dict):
            return cls(fields=data)
        urls = data.get("urls", {})
        if unknown := data.keys() - {"fields", "urls"}:
            raise AnswersError(f"{source}: unknown key {min(unknown)!r} beside fields and urls")
        if not isinstance(urls, dict) or any(action not in ("accept", "decline") for action in urls.values()):
            raise AnswersError(f"{source}: urls must say accept or decline for each host")
        return cls(fields=data["fields"], urls=urls)

    def fill(self, form: v1.ElicitationFormMode, *, matches: Matches = matches) -> dict[str, Value]:
        """Fill in the form; `FormUnanswered` if that is impossible."""
        fields = fields_of(form)
        if lacking := sorted(required_in(form) - self.fields.keys()):
            raise FormUnanswered(f"there is no answer for the field {lacking[0]!r}")
        answers = {name: value for name, value in self.fields.items() if name in fields}
        if not answers:
            raise FormUnanswered("there is no answer for any of its fields")
        values: dict[str, Value] = {}
        for name, value in answers.items():
            try:
                values[name] = check_value(fields[name], value, matches=matches)
            except BadFormValue as error:
                raise FormUnanswered(f"the answer for the field {name!r} is not taken: {error}") from None
        return values


class FormAsker(Protocol):
    """The interface for asking a person."""

    async def fill(self, form: v1.ElicitationFormMode, *, agent: str) -> v1.CreateElicitationResponse: ...

    async def visit(self, request: v1.ElicitationUrlMode, *, agent: str) -> v1.CreateElicitationResponse: ...


OnAnswer: TypeAlias = Callable[[v1.CreateElicitationRequest, str], None]
"""Called with a question and its outcome: `accept`, `decline`, `cancel`, or `open`."""


class ElicitationService:
    """Answers elicitations. Constructing asks nothing."""

    def __init__(
        self,
        *,
        answers: FormAnswers | None = None,
        asker: FormAsker | None = None,
        agent: str = "",
        on_open: Callable[[dict[str, Any]], None] | None = None,
        on_answer: OnAnswer | None = None,
        requester_of: Callable[[str], str] | None = None,
    ) -> None:
        """`on_answer` is called for every question. `requester_of` names the subagent of a session; empty for
        any other session.
        """
        self.open: list[dict[str, Any]] = []
        """Questions that nobody answered: `agent`, `why`, and `request` as it came."""
        self._answers = answers
        self._asker = asker
        self._agent = agent
        self._on_open = on_open or (lambda _: None)
        self._on_answer = on_answer or (lambda *_: None)
        self._requester_of = requester_of or (lambda _: "")

    async def elicit(
        self, request: v1.CreateElicitationRequest, agent: object = None
    ) -> v1.CreateElicitationResponse:
        """Answer `elicitation/create`."""
        try:
            response = await self._answer(request)
        except FormUnanswered as error:
            self._on_answer(request, "open")
            question = {
                "agent": self._name(request),
                "why": str(error),
                "request": msgspec.json.decode(write(request)),
            }
            self.open.append(question)
            self._on_open(question)
            return v1.ElicitationCancelAction()
        self._on_answer(request, str(msgspec.json.decode(write(response)).get("action", "open")))
        return response

    async def _answer(self, request: v1.CreateElicitationRequest) -> v1.CreateElicitationResponse:
        """The answer; `FormUnanswered` if there is none."""
        why = "nobody can answer here"
        agent_name = self._name(request)
        if isinstance(request, v1.ElicitationFormMode):
            if self._answers is not None:
                try:
                    values = await asyncio.to_thread(self._answers.fill, request)
                    return v1.ElicitationAcceptAction(content=values)
                except FormUnanswered as error:
                    why = str(error)
            if self._asker is not None:
                return await self._asker.fill(request, agent=agent_name)
        elif isinstance(request, v1.ElicitationUrlMode):
            action = None if self._answers is None else self._answers.urls.get(host_of(request.url) or "")
            if action is not None:
                return v1.ElicitationAcceptAction() if action == "accept" else v1.ElicitationDeclineAction()
            if self._asker is not None:
                return await self._asker.visit(request, agent=agent_name)
        else:
            why = "the question is of a mode that is not known here"
        raise FormUnanswered(why)

    def _name(self, request: v1.CreateElicitationRequest) -> str:
        session_id = getattr(request, "session_id", None)
        requester = self._requester_of(session_id) if isinstance(session_id, str) else ""
        return f"{requester}: {self._agent}" if requester else self._agent

"""Answers to an agent's forms that were written down beforehand.

A file in JSON or TOML. In its plain form its keys are names of fields:

    branch = "main"
    count = 3

With a table `fields`, it may also say which addresses may be opened, by host:

    [fields]
    branch = "main"
    [urls]
    "example.org" = "accept"

A form is answered only if every required field has an answer, at least one field has, and all values are
taken. Defaults of the form are not answers. Nothing else is answered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from dragoman.errors import LocalMistake
from dragoman.schema import v1
from dragoman.workspace.policy.forms import BadFormValue, Matches, Value, check_value, fields_of, required_in
from dragoman.workspace.policy.safe_regex import matches as matches_in_time

_ACTIONS: Final = ("accept", "decline")


class AnswersError(LocalMistake):
    """A file of answers that cannot be used."""


class FormUnanswered(Exception):
    """There is no answer that the form takes; says why."""


class FormAnswers(Struct, frozen=True, kw_only=True):
    """What was written down."""

    fields: Mapping[str, Any] = {}
    urls: Mapping[str, Literal["accept", "decline"]] = {}

    @classmethod
    def load(cls, path: str) -> FormAnswers:
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError as error:
            raise AnswersError(f"cannot read {path}: {error.strerror}") from None
        return cls.parse(text, path)

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
        unknown = data.keys() - {"fields", "urls"}
        if unknown:
            raise AnswersError(f"{source}: unknown key {min(unknown)!r} beside fields and urls")
        if not isinstance(urls, dict) or any(action not in _ACTIONS for action in urls.values()):
            raise AnswersError(f"{source}: urls must say accept or decline for each host")
        return cls(fields=data["fields"], urls=urls)

    def fill(self, form: v1.ElicitationFormMode, *, matches: Matches = matches_in_time) -> dict[str, Value]:
        """The form, filled in; `FormUnanswered` if that is not possible."""
        fields = fields_of(form)
        lacking = sorted(required_in(form) - self.fields.keys())
        if lacking:
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

    def for_url(self, url: str) -> Literal["accept", "decline"] | None:
        try:
            host = urlsplit(url).hostname
        except ValueError:
            return None
        return self.urls.get(host) if host else None

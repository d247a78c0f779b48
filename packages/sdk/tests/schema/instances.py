"""Values made from the published JSON schema itself: the smallest, the fullest, and one for each choice it
offers.

`instances` gives, for one definition, everything a reader must be able to take: with only the required
fields, with all of them, with null wherever null is allowed, with each value of an enumeration and each
member of a union. The random parts are seeded by the definition's name, so that a failure comes back.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

from .published_schemas import Schema

RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**53) + 1, 2**53 - 1),  # what a JavaScript peer can hold; the rest has tests of its own
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**53 - 1),
}
TEXTS = {
    "uri": "https://example.org/a?b=c#d",
    "date-time": "2026-03-04T05:06:07Z",
    "regex": "^[a-z]+$",
    "base64": "aGVsbG8=",
}
WORDS = (
    "plain",
    "",
    "zwölf Boxkämpfer",
    "日本語",
    "😀",
    'quote " and \\ back',
    "line\nbreak\ttab",
    "\u2028",
    "a" * 300,
)
UNKNOWN_TAG = "_example.org/other"


class Instance(NamedTuple):
    what: str
    value: Any


class Maker:
    """Makes values of one schema file."""

    def __init__(self, known: Schema, seed: str) -> None:
        self._known = known
        self._random = random.Random(seed)

    def instances(self, definition: str) -> Iterator[Instance]:
        yield from self._instances(self._known[definition], definition)

    def full(self, schema: Schema) -> Any:
        return self._make(schema, full=True)

    def small(self, schema: Schema) -> Any:
        return self._make(schema, full=False)

    def resolved(self, schema: Schema) -> Schema:
        """What a schema is, behind references."""
        while "$ref" in schema or (len(schema.get("allOf", ())) == 1 and "properties" not in schema):
            part = schema if "$ref" in schema else schema["allOf"][0]
            schema = self._known[part["$ref"].rpartition("/")[2]]
        return schema

    def _instances(self, schema: Schema, what: str) -> Iterator[Instance]:
        schema = self.resolved(schema)
        for number, choice in enumerate(_choices(schema)):
            yield Instance(f"{what}, choice {number}, small", self.chosen(schema, choice, full=False))
            yield Instance(f"{what}, choice {number}, full", self.chosen(schema, choice, full=True))
        if not _choices(schema):
            yield Instance(f"{what}, small", self.small(schema))
            yield Instance(f"{what}, full", self.full(schema))
        yield from self._by_field(schema, what)

    def _by_field(self, schema: Schema, what: str) -> Iterator[Instance]:
        """For each field every choice it has by itself."""
        for name, field in schema.get("properties", {}).items():
            for part in self._alternatives(field):
                value = self.small(schema)
                if isinstance(value, dict):
                    yield Instance(f"{what}.{name}", {**value, name: part})

    def _alternatives(self, field: Schema) -> Iterator[Any]:
        kind = field.get("type")
        if isinstance(kind, list) and "null" in kind:
            yield None
        target = self.resolved(field)
        for option in _choices(target):
            yield self.chosen(target, option, full=False)
        if target.get("type") == "array":
            items = self.resolved(target["items"])
            each = [self.chosen(items, option, full=False) for option in _choices(items)]
            yield each or [self.small(items)]
            if not target.get("minItems"):
                yield []
        if target.get("type") == "boolean":
            yield from (True, False)

    def _make(self, schema: Schema, *, full: bool) -> Any:
        schema = self.resolved(schema)
        choices = _choices(schema)
        return (
            self.chosen(schema, self._pick(choices, full=full), full=full)
            if choices
            else self._plain(schema, full=full)
        )

    def _pick(self, choices: list[Schema], *, full: bool) -> Schema:
        return self._random.choice(choices) if full else choices[0]

    def chosen(self, schema: Schema, choice: Schema, *, full: bool) -> Any:
        """A value of the schema that takes this one of its choices."""
        if "const" in choice:
            return choice["const"]
        if "properties" in self.resolved(choice) or "properties" in schema:
            return self._composed(schema, full=full, choice=choice)
        return self._make(choice, full=full)

    def _composed(self, schema: Schema, *, full: bool, choice: Schema | None = None) -> dict[str, Any]:
        """One object of all the parts that a schema is composed of."""
        schema = self.resolved(schema)
        required = schema.get("required", ())
        fields = schema.get("properties", {}).items()
        made = {name: self._make(field, full=full) for name, field in fields if full or name in required}
        for part in schema.get("allOf", ()):
            made |= self._composed(part, full=full)
        if choices := _choices(schema):
            made |= self._composed(choice or self._pick(choices, full=full), full=full)
        if "not" in schema:
            tag = next(name for name, field in fields if field.get("type") == "string")
            made |= {tag: UNKNOWN_TAG, "payload": [1, {"deep": None}]}
        return made

    def _plain(self, schema: Schema, *, full: bool) -> Any:
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) else kind
        if "const" in schema:
            return schema["const"]
        match kind:
            case "string":
                return self._text(schema)
            case "integer":
                lowest, highest = RANGES[schema["format"]]
                lowest = max(lowest, schema.get("minimum", lowest))
                return self._random.choice((lowest, highest, self._random.randint(lowest, highest)))
            case "number":
                return (
                    self._random.choice((0.25, 1, 0))
                    if "maximum" in schema
                    else self._random.choice((-2.5, 3, 1e21))
                )
            case "boolean":
                return self._random.random() < 0.5
            case "array":
                least = schema.get("minItems", 0)
                return [self._make(schema["items"], full=full) for _ in range(max(least, 2 if full else 0))]
            case "object":
                return self._mapping(schema, full=full)
            case "null":
                return None
        return self._random.choice((None, 7, "text", [1.5, {"a": []}], {"b": True}))

    def _mapping(self, schema: Schema, *, full: bool) -> dict[str, Any]:
        if "properties" in schema or "allOf" in schema:
            return self._composed(schema, full=full)
        values = schema.get("additionalProperties", True)
        if not full or "additionalProperties" not in schema:
            return {}
        return {key: self._make({} if values is True else values, full=True) for key in ("first", "_x/y")}

    def _text(self, schema: Schema) -> str:
        form = schema.get("format") or schema.get("contentEncoding")
        if form in TEXTS:
            return TEXTS[form]
        return self._random.choice(WORDS) or ("x" if schema.get("minLength") else "")


def _choices(schema: Schema) -> list[Schema]:
    options: list[Schema] = schema.get("oneOf") or schema.get("anyOf") or []
    return options


def instances(known: Schema, definition: str) -> list[Instance]:
    """Every instance of a definition that a reader must take."""
    return list(Maker(known, definition).instances(definition))

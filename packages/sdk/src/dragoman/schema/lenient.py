"""The slow reader: reads again what the native decoder refused, and explains every value.

It walks the same types that msgspec decodes, so there is one description of the protocol and not two. At each
object it first tries the native decoder again: only the way to the trouble is walked in Python. What it
forgives:

- fields that the type does not know are kept (`UnknownFields`), members with unknown tags too (`Unknown`),
- values that the published schema marks: bad ones count as absent, bad items of lists vanish, null counts as
  empty,
- other names that real programs use for a field,
- null, or nothing at all, for an object in which nothing is required,
- whole numbers that are written with a point, as programs do that have floats alone,
- lone surrogates, which become U+FFFD.

Everything else is a `SchemaError`. Its text never holds a value of the message, nor a key that the peer
chose.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from msgspec import UNSET, Raw, inspect, json

from dragoman.decoders import json_decoder

from .base import ON_ERROR, ON_NULL, SKIP_ITEMS, Bare, Impossible, Unknown, UnknownFields
from .choice import Choice, UnknownPolicy
from .errors import SchemaError
from .scalars import INT64_LIMIT, UINT64_LIMIT
from .surrogates import mend_surrogates

Decoders = Mapping[Any, Callable[[Any], Any]]
Kind = Literal["unknown field", "unknown member", "bad value", "bad item", "null", "other name", "surrogate"]

_NULL = b"null"
_objects = json_decoder(dict[str, Raw]).decode
_lists = json_decoder(list[Raw]).decode
_whole = json_decoder(Raw).decode


class Deviation(NamedTuple):
    """A tolerated mistake: the place, the kind, and the name of the peer's field."""

    path: str
    kind: Kind
    name: str = ""


def read_leniently(raw: Any, kind: Any, decoders: Decoders, deviations: list[Deviation] | None = None) -> Any:
    notes = [] if deviations is None else deviations
    try:
        text = _check_json(b"" if raw is None else bytes(raw), notes)
        return _Reader(decoders, notes).read(Raw(text), _describe_type(kind), "$", top=True)
    except RecursionError:
        raise SchemaError("$", "nested too deeply") from None


def _check_json(text: bytes, notes: list[Deviation]) -> bytes:
    """The text if it is JSON, mended if only surrogates are wrong with it."""
    text = text.strip(b" \t\r\n") or _NULL
    if _is_json(text):
        return text
    text = mend_surrogates(text)
    # Raised outside of any `except`, so that no exception that holds the message hangs on this one.
    if not _is_json(text):
        raise SchemaError("$", "not a JSON text", not_json=True)
    notes.append(Deviation("$", "surrogate"))
    return text


def _is_json(text: bytes) -> bool:
    try:
        text.decode()
        _whole(text)
    except ValueError:
        return False
    return True


@cache
def _describe_type(kind: object) -> inspect.Type:
    return inspect.type_info(kind)


@cache
def _fields(kind: type[Bare]) -> dict[str, inspect.Field]:
    described = _describe_type(kind)
    assert isinstance(described, inspect.StructType)
    return {field.encode_name: field for field in described.fields if field.name != "unknown_fields"}


class _Reader:
    def __init__(self, decoders: Decoders, notes: list[Deviation]) -> None:
        self._decoders = decoders
        self._notes = notes

    def read(self, raw: Raw, kind: inspect.Type, path: str, *, top: bool = False) -> Any:
        match kind:
            case inspect.StructType():
                return self._struct(raw, kind.cls, path, top=top)
            case inspect.Metadata():
                return self._union(raw, kind.type, path, (kind.extra or {}).get("unknown", UnknownPolicy()))
            case inspect.UnionType():
                return self._union(raw, kind, path, UnknownPolicy())
            case inspect.CustomType():
                return self._choice(raw, kind.cls, path)
            case inspect.ListType():
                return self._list(raw, kind, path, skip=False)
            case inspect.DictType():
                entries = self._open_object(raw, path).items()
                return {key: self.read(value, kind.value_type, f"{path}.*") for key, value in entries}
        return _scalar(raw, kind, path)

    def _struct(self, raw: Raw, kind: Any, path: str, *, top: bool = False) -> Any:
        try:
            return self._decoders[kind](raw)
        except ValueError:
            pass  # the walk below finds out why, and whether it matters
        if top and _name_of(raw) == "null":  # results and params that were left out, or are null, in the wild
            raw = Raw(b"{}")
        found = self._open_object(raw, path)
        tag_field = kind.__struct_config__.tag_field
        if tag_field in found:
            if self._tag(found, tag_field, path) != kind.__struct_config__.tag:
                raise SchemaError(f"{path}.{tag_field}", f"expected the tag of {kind.__name__}")
            del found[tag_field]
        return self._fill(found, kind, path)

    def _fill(self, members: dict[str, Raw], kind: type[Bare], path: str) -> Any:
        for wire, meant in kind._also_read.items():
            if meant not in members and wire in members:
                members[meant] = members.pop(wire)
                self._notes.append(Deviation(path, "other name", wire))
        values: dict[str, Any] = {}
        for wire, field in _fields(kind).items():
            if wire in members:
                marks = ON_ERROR if wire == "_meta" else kind._lenient.get(wire, 0)
                values[field.name] = self._field(members.pop(wire), field, marks, f"{path}.{wire}")
            elif field.required:
                raise SchemaError(f"{path}.{wire}", "is missing")
        if members:
            values["unknown_fields"] = UnknownFields({name: raw.copy() for name, raw in members.items()})
            self._notes += [Deviation(path, "unknown field", name) for name in members]
        try:
            return kind(**values)
        except ValueError as problem:  # a rule between fields; its text is ours
            raise SchemaError(path, str(problem)) from None

    def _field(self, raw: Raw, field: inspect.Field, marks: int, path: str) -> Any:
        if marks & ON_NULL and _name_of(raw) == "null":
            self._notes.append(Deviation(path, "null"))
            return {} if isinstance(field.type, inspect.DictType) else []
        noted = len(self._notes)
        try:
            if marks & SKIP_ITEMS:
                return self._skip(raw, field.type, path)
            return self.read(raw, field.type, path)
        except SchemaError:
            if not marks & ON_ERROR:
                raise
            self._notes[noted:] = [Deviation(path, "bad value")]
            return [] if field.required else UNSET

    def _skip(self, raw: Raw, kind: inspect.Type, path: str) -> Any:
        if isinstance(kind, inspect.UnionType):
            if _name_of(raw) == "null" and any(isinstance(part, inspect.NoneType) for part in kind.types):
                return None
            kind = next(part for part in kind.types if isinstance(part, inspect.ListType))
        assert isinstance(kind, inspect.ListType)
        return self._list(raw, kind, path, skip=True)

    def _list(self, raw: Raw, kind: inspect.ListType, path: str, *, skip: bool) -> list[Any]:
        if _name_of(raw) != "array":
            raise SchemaError(path, f"expected array, got {_name_of(raw)}")
        items = []
        for index, item in enumerate(_lists(raw)):
            noted = len(self._notes)
            try:
                items.append(self.read(item, kind.item_type, f"{path}[{index}]"))
            except SchemaError:
                if not skip:
                    raise
                self._notes[noted:] = [Deviation(f"{path}[{index}]", "bad item")]
        if len(items) < (kind.min_length or 0):
            raise SchemaError(path, "is too short")
        return items

    def _union(self, raw: Raw, kind: inspect.Type, path: str, policy: UnknownPolicy) -> Any:
        parts = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
        got = _name_of(raw)
        if got == "null" and any(isinstance(part, inspect.NoneType) for part in parts):
            return None
        members = [part for part in parts if isinstance(part, inspect.StructType) and part.tag_field]
        if members:
            return self._read_tagged(raw, members, path, policy)
        rest = [part for part in parts if not isinstance(part, inspect.NoneType)]
        if len(rest) == 1:
            return self.read(raw, rest[0], path)
        for part in rest:
            if isinstance(part, inspect.IntType) and not memoryview(raw).tobytes().lstrip(b"-").isdigit():
                continue  # among several kinds, 1.0 is no integer
            try:
                return self.read(raw, part, path)
            except SchemaError:
                continue
        raise SchemaError(path, f"unexpected {got}")

    def _read_tagged(
        self, raw: Raw, members: list[inspect.StructType], path: str, policy: UnknownPolicy
    ) -> Any:
        found = self._open_object(raw, path)
        tag_field = members[0].tag_field
        assert tag_field is not None
        tag = self._tag(found, tag_field, path)
        for member in members:
            if member.tag == tag and member.cls is not Impossible:
                return self._struct(raw, member.cls, path)
        if policy.refused:
            raise SchemaError(f"{path}.{tag_field}", "unknown, and this must not be guessed")
        self._check_unknown(found, policy, path)
        return self._unknown(tag, raw, path)

    def _unknown(self, tag: str, raw: Raw, path: str) -> Unknown:
        self._notes.append(Deviation(path, "unknown member", tag))
        return Unknown(tag, raw.copy())

    def _check_unknown(self, members: dict[str, Raw], policy: UnknownPolicy, path: str) -> None:
        for wire in (*policy.strings, *policy.anything):
            if wire not in members:
                raise SchemaError(f"{path}.{wire}", "is missing")
            if wire in policy.strings and _name_of(members[wire]) != "string":
                raise SchemaError(f"{path}.{wire}", f"expected string, got {_name_of(members[wire])}")
        present = sum(wire in members for wire in policy.one_of)
        if policy.one_of and (present == 0 or (policy.only_one and present > 1)):
            raise SchemaError(path, f"needs {' or '.join(policy.one_of)}")

    def _choice(self, raw: Raw, kind: type, path: str) -> Any:
        if not issubclass(kind, Choice):
            raise SchemaError(path, "cannot be read")
        sample = raw
        if kind.listed:
            if _name_of(raw) != "array":
                raise SchemaError(path, f"expected array, got {_name_of(raw)}")
            sample = next(iter(_lists(raw)), Raw(b"{}"))
        fields: dict[str, Any] = dict(self._open_object(sample, path))
        tag_field = kind.tag_field or ""
        if tag_field in fields:
            fields[tag_field] = self._tag(fields, tag_field, path)
        try:
            chosen = kind.pick(fields)
        except ValueError as problem:  # its text is ours
            raise SchemaError(path, str(problem)) from None
        if chosen is Unknown:
            return self._unknown(fields[tag_field], raw, path)
        return self.read(raw, _describe_type(chosen), path)

    def _open_object(self, raw: Raw, path: str) -> dict[str, Raw]:
        if _name_of(raw) != "object":
            raise SchemaError(path, f"expected object, got {_name_of(raw)}")
        return _objects(raw)

    def _tag(self, members: Mapping[str, Raw], tag_field: str, path: str) -> str:
        if tag_field not in members:
            raise SchemaError(f"{path}.{tag_field}", "is missing")
        tag = _scalar(members[tag_field], inspect.StrType(), f"{path}.{tag_field}")
        assert isinstance(tag, str)
        return tag


_NAMES = {
    ord("{"): "object",
    ord("["): "array",
    ord('"'): "string",
    ord("t"): "boolean",
    ord("f"): "boolean",
    ord("n"): "null",
}


_EXPECTED: dict[type, str] = {
    inspect.StrType: "string",
    inspect.IntType: "integer",
    inspect.FloatType: "number",
    inspect.BoolType: "boolean",
    inspect.NoneType: "null",
}


def _name_of(raw: Raw) -> str:
    """What kind of JSON value this is; the text is known to be valid."""
    return _NAMES.get(memoryview(raw)[0], "number")


def _scalar(raw: Raw, kind: inspect.Type, path: str) -> Any:
    try:
        value = json.decode(raw)
    except ValueError:  # a number that no number type can hold
        raise SchemaError(path, "number out of range") from None
    match kind:
        case inspect.AnyType():
            return value
        case inspect.BoolType() if isinstance(value, bool):
            return value
        case inspect.StrType() if isinstance(value, str):
            if len(value) < (kind.min_length or 0):
                raise SchemaError(path, "is too short")
            return value
        case inspect.IntType() if isinstance(value, int) and not isinstance(value, bool):
            return _check_bounds(value, kind, path)
        case inspect.IntType() if isinstance(value, float) and value.is_integer():
            return _check_bounds(int(value), kind, path)
        case inspect.FloatType() if isinstance(value, int | float) and not isinstance(value, bool):
            return _check_bounds(float(value), kind, path)
        case inspect.NoneType() if value is None:
            return value
    raise SchemaError(path, f"expected {_EXPECTED[type(kind)]}, got {_name_of(raw)}")


def _check_bounds(value: Any, kind: inspect.IntType | inspect.FloatType, path: str) -> Any:
    highest = UINT64_LIMIT if kind.ge == 0 and kind.le == INT64_LIMIT else kind.le
    if (kind.ge is not None and value < kind.ge) or (highest is not None and value > highest):
        raise SchemaError(path, "number out of range")
    return value

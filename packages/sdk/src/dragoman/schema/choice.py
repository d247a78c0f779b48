"""Unions that msgspec cannot decode by one tag: markers that describe the choice, and the code that chooses.

A generated alias that is such a union is, at run time, a marker class made here. msgspec takes it for a
custom type and asks `decode_choice`, which looks at the object, picks the one type it can be, and converts.
Whatever needs leniency fails here on purpose and reaches the lenient reader, which uses the same `pick`.

The tag is looked at before the shape: an entry of a kind we do not know never passes for one that we do,
however well its other fields fit. Otherwise a remote server's entry could start a process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Meta, Struct

from dragoman.decoders import convert

from .base import Unknown


class UnknownPolicy(Struct, frozen=True):
    """How a tagged union handles an unknown tag."""

    refused: bool = False
    strings: tuple[str, ...] = ()
    anything: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    only_one: bool = False


def refuse_unknown() -> Meta:
    """Refuse an unknown tag, in unions that decide whether something starts or is approved."""
    return Meta(extra={"unknown": UnknownPolicy(refused=True)})


def unknown_needs(
    *strings: str, anything: tuple[str, ...] = (), one_of: tuple[str, ...] = (), only_one: bool = False
) -> Meta:
    """Mark a union that requires some fields even of members with an unknown tag."""
    policy = UnknownPolicy(strings=strings, anything=anything, one_of=one_of, only_one=only_one)
    return Meta(extra={"unknown": policy})


class _ChoiceMeta(type):
    """Makes every member an instance of the marker, which is what msgspec checks after decoding."""

    members: tuple[type, ...]

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.members)


class Choice(metaclass=_ChoiceMeta):
    """Root of all markers."""

    members = ()
    pick: Callable[[Mapping[str, Any]], Any]
    """Returns the type of an object from its fields, or raises ValueError."""
    tag_field: str | None = None
    listed = False
    """True if the first item decides for a whole list."""


def _marker(
    name: str, members: tuple[type, ...], pick: Callable[[Mapping[str, object]], Any], **more: object
) -> Any:
    return _ChoiceMeta(name, (Choice,), {"members": members, "pick": staticmethod(pick), **more})


def choose_by_tag(
    name: str,
    tag_field: str,
    *,
    tags: Mapping[str, type],
    untagged: type,
    same_as_untagged: tuple[str, ...] = (),
    others: type | None = None,
) -> Any:
    """Mark a union of tagged members and one without a tag. Other tags are read as `others`, or refused."""

    def pick(fields: Mapping[str, object]) -> type:
        if tag_field not in fields:
            return untagged
        tag = fields[tag_field]
        if not isinstance(tag, str):
            raise ValueError(f"{tag_field} is not a string")
        chosen = tags.get(tag) or (untagged if tag in same_as_untagged else others)
        if chosen is None:
            raise ValueError(f"unknown {tag_field}")
        return chosen

    members = (*tags.values(), untagged, Unknown)
    return _marker(name, members, pick, tag_field=tag_field)


def choose_by_key(name: str, keys: Mapping[str, type]) -> Any:
    """Mark a union of objects that differ by a field that only one of them requires."""

    def pick(fields: Mapping[str, object]) -> type:
        for key, chosen in keys.items():
            if key in fields:
                return chosen
        raise ValueError(f"needs {' or '.join(keys)}")

    return _marker(name, tuple(keys.values()), pick)


def choose_by_item(name: str, keys: Mapping[str, object]) -> Any:
    """Mark a union of list types that differ by a field of the first item. An empty list is the first
    type.
    """

    def pick(fields: Mapping[str, object]) -> Any:
        for key, chosen in keys.items():
            if key in fields or not fields:
                return chosen
        raise ValueError(f"items need {' or '.join(keys)}")

    return _marker(name, (list,), pick, listed=True)


def decode_choice(kind: type, value: object) -> Any:
    """The hook that msgspec calls for custom types; after a ValueError the lenient reader tries again."""
    if not issubclass(kind, Choice):
        raise ValueError("not to be decoded")
    sample = value
    if kind.listed:
        sample = value[0] if isinstance(value, list) and value else {}
    if not isinstance(sample, dict):
        raise ValueError("expected `object`")
    chosen = kind.pick(sample)
    if chosen is Unknown:
        raise ValueError("unknown tag")
    return convert(value, chosen, dec_hook=decode_choice)

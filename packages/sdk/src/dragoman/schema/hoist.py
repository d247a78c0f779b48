"""Puts unknown fields back into their objects before a message is written.

It takes a message apart into plain dictionaries, which costs what plain dictionaries cost; so the codec calls
it only for messages that do carry unknown fields. A field that the type knows always wins over an unknown one
of the same name.
"""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from .base import Bare, UnknownFields

__all__ = ["hoist"]


def hoist(value: object) -> Any:
    """The value with every struct as a dictionary, with unknown fields included."""
    if isinstance(value, Bare):
        return _object(value)
    if isinstance(value, list | tuple):
        return [hoist(item) for item in value]
    if isinstance(value, dict):
        return {key: hoist(item) for key, item in value.items()}
    return value


def _object(message: Bare) -> dict[str, Any]:
    config = message.__struct_config__
    found: dict[str, Any] = {}
    if config.tag_field is not None:
        found[config.tag_field] = config.tag
    for name, wire in zip(message.__struct_fields__, message.__struct_encode_fields__, strict=True):
        value = getattr(message, name)
        if value is not UNSET and not isinstance(value, UnknownFields):
            found[wire] = hoist(value)
    if message.unknown_fields is not UNSET:
        for wire, raw in message.unknown_fields.raw.items():
            found.setdefault(wire, raw)
    return found

"""The message form that a peer expects: all differences between the two ACPex dialects are here.

`Overview` and `Wire` fill it in. A form remembers nothing, so that any of its steps can be tried: an original
is kept in `_meta` exactly where our own way back would say something else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from dragoman.dialect.ledger import Note, ignore_note
from dragoman.dialect.message import Json, Object
from dragoman.dialect.originals import keep, restore


class AcpexForm(ABC):
    """Converts v1 messages to the peer's form."""

    name: ClassVar[str]
    tag: ClassVar[str]
    """The field that names the kind of an update: `kind` or `type`."""

    @abstractmethod
    def block(self, block: Object, note: Note) -> Object | None:
        """Write a content block; None if the peer has no form for it."""

    @abstractmethod
    def greeting(self, params: Object, note: Note) -> Object:
        """Write the params of `initialize`."""

    @abstractmethod
    def introduction(self, result: Object, note: Note) -> Object:
        """Write the result of `initialize`."""

    @abstractmethod
    def prompt(self, params: Object, note: Note) -> Object:
        """Write the params of `session/prompt`."""

    @abstractmethod
    def end(self, result: Object, note: Note) -> Object:
        """Write the result of `session/prompt`."""

    @abstractmethod
    def update(self, update: Object, note: Note) -> Object | None:
        """Write an update that needs no state."""


def with_original(fields: Object, original: Json, written_again: Json, form: AcpexForm) -> Object:
    """Return `fields` with the original in `_meta`, unless converting `fields` back already gives the
    original.
    """
    return fields if written_again == original else keep(fields, form.name, original)


def original(
    fields: Object, form: AcpexForm, convert: Callable[[Any], Object], foreign: Callable[[Object], object]
) -> Object | None:
    """Return the original of `fields`, if it is in this form: the peer may not know the other form."""
    value = restore(fields, form.name, convert)
    return value if type(value) is dict and not foreign(value) else None


def written_update(form: AcpexForm, update: Object) -> Object | None:
    """Return the update in this form, without an entry in the ledger."""
    return form.update(update, ignore_note)

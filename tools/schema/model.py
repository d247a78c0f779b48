"""What the generator writes, between JSON schema and Python text: structs, unions, enumerations, aliases.

A type is kept as the text that names it plus the names it needs (`TypeText`), because rendering is all that
happens to it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class TypeText:
    text: str
    needs: frozenset[str] = frozenset()
    nullable: bool = False

    def spelled(self, *, optional: bool = False) -> str:
        return self.text + (" | UnsetType" if optional else "") + (" | None" if self.nullable else "")


@dataclass(frozen=True)
class Field:
    wire: str
    type: TypeText
    required: bool
    marks: frozenset[str] = frozenset()  # ON_ERROR, SKIP_ITEMS, ON_NULL


@dataclass(frozen=True)
class Struct:
    name: str
    fields: tuple[Field, ...]
    tag: tuple[str, str] | None = None
    base: str | None = None  # a struct it extends; otherwise the root
    meta: bool = True
    one_of: tuple[str, ...] = ()  # of these wire names at least one must be there ...
    only_one: bool = False  # ... or exactly one
    also_read: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Union:
    """A union of tagged structs; msgspec decides it natively."""

    name: str
    tag_field: str
    members: tuple[str, ...]
    refuses_unknown: bool = False
    unknown_needs: tuple[
        tuple[str, str], ...
    ] = ()  # fields that even an unknown member must have: wire name, kind
    unknown_one_of: tuple[str, ...] = ()
    unknown_only_one: bool = False


@dataclass(frozen=True)
class Choice:
    """A union that one tag does not decide."""

    name: str
    how: Literal["tag", "key", "item"]
    members: tuple[tuple[str, str], ...]  # tag or key, member
    tag_field: str = ""
    untagged: str = ""
    same_as_untagged: tuple[str, ...] = ()
    others: str = ""


@dataclass(frozen=True)
class Enumeration:
    name: str
    values: tuple[str | int, ...]
    open: bool


@dataclass(frozen=True)
class Alias:
    name: str
    type: TypeText


Item = Struct | Union | Choice | Enumeration | Alias


@dataclass
class Version:
    """One protocol version: its items by name, and where each unstable thing comes from."""

    name: str
    items: dict[str, Item] = field(default_factory=dict)
    absorbed: dict[str, str] = field(default_factory=dict)  # definition: why it has no type of its own

    def add(self, item: Item) -> None:
        if item.name in self.items and self.items[item.name] != item:
            raise ValueError(f"{item.name} would be written twice: give one of them a name in names.py")
        self.items[item.name] = item

"""Base classes of generated types: the two struct roots, and the two places that keep unknown content.

Nothing a peer sends is lost. A field that a type does not know rides in its `unknown_fields`; a union member
whose tag nobody knows becomes an `Unknown`. Neither class is one that msgspec can decode or encode by itself,
and that is the point: the fast reader fails on them and hands over to the lenient one, the fast writer
notices them, and no name or tag that a peer invents can pass for ours.

This module does not know the protocol's versions, nor how reading and writing work (`codec`).
"""

# Annotations are not postponed here: msgspec reads those of the two roots anew for each of hundreds of types,
# and reading text takes it twenty times as long.

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType, field, json

T = TypeVar("T")

# How a field is read when its value is wrong; the generated types carry these marks from the published
# schema.
ON_ERROR = 1  # a bad value counts as absent, or as empty where the field is required
SKIP_ITEMS = 2  # bad items of the list vanish, good ones stay
ON_NULL = 4  # null counts as empty; any other bad value is still an error


class UnknownFields(Mapping[str, Any]):
    """The fields of one JSON object that its type does not know, byte for byte as they arrived."""

    __slots__ = ("raw",)

    def __init__(self, fields: Mapping[str, object]) -> None:
        self.raw: dict[str, Raw] = {
            name: value if isinstance(value, Raw) else Raw(json.encode(value))
            for name, value in fields.items()
        }

    def __getitem__(self, name: str) -> Any:
        return json.decode(self.raw[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self.raw)

    def __len__(self) -> int:
        return len(self.raw)

    def __repr__(self) -> str:
        return f"UnknownFields({', '.join(self.raw)})"


class Bare(
    Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    forbid_unknown_fields=True,
    rename="camel",
    repr_omit_defaults=True,
):
    """A JSON object of the protocol that has no `_meta`."""

    # Marks of fields by wire name, see above; and other wire names under which a field is read, but never
    # written.
    _lenient: ClassVar[Mapping[str, int]] = {}
    _also_read: ClassVar[Mapping[str, str]] = {}
    # Fields that may be written with these values alone, though others are read; an empty tuple says that
    # such fields lie further inside.
    _checked: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    # The wire name is a noncharacter of Unicode; if a peer does send it, the type of the field keeps it out.
    unknown_fields: UnknownFields | UnsetType = field(default=UNSET, name="\ufdd0")


class Message(Bare, frozen=True, kw_only=True):
    """A JSON object of the protocol. Its `_meta` is data for those who agreed on it, and nothing else."""

    meta: dict[str, Any] | UnsetType | None = field(default=UNSET, name="_meta")


class Impossible(Bare, frozen=True, kw_only=True, tag_field="type", tag="\ufdd0"):
    """Second member of unions with only one, so that msgspec requires the tag. Nothing decodes to it."""

    never: UnknownFields


class Unknown:
    """A union member whose tag this version of the schema does not know, byte for byte as it arrived."""

    __match_args__ = ("tag", "raw")
    __slots__ = ("raw", "tag")

    def __init__(self, tag: str, raw: Raw | bytes) -> None:
        self.tag = tag
        self.raw = raw if isinstance(raw, Raw) else Raw(raw)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown) and self.tag == other.tag and bytes(self.raw) == bytes(other.raw)

    def __hash__(self) -> int:
        return hash((self.tag, bytes(self.raw)))

    def __repr__(self) -> str:
        return f"Unknown({self.tag!r})"

    def fields(self) -> dict[str, Any]:
        """The object as plain JSON values."""
        decoded: dict[str, Any] = json.decode(self.raw)
        return decoded


def given(value: T | UnsetType | None, default: T) -> T:
    """The value, or the default if the peer omitted it or sent null."""
    return default if value is UNSET or value is None else value


def at_least_one(**fields: object) -> None:
    """Refuse an object that has none of these fields."""
    if all(value is UNSET for value in fields.values()):
        raise ValueError(f"needs {' or '.join(fields)}")


def exactly_one(**fields: object) -> None:
    """Raise an error unless the object has exactly one of these fields."""
    if sum(value is not UNSET for value in fields.values()) != 1:
        raise ValueError(f"needs either {' or '.join(fields)}")

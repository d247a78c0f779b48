"""Numbers, strings and lists with the limits of the published schema, and the one limit on paths that the
specification gives only in prose.

msgspec checks these bounds while it decodes, at no measurable cost. It cannot bound an integer beyond 63
bits, so `UInt64` is bounded there, and the lenient reader, which gets whatever is larger, allows the 64th
(`UINT64_LIMIT`).
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

INT64_LIMIT = 2**63 - 1
UINT64_LIMIT = 2**64 - 1

Int32: TypeAlias = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
Int64: TypeAlias = Annotated[int, Meta(ge=-(2**63), le=INT64_LIMIT)]
UInt16: TypeAlias = Annotated[int, Meta(ge=0, le=2**16 - 1)]
UInt32: TypeAlias = Annotated[int, Meta(ge=0, le=2**32 - 1)]
UInt64: TypeAlias = Annotated[int, Meta(ge=0, le=INT64_LIMIT)]
PositiveUInt16: TypeAlias = Annotated[int, Meta(ge=1, le=2**16 - 1)]
PositiveUInt32: TypeAlias = Annotated[int, Meta(ge=1, le=2**32 - 1)]
UnitFloat: TypeAlias = Annotated[float, Meta(ge=0, le=1)]
NonEmptyStr: TypeAlias = Annotated[str, Meta(min_length=1)]


def is_absolute(path: str) -> bool:
    """Whether the protocol accepts a path as absolute. Reader and writer may use different operating
    systems.
    """
    return path.startswith(("/", "\\\\")) or path[1:3] in (":\\", ":/")

"""Typed messages of the Agent Client Protocol, generated per version, and the codec that reads and writes
them.

    from dragoman.schema import read, v1, write

`v1` and `v2` are loaded by who imports them; each has its types, its `methods` table and its `unstable`
names. The codec reads leniently and writes strictly. Nothing here does IO or knows JSON-RPC.
"""

from .base import Unknown, UnknownFields, given
from .codec import examine, read, reader, write
from .errors import SchemaError
from .method import Method, MethodTable

__all__ = [
    "Method",
    "MethodTable",
    "SchemaError",
    "Unknown",
    "UnknownFields",
    "examine",
    "given",
    "read",
    "reader",
    "write",
]

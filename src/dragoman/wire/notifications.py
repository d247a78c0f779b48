"""A plain notification, read with its params by one call.

Nearly everything that an agent sends is a notification of three members and nothing else. Whoever names the
type of its params, and perhaps its method as a `Literal`, reads it without an envelope in between. Whatever
is not plainly that fails, and is left to `decode`, which gives the same method and params by a longer way.
"""

from __future__ import annotations

from typing import Generic, Literal, TypeVar

from msgspec import Struct

M = TypeVar("M", bound=str)
P = TypeVar("P")


class PlainNotification(Struct, Generic[M, P], forbid_unknown_fields=True, gc=False):
    """A notification as nearly everybody writes it. An `id` in it, or anything else, makes it something else.

    The parser checks that all of it is JSON, also what `P` skips; that the text is UTF-8 it checks only where
    `P` builds a string.
    """

    jsonrpc: Literal["2.0"]
    method: M
    params: P

"""Versions of files: 64-bit unsigned integers in this dialect, tokens of characters in our workspace.

A number that came over this wire is its own token, so it comes back as it was. A token that is not a number
becomes one by a hash: the same for the same, and cut to 63 bits for readers whose integers have a sign. A
text without a token has the one that our workspace would give to a file that holds it.
"""

from __future__ import annotations

import hashlib

from dragoman.dialect.message import Json, Object, as_object

MOST = 2**64


def is_version(value: Json) -> bool:
    return type(value) is int and 0 <= value < MOST


def token_of(number: int) -> str:
    return str(number)


def number_of(token: str) -> int:
    if token.isascii() and token.isdigit() and len(token) <= 20:
        number = int(token)
        if number < MOST and str(number) == token:
            return number
    return hash_text(token)


def hash_text(text: str) -> int:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def token_of_text(text: str) -> str:
    """The version of a whole file, the same as `workspace.versions.version_of`: a file has one version,
    however it is read and by whom.
    """
    return f"c{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}"


def with_version(result: Object, number: Json) -> Object:
    """A result of v1 that hands out the version where our workspace does."""
    if not is_version(number):
        return result
    return {**result, "_meta": {"dragoman": {"version": token_of(number)}}}


def version_in(result: Object) -> str | None:
    """The token that a result of v1 carries in its `_meta`."""
    token = as_object(as_object(result.get("_meta")).get("dragoman")).get("version")
    return token if type(token) is str else None

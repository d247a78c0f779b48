"""Carries a login's credentials through an interpreter.

Version 1 has no place for them in `authenticate`. Between two edges they travel in its `_meta`, and only to
an agent that has said in its answer to `initialize` that it takes them there: an edge says it for an agent
whose dialect has credentials, the host for one to which it may give them in another way. Whoever did not hear
that refuses them. They are never in the ledger, in an original or in an error.
"""

from __future__ import annotations

from dragoman.dialect.message import Json, Object, as_object

CREDENTIALS_KEY = "dragoman/credentials"
"""In `_meta`: true in the answer to `initialize`; the credentials in `authenticate`."""


def announce_credentials(result: Object) -> Object:
    """Return the `initialize` answer of an agent that accepts credentials."""
    return {**result, "_meta": {**as_object(result.get("_meta")), CREDENTIALS_KEY: True}}


def takes_credentials(result: Object) -> bool:
    return as_object(result.get("_meta")).get(CREDENTIALS_KEY) is True


def add_credentials(params: Object, credentials: Json) -> Object:
    """Add credentials to the params of `authenticate`."""
    return {**params, "_meta": {**as_object(params.get("_meta")), CREDENTIALS_KEY: credentials}}


def take_credentials(fields: Object) -> tuple[Object, Json]:
    """Remove credentials from params or a result, and return both; None if there were none."""
    meta = as_object(fields.get("_meta"))
    if CREDENTIALS_KEY not in meta:
        return fields, None
    rest = {name: value for name, value in meta.items() if name != CREDENTIALS_KEY}
    bare = {name: value for name, value in fields.items() if name != "_meta"}
    return ({**bare, "_meta": rest} if rest else bare), meta[CREDENTIALS_KEY]

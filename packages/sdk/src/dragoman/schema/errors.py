"""The only error of this package: a message does not have the shape of its type.

Its text names a place and two kinds of JSON value, never a value: messages carry prompts and secrets, and
this text ends up in logs. It does not know who sent the message; the rooms above decide whose mistake it was.
"""

from __future__ import annotations


class SchemaError(ValueError):
    """A value, read or to be written, breaks the schema at `path`, for `reason`."""

    def __init__(self, path: str, reason: str, *, not_json: bool = False) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.not_json = not_json
        """True when the bytes are no JSON text at all."""

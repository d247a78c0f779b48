"""Removes secrets from shown texts, so that a user can share them as evidence.

Two kinds are found: the values of variables that we know, and what has the shape of a key. Neither is a
promise: a secret that looks like a word and that nobody told us of stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from dragoman_local.secrets.names import is_secret_variable
from dragoman_local.secrets.search import redact

SHORTEST = 6
"""The least characters of a secret value: words such as `true` and `debug` are everywhere."""


class Redactor:
    """Hides secrets: `redact(text)` shows the name of each value instead."""

    def __init__(self, env: Mapping[str, str], *, all_values: bool = False) -> None:
        """Hide values of variables with a telling name, or `all_values` of variables that a user set on
        purpose.
        """
        self._names: dict[str, str] = {}
        for name, value in env.items():
            # Sockets and files that only have to do with keys, such as SSH_AUTH_SOCK, are worth seeing.
            is_secret = is_secret_variable(name) and not value.startswith(("/", "~"))
            if len(value) >= SHORTEST and (all_values or is_secret):
                self._names[value] = name
                self._names[json.dumps(value)[1:-1]] = name  # how it stands in a frame
        # The longest first: a value may begin with another one.
        longest = sorted(self._names, key=len, reverse=True)
        self._values = re.compile("|".join(map(re.escape, longest))) if longest else None

    def __or__(self, other: Redactor) -> Redactor:
        both = Redactor({})
        both._names = {**other._names, **self._names}
        longest = sorted(both._names, key=len, reverse=True)
        both._values = re.compile("|".join(map(re.escape, longest))) if longest else None
        return both

    def __call__(self, text: str) -> str:
        if self._values is not None:
            text = self._values.sub(lambda found: f"[{self._names[found[0]]}]", text)
        return redact(text)


redact_shapes = Redactor({})
"""Redacts texts of unknown origin."""

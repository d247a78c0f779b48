"""A mistake on the command line, found before or after it was parsed."""

from __future__ import annotations

from dragoman.errors import LocalMistake


class Mistake(LocalMistake):
    """Cannot be done as it was asked for: what is wrong, and what to do next."""

    def __init__(self, what: str, next_step: str = "dragoman run --help") -> None:
        super().__init__(what)
        self.next_step = next_step

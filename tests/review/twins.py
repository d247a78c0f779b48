"""A mistake beside good code of its shape, for tests of rules."""

from __future__ import annotations

from typing import NamedTuple

from dragoman.review.inspection import inspect
from dragoman.review.rules import own_rules


class Twins(NamedTuple):
    """Two texts of one shape: a rule finds the one, and leaves the other alone."""

    path: str
    rule: str
    bad: str
    good: str

    def check(self) -> None:
        assert self.rule in self._found(self.bad)
        assert self.rule not in self._found(self.good)

    def _found(self, text: str) -> set[str]:
        result = inspect(self.path, text, own_rules(), has_ruff=True)
        assert result.failures == []
        return {finding.rule for finding in result.findings}

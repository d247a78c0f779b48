"""The good conversations, by name."""

from __future__ import annotations

from collections.abc import Callable

from dragoman_check.manifest import Side
from tests.check.mutants.extremes import lines, versions
from tests.check.mutants.probes import oddities, probes
from tests.check.mutants.script import Script
from tests.check.mutants.second import second
from tests.check.mutants.sessions import login, sessions
from tests.check.mutants.settings import bare, cancelling, settings
from tests.check.mutants.work import work

BOTH: tuple[Side, ...] = ("agent", "client")

GOOD: dict[str, tuple[Callable[[], Script], tuple[Side, ...]]] = {
    "work": (work, BOTH),
    "settings": (settings, BOTH),
    "cancelling": (cancelling, BOTH),
    "bare": (bare, BOTH),
    "sessions": (sessions, BOTH),
    "login": (login, BOTH),
    "second": (second, BOTH),
    "probes": (probes, ("agent",)),
    "oddities": (oddities, ("client",)),
    "versions": (versions, ("agent",)),
    "lines": (lines, ("client",)),
}
"""How to write each, and who is good in it."""

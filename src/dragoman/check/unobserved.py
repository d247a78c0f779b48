"""Which requirements are judged, and why the others are not: each module of rules tells its own.

Together with the rules these reasons cover the catalogue; a test holds them to it.
"""

from __future__ import annotations

from importlib import import_module

from dragoman.check.applicability import REMOTE
from dragoman.check.manifest import requirements
from dragoman.check.rule import RULES, Rule
from dragoman.check.rules import AREAS, load_all


def judged_by() -> dict[str, list[Rule]]:
    """The rules of each requirement that has any."""
    load_all()
    found: dict[str, list[Rule]] = {}
    for rule in RULES:
        for requirement in rule.requirements:
            found.setdefault(requirement, []).append(rule)
    return found


def reasons() -> dict[str, str]:
    """Why a requirement cannot be seen in a recording, for each that no rule judges."""
    found: dict[str, str] = {
        one.id: "it binds whoever connects to a server, and no client is examined over a network"
        for one in requirements().values()
        if one.area in REMOTE and "server" not in one.sides
    }
    for area in AREAS:
        told: dict[str, str] = getattr(import_module(f"dragoman.check.rules.{area}"), "UNOBSERVED", {})
        found |= told
    return found

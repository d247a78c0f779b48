"""All rules, a module for each area of the catalogue.

`rules_by_requirement` and `reasons` say which requirements have rules, and why the others have none; a test
holds that together they cover the catalogue.
"""

from __future__ import annotations

from importlib import import_module

from dragoman_check.applicability import REMOTE
from dragoman_check.manifest import requirements
from dragoman_check.rule import RULES, ConformanceRule

AREAS = (
    "envelope",
    "requests",
    "debts",
    "handshake",
    "capabilities",
    "login",
    "errors",
    "stdio",
    "places",
    "extensions",
    "leniency",
    "content",
    "turns",
    "sessions",
    "folders",
    "servers",
    "session_load",
    "session_resume",
    "session_end",
    "lists",
    "roots",
    "messages",
    "cancellation",
    "withdrawals",
    "updates",
    "modes",
    "options",
    "settings",
    "commands",
    "tools",
    "tool_content",
    "permission",
    "refusals",
    "plans",
    "files",
    "terminals",
    "processes",
    "elicitation",
    "elicitation_answers",
    "version2",
    "version2_order",
    "version2_shapes",
    "endpoints",
)
"""The modules of this package with rules."""


def load_all() -> None:
    for area in AREAS:
        import_module(f"dragoman_check.rules.{area}")


def rules_by_requirement() -> dict[str, list[ConformanceRule]]:
    """Return the rules of each requirement that has any."""
    load_all()
    rules: dict[str, list[ConformanceRule]] = {}
    for rule in RULES:
        for requirement in rule.requirements:
            rules.setdefault(requirement, []).append(rule)
    return rules


def reasons() -> dict[str, str]:
    """Return why a requirement can't be tested in a recording, for each without a rule."""
    reasons: dict[str, str] = {
        requirement.id: "it binds whoever connects to a server, and no client is examined over a network"
        for requirement in requirements().values()
        if requirement.area in REMOTE and "server" not in requirement.sides
    }
    for area in AREAS:
        area_reasons: dict[str, str] = getattr(
            import_module(f"dragoman_check.rules.{area}"), "UNOBSERVED", {}
        )
        reasons |= area_reasons
    return reasons

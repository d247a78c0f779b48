"""Every rule about Python that needs no tool, in one list."""

from __future__ import annotations

from dragoman.review import python_bugs, python_flow, python_security

PYTHON_RULES = (*python_bugs.RULES, *python_flow.RULES, *python_security.RULES)

BY_RUFF_CODE = {rule.ruff: rule for rule in PYTHON_RULES if rule.ruff is not None}

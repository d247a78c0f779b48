"""The rule files of a project, and those that a user names.

Apart from the catalogue, which loads every rule of ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from dragoman_review.places import RULES
from dragoman_review.rules import BadRule, ReviewRule, read_rules
from dragoman_review.structure import refusal


def load_rules(path: Path) -> tuple[ReviewRule, ...]:
    """Return the rules of a file or folder. Raises `BadRule`."""
    if not path.exists():
        raise BadRule(str(path), "there is no such file or folder")
    rules = read_rules(path)
    for rule in rules:
        if (why := refusal(rule)) is not None:
            raise BadRule(f"{path} ({rule.id})", why)
    return rules


def project_rules(root: Path) -> tuple[ReviewRule, ...]:
    """Return the project's rules in `.dragoman/rules`; none without this folder."""
    folder = root / RULES
    return load_rules(folder) if folder.is_dir() else ()


def chosen_rules(root: Path, names: Iterable[str]) -> tuple[ReviewRule, ...]:
    """Return the rules of a project, and those of named files and folders."""
    return (*project_rules(root), *(rule for name in names for rule in load_rules(Path(name))))

"""The files that a project brings for its reviews: rules of its own, and the findings that it knows.

Apart from the catalogue, which loads every rule of ours.
"""

from __future__ import annotations

from pathlib import Path

from dragoman.review.rules import BadRule, ReviewRule, read_rules
from dragoman.review.structure import refusal

RULES = Path(".dragoman") / "rules"
BASELINE = Path(".dragoman") / "baseline.json"


def load_rules(path: Path) -> tuple[ReviewRule, ...]:
    """The rules of a file or folder. Raises `BadRule`."""
    if not path.exists():
        raise BadRule(str(path), "there is no such file or folder")
    rules = read_rules(path)
    for rule in rules:
        if (why := refusal(rule)) is not None:
            raise BadRule(f"{path} ({rule.id})", why)
    return rules


def project_rules(root: Path) -> tuple[ReviewRule, ...]:
    """The rules that a project brings in `.dragoman/rules`; none if it has no such folder."""
    folder = root / RULES
    return load_rules(folder) if folder.is_dir() else ()

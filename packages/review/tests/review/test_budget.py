"""The reviewer is frozen: it may not grow. Who adds a rule shows on published packages that it is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_review import own_rules
from tests.review.planted import CORPUS

ROOT = Path(__file__).parents[4]
REVIEW = ROOT / "packages/review/src/dragoman_review"


@pytest.mark.parametrize(
    ("folder", "pattern", "most"),
    [(REVIEW, "*.py", 5_000), (REVIEW / "data", "*.toml", 3_000), (CORPUS, "*.cases", 4_000)],
    ids=["Python", "rules", "planted bugs"],
)
def test_the_reviewer_stays_small(folder: Path, pattern: str, most: int) -> None:
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in folder.rglob(pattern))
    assert 0 < lines <= most


def test_a_rule_on_a_program_reads_its_tree() -> None:
    """A pattern on lines is for texts, commands and settings: it does not know what a program means."""
    programs = {"python", "javascript", "typescript", "tsx", "go", "rust", "java", "kotlin", "c", "cpp"}
    patterns = [rule for rule in own_rules() if rule.pattern is not None]
    assert [rule.id for rule in patterns if programs & set(rule.languages)] == ["text/lookalike-letter"]


def test_the_page_of_all_rules_is_no_file_of_the_repository() -> None:
    assert not (ROOT / "docs" / "review-rules.md").exists()

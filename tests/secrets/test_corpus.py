"""The corpora are what they say: a secret is in its text, and the stored file is what the templates make."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.secrets.ordinary_sources import ENOUGH, ordinary_lines
from tests.secrets.strangers import CORPUS, Stranger, strangers

ORDINARY = Path(__file__).parent / "corpus" / "ordinary.txt"


def stored() -> list[Stranger]:
    return [Stranger(**json.loads(line)) for line in CORPUS.read_text(encoding="utf-8").splitlines()]


def test_the_stored_corpus_is_what_the_templates_make() -> None:
    assert stored() == list(strangers()), "run: python -m tests.secrets.strangers"


def test_each_secret_stands_in_its_text_once() -> None:
    assert [row for row in stored() if row.text.count(row.secret) != 1] == []


def test_no_mark_of_a_template_is_left_in_a_text() -> None:
    assert [row.text for row in stored() if not set("«»‹›").isdisjoint(row.text)] == []


def test_there_are_many_kinds_in_many_notations() -> None:
    rows = stored()
    assert len({row.kind for row in rows}) >= 200
    assert len({row.notation for row in rows}) >= 100
    assert len({(row.text, row.secret) for row in rows}) == len(rows)


def test_ordinary_lines_hold_no_secret_of_the_strangers() -> None:
    ordinary = ORDINARY.read_text(encoding="utf-8")
    assert len(ordinary.splitlines()) >= 600
    assert [row.secret for row in stored() if len(row.secret) > 9 and row.secret in ordinary] == []


def test_installed_packages_give_the_same_lines_twice() -> None:
    lines = list(ordinary_lines())
    if len(lines) < ENOUGH:
        pytest.skip(f"{len(lines)} lines: packages are missing")
    assert lines == list(ordinary_lines())

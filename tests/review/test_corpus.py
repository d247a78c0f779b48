"""The planted bugs: how many are found, how many clean twins are accused, and whether the page says so."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman.review import judges
from tests.every import every
from tests.review.local_inspector import LocalInspector

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module", autouse=True)
def rules_here() -> Iterator[None]:
    """The same rules for thousands of texts: workers would read them anew for each set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(judges, "Inspector", LocalInspector)
        yield


@pytest.fixture(scope="module")
def corpus() -> Any:  # a program of tools, which is no package
    sys.path.insert(0, str(TOOLS))
    try:
        return importlib.import_module("review_corpus")
    finally:
        sys.path.remove(str(TOOLS))


@pytest.fixture(scope="module")
def held_out(corpus: Any) -> Any:
    cases = [case for case in corpus.read_corpus() if case.is_held_out]
    return cases, corpus.our_judgement(cases)


def test_the_corpus_is_large_and_no_case_is_there_twice(corpus: Any) -> None:
    cases = corpus.read_corpus()
    assert len(cases) == len({case.id for case in cases}) >= 400
    assert all(case.bug != case.clean for case in cases)
    assert 0.4 < sum(case.is_held_out for case in cases) / len(cases) < 0.6


@pytest.mark.bound(120)
def test_of_the_held_out_half_most_bugs_are_found_and_few_clean_twins_accused(
    corpus: Any, held_out: Any
) -> None:
    held = corpus.score(*held_out)
    assert held.recall >= 0.85
    assert held.accused_share <= 0.03
    figures = (
        f"| first, held out | {held.cases} | {held.found} ({held.recall:.0%}) "
        f"| {held.accused} ({held.accused_share:.1%}) |"
    )
    assert figures in corpus.PAGE.read_text("utf-8"), "run python tools/review_corpus.py --write"


@pytest.mark.bound(120)
def test_no_language_is_left_behind(corpus: Any, held_out: Any) -> None:
    cases, verdict = held_out
    for group in corpus.LANGUAGES:
        result = corpus.score([case for case in cases if case.group == group], verdict)
        assert result.recall >= 0.75, group


SAMPLED = 4
"""One case of so many, of the sets that were written after the rules; `make test-all` judges them all."""


@pytest.mark.bound(120)
def test_of_every_later_set_a_sample_is_found_no_worse_than_before(corpus: Any) -> None:
    stored = {
        **dict.fromkeys(corpus.WHOLE.values(), "first"),
        **dict.fromkeys(corpus.HALVED.values(), "second"),
    }
    for folder, name in stored.items():
        cases = corpus.read_corpus(folder)[::SAMPLED]
        before, now = corpus.stored_judgement(folder, name), corpus.our_judgement(cases)
        assert len(cases) >= 15, folder
        assert now.found >= before.found & {case.id for case in cases}, folder
        assert now.accused <= before.accused, folder


@pytest.mark.slow
@pytest.mark.bound(120)
def test_the_page_shows_what_is_measured(corpus: Any) -> None:
    cases = corpus.read_corpus()
    text = corpus.page(cases, corpus.our_judgement(cases))
    assert corpus.PAGE.read_text("utf-8") == text, "run python tools/review_corpus.py --write"


def test_our_own_sets_begin_with_the_one_that_nobody_knew_and_have_a_row_each(corpus: Any) -> None:
    text = corpus.PAGE.read_text("utf-8")
    first = corpus.score(corpus.read_corpus(corpus.SEVENTH), corpus.stored_judgement(corpus.SEVENTH, "first"))
    ours = text.partition("## Bugs planted in texts of our own\n\n")[2]
    assert ours.startswith(f"**Of {first.cases} bugs {first.found} were found (")
    table = text.partition("| set |")[2].partition("\n\n")[0]
    sets = [row.split("|")[1].strip().split(",")[0] for row in table.split("\n")[2:]]
    assert sets[0] == "seventh"
    titles = {name if name != "after" else "after the rules" for name in (*corpus.WHOLE, *corpus.HALVED)}
    assert set(sets) == titles | {"first"}


@pytest.mark.slow
def test_the_bugs_written_after_the_rules_are_found_no_worse_than_when_they_were_new(corpus: Any) -> None:
    later = corpus.later_corpus(corpus.AFTER)
    names = {case.id for case in later.cases}
    assert len(names) == len(later.cases) >= 60
    assert names >= later.first.found | later.first.accused
    assert later.now.found >= later.first.found
    assert later.now.accused <= later.first.accused


@pytest.mark.slow
def test_the_third_set_is_found_no_worse_than_when_it_was_new(corpus: Any) -> None:
    third = corpus.later_corpus(corpus.THIRD)
    names = {case.id for case in third.cases}
    assert len(names) == len(third.cases) >= 60
    assert corpus.score(third.cases, third.first).recall >= 0.85
    assert corpus.score(third.cases, third.first).accused_share <= 0.03
    assert third.now.found >= third.first.found
    assert third.now.accused <= third.first.accused


@pytest.mark.slow
@every("name", ["SEVENTH", "EIGHTH"])
def test_a_set_that_was_unseen_is_found_no_worse_than_when_it_was_new(corpus: Any, name: str) -> None:
    unseen = corpus.later_corpus(getattr(corpus, name))
    names = {case.id for case in unseen.cases}
    assert len(names) == len(unseen.cases) >= 300
    assert names >= unseen.first.found | unseen.first.accused
    assert unseen.now.found >= unseen.first.found
    assert unseen.now.accused <= unseen.first.accused


@pytest.mark.slow
@every("name", ["FOURTH", "FIFTH", "SIXTH"])
def test_a_set_with_a_sealed_half_is_found_no_worse_than_when_the_rules_were_mended(
    corpus: Any, name: str
) -> None:
    sealed = corpus.sealed_corpus(getattr(corpus, name))
    names = {case.id for case in sealed.cases}
    assert len(names) == len(sealed.cases) >= 140
    assert names >= sealed.first.found | sealed.first.accused | sealed.second.found | sealed.second.accused
    assert len(sealed.sealed) >= 60
    assert sealed.now.found >= sealed.second.found
    assert sealed.now.accused <= sealed.second.accused


@pytest.mark.parametrize("step", [SAMPLED, pytest.param(1, marks=pytest.mark.slow)])
def test_good_code_that_looks_like_a_mistake_is_left_alone_and_the_mistake_is_found(
    corpus: Any, step: int
) -> None:
    neighbours = corpus.read_corpus(corpus.NEIGHBOURS)[::step]
    names = {case.id for case in neighbours}
    verdict = corpus.our_judgement(neighbours)
    assert len(names) == len(neighbours) >= 120 // step
    assert verdict.accused == set()
    assert names - verdict.found == set()


def test_the_page_of_rules_is_fresh() -> None:
    done = subprocess.run([sys.executable, TOOLS / "generate_rules.py", "--check"], check=False)
    assert done.returncode == 0, "run python tools/generate_rules.py"

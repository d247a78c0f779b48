"""Measures the reviewer on planted bugs, and writes the table of docs/review-accuracy.md.

    python tools/review_corpus.py                 # figures of the half that the rules were made from
    python tools/review_corpus.py --missed        # and its bugs that were missed, its twins that were accused
    python tools/review_corpus.py --held-out      # the other half, as figures alone
    python tools/review_corpus.py --others        # measure ruff, oxlint and bandit again
    python tools/review_corpus.py --after         # the bugs that were written after the rules
    python tools/review_corpus.py --third         # those written when the rules had grown; also --seventh,
                                                  # --eighth
    python tools/review_corpus.py --fourth        # the open half of the fourth set; --held-out: the sealed;
                                                  # --fifth and --sixth are the same of later sets
    python tools/review_corpus.py --write         # write the page; --check tells whether it is fresh

A case is a bug and its clean twin (`tests/review/corpus`). A bug is found if the review of its text has
a finding, mild remarks aside, that the review of the twin has not; a twin is accused if the review of
its text has any such finding. The hash of a case's name decides its half. Rules are made from one half;
the published figures are of the other, which this program never shows case by case.

The cases of `tests/review/corpus/after`, `third`, `seventh` and `eighth` were written after the rules.
`first.json` there holds what the review said of them when it met them for the first time; that measurement is
published and never repeated. The last two have no halves: all of them was unseen.

`fourth`, `fifth` and `sixth` have an open half, from whose misses the rules were mended, and a sealed half,
by the same hash. `first.json` is what the review said before the rules were mended, `second.json` after that;
each was measured once, and until then of the sealed half nothing but the figures was looked at. Of the fourth
and the fifth rules were later mended from its misses, too: what is found today is shown as such.

`neighbours` is no measurement: good code that looks much like a mistake, written to mend the rules by.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dragoman.review import ReviewNote, Severity, review
from review_cases import CORPUS, Case, read_corpus, sources_of
from review_figure import section
from review_other_tools import TOOLS, Reports, version_of

ROOT = Path(__file__).parents[1]
OTHERS = CORPUS / "others.json"
AFTER = CORPUS / "after"
THIRD = CORPUS / "third"
FOURTH = CORPUS / "fourth"
FIFTH = CORPUS / "fifth"
SIXTH = CORPUS / "sixth"
NEIGHBOURS = CORPUS / "neighbours"
SEVENTH = CORPUS / "seventh"
EIGHTH = CORPUS / "eighth"
WHOLE = {"after": AFTER, "third": THIRD, "seventh": SEVENTH, "eighth": EIGHTH}
HALVED = {"fourth": FOURTH, "fifth": FIFTH, "sixth": SIXTH}
PAGE = ROOT / "docs" / "review-accuracy.md"

SETS_HEAD = (
    "set",
    "cases",
    "found",
    "accused",
    "found today",
    "accused today",
    "who wrote it, and what they knew",
)

AUTHORS = {
    "seventh": "had read no rule; committed before it was measured",
    "eighth": "knew the titles of the rules and nothing else; committed before it was measured",
    "sixth": "had opened no rule when it was committed; then mended the rules, knowing both halves",
    "fifth": "had not read the rules; then mended them, knowing both halves",
    "fourth": "had not read the rules; then mended them, knowing both halves",
    "third": "also wrote the newest rules, from examples of the same hand, some in the same idioms, which "
    "flatters them",
    "after": "had not read the rules; other idioms and frameworks, longer functions",
    "first": "wrote all of it before the rules, which were made from the other half",
}

BELOW_SETS = """\
*Found* and *accused* were measured once, when the rules first met a set. Then the rules were mended from the
open half of the fourth, fifth and sixth set, and the sealed half was measured again: the figure behind the
arrow shows what that is worth for other code. Since then they were mended from more that they had missed,
also in the sealed halves of the fourth and the fifth set: what they find *today* says nothing about unseen
code. The figures of the first set are always today's.

- Eighth: who knows the titles plants bugs that a rule is about, which flatters the rules. On a second look
  one of the bugs that were missed was none, and was written anew.
- Sixth: the rules had seen neither half. Of {sixth}.
- Fifth: the rules were also tried on code that nobody wrote for them, the standard library of Python and
  well-known projects in each language, and mended where what they said was mostly wrong.
- Third: written from classes of bugs in general, when the rules had grown.
- After the rules: imports were added to the Python texts before they were measured.

**What strangers write is another matter.** Every set here was written by us. Where we tried examples of
others, which are not ours to publish, the rules found clearly less and accused more: every author has other
mistakes in mind, and what is learnt from some helps little with the rest. Read the figures as a comparison,
not as a promise.
"""

LANGUAGES = {
    "python": "Python",
    "script": "JavaScript, TypeScript",
    "go": "Go",
    "rust": "Rust",
    "java": "Java",
    "kotlin": "Kotlin",
    "shell": "shell",
    "secrets": "secrets in any file",
}


class Judgement(NamedTuple):
    """What a tool did with the corpus, by the names of cases."""

    found: frozenset[str]
    accused: frozenset[str]


def judge(cases: Sequence[Case], reports: Reports) -> Judgement:
    found, accused = set(), set()
    for number, case in enumerate(cases):
        bug = reports.get(f"{number}_bug.{case.suffix}", set())
        clean = reports.get(f"{number}_clean.{case.suffix}", set())
        if bug - clean:
            found.add(case.id)
        if clean:
            accused.add(case.id)
    return Judgement(frozenset(found), frozenset(accused))


async def our_reports(cases: Sequence[Case]) -> Reports:
    """What `dragoman review` says. Raises if a tool failed: then the figures would be wrong."""
    notes: list[ReviewNote] = []
    reports: Reports = defaultdict(set)
    sources = list(sources_of(cases))
    texts = {source.path: source.text.split("\n") for source in sources}
    async for finding in review(sources, note=notes.append):
        if finding.severity is not Severity.INFO:
            reports[finding.path].add((finding.rule, texts[finding.path][finding.line - 1].strip()))
    if failures := [note for note in notes if note.is_failure]:
        raise RuntimeError(f"{failures[0].path}: {failures[0].text}")
    return reports


def our_judgement(cases: Sequence[Case]) -> Judgement:
    return judge(cases, asyncio.run(our_reports(cases)))


def measure_others(cases: Sequence[Case]) -> dict[str, dict[str, object]]:
    measured: dict[str, dict[str, object]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in sources_of(cases):
            (Path(folder) / source.path).write_text(source.text, "utf-8")
        for name, (run, suffixes) in TOOLS.items():
            verdict = judge(cases, run(Path(folder)))
            measured[name] = {
                "version": version_of(name),
                "suffixes": suffixes,
                "found": sorted(verdict.found),
                "accused": sorted(verdict.accused),
            }
    return measured


# The page.


class Score(NamedTuple):
    """How a tool did on some cases."""

    cases: int
    found: int
    accused: int

    def __str__(self) -> str:
        return f"{self.recall:.0%} · {self.accused}" if self.cases else "–"

    @property
    def recall(self) -> float:
        return self.found / self.cases if self.cases else 0.0

    @property
    def accused_share(self) -> float:
        return self.accused / self.cases if self.cases else 0.0

    @property
    def precision(self) -> float:
        return self.found / (self.found + self.accused) if self.found else 0.0


def score(cases: Sequence[Case], verdict: Judgement) -> Score:
    names = {case.id for case in cases}
    return Score(len(names), len(names & verdict.found), len(names & verdict.accused))


class LaterCorpus(NamedTuple):
    """The cases that were written after the rules, as first measured and as they are judged now."""

    cases: Sequence[Case]
    first: Judgement
    now: Judgement

    def cell(self, key: Callable[[Case], str], name: str) -> str:
        result = score([case for case in self.cases if key(case) == name], self.first)
        return f"{result.found} of {result.cases} · {result.accused}" if result.cases else "–"


@functools.cache
def later_corpus(folder: Path) -> LaterCorpus:
    cases = read_corpus(folder)
    return LaterCorpus(cases, stored_judgement(folder, "first"), our_judgement(cases))


class SealedCorpus(NamedTuple):
    """A set with a half that nobody looked into: judged before the rules were mended, after it, and now."""

    cases: Sequence[Case]
    first: Judgement
    second: Judgement
    now: Judgement

    @property
    def sealed(self) -> Sequence[Case]:
        return [case for case in self.cases if case.is_held_out]

    def cell(self, key: Callable[[Case], str], name: str) -> str:
        mine = [case for case in self.sealed if key(case) == name]
        before, after = score(mine, self.first), score(mine, self.second)
        return f"{before.found} → {after.found} of {after.cases} · {after.accused}" if mine else "–"


@functools.cache
def sealed_corpus(folder: Path) -> SealedCorpus:
    cases = read_corpus(folder)
    return SealedCorpus(
        cases, stored_judgement(folder, "first"), stored_judgement(folder, "second"), our_judgement(cases)
    )


def stored_judgement(folder: Path, name: str) -> Judgement:
    """What the review said of a set when it was measured."""
    stored = json.loads((folder / f"{name}.json").read_text("utf-8"))
    return Judgement(frozenset(stored["found"]), frozenset(stored["accused"]))


def page(cases: Sequence[Case], ours: Judgement) -> str:
    others: dict[str, dict[str, object]] = json.loads(OTHERS.read_text("utf-8"))
    later, third, seventh, eighth = map(later_corpus, (AFTER, THIRD, SEVENTH, EIGHTH))
    fourth, fifth, sixth = map(sealed_corpus, (FOURTH, FIFTH, SIXTH))
    held = [case for case in cases if case.is_held_out]
    sets = (later, third, fourth, fifth, sixth, seventh, eighth)
    columns = [
        "bugs",
        "ours: recall · accused",
        "precision",
        "written after the rules",
        "third set",
        "fourth, sealed",
        "fifth, sealed",
        "sixth, sealed",
        "seventh, unseen",
        "eighth, unseen",
        *(f"{n} {o['version']}" for n, o in others.items()),
    ]
    parts = [
        "# How much the review finds\n",
        "<!-- Written by tools/review_corpus.py --write; do not edit. -->\n",
        section(),
        f"**Of {_words(score(seventh.cases, seventh.first))}:**\nbugs that no rule had seen, planted by "
        "somebody who had read none. Of the figures of our own texts these say most about other code.\n",
        "Each bug was planted with a clean twin: the same text without the bug (`tests/review/corpus`). A "
        "bug is found if the review\nof its text says something that the review of the twin does not; a twin "
        "is accused if the review says anything of it, remarks\nof severity `info` aside. The hash of a "
        "case's name decides its half.\n",
        _table(SETS_HEAD, _set_rows(cases, ours), words=(0, -1)),
        BELOW_SETS.format(sixth=_words(score(sixth.cases, sixth.first))),
        "Below, *ours* is the held-out half of the first set; the columns of the other sets have the bugs "
        "found of those planted and\nthe twins accused when the rules first met them. Each cell of another "
        "tool is its recall and the number of clean twins that it\naccuses, in files that it reads. ruff is "
        "run with its rules about bugs and security, oxlint with `correctness` and `suspicious`,\nbandit "
        "with its defaults. The rules of semgrep are fetched from a server, so they were not measured.\n",
        "## By language\n",
        _table(("language", *columns), _rows(held, ours, others, sets, lambda case: LANGUAGES[case.group])),
        "## By class of bug\n",
        _table(("class", *columns), _rows(held, ours, others, sets, lambda case: case.kind)),
    ]
    return "\n".join(parts)


def _words(result: Score) -> str:
    return (
        f"{result.cases} bugs {result.found} were found ({result.recall:.0%}), and {result.accused} clean "
        f"twins accused ({result.accused_share:.1%})"
    )


def _set_rows(first_set: Sequence[Case], ours: Judgement) -> Iterator[list[str]]:
    """Every set, from the figures that say most about unseen code to those that say least."""
    for name in ("seventh", "eighth"):
        later = later_corpus(WHOLE[name])
        yield _set_row(f"{name}, unseen", AUTHORS[name], later.cases, (later.first,), later.now)
    for name in ("sixth", "fifth", "fourth"):
        corpus = sealed_corpus(HALVED[name])
        judgements = (corpus.first, corpus.second)
        yield _set_row(f"{name}, sealed half", AUTHORS[name], corpus.sealed, judgements, corpus.now)
        half = [case for case in corpus.cases if not case.is_held_out]
        yield _set_row(f"{name}, open half", "", half, (corpus.first,), corpus.now)
    for name, title in (("third", "third"), ("after", "after the rules")):
        later = later_corpus(WHOLE[name])
        yield _set_row(title, AUTHORS[name], later.cases, (later.first,), later.now)
    held = [case for case in first_set if case.is_held_out]
    made = [case for case in first_set if not case.is_held_out]
    yield _set_row("first, held out", AUTHORS["first"], held, (ours,), ours)
    yield _set_row("first, the other half", "", made, (ours,), ours)


def _set_row(
    title: str, author: str, cases: Sequence[Case], then: Sequence[Judgement], now: Judgement
) -> list[str]:
    scores, today = [score(cases, verdict) for verdict in then], score(cases, now)
    found = " → ".join(str(result.found) for result in scores)
    accused = " → ".join(str(result.accused) for result in scores)
    last = scores[-1]
    return [
        title,
        str(last.cases),
        f"{found} ({last.recall:.0%})",
        f"{accused} ({last.accused_share:.1%})",
        str(today.found),
        str(today.accused),
        author,
    ]


def _rows(
    cases: Sequence[Case],
    ours: Judgement,
    others: dict[str, dict[str, object]],
    later: Sequence[LaterCorpus | SealedCorpus],
    key: Callable[[Case], str],
) -> Iterator[list[str]]:
    every_case = [*cases, *(case for corpus in later for case in corpus.cases)]
    for name in sorted({key(case) for case in every_case}):
        mine = [case for case in cases if key(case) == name]
        result = score(mine, ours)
        precision = f"{result.precision:.0%}" if result.cases else "–"
        cells = [name, str(result.cases), str(result), precision]
        cells += [corpus.cell(key, name) for corpus in later]
        for other in others.values():
            suffixes, found, accused = other["suffixes"], other["found"], other["accused"]
            assert isinstance(suffixes, list | tuple)
            assert isinstance(found, list)
            assert isinstance(accused, list)
            readable = [case for case in mine if case.suffix in suffixes]
            cells.append(str(score(readable, Judgement(frozenset(found), frozenset(accused)))))
        yield cells


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: Sequence[int] = (0,)) -> str:
    """`words` are the columns that hold no figures."""
    marks = ["--:"] * len(head)
    for place in words:
        marks[place] = "---"
    lines = [head, marks, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def _show(cases: Sequence[Case], verdict: Judgement, *, with_names: bool) -> None:
    for name in [*sorted({case.group for case in cases}), "all"]:
        mine = [case for case in cases if name in (case.group, "all")]
        result = score(mine, verdict)
        figures = f"{result.found:4} of {result.cases:4} = {result.recall:4.0%}"
        print(f"{name:10} {figures}   accused {result.accused}")
    if with_names:
        print("missed:", *sorted({case.id for case in cases} - verdict.found), sep="\n  ")
        print("accused:", *sorted({case.id for case in cases} & verdict.accused), sep="\n  ")


def _show_half(cases: Sequence[Case], asked: argparse.Namespace) -> None:
    half = [case for case in cases if case.is_held_out is asked.held_out]
    _show(half, our_judgement(half), with_names=asked.missed and not asked.held_out)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0] if __doc__ else "")
    for flag in ("missed", "held-out", *WHOLE, *HALVED, "others", "write", "check"):
        parser.add_argument(f"--{flag}", action="store_true")
    asked = parser.parse_args(arguments)
    for name, folder in WHOLE.items():
        if getattr(asked, name):
            later = later_corpus(folder)
            _show(later.cases, later.now, with_names=asked.missed)
            return 0
    for name, folder in HALVED.items():
        if getattr(asked, name):
            _show_half(read_corpus(folder), asked)
            return 0
    cases = read_corpus()
    if asked.others:
        OTHERS.write_text(json.dumps(measure_others(cases), indent=1) + "\n", "utf-8")
    ours = our_judgement(cases)
    if asked.write or asked.check:
        text = page(cases, ours)
        if asked.check:
            return 0 if PAGE.read_text("utf-8") == text else 1
        PAGE.write_text(text, "utf-8")
    half = [case for case in cases if case.is_held_out is asked.held_out]
    _show(half, ours, with_names=asked.missed and not asked.held_out)
    return 0


if __name__ == "__main__":
    sys.exit(main())

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
from review_other_tools import TOOLS, Reports, output_of, program

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

STRANGERS = (
    "**What strangers write is another matter.** Every set here was written by us. Where we tried examples "
    "of others, which are not ours to\npublish, the rules found clearly less and accused more: every "
    "author has other mistakes in mind, and what is learnt from some helps\nlittle with the rest. Read the "
    "figures as a comparison, not as a promise.\n"
)

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
            version = output_of([program(name), "--version"]).decode().split("\n")[0].split()[-1]
            measured[name] = {
                "version": version,
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
    total, made = score(held, ours), score([case for case in cases if not case.is_held_out], ours)
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
        f"{len(cases)} bugs were planted, each with a clean twin: the same text without the bug "
        "(`tests/review/corpus`). A bug is found\nif the review of its text says something that the "
        "review of the twin does not; a twin is accused if the review says\nanything of it, remarks of "
        "severity `info` aside. The hash of a case's name decides its half. The rules were made from one "
        "half;\nevery figure below is of the other, unless it says so. One author wrote the whole corpus "
        "before the rules: code of\nstrangers will fare worse, and a reader should trust the comparison "
        "of columns more than any single number.\n",
        f"**Held out: {total.found} of {total.cases} bugs found ({total.recall:.0%}), {total.accused} "
        f"clean twins accused ({total.accused_share:.1%}), precision {total.precision:.0%}.** On the half "
        f"that the rules were made from: {made.recall:.0%} found, {made.accused_share:.1%} accused.\n",
        STRANGERS,
        _eighth_paragraph(eighth),
        _seventh_paragraph(seventh),
        _sixth_paragraph(sixth),
        _fifth_paragraph(fifth),
        _fourth_paragraph(fourth),
        _third_paragraph(third),
        _later_paragraph(later),
        "Each cell of another tool is its recall and the number of clean twins that it accuses, in files "
        "that it reads. ruff is run\nwith its rules about bugs and security, oxlint with `correctness` and "
        "`suspicious`, bandit with its defaults. The rules of\nsemgrep are fetched from a server, so they "
        "were not measured.\n",
        "## By language\n",
        _table("language", columns, _rows(held, ours, others, sets, lambda case: LANGUAGES[case.group])),
        "## By class of bug\n",
        _table("class", columns, _rows(held, ours, others, sets, lambda case: case.kind)),
    ]
    return "\n".join(parts)


def _eighth_paragraph(eighth: LaterCorpus) -> str:
    first, now = score(eighth.cases, eighth.first), score(eighth.cases, eighth.now)
    return (
        f"**Eighth set, unseen by every rule when it was measured: {first.found} of {first.cases} bugs found "
        f"({first.recall:.0%}), {first.accused} clean twins accused ({first.accused_share:.1%}).**\n"
        "Its author knew the titles of the rules and nothing else of them (`tests/review/corpus/eighth`). It "
        "was committed before it was measured,\nand measured once, as a whole. Who knows the titles plants "
        "bugs that a rule is about: that flatters the rules. On a second look one of\nthe bugs that were "
        "missed was none and was written anew: "
        f"today {now.found} of {now.cases} are found and {now.accused} twins accused.\n"
    )


def _seventh_paragraph(seventh: LaterCorpus) -> str:
    first, now = score(seventh.cases, seventh.first), score(seventh.cases, seventh.now)
    return (
        f"**Seventh set, unseen when it was measured: {first.found} of {first.cases} bugs found "
        f"({first.recall:.0%}), {first.accused} clean twins accused ({first.accused_share:.1%}).**\n"
        "Written and committed by somebody who had read no rule (`tests/review/corpus/seventh`), and "
        "measured once, as a whole, when the rules met it first.\nOf all figures here these say most about "
        "unseen code. Since then rules were mended from what was missed: today "
        f"{now.found} of {now.cases} are found\nand {now.accused} twins accused, which says nothing of it.\n"
    )


def _sixth_paragraph(sixth: SealedCorpus) -> str:
    first = score(sixth.cases, sixth.first)
    return (
        f"**Sixth set, sealed half: {_before_and_after(sixth)}**\nWritten and committed before its author "
        "had opened a rule (`tests/review/corpus/sixth`). When the rules first met it they had seen "
        f"neither half:\nof both together {first.found} of {first.cases} were found ({first.recall:.0%}) "
        f"and {first.accused} twins accused ({first.accused_share:.1%}).\n"
        "Then the author mended the rules from the open half "
        f"({_open_half(sixth)}), and knew what is in both. The two figures of the sealed half\nshow what "
        "that is worth for other code.\n"
    )


def _fifth_paragraph(fifth: SealedCorpus) -> str:
    return (
        f"**Fifth set, sealed half: {_before_and_after(fifth)}**\nWritten before its author read the rules "
        f"(`tests/review/corpus/fifth`); of the open half {_open_half(fifth)}.\nThe rules were also tried "
        "on code that nobody wrote for them, the standard library of Python and well-known projects in "
        "each language,\nand mended where what they said was mostly wrong. The author of the set mended "
        f"the rules, too, and knew what is in both halves.\n{_unsealed(fifth)}"
    )


def _fourth_paragraph(fourth: SealedCorpus) -> str:
    return (
        f"**Fourth set, sealed half: {_before_and_after(fourth)}**\nWritten by somebody who had not read "
        "the rules (`tests/review/corpus/fourth`), with a half from which the rules were mended\n(there "
        f"{_open_half(fourth)}) and a sealed half. The author of the set mended the rules, too, and knew "
        f"what is in both halves.\n{_unsealed(fourth)}"
    )


def _unsealed(corpus: SealedCorpus) -> str:
    now = score(corpus.sealed, corpus.now)
    return (
        "Since then the sealed half was opened and the rules were mended from it as well: today "
        f"{now.found} of {now.cases} are found and {now.accused} twins accused,\n"
        "which says nothing about unseen code.\n"
    )


def _before_and_after(corpus: SealedCorpus) -> str:
    before, after = score(corpus.sealed, corpus.first), score(corpus.sealed, corpus.second)
    return (
        f"{before.found} of {before.cases} bugs found ({before.recall:.0%}) and {before.accused} clean twins "
        f"accused ({before.accused_share:.1%}) before the rules were mended, "
        f"{after.found} ({after.recall:.0%}) and {after.accused} ({after.accused_share:.1%}) after it."
    )


def _open_half(corpus: SealedCorpus) -> str:
    half = [case for case in corpus.cases if not case.is_held_out]
    before, now = score(half, corpus.first), score(half, corpus.now)
    return f"{before.found} of {before.cases} were found, and {now.found} are now"


def _later_paragraph(later: LaterCorpus) -> str:
    first, now = score(later.cases, later.first), score(later.cases, later.now)
    return (
        f"**Written after the rules: {first.found} of {first.cases} bugs found ({first.recall:.0%}), "
        f"{first.accused} clean twins accused ({first.accused_share:.1%}).**\nSomebody who had not read "
        "the rules wrote these cases in other idioms and frameworks, in longer "
        "functions\n(`tests/review/corpus/after`). The column has the bugs found of those written, and "
        "the accused twins, as measured when the\nrules met them for the first time; imports were added "
        "to the Python texts before that. Since then rules were mended where a\nwhole class was missed. "
        f"Today {now.found} of {now.cases} are found and {now.accused} twins accused, which says nothing "
        "about unseen code.\n"
    )


def _third_paragraph(third: LaterCorpus) -> str:
    first, now = score(third.cases, third.first), score(third.cases, third.now)
    return (
        f"**Third set: {first.found} of {first.cases} bugs found ({first.recall:.0%}), {first.accused} "
        f"clean twins accused ({first.accused_share:.1%}).**\nThis set (`tests/review/corpus/third`) was "
        "written when the rules had grown, from classes of bugs\nin general, and measured once before "
        "anybody looked at what was missed. Its author also wrote the newest rules, from examples of\nthe "
        "same hand, some of them in the same idioms: it flatters the rules, and code of strangers will "
        f"fare worse.\nToday {now.found} of {now.cases} are found and {now.accused} twins accused.\n"
    )


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


def _table(first: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = [first, *columns]
    lines = [head, ["---", *("--:" for _ in columns)], *rows]
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

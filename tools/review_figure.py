"""How many bugs of real code `dragoman review` finds, beside ruff, bandit and oxlint.

It fetches packages by name, plants the bugs of `tests/review/real/planted.jsonl` in copies of their files,
and reviews each file with the bug and without it, offline and with default settings. A bug is found if the
review of the file with it has more findings of a rule within three lines of the bug than the review of the
file without it, remarks of severity `info` aside. Whatever the review says of files without a bug is
counted as an accusation; of these a sample was judged by hand (`judged.jsonl`).

With `--repositories`, also the state before each commit of `fixes.jsonl` is reviewed. Its bug counts as
found if there is a finding within three lines of what the commit changes; how many of these are gone after
the commit is counted, too.

What was fetched and reviewed once is kept in the cache, by the text and by the code of the reviewer: start
it again and it goes on where it was. What could not be fetched or applied is named and not counted.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import review_planted
from review_other_tools import LINTERS, Remark, program, version_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "review-accuracy.md"
GUIDE = ROOT / "docs" / "review.md"
MEASURED = review_planted.RECORDS / "measured.json"
JUDGED = review_planted.RECORDS / "judged.jsonl"

HEADING = "## Bugs planted in real packages\n"
ENOUGH = 20
"""Remarks that were judged by hand, before anything is said about all of them."""

END = "<!-- Up to here written by tools/review_figure.py --write. -->\n"

NEAR = 3
"""A finding is about a bug if it is at most so many lines away from it."""

LONGEST = 20
"""A finding about more lines than this, such as a whole function, is only where it begins."""

SAMPLE = 30

COMMON = 4
"""A kind of bug with fewer cases than this has no figure of its own."""

LANGUAGES = {
    "python": "Python",
    "javascript": "JavaScript",
    "typescript": "TypeScript",
    "go": "Go",
    "rust": "Rust",
    "java": "Java",
    "shell": "shell",
}

Place = tuple[int, int]


class Subject(NamedTuple):
    """A file in two states, with the bug and without it, and where the bug is in each."""

    id: str
    language: str
    file: str
    buggy: str
    clean: str
    buggy_places: Sequence[Place]
    clean_places: Sequence[Place]


class Finding(NamedTuple):
    """What the review says of a file."""

    remark: Remark
    title: str
    is_own: bool


class Results(NamedTuple):
    """What one tool said of the files in both states, by the subject's id."""

    buggy: dict[str, list[Remark]]
    clean: dict[str, list[Remark]]


# Which files, and what is wrong in them.


def planted_subjects(cache: Path) -> tuple[list[Subject], list[str]]:
    """The files with their bugs, and what is missing."""
    subjects: list[Subject] = []
    missing: list[str] = []
    for bug in review_planted.read_planted():
        try:
            path = review_planted.fetch(bug, cache / "packages") / bug.file
            clean = path.read_text("utf-8")
            buggy, places = review_planted.plant(clean, bug.edits)
        except (OSError, UnicodeDecodeError, review_planted.RecordMismatch) as error:
            missing.append(f"{bug.id} {bug.package} {bug.file}: {error}")
            continue
        before = [(edit.line, edit.line + edit.length - 1) for edit in bug.edits]
        subjects.append(Subject(bug.id, bug.language, bug.file, buggy, clean, places, before))
    return subjects, missing


def fix_subjects(repositories: Path | None) -> tuple[list[Subject], list[str]]:
    """The files before and after each commit. A commit that changed two files has two subjects, `F001` and
    `F001b`.
    """
    subjects: list[Subject] = []
    missing: list[str] = []
    for fix in review_planted.read_fixes():
        folder = review_planted.repository_folder(fix.repository, repositories)
        if folder is None:
            missing.append(f"{fix.id} {fix.repository}: no clone of it below --repositories")
            continue
        for letter, (file, lines) in zip(("", "b"), fix.files, strict=False):
            try:
                buggy = review_planted.file_at(folder, f"{fix.commit}^", file)
                mended = review_planted.file_at(folder, fix.commit, file)
            except (OSError, UnicodeDecodeError) as error:
                missing.append(f"{fix.id} {fix.repository}: {error}")
                continue
            subjects.append(Subject(fix.id + letter, fix.language, file, buggy, mended, lines, lines))
    return subjects, missing


# What the tools say of them.


def lay_out(subjects: Iterable[Subject], folder: Path) -> None:
    """Each file in both states, below `buggy` and `clean`, at its path in the package."""
    for subject in subjects:
        for state, text in (("buggy", subject.buggy), ("clean", subject.clean)):
            path = folder / state / subject.id / subject.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def reviewer_digest() -> str:
    """Changes with the reviewer and with the tools that it runs."""
    state = hashlib.sha256()
    for path in sorted((ROOT / "packages/review/src/dragoman_review").rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            state.update(path.read_bytes())
    for name in ("ruff", "oxlint"):
        state.update(version_of(name).encode())
    return state.hexdigest()


def our_findings(folder: Path, file: str, text: str, *, cache: Path, reviewer: str) -> list[Finding]:
    """What `dragoman review FILE` says, started in the folder of the package."""
    key = hashlib.sha256("\0".join((reviewer, file, text)).encode()).hexdigest()
    kept = cache / f"{key}.json"
    if not kept.exists():
        command = [program("dragoman"), "review", "--format", "json", file]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{' '.join(command)} in {folder} ended with {done.returncode}: {done.stderr}")
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(f".{os.getpid()}")
        part.write_text(done.stdout, "utf-8")
        part.rename(kept)
    return [
        Finding(
            Remark(Path(file), item["rule"], item["place"]["line"], item["place"]["end_line"]),
            item["title"],
            item["tool"] not in ("ruff", "oxlint"),
        )
        for item in json.loads(kept.read_text("utf-8"))["findings"]
        if item["severity"] != "info"
    ]


def review_all(subjects: Sequence[Subject], folder: Path, cache: Path) -> dict[str, dict[str, list[Finding]]]:
    """By state and id."""
    reviewer = reviewer_digest()

    def look(task: tuple[str, Subject]) -> tuple[str, str, list[Finding]]:
        state, subject = task
        text = subject.buggy if state == "buggy" else subject.clean
        home = folder / state / subject.id
        return state, subject.id, our_findings(home, subject.file, text, cache=cache, reviewer=reviewer)

    found: dict[str, dict[str, list[Finding]]] = {"buggy": {}, "clean": {}}
    with ThreadPoolExecutor(2) as pool:
        for state, name, findings in pool.map(look, [(s, x) for x in subjects for s in ("buggy", "clean")]):
            found[state][name] = findings
    return found


def lint_all(name: str, folder: Path) -> Results:
    results = Results(defaultdict(list), defaultdict(list))
    for state, remarks in zip(("buggy", "clean"), results, strict=True):
        for remark in LINTERS[name][0](folder / state):
            place = remark.path.resolve().relative_to((folder / state).resolve())
            remarks[place.parts[0]].append(remark)
    return results


def results_of(found: dict[str, dict[str, list[Finding]]], *, own: bool = False) -> Results:
    """What the review says; with `own`, what it says without ruff and oxlint, which it runs."""
    states = (
        {
            name: [finding.remark for finding in findings if finding.is_own or not own]
            for name, findings in found[state].items()
        }
        for state in ("buggy", "clean")
    )
    return Results(*states)


# What that is worth.


def rules_near(remarks: Iterable[Remark], places: Sequence[Place]) -> Counter[str]:
    """How often each rule speaks about these lines, or about lines near them."""
    rules: Counter[str] = Counter()
    for _, rule, first, last in remarks:
        end = last if last - first <= LONGEST else first
        if any(first - NEAR <= place[1] and end + NEAR >= place[0] for place in places):
            rules[rule] += 1
    return rules


def is_found(subject: Subject, results: Results) -> bool:
    """Whether the tool says more near the bug than it says without it."""
    buggy = rules_near(results.buggy.get(subject.id, ()), subject.buggy_places)
    return bool(buggy - rules_near(results.clean.get(subject.id, ()), subject.clean_places))


def is_found_farther_away(subject: Subject, results: Results) -> bool:
    """Whether the tool says nothing more near the bug, but somewhere else in the file."""
    buggy, clean = (Counter(remark.rule for remark in said.get(subject.id, ())) for said in results)
    return bool(buggy - clean) and not is_found(subject, results)


def is_accused(subject: Subject, results: Results) -> bool:
    """Whether the tool says anything near the bug."""
    return bool(rules_near(results.buggy.get(subject.id, ()), subject.buggy_places))


def tally(
    subjects: Sequence[Subject], results: Results, verdict: Callable[[Subject, Results], bool]
) -> dict[str, Any]:
    """Which bugs are found, by language; a bug in two files is found if it is found in one of them."""
    found = {subject.id[:4] for subject in subjects if verdict(subject, results)}
    accusations: Counter[str] = Counter()
    for subject in subjects:
        accusations[subject.language] += len(results.clean.get(subject.id, ()))
    return {"found": sorted(found), "accusations": dict(accusations)}


def sample_of(found: dict[str, list[Finding]], subjects: Sequence[Subject]) -> list[dict[str, Any]]:
    """Accusations of clean files to judge by hand: always the same ones, as long as they are made."""
    files = {subject.id: subject for subject in subjects}
    keyed = [
        {"id": name, "rule": finding.remark.rule, "line": finding.remark.first, "title": finding.title}
        for name, findings in found.items()
        if name in files
        for finding in findings
    ]
    return sorted(keyed, key=lambda item: hashlib.sha256(_identity(item).encode()).digest())[:SAMPLE]


def _identity(item: dict[str, Any]) -> str:
    return f"{item['id']} {item['rule']} {item['line']}"


def judge(sample: Sequence[dict[str, Any]], path: Path = JUDGED) -> dict[str, int]:
    verdicts: dict[str, bool] = {}
    if path.exists():
        for line in path.read_text("utf-8").splitlines():
            item = json.loads(line)
            verdicts[_identity(item)] = item["wrong"]
    known = [verdicts[_identity(item)] for item in sample if _identity(item) in verdicts]
    return {"size": len(sample), "judged": len(known), "wrong": sum(known)}


def measure(cache: Path, repositories: Path | None) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """All figures, and the sample of accusations."""
    planted, missing = planted_subjects(cache)
    fixes, missing_fixes = fix_subjects(repositories)
    figures: dict[str, Any] = {"versions": {}, "missing": missing, "missing_fixes": missing_fixes}
    sample: list[dict[str, Any]] = []
    for title, subjects in (("planted", planted), ("fixes", fixes)):
        folder = cache / "files" / title
        lay_out(subjects, folder)
        found = review_all(subjects, folder, cache / "reviews")
        tools = {"dragoman": results_of(found), "own rules": results_of(found, own=True)}
        for name in LINTERS:
            try:
                figures["versions"][name] = version_of(name)
            except FileNotFoundError as error:
                print(error, file=sys.stderr)
                continue
            tools[name] = lint_all(name, folder)
        verdict = is_found if title == "planted" else is_accused
        bugs = {subject.id[:4]: subject.language for subject in subjects}
        figures[title] = {
            "bugs": dict(Counter(bugs.values())),
            "lines": dict(_lines(subjects)),
            "tools": {name: tally(subjects, results, verdict) for name, results in tools.items()},
        }
        if title == "planted":
            for name, results in tools.items():
                farther = tally(subjects, results, is_found_farther_away)["found"]
                figures[title]["tools"][name]["farther"] = farther
            sample = sample_of(found["clean"], subjects)
            figures["sample"] = judge(sample)
        else:
            figures[title]["gone"] = tally(subjects, tools["dragoman"], is_found)["found"]
    planted_ids = {subject.id for subject in planted}
    figures["kinds"] = {bug.id: bug.kind for bug in review_planted.read_planted() if bug.id in planted_ids}
    figures["languages"] = {record.id: record.language for record in review_planted.read_planted()}
    figures["languages"] |= {record.id: record.language for record in review_planted.read_fixes()}
    return figures, sample


def _lines(subjects: Iterable[Subject]) -> Counter[str]:
    lines: Counter[str] = Counter()
    for subject in subjects:
        lines[subject.language] += subject.clean.count("\n")
    return lines


# How it is shown.


def table(figures: dict[str, Any], title: str) -> str:
    part = figures[title]
    tools = {name: _heading(name, figures["versions"]) for name in part["tools"]}
    word = "bugs" if title == "planted" else "commits"
    rows = [
        f"| language | {word} | lines | {' | '.join(tools.values())} |",
        f"| --- {'| --: ' * (len(tools) + 2)}|",
    ]
    for language, name in [*LANGUAGES.items(), ("", "**all**")]:
        languages = [language] if language else list(part["bugs"])
        bugs = sum(part["bugs"].get(key, 0) for key in languages)
        if not bugs:
            continue
        lines = sum(part["lines"].get(key, 0) for key in languages)
        cells = [_cell(figures, title, tool, languages) for tool in tools]
        rows.append(f"| {name} | {bugs} | {lines:,} | {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"


READS = {"ruff": {"python"}, "bandit": {"python"}, "oxlint": {"javascript", "typescript"}}


def _heading(name: str, versions: dict[str, str]) -> str:
    return f"{name} {versions[name]}" if name in versions else name


def _cell(figures: dict[str, Any], title: str, tool: str, languages: Sequence[str]) -> str:
    part = figures[title]
    read = [language for language in languages if language in READS.get(tool, LANGUAGES)]
    bugs = sum(part["bugs"].get(language, 0) for language in read)
    if not bugs:
        return "–"
    lines = sum(part["lines"].get(language, 0) for language in read)
    found = sum(figures["languages"][name] in read for name in part["tools"][tool]["found"])
    accusations = sum(part["tools"][tool]["accusations"].get(language, 0) for language in read)
    return f"{found} ({found / bugs:.0%}) · {1000 * accusations / lines:.1f}"


def section(path: Path = MEASURED) -> str:
    """The section of the page: the last measurement that was written."""
    return section_text(json.loads(path.read_text("utf-8")))


HEADLINE = re.compile(r"\*\*Of \d+ bugs in files of real packages \d+ are found \(\d+%\)\.\*\*")


def headline(figures: dict[str, Any]) -> str:
    """The first sentence, which the page about the command has as well."""
    bugs = sum(figures["planted"]["bugs"].values())
    found = len(figures["planted"]["tools"]["dragoman"]["found"])
    return f"**Of {bugs} bugs in files of real packages {found} are found ({found / bugs:.0%}).**"


def kinds_text(figures: dict[str, Any]) -> str:
    kinds, found = figures["kinds"], figures["planted"]["tools"]["dragoman"]["found"]
    hits = Counter(kinds[name] for name in found)
    common = [(kind, bugs) for kind, bugs in Counter(kinds.values()).most_common() if bugs >= COMMON]
    return ", ".join(f"{kind} {hits[kind]} of {bugs}" for kind, bugs in common)


def section_text(figures: dict[str, Any]) -> str:
    part, fixes, sample = figures["planted"], figures["fixes"], figures["sample"]
    lines = sum(part["lines"].values())
    said = sum(part["tools"]["dragoman"]["accusations"].values())
    judged = "They have not been judged by hand yet."
    if sample["judged"] >= ENOUGH:
        wrong = 1000 * said / lines * sample["wrong"] / sample["judged"]
        judged = f"""{sample["judged"]} of them were drawn by lot and judged by hand: {sample["wrong"]} are
            wrong, or name nothing that you would change, about {wrong:.1f} in 1,000 lines."""
    farther = ", ".join(f"{len(tool['farther'])} ({name})" for name, tool in part["tools"].items())
    missing = len(figures["missing"])
    unplanted = f"{missing} more bugs could not be planted." if missing else ""
    parts = [
        HEADING,
        _paragraph(
            f"""{headline(figures)} They were planted one to a file by somebody who had read no rule, as
            edits of a few characters such as slip into real changes, and committed before anything was
            measured; no rule is written from them. Each cell has the bugs that a tool finds, and how many
            remarks it makes in 1,000 lines of the same files without the bug. `own rules` is `dragoman`
            without what ruff and oxlint tell it. `dragoman` makes {said} remarks about {lines:,} clean
            lines. {judged} A bug is found if a tool says more within {NEAR} lines of it than it says there
            of the clean file; `info` is not counted. Farther away in the file there is something new for
            {farther}. {unplanted}"""
        ),
        table(figures, "planted"),
        _paragraph(f"By kind of bug, where there are at least {COMMON}: {kinds_text(figures)}."),
    ]
    if commits := sum(fixes["bugs"].values()):
        named, gone = len(fixes["tools"]["dragoman"]["found"]), len(fixes["gone"])
        parts += [
            _paragraph(
                f"""Of {commits} commits of public projects that mended a bug, the state before {named} has a
                finding within {NEAR} lines of what the commit changes; {gone} of these are gone after the
                commit, the others are about something else."""
            ),
            table(figures, "fixes"),
        ]
    again = "`python tools/review_figure.py --write --repositories FOLDER`"
    parts += [
        _paragraph(f"{again} measures it again; the records are in `packages/review/tests/review/real`."),
        END,
    ]
    return "\n".join(parts)


def _paragraph(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False) + "\n"


def write_section(figures: dict[str, Any], page: Path = PAGE, measured: Path = MEASURED) -> None:
    measured.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n", "utf-8")
    text = page.read_text("utf-8")
    before, heading, rest = text.partition(HEADING)
    if heading:
        rest = rest.partition(END)[2]
    else:
        title, rest = text.split("-->\n\n", 1)
        before, rest = title + "-->\n\n", "\n" + rest
    page.write_text(before + section_text(figures) + rest, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n")[0],
        epilog="example: python tools/review_figure.py --repositories ~/clones --write",
    )
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman-review-figure"
    parser.add_argument("--cache", type=Path, default=default, metavar="FOLDER", help=f"default: {default}")
    parser.add_argument("--repositories", type=Path, metavar="FOLDER", help="clones, as FOLDER/owner/name")
    parser.add_argument("--sample", action="store_true", help="show the accusations to judge by hand")
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    parser.add_argument(
        "--write", action="store_true", help="into the pages, and what is measured beside the records"
    )
    options = parser.parse_args()
    figures, sample = measure(options.cache, options.repositories)
    if options.json:
        print(json.dumps(figures, indent=1, ensure_ascii=False))
    else:
        print(section_text(figures))
        for line in figures["missing"] + figures["missing_fixes"]:
            print("missing:", line)
    if unknown := figures["sample"]["size"] - figures["sample"]["judged"]:
        print(f"{unknown} of the sample are not judged in {JUDGED.name}: --sample shows all", file=sys.stderr)
    if options.sample:
        for item in sample:
            print(json.dumps(item, ensure_ascii=False))
    if options.write:
        write_section(figures)
        GUIDE.write_text(HEADLINE.sub(headline(figures), GUIDE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()

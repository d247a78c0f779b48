"""`tools/review_figure.py` and `review_planted.py`: records, edits and counts, without the network."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import review_figure
import review_planted
from review_figure import Results, Subject, is_accused, is_found, is_found_farther_away, rules_near, tally
from review_other_tools import Remark
from review_planted import Edit, RecordMismatch, digest_of, plant, read_fixes, read_planted

CLEAN = "def first(items):\n    if not items:\n        return None\n    return items[0]\n"
TOOLS = Path(review_figure.__file__).parent


def edit_of(line: int, length: int = 1, *, new: tuple[str, ...] = (), **options: tuple[str, str]) -> Edit:
    lines = CLEAN.split("\n")[line - 1 : line - 1 + length]
    return Edit(line, length, digest_of(lines), options.get("replace"), new)


def subject_with(language: str = "python", name: str = "P001", *, buggy: str = CLEAN) -> Subject:
    return Subject(name, language, "first.py", buggy, CLEAN, [(4, 4)], [(4, 4)])


def remark(rule: str, first: int, last: int | None = None) -> Remark:
    return Remark(Path("first.py"), rule, first, last or first)


def test_every_record_can_be_read_and_stands_for_one_file() -> None:
    bugs, fixes = read_planted(), read_fixes()
    assert len(bugs) >= 150
    assert len(fixes) >= 30
    assert len({(bug.package, bug.file) for bug in bugs}) == len(bugs)
    assert len({bug.id for bug in bugs} | {fix.id for fix in fixes}) == len(bugs) + len(fixes)
    for bug in bugs:
        assert bug.registry in ("pip", "npm", "apt"), bug.id
        assert bug.language in review_figure.LANGUAGES, bug.id
        assert bug.kind, bug.id
        assert bug.breaks.endswith("."), bug.id
        assert all(len(edit.digest) == 16 for edit in bug.edits), bug.id
    for fix in fixes:
        assert len(fix.commit) == 40, fix.id
        assert all(first <= last for file in fix.files for first, last in file.lines), fix.id


def test_a_bug_is_planted_where_its_record_says() -> None:
    text, places = plant(CLEAN, (edit_of(4, replace=("[0]", "[1]")),))
    assert text == CLEAN.replace("[0]", "[1]")
    assert places == [(4, 4)]


def test_lines_of_later_edits_move_with_those_that_were_removed() -> None:
    edits = (edit_of(4, replace=("[0]", "[-1]")), edit_of(2, 2))
    text, places = plant(CLEAN, edits)
    assert text == "def first(items):\n    return items[-1]\n"
    assert places == [(2, 2), (2, 2)]


def test_new_lines_come_instead_of_old_ones() -> None:
    text, places = plant(CLEAN, (edit_of(2, 2, new=("    if items:", "        return 0", "    # more")),))
    assert text.split("\n")[1:5] == ["    if items:", "        return 0", "    # more", "    return items[0]"]
    assert places == [(2, 4)]


def test_a_file_of_another_version_is_refused() -> None:
    with pytest.raises(RecordMismatch, match="line 4 is not the one"):
        plant("# new\n" + CLEAN, (edit_of(4, replace=("[0]", "[1]")),))
    with pytest.raises(RecordMismatch, match="changes nothing"):
        plant(CLEAN, (edit_of(4, replace=("absent", "[1]")),))


def test_a_digest_that_does_not_fit_and_a_package_that_is_not_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edits = [{"line": 4, "digest": digest_of(["    return items[0]"]), "replace": ["[0]", "[1]"]}]
    fields = {
        "registry": "pip",
        "version": "1",
        "file": "a.py",
        "language": "python",
        "kind": "k",
        "breaks": "b.",
    }
    names = ("good", "changed", "absent")
    records = [{**fields, "id": f"P00{i}", "package": name, "edits": edits} for i, name in enumerate(names)]
    path = tmp_path / "planted.jsonl"
    path.write_text("\n".join(map(json.dumps, records)), "utf-8")
    for name, text in (("good", CLEAN), ("changed", CLEAN.replace("items", "all")), ("absent", None)):
        folder = tmp_path / "packages" / "pip" / f"{name}-1"
        folder.mkdir(parents=True)
        if text:
            (folder / "a.py").write_text(text, "utf-8")
    bugs = read_planted(path)
    monkeypatch.setattr(review_planted, "read_planted", lambda: bugs)
    subjects, missing = review_figure.planted_subjects(tmp_path)
    assert [subject.id for subject in subjects] == ["P000"]
    assert subjects[0].buggy == CLEAN.replace("[0]", "[1]")
    assert [line.split()[:2] for line in missing] == [["P001", "changed"], ["P002", "absent"]]
    assert "line 4 is not the one" in missing[0]


def test_a_finding_counts_near_the_bug_and_only_if_the_clean_file_has_it_not() -> None:
    subject = subject_with()
    assert is_found(subject, Results({"P001": [remark("a", 7)]}, {}))
    assert not is_found(subject, Results({"P001": [remark("a", 8)]}, {}))
    assert not is_found(subject, Results({"P001": [remark("a", 4)]}, {"P001": [remark("a", 5)]}))
    assert is_found(subject, Results({"P001": [remark("a", 4), remark("a", 5)]}, {"P001": [remark("a", 4)]}))
    assert is_accused(subject, Results({"P001": [remark("a", 4)]}, {"P001": [remark("a", 4)]}))


def test_what_is_new_elsewhere_in_the_file_is_counted_apart() -> None:
    subject = subject_with()
    old = [remark("a", 40)]
    assert is_found_farther_away(subject, Results({"P001": old}, {}))
    assert not is_found_farther_away(subject, Results({"P001": [remark("a", 4)]}, {}))
    assert not is_found_farther_away(subject, Results({"P001": old}, {"P001": old}))


def test_a_finding_about_a_whole_function_is_where_it_begins() -> None:
    assert rules_near([remark("short", 90, 98)], [(100, 100)]) == {"short": 1}
    assert not rules_near([remark("long", 50, 150)], [(100, 100)])


def test_bugs_are_counted_by_language_and_once_for_two_files() -> None:
    subjects = [subject_with("go", "F001"), subject_with("go", "F001b"), subject_with("python", "F002")]
    said = [remark("a", 4)]
    results = Results({"F001": said, "F001b": said}, {"F002": [remark("b", 1), remark("b", 2)]})
    counted = tally(subjects, results, is_found)
    assert counted == {"found": ["F001"], "accusations": {"go": 0, "python": 2}}


def test_the_page_has_the_last_measurement_and_can_be_written_again(tmp_path: Path) -> None:
    text = review_figure.PAGE.read_text("utf-8")
    assert review_figure.section() in text, "run python tools/review_figure.py --write"
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n<!-- Written by a tool. -->\n\nThe rest.\n", "utf-8")
    figures = json.loads(review_figure.MEASURED.read_text("utf-8"))
    assert review_figure.headline(figures) in review_figure.GUIDE.read_text("utf-8")
    for _ in range(2):
        review_figure.write_section(figures, page, tmp_path / "measured.json")
        written = page.read_text("utf-8")
        assert written.startswith("# Title\n\n<!-- Written by a tool. -->\n\n" + review_figure.HEADING)
        assert written.endswith(review_figure.END + "\nThe rest.\n")
    assert json.loads((tmp_path / "measured.json").read_text("utf-8")) == figures


def test_the_help_has_an_example() -> None:
    command = [sys.executable, str(TOOLS / "review_figure.py"), "--help"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "example: python tools/review_figure.py" in shown

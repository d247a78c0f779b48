"""`dragoman review` as people and CI call it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dragoman_app.cli import main
from dragoman_app.cli import review_run as review_command
from dragoman_app.cli.review_files import read_files
from dragoman_app.cli.review_run import mend
from dragoman_app.cli.review_sources import ReviewSources
from dragoman_review import ReviewNote, ReviewSettings, review
from tests.review.local_inspector import rules_in_this_process
from tests.review.test_git import git

BAD = "import os\n\n\ndef f(a=[]):\n    return a\n"


__all__ = ["rules_in_this_process"]

WITH_WORKERS = (
    "test_files_and_folders_are_reviewed",
    "test_a_rule_that_takes_for_ever_is_status_three",
    "test_whoever_waits_long_is_told_how_far_it_is",
)
"""Tests with worker processes: those of the others are not the point."""


@pytest.fixture(autouse=True)
def without_workers(request: pytest.FixtureRequest) -> None:
    if request.node.name not in WITH_WORKERS:
        request.getfixturevalue("rules_in_this_process")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(capsys: pytest.CaptureFixture[str], *words: str) -> set[tuple[str, str, int]]:
    main(["review", "--format", "json", *words])
    document = json.loads(capsys.readouterr().out)
    return {
        (finding["place"]["path"], finding["rule"], finding["place"]["line"])
        for finding in document["findings"]
    }


def test_files_and_folders_are_reviewed(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", "x = eval('1')\n")
    write("sub/b.py", "x = eval('1')\n")
    write("node_modules/c.js", "eval(x)\n")
    everything = {("a.py", "python/eval", 1), ("sub/b.py", "python/eval", 1)}
    assert found(capsys) == everything
    assert found(capsys, "sub") == {("sub/b.py", "python/eval", 1)}
    assert found(capsys, "a.py", "a.py", ".") == everything


def test_the_worst_is_told_first_and_then_as_files_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", BAD)
    write("b.py", "eval(input())\n")
    main(["review"])
    heads = [
        line.split("  ")[:2] for line in capsys.readouterr().out.splitlines() if line[:2] in ("a.", "b.")
    ]
    assert heads == [
        ["b.py:1:1", "high"],
        ["a.py:4:9", "medium"],
        ["b.py:1:1", "medium"],
        ["a.py:1:8", "info"],
    ]


def test_people_read_text_without_colours_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", BAD)
    assert main(["review"]) == 1
    out = capsys.readouterr().out
    assert "a.py:4:9  medium  " in out
    assert "     4 | def f(a=[]):" in out
    assert out.endswith("2 findings in 1 file: 1 medium, 1 info\n")
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("text", "words", "status"),
    [
        ("x = 1\n", [], 0),
        ("# TODO: x\n", [], 0),
        ("# TODO: x\n", ["--fail-on", "info"], 1),
        ("import os\n", [], 0),
        ("x = eval('1')\n", [], 1),
        ("import os\n", ["--fail-on", "info"], 1),
        ("import os\n", ["--fail-on", "info", "--severity", "medium"], 0),
        ("import os\n", ["--fail-on", "info", "--without", "python/unused-*"], 0),
        ("import os\n", ["--fail-on", "info", "--only", "text/*"], 0),
    ],
)
def test_the_status_tells_whether_something_bad_was_found(text: str, words: list[str], status: int) -> None:
    write("a.py", text)
    assert main(["review", *words]) == status


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "no file or folder nowhere"),
        (["--diff"], "not in a git repository"),
        (["--rules", "none.toml"], "no such file"),
        (["--baseline", "none.json"], "cannot be read"),
        (["--staged", "--fix"], "use --diff"),
    ],
)
def test_a_mistake_on_the_command_line_is_status_two(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["review", *words]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--diff"], ["--staged"], ["--list-rules"], ["--try-rules"]])
def test_what_is_asked_of_git_or_of_rules_reads_no_file_that_is_named(
    words: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(here, "init")
    assert main(["review", "nowhere"]) == 2
    capsys.readouterr()
    main(["review", *words, "nowhere"])
    assert "no file or folder" not in capsys.readouterr().err


def test_a_bad_rule_of_the_project_is_status_two(capsys: pytest.CaptureFixture[str]) -> None:
    write(".dragoman/rules/ours.toml", "[[rule]]\nid = 'x'\n")
    assert main(["review"]) == 2
    assert "ours.toml, rule 1 (x): " in capsys.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_cannot_be_read_is_status_three() -> None:
    write("a.py", "x = 1\n").chmod(0)
    assert main(["review"]) == 3


def test_a_rule_that_takes_for_ever_is_status_three(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(
        ".dragoman/rules/slow.toml",
        "[[rule]]\nid = 'x/y'\ntitle = 't'\nwhy = 'w'\nseverity = 'low'\npattern = '^(a+)+$'\n",
    )
    write("a.txt", "a" * 40 + "!")
    assert main(["review", "--deadline", "0.5"]) == 3
    assert "note: a.txt: rules: " in capsys.readouterr().err


def test_rules_of_the_project_and_of_the_command_line_are_used(capsys: pytest.CaptureFixture[str]) -> None:
    rule = "[[rule]]\nid = '{}'\ntitle = 't'\nwhy = 'w'\nseverity = 'low'\npattern = 'frob'\n"
    write(".dragoman/rules/ours.toml", rule.format("team/ours"))
    write("more.toml", rule.format("team/more"))
    write("a.txt", "frob\n")
    assert found(capsys, "a.txt", "--rules", "more.toml") == {
        ("a.txt", "team/ours", 1),
        ("a.txt", "team/more", 1),
    }


def test_safe_fixes_are_written_and_the_rest_is_still_reported(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a.py", BAD + "\n\nif f is 'x':\n    f()\n")
    assert main(["review", "--fix"]) == 1
    shown = capsys.readouterr()
    assert path.read_text() == "\n\ndef f(a=[]):\n    return a\n\n\nif f == 'x':\n    f()\n"
    assert shown.err == "a.py: 2 mended\n"
    assert "a.py:3:9  medium" in shown.out
    mended = path.read_text()
    main(["review", "--fix"])
    assert path.read_text() == mended


async def test_a_file_that_changed_meanwhile_is_not_mended() -> None:
    path = write("a.py", BAD)
    notes: list[ReviewNote] = []
    gathered = ReviewSources(notes.append)
    sources = [source async for source in gathered.files(read_files(["a.py"], stdin_name="-"))]
    findings = [finding async for finding in review(sources)]
    write("a.py", "somebody else's\n")
    assert await mend(findings, gathered, ReviewSettings(), notes.append, unsafe=False) == findings
    assert path.read_text() == "somebody else's\n"
    assert [(note.path, note.is_failure) for note in notes] == [("a.py", True)]


def test_whoever_waits_long_is_told_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.py", BAD)
    monkeypatch.setattr(review_command, "_PROGRESS", 0.01)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    main(["review"])
    shown = capsys.readouterr().err
    assert " files read …" in shown
    assert shown.endswith("\r\x1b[K")


def test_unsafe_fixes_are_written_only_when_asked_for() -> None:
    path = write("a.py", BAD)
    assert main(["review", "--fix", "--unsafe"]) == 0
    assert path.read_text() == "\n\ndef f(a=None):\n    if a is None:\n        a = []\n    return a\n"


def test_fixes_can_be_seen_before(capsys: pytest.CaptureFixture[str]) -> None:
    path = write("a.py", BAD)
    main(["review", "--format", "diff"])
    shown = capsys.readouterr().out
    subprocess.run(["git", "apply", "-"], input=shown, text=True, check=True)
    assert path.read_text() == BAD.removeprefix("import os\n")


def test_changes_are_reviewed_in_their_lines_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(here, "init")
    write("a.py", "x = eval('1')\n")
    git(here, "add", ".")
    git(here, "commit", "-m", "first")
    write("a.py", "x = eval('1')\ny = eval('2')\n")
    write("new.py", "z = eval('3')\n")
    assert found(capsys, "--diff") == {("a.py", "python/eval", 2), ("new.py", "python/eval", 1)}
    assert len(found(capsys, "--diff", "--whole-files")) == 3
    assert found(capsys, "--diff", "HEAD", "--", "new.py") == {("new.py", "python/eval", 1)}
    assert found(capsys, "--staged") == set()
    git(here, "add", "a.py")
    write("a.py", "")
    assert found(capsys, "--staged") == {("a.py", "python/eval", 2)}
    assert main(["review", "--diff", "nothing"]) == 2


def test_a_change_of_a_signature_tells_of_callers_in_other_files(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git(here, "init")
    write("shop.py", "def price(total):\n    return total\n")
    write("cart.py", "import shop\n\nprint(shop.price(1))\n")
    git(here, "add", ".")
    git(here, "commit", "-m", "first")
    write("shop.py", "def price(total, tax):\n    return total + tax\n")
    assert found(capsys, "--diff") == {("cart.py", "python/broken-caller", 3)}
    git(here, "add", "shop.py")
    assert found(capsys, "--staged") == {("cart.py", "python/broken-caller", 3)}


def test_a_secret_is_hidden_where_another_finding_shows_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    token = "ghp_" + "9fQ2xLrT7vKpW3sZ8dYb1nHc6mJg4aEuRoIq"
    write("a.py", f"x = eval('\"{token}\"')\n")
    main(["review"])
    shown = capsys.readouterr().out
    assert "python/eval" in shown
    assert token not in shown


def test_findings_are_written_as_junit_xml(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", "x = eval('1')\n")
    write("b.py", "y = 1\n")
    assert main(["review", "--format", "junit"]) == 1
    root = ElementTree.fromstring(capsys.readouterr().out)
    assert [case.get("classname") for case in root.iter("testcase")] == ["a.py", "b.py"]


def test_a_hook_keeps_a_bad_commit_out(here: Path) -> None:
    git(here, "init")
    write("a.py", "x = 1\n")
    git(here, "add", ".")
    git(here, "commit", "-m", "first")
    hook = write(".git/hooks/pre-commit", f"#!/bin/sh\nexec {sys.executable} -m dragoman review --staged\n")
    hook.chmod(0o755)
    write("a.py", "x = eval('1')\n")
    with pytest.raises(subprocess.CalledProcessError) as refused:
        git(here, "commit", "-a", "-m", "bad")  # with -a the index of the hook is a temporary one
    assert b"python/eval" in refused.value.stdout + refused.value.stderr
    write("a.py", "x = 2\n")
    git(here, "commit", "-a", "-m", "good")


def test_only_changed_lines_are_mended(here: Path) -> None:
    git(here, "init")
    path = write("a.py", "import os\nx = 1\n")
    git(here, "add", ".")
    git(here, "commit", "-m", "first")
    write("a.py", "import os\nx = 1\nimport re\nprint(x is 'a')\n")
    assert main(["review", "--diff", "--fix"]) == 0
    assert path.read_text() == "import os\nx = 1\nprint(x == 'a')\n"


def test_changes_elsewhere_in_the_repository_are_named_from_here(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(here, "init")
    write("sub/b.py", "x = eval('1')\n")
    monkeypatch.chdir(here / "sub")
    assert found(capsys, "--diff") == {("b.py", "python/eval", 1)}


def test_what_is_known_is_not_reported(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", "x = eval('1')\n")
    Path(".dragoman").mkdir()
    assert main(["review", "--write-baseline", ".dragoman/baseline.json"]) == 0
    assert main(["review"]) == 0
    write("a.py", "\nx = eval('1')\ny = eval('2')\n")
    capsys.readouterr()
    assert found(capsys, "a.py") == {("a.py", "python/eval", 3)}


def test_every_format_is_of_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", "x = eval('1')\n")
    main(["review", "--format", "sarif"])
    assert json.loads(capsys.readouterr().out)["version"] == "2.1.0"
    main(["review", "--format", "github"])
    assert capsys.readouterr().out.startswith("::warning file=a.py,line=1,")


def test_all_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    write(
        ".dragoman/rules/ours.toml",
        "[[rule]]\nid = 'team/ours'\ntitle = 'Ours'\nwhy = 'w'\nseverity = 'low'\npattern = 'x'\n",
    )
    assert main(["review", "--list-rules"]) == 0
    rows = capsys.readouterr().out.splitlines()
    names = [row.split()[0] for row in rows]
    assert names == sorted(names)
    assert {"team/ours", "python/eval", "text/mixed-line-ends", "secrets/hardcoded", "go/built-sql"} <= set(
        names
    )


def test_a_program_pipes_its_text_in() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dragoman", "review", "-", "--stdin-name", "x.py"],
        input=BAD,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "x.py:4:9  medium" in done.stdout


def test_without_tools_our_own_rules_are_left(capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", BAD)
    assert found(capsys, "--no-tools") == {("a.py", "python/mutable-argument-default", 4)}


def test_binary_files_are_told_when_somebody_named_them(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.bin").write_bytes(b"\0\1")
    assert main(["review", "a.bin"]) == 0
    assert capsys.readouterr().err == "note: a.bin: not reviewed: it is not text\n"


def test_rules_are_tried_on_their_own_examples(capsys: pytest.CaptureFixture[str]) -> None:
    head = "title = 't'\nwhy = 'w'\nseverity = 'low'\n"
    good = f"{head}pattern = 'frob'\n"
    write(
        ".dragoman/rules/ours.toml",
        f"[[rule]]\nid = 'a/good'\n{good}paths = ['**/*_test.go']\nhits = 'frob'\nmisses = 'x'\n"
        f"[[rule]]\nid = 'a/match'\n{head}languages = 'go'\nmatch = 'f($X)'\nhits = 'f(1)'\nmisses = 'g(1)'\n"
        f"[[rule]]\nid = 'a/blind'\n{good}hits = 'x'\nmisses = 'y'\n"
        f"[[rule]]\nid = 'a/eager'\n{good}hits = 'frob'\nmisses = 'frobs'\n"
        f"[[rule]]\nid = 'a/bare'\n{good}hits = 'frob'\n",
    )
    assert main(["review", "--try-rules"]) == 1
    shown = capsys.readouterr()
    assert shown.out.splitlines() == [
        "a/blind: does not find its hit: 'x'",
        "a/eager: finds its miss: 'frobs'",
        "a/bare: has no misses to try",
    ]
    assert shown.err == "9 examples of 5 rules, 2 failed\n"


@pytest.mark.parametrize("form", ["text", "json", "sarif", "junit", "github", "diff"])
def test_a_file_whose_name_is_no_text_is_reviewed_like_any_other(
    form: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with open(b"odd\xfe.py", "w") as file:
        file.write(BAD)
    write("plain.py", BAD)
    main(["review", "--format", form, "."])
    out = capfdbinary.readouterr().out
    assert out.count(b"plain.py") == out.count(b"odd") > 0
    if form in ("json", "sarif"):
        json.loads(out)
    if form == "diff":
        assert b"+++ b/odd\xfe.py" in out


def test_a_file_whose_name_is_no_text_can_be_mended_and_be_known() -> None:
    with open(b"odd\xfe.py", "w") as file:
        file.write(BAD)
    assert main(["review", "--write-baseline", "known.json", "."]) == 0
    assert main(["review", "--baseline", "known.json", "."]) == 0
    main(["review", "--fix", "."])
    assert "import os" not in Path(os.fsdecode(b"odd\xfe.py")).read_text()

"""Answers that `dragoman review` keeps: believed while everything is the same, and never longer."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dragoman.cli import main, review_answers, review_run
from dragoman.cli.review_answers import LARGEST, MOST, ReviewAnswer
from dragoman.review import places
from tests.every import every
from tests.review.local_inspector import rules_in_this_process
from tests.review.secret_examples import python_with_secrets, secrets_in

__all__ = ["rules_in_this_process"]

RULE = "[[rule]]\nid = 'team/{}'\ntitle = 't'\nwhy = 'w'\nseverity = 'low'\npattern = 'frob'\n"

pytestmark = pytest.mark.usefixtures("rules_in_this_process")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    write("a.py", "x = eval('1')\n")
    write("b.txt", "frob\n")
    return folder


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def kept(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "dragoman" / "review" / "answers").glob("*"))


def says(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    status = main(["review", *words])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def believes(*words: str) -> bool:
    """Whether a known answer is told."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(review_run, "run_review", lambda *_: 99)
        return main(["review", *words]) != 99


@every("form", ["text", "json", "sarif", "junit", "github"])
def test_the_same_question_has_the_same_answer(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("c.bin").write_bytes(b"\0")
    words = ("--format", form, ".", "c.bin")
    first = says(capsys, *words)
    assert first[0] == 1
    assert "python" in first[1]
    assert ("note: c.bin: " in first[2]) == (form in ("text", "github"))
    assert says(capsys, *words) == first
    assert believes(*words)


CHANGES: dict[str, Callable[[pytest.MonkeyPatch], object]] = {
    "a text": lambda _: write("a.py", "x = eval('2')\n"),
    "a suppression": lambda _: write("a.py", "x = eval('1')  # dragoman: ignore[python/eval] a test\n"),
    "another file": lambda _: write("c.py", "x = eval('1')\n"),
    "a file less": lambda _: Path("a.py").unlink(),
    "another name": lambda _: Path("a.py").rename("c.py"),
    "a rule of the project": lambda _: write(".dragoman/rules/ours.toml", RULE.format("more")),
    "a changed rule": lambda _: write("rules/named.toml", RULE.format("other")),
    "a rule beside it": lambda _: write("rules/more.toml", RULE.format("more")),
    "a baseline": lambda _: write(".dragoman/baseline.json", '{"version": 1, "known": {}}'),
    "our version": lambda patch: patch.setattr(places, "VERSION", "another one"),
    "the address of the rules": lambda patch: patch.setenv(places.PAGE_VARIABLE, "https://example.org/rules"),
    "no tools any more": lambda patch: patch.setattr(review_answers, "find_ruff", lambda: None),
    "a terminal": lambda patch: patch.setattr(sys.stdout, "isatty", lambda: True),
}


@every("what", list(CHANGES))
def test_whatever_changes_is_answered_anew(
    what: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in (Path("a.py"), Path("c.py"), Path(".dragoman/rules/ours.toml"), Path("rules/more.toml")):
        path.unlink(missing_ok=True)
    Path(".dragoman/baseline.json").unlink(missing_ok=True)
    write("a.py", "x = eval('1')\n")
    write("rules/named.toml", RULE.format("named"))
    words = (".", "--rules", "rules")
    says(capsys, *words)
    assert believes(*words)
    with monkeypatch.context() as patch:
        CHANGES[what](patch)
        assert not believes(*words)


@every(
    "options",
    [
        ["--severity", "high"],
        ["--fail-on", "high"],
        ["--only", "python/*"],
        ["--without", "python/eval"],
        ["--no-tools"],
        ["--no-cache"],
        ["--colour", "always"],
        ["--deadline", "10"],
        ["--diff"],
        ["--staged"],
        ["--format", "diff"],
        ["--fix"],
        ["a.py"],
        ["--write-baseline", "known.json"],
        ["--list-rules"],
        ["--try-rules"],
    ],
)
def test_another_question_is_answered_by_itself(
    options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    says(capsys)
    assert believes()
    assert not believes(*options)


def test_a_text_is_answered_as_before_when_it_is_as_before(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = says(capsys)
    write("a.py", "x = 1\n")
    second = says(capsys)
    assert second != first
    assert len(kept(tmp_path)) == 1, "the last answer of a question takes the place of the one before"
    write("a.py", "x = eval('1')\n")
    assert says(capsys) == first


def test_what_failed_is_tried_again(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    os.mkfifo("pipe")
    assert says(capsys, "a.py", "pipe")[0] == 1, "a note that is no failure"
    assert len(kept(tmp_path)) == 1
    assert says(capsys, "a.py", "/proc/self/mem")[0] == 3, "a file that cannot be read"
    assert len(kept(tmp_path)) == 1
    write(".dragoman/rules/bad.toml", "[[rule]]\n")
    assert says(capsys)[0] == 2
    assert len(kept(tmp_path)) == 1


def test_a_rule_that_changes_during_the_review_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def show(answer: ReviewAnswer) -> int:
        return answer.status

    write(".dragoman/rules/ours.toml", RULE.format("ours"))
    monkeypatch.setattr(ReviewAnswer, "show", show)
    before = review_answers.ReviewQuestion.write

    def write_late(question: review_answers.ReviewQuestion, *values: object) -> None:
        write(".dragoman/rules/ours.toml", RULE.format("changed"))
        before(question, *values)  # type: ignore[arg-type]

    monkeypatch.setattr(review_answers.ReviewQuestion, "write", write_late)
    main(["review"])
    assert kept(tmp_path) == []


def test_half_of_an_answer_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = says(capsys)
    (path,) = kept(tmp_path)
    whole = path.read_bytes()
    assert believes()
    for data in (b"", b"x", b"1 2 3\n4", whole[:-20], whole + b"x", b"0" + whole[1:], b"\xff" * 100):
        path.write_bytes(data)
        assert not believes()
        assert says(capsys) == first


def test_a_folder_that_cannot_be_written_keeps_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("")
    first = says(capsys)
    assert first[0] == 1
    assert says(capsys) == first


def test_few_answers_are_kept_and_none_that_is_long(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says(capsys)
    (path,) = kept(tmp_path)
    for number in range(MOST):
        other = path.with_name(f"{number:064}")
        other.write_bytes(b"")
        os.utime(other, ns=(number, number))
    says(capsys, "a.py")
    names = {each.name for each in kept(tmp_path)}
    assert len(names) <= MOST // 2 + 2
    assert path.name in names
    assert f"{0:064}" not in names
    monkeypatch.setattr(review_answers, "LARGEST", 10)
    assert LARGEST > 10
    says(capsys, "b.txt")
    assert len(kept(tmp_path)) == len(names)


def test_what_is_kept_holds_no_secret(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    write("a.py", python_with_secrets())
    for form in ("text", "json", "sarif", "junit", "github"):
        says(capsys, "--format", form, "--no-tools")
    data = b"".join(path.read_bytes() for path in kept(tmp_path))
    assert data
    assert b"eval(b)" not in data, "no line can be read"
    assert secrets_in(data) == []


_MODULES = """
import sys
from dragoman.cli import main
main(["review"])
print(*(name for name in ("asyncio", "msgspec", "logging", "dragoman.cli.review_run") if name in sys.modules))
"""


def test_a_known_answer_loads_nothing_that_judges() -> None:
    def loaded() -> str:
        command = [sys.executable, "-c", _MODULES]
        output = subprocess.run(command, capture_output=True, check=True, text=True, timeout=120).stdout
        return output.splitlines()[-1]

    assert "dragoman.cli.review_run" in loaded()
    assert loaded() == ""

"""Whatever we call read runs exactly those commands in a real bash, and only those."""

import os
import re
import shutil
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from dragoman_local.workspace.policy import line_reader, shell
from dragoman_local.workspace.policy.shell import read_line
from tests.workspace.policy.shell_lines import collected_lines, generated_lines, strangers_lines
from tests.workspace.policy.shell_oracle import Words, what_bash_runs

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")

LINES = int(os.environ.get("DRAGOMAN_LINES", "2000"))
"""Generated ones; `make test-all` takes 20,000."""


def misread(lines: list[str], folder: Path) -> list[tuple[str, object, object]]:
    """Lines of which bash runs something else than we read: line, read, run."""
    scripts = [read_line(line) for line in lines]
    # What is named by its path is looked for on the disk: nobody wants to run that.
    read = [
        (script.text, script.commands)
        for script in scripts
        if script.objection is None and not any("/" in words[0] for words in script.commands)
    ]
    # Where all commands fail, what stands behind `||` runs as well.
    tries = [(line, words, status) for line, words in read for status in ((0, 1) if "|" in line else (0,))]
    runs = what_bash_runs([(line, status) for line, _, status in tries], folder)
    reached: dict[str, set[Words]] = {}
    for (line, _, _), run in zip(tries, runs, strict=True):
        reached.setdefault(line, set()).update(run)
    wrong: list[tuple[str, object, object]] = []
    for (line, commands, _), run in zip(tries, runs, strict=True):
        mine = Counter(("bash", *words[1:]) if words[0] == "sh" else words for words in commands)
        if (
            not run <= mine
            or reached[line] != set(mine)
            or ("||" not in line and "&&" not in line and run != mine)
        ):
            wrong.append((line, mine, run))
    return wrong


def test_generated_lines_run_what_was_read(tmp_path: Path) -> None:
    lines = list(dict.fromkeys(generated_lines(LINES)))
    assert misread(lines, tmp_path) == []
    assert sum(read_line(line).objection is None for line in lines) > len(lines) / 5


def test_collected_lines_run_what_was_read(tmp_path: Path) -> None:
    lines = collected_lines()
    assert len(lines) > 500
    assert misread(Random(1).sample(lines, min(len(lines), LINES // 4)), tmp_path) == []


def test_lines_of_strangers_run_what_was_read(tmp_path: Path) -> None:
    """As many as are generated where all are tried; a machine without any has nothing to say."""
    lines = strangers_lines(LINES if LINES > 2000 else LINES // 4)
    assert misread(lines, tmp_path) == []


def _plain_dollars(patch: pytest.MonkeyPatch) -> None:
    _allow(patch, "$")


def _plain_patterns(patch: pytest.MonkeyPatch) -> None:
    _allow(patch, "{}*?\\[")


def _allow(patch: pytest.MonkeyPatch, signs: str) -> None:
    """Let signs stand in a run without quotes."""
    plain = line_reader._PIECE.pattern
    for sign in re.findall(r"\\?.", signs):
        plain = plain.replace(sign, "", 1)
    patch.setattr(line_reader, "_PIECE", re.compile(plain, re.VERBOSE))


def _keywords_are_programs(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shell, "RESERVED", frozenset())


def _comments_are_words(patch: pytest.MonkeyPatch) -> None:
    pattern = line_reader._BETWEEN_WORDS.pattern.replace(r"\#", r"(?!)\#")
    patch.setattr(line_reader, "_BETWEEN_WORDS", re.compile(pattern, re.VERBOSE))


@pytest.mark.parametrize(
    "plant",
    [
        _plain_dollars,
        _plain_patterns,
        _keywords_are_programs,
        _comments_are_words,
    ],
)
def test_a_reader_with_a_mistake_is_found_out(plant: object, tmp_path: Path) -> None:
    lines = list(generated_lines(400, seed=2))
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)  # type: ignore[operator]
        assert misread(lines, tmp_path)

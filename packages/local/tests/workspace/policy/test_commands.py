import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.policy.commands import (
    BadPattern,
    literal_pattern,
    pattern_text,
    permits,
    read_pattern,
    restricts,
    restricts_roughly,
    spells,
)
from dragoman_local.workspace.policy.decision import Certainty
from dragoman_local.workspace.policy.globs import ANY, ONE
from tests.every import every

WORDS = st.lists(st.text(st.sampled_from("ab-*?[]' \"\\/.=é"), max_size=6), min_size=1, max_size=5)


@every(
    ("pattern", "line", "expected"),
    [
        ("git status", "git status", True),
        ("git status", "git status --short", False),
        ("git status **", "git status --short x", True),
        ("git status **", "git status", True),
        ("git **", "git", True),
        ("**", "anything at all", True),
        ("git", "/usr/bin/git", False),
        ("git", "GIT", False),
        ("cat *", "cat x", True),
        ("cat *", "cat --flag", False),
        ("cat *", "cat x y", False),
        ("cat ?lag", "cat -lag", False),
        ("pytest tests/*", "pytest tests/x.py", True),
        ("git log --format=*", "git log --format=x", True),
        ("git status", "git", False),
        ("'a b' c", "a\\ b c", False),
    ],
)
def test_permitting_takes_the_pattern_word_by_word(pattern: str, line: str, *, expected: bool) -> None:
    assert permits(read_pattern(pattern), tuple(line.split())) is expected


@every(
    ("pattern", "line", "expected"),
    [
        ("git status", "git status", True),
        ("git status **", "git status", True),
        ("git status **", "git status -s", False),
        ("git *", "git status", False),
        ("git log[*]", "git log*", True),
        ("git log[*]", "git log[*]", False),
        ("git [sx]tatus", "git status", False),
        ("**", "ls", False),
    ],
)
def test_a_pattern_spells_a_command_if_it_leaves_nothing_open(
    pattern: str, line: str, *, expected: bool
) -> None:
    assert spells(read_pattern(pattern), tuple(line.split())) is expected


@every(
    ("pattern", "line", "expected"),
    [
        ("git push", "git push", True),
        ("git push", "git push origin main", True),
        ("git push", "git -C x push", True),
        ("git push", "/usr/bin/git push", True),
        ("git push", "GIT push", True),
        ("git push", "git.exe push", True),
        ("git push", "git pull", False),
        ("git push", "echo git push", False),
        ("git push --force", "git push origin --force", True),
        ("git push --force", "git push --forc", True),
        ("git push --force", "git push --force=x", True),
        ("git push --force", "git push -f", True),
        ("git push --force", "git push origin +main", True),
        ("git push --force", "git push -u origin main", False),
        ("rm -rf", "rm -r -f x", True),
        ("rm -rf", "rm -fvr x", True),
        ("rm -rf", "rm -Rf x", True),
        ("rm -rf", "rm --recursive --force x", True),
        ("rm -rf", "rm --rec --fo x", True),
        ("rm -rf", "rm x --force -dR", True),
        ("rm -rf", "rm -r x", False),
        ("rm -rf", "rm -rv --dir x", False),
        ("find -delete", "find . -name x -type d", False),
        ("find -delete", "find . -name x -delete", True),
        ("python", "python3.12 x.py", True),
        ("rm **", "rm", True),
        ("**", "x", True),
        ("curl * -o", "curl -o x https://example.org", True),
    ],
)
def test_restricting_needs_no_more_than_a_suspicion(pattern: str, line: str, *, expected: bool) -> None:
    found = restricts(read_pattern(pattern), tuple(line.split()))
    assert found is (Certainty.YES if expected else Certainty.NO)


@every(
    ("pattern", "line"),
    [
        ("git push --force", "git push --force-with-lease"),
        ("tool -x", "tool --extreme"),
        ("tool --extreme", "tool -x"),
        ("git push", f"git {ANY}"),
        ("git push", f"git pus{ONE}"),
        ("git push", f"g{ANY}t push"),
        ("rm -rf", f"rm -r{ANY}"),
    ],
)
def test_what_might_be_forbidden_is_neither_forbidden_nor_free(pattern: str, line: str) -> None:
    assert restricts(read_pattern(pattern), tuple(line.split())) is Certainty.PERHAPS


def test_in_a_guess_the_program_may_stand_anywhere() -> None:
    assert restricts_roughly(("git", "push"), ("sudo", "x", "git", "a", "push"))
    assert not restricts_roughly(("git", "push"), ("push", "git"))


@given(WORDS)
def test_what_is_permitted_by_a_pattern_is_restricted_by_it_too(words: list[str]) -> None:
    for pattern in (tuple(words), ("*", "**"), (words[0], "**")):
        if "**" not in pattern[:-1] and permits(pattern, words):
            assert restricts(pattern, words)


@given(WORDS)
def test_a_literal_pattern_permits_its_command_and_no_other(words: list[str]) -> None:
    pattern = read_pattern(literal_pattern(words))
    assert permits(pattern, words)
    assert spells(pattern, words)
    assert not permits(pattern, [*words, "x"])
    assert not permits(pattern, [words[0] + "x", *words[1:]])


@given(WORDS)
def test_the_text_of_a_pattern_is_read_as_the_same_words(words: list[str]) -> None:
    words = [word for word in words if word != "**"] or ["x"]
    assert read_pattern(pattern_text(words)) == tuple(words)


@every("text", ["", "  ", "git 'x", "git ** x", "** git"])
def test_a_pattern_without_meaning_is_a_mistake(text: str) -> None:
    with pytest.raises(BadPattern):
        read_pattern(text)

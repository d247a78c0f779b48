import shlex
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman_local.workspace.policy.globs import ANY
from dragoman_local.workspace.policy.shell import read_arguments, read_line, unknown_command
from tests.every import every
from tests.workspace.policy.command_lines import NOT_UNDERSTOOD, READABLE, UNREADABLE
from tests.workspace.policy.recorder import PROGRAMS, Recorder, accepts

SHELLS = ("sh", "bash")

BITS = r"""
push -f --x=y x 0 2 2>&1 >/dev/null </dev/null > < $ ` ( ) { } * ? [ ] ~ ~/x # = A= CI=1 % ^ ! : é if do
; && || | & ' " \ '' ""
"""
SPACED = [
    " ",
    " ",
    " ",
    "  ",
    "\t",
    "\n",
    "\\\n",
    "timeout 5 ",
    "sh -c ",
    "nohup ",
    "command ",
    "time ",
    " && ",
    "\\ ",
]
PIECES = st.sampled_from([*PROGRAMS, *PROGRAMS, *BITS.split(), *SPACED])
LINES = st.lists(PIECES, max_size=12).map("".join)


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with TemporaryDirectory() as folder:
        yield Recorder(Path(folder))


def test_the_corpus_is_large() -> None:
    assert len(READABLE) + len(UNREADABLE) >= 150


@every(("line", "expected"), READABLE, ids=[repr(line) for line, _ in READABLE])
def test_a_plain_line_is_read_into_what_it_runs(line: str, expected: list[tuple[str, ...]]) -> None:
    script = read_line(line)
    assert script.objection is None
    assert list(script.commands) == expected
    assert script.text == line


@every("line", UNREADABLE, ids=[repr(line[:40]) for line in UNREADABLE])
def test_a_line_that_leaves_a_doubt_is_not_read(line: str) -> None:
    assert read_line(line).objection


@every("line", NOT_UNDERSTOOD)
def test_what_a_program_does_with_its_words_is_another_matter(line: str) -> None:
    assert read_line(line).commands == (tuple(shlex.split(line)),)


@every("shell", SHELLS)
@every(("line", "expected"), READABLE, ids=[repr(line) for line, _ in READABLE])
def test_shells_run_what_was_read(
    line: str, expected: list[tuple[str, ...]], shell: str, recorder: Recorder
) -> None:
    assert accepts(line, shell=shell)
    if " -l" in line:
        return  # a login shell would look for programs elsewhere
    really = recorder.run(line, shell=shell)
    mine = Counter(words for words in expected if words[0] in PROGRAMS)
    # What stands behind `||` does not run when what stands before it succeeds.
    assert really <= mine if "||" in line else really == mine


@settings(max_examples=max(80, settings().max_examples))
@given(LINES)
def test_whatever_is_read_is_what_shells_run(line: str) -> None:
    script = read_line(line)
    if script.objection is not None:
        return
    with TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder))
        mine = Counter(script.commands)
        for shell in SHELLS:
            assert accepts(line, shell=shell)
            assert recorder.run(line, shell=shell) <= mine
        assert recorder.left_behind() == []


@given(st.text(max_size=200))
def test_any_text_is_read_or_objected_to(line: str) -> None:
    script = read_line(line)
    assert script.objection or script.commands


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_arguments_are_never_split(words: list[str]) -> None:
    script = read_arguments(words)
    through = tuple(words[1:]) if words[0] in ("time", "nohup", "command") else None
    assert script.objection or script.commands in ((tuple(words),), (through,))


def test_a_shell_in_arguments_is_looked_through() -> None:
    assert read_arguments(["/bin/bash", "-lc", "git status && git push"]).commands == (
        *(("git", "status"), ("git", "push")),
    )
    assert read_arguments(["git", "a && b"]).commands == (("git", "a && b"),)
    assert read_arguments(["eval", "git", "push"]).objection


def test_guesses_find_words_through_quotes_and_substitutions() -> None:
    guesses = read_line("g'it' $(x) \"push\"").commands
    assert any({"git", "push"} <= set(words) for words in guesses)


POSSIBLE = {
    "$X git push": "? git push | git push",
    "git-push $Z origin": "git-push ? origin | git push ? origin",
    "echo x | bash $Z": "echo x | bash ? | ?",
    "bash <<< 'git push' $Z": "bash ? | ? | git push",
    "time -f $Z git push": "time -f ? git push | -f ? git push | ? git push | git push | push | ?",
    "sudo git push $Z": "sudo git push ? | git push ? | push ? | ?",
    "env A=1 git push $Z": "env A=1 git push ? | ? | git push ? | push ?",
    "xargs git push $Z": "xargs git push ? | git push ? ? | push ? ? | ? ? | ?",
    "python3 -c x $Z": "python3 -c x ? | ?",
    "PATH=1 $Y": "?",
    "A=1 ls $Z; CI=1 ls $Z": "? | ls ?",
}


@every(("line", "expected"), POSSIBLE.items())
def test_what_a_doubtful_line_may_run_is_named_with_its_words(line: str, expected: str) -> None:
    commands = [" ".join(words).replace(ANY, "?") for words in read_line(line).possible]
    assert " | ".join(commands) == expected


def test_a_title_is_never_a_command_that_can_be_allowed() -> None:
    assert unknown_command("git status").objection

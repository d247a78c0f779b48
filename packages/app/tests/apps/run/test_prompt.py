"""Where the prompt comes from."""

from pathlib import Path

import pytest

from tests.apps.run.run_process import run
from tests.together import SideBySide

together = SideBySide(2)


def said(*arguments: str, folder: Path, given: bytes | None = None) -> str:
    done = run("--agent", "echo", "--format", "quiet", *arguments, folder=folder, given=given)
    assert (done.status, done.err) == (0, "")
    return done.out.removeprefix("You said: ").removesuffix("\n")


@together
def test_words_are_joined(tmp_path: Path) -> None:
    assert said("one", "two", folder=tmp_path) == "one two"


@together
def test_standard_input_is_read_when_there_is_nothing_else(tmp_path: Path) -> None:
    assert said(folder=tmp_path, given=b"from a pipe\n") == "from a pipe"


@together
def test_standard_input_is_left_alone_when_there_is_a_prompt(tmp_path: Path) -> None:
    assert said("one", folder=tmp_path, given=b"not for us") == "one"


@together
def test_all_three_are_put_together_in_order(tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("from a file\n")
    shown = said(
        "-", "one", "--prompt-file", "more.txt", folder=tmp_path, given="\ufefffrom a pipe\n".encode()
    )
    assert shown == "one\n\nfrom a file\n\nfrom a pipe"


@together
def test_the_prompt_file_may_be_standard_input(tmp_path: Path) -> None:
    assert said("--prompt-file", "-", folder=tmp_path, given=b"x") == "x"


@pytest.mark.parametrize("given", [b"", b" \n\n"])
@together
def test_an_empty_prompt_is_a_mistake(given: bytes, tmp_path: Path) -> None:
    done = run("--agent", "echo", folder=tmp_path, given=given)
    assert (done.status, done.out) == (2, "")


@together
def test_what_is_no_text_is_a_mistake(tmp_path: Path) -> None:
    done = run("--agent", "echo", "-", folder=tmp_path, given=b"\xff\xfe")
    assert done.status == 2
    assert "not UTF-8" in done.err

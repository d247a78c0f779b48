"""What a conversation is made of: files, changes, lines of shell."""

import subprocess
from pathlib import Path

import pytest

from dragoman.errors import LocalMistake
from dragoman_app.apps.chat.changes import TurnSnapshot
from dragoman_app.apps.chat.files import FileFinder, list_files
from dragoman_app.apps.chat.local_chat import start


def test_files_are_those_that_git_knows_or_all_that_are_not_of_tools(tmp_path: Path) -> None:
    for name in ("b.py", "deep/a.py", "node_modules/x.js", "ignored.log", ".gitignore"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("*.log\nnode_modules\n")
    assert list_files(str(tmp_path)) == [".gitignore", "b.py", "ignored.log", "deep/a.py"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert list_files(str(tmp_path)) == [".gitignore", "b.py", "deep/a.py"]


async def test_a_few_letters_find_a_file(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("")
    assert await FileFinder(str(tmp_path)).find("mp") == ["main.py"]


async def test_what_a_turn_changed_can_be_put_back(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("one\n")
    look = TurnSnapshot(str(tmp_path), pytest.fail)
    await look.take()
    file.write_text("two\n")
    compared = await look.compare()
    assert compared is not None
    (changed,) = compared.files
    assert (changed.path, changed.added_lines, changed.removed_lines) == (str(file), 1, 1)
    await compared.revert(changed.path)
    assert file.read_text() == "one\n"
    await look.aclose()


async def test_a_line_of_shell_is_the_persons_own(tmp_path: Path) -> None:
    line = start("echo $((1+1)); pwd >&2; exit 7", str(tmp_path))
    await line.wait()
    assert (line.text.split(), line.exit_text) == (["2", str(tmp_path)], "7")
    with pytest.raises(LocalMistake):
        start("", str(tmp_path))

"""What of Windows can be tried anywhere: how a command line is quoted. Job objects need the real thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman.errors import SpawnFailed
from dragoman.transport.windows import command_line
from tests.every import every

ENV = {"COMSPEC": r"C:\Windows\system32\cmd.exe", "Path": r"C:\nowhere"}


def test_a_program_is_started_directly() -> None:
    assert command_line(["agent.exe", "two words", 'a "b"'], env=ENV) == r'agent.exe "two words" "a \"b\""'


def test_a_batch_file_is_run_by_cmd_with_every_word_quoted() -> None:
    line = command_line([r"C:\npm\agent.cmd", "a&b", "", "plain"], env=ENV)
    assert line == r'C:\Windows\system32\cmd.exe /d /s /c ""C:\npm\agent.cmd" "a&b" "" "plain""'


def test_a_trailing_backslash_does_not_escape_the_closing_quote() -> None:
    assert command_line(["agent.BAT", "C:\\dir\\"], env=ENV).endswith(r'"agent.BAT" "C:\dir\\""')


@every("word", ["100%", 'say "hi"', "two\nlines", "%PATH%"])
def test_what_cmd_would_interpret_is_refused(word: str) -> None:
    with pytest.raises(SpawnFailed, match="start the program behind that file directly"):
        command_line(["agent.cmd", word], env=ENV)


def test_the_program_is_found_on_the_path_that_it_will_get(tmp_path: Path) -> None:
    shim = tmp_path / "agent.cmd"
    shim.touch(mode=0o755)
    line = command_line(["agent.cmd", "x"], env={"PATH": str(tmp_path)})
    assert line == f'cmd.exe /d /s /c ""{shim}" "x""'

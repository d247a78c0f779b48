"""From a request to words: programs, lines, and lines for a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dragoman_local.workspace.commands import SHELL, PlannedCommand, find_program, needs_shell, plan_command
from dragoman_local.workspace.refusals import FORBIDDEN, INVALID_PARAMS, NOT_FOUND
from tests.every import every
from tests.workspace.ground import refused

ENV = {"PATH": "/usr/bin:/bin"}


def plan(command: str, *args: str, cwd: str = "/", shell_lines: bool = False) -> PlannedCommand:
    return plan_command(command, args, cwd=cwd, env=ENV, shell_lines=shell_lines)


def test_a_program_and_its_arguments_stay_what_they_are() -> None:
    command = plan("echo", "$HOME; rm -rf /", "a b")
    assert command.words == ("echo", "$HOME; rm -rf /", "a b")
    assert command.program in ("/usr/bin/echo", "/bin/echo")
    assert command.shell_line is None


def test_a_line_of_mere_words_is_taken_apart() -> None:
    assert plan("echo 'a b' \"c\" d\\ e").words == ("echo", "a b", "c", "d e")


def test_a_program_whose_name_has_a_space_is_no_line(tmp_path: Path) -> None:
    program = tmp_path / "my program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert plan(str(program)).words == (str(program),)
    assert plan("./my program", cwd=str(tmp_path)).program == f"{tmp_path}/./my program"


LINES = [
    *(
        "echo a; ls",
        "echo a && ls",
        "ls | wc",
        "echo $HOME",
        "echo `id`",
        "ls > x",
        "cat < x",
        "(ls)",
        "ls &",
    ),
    *(
        'echo "$(id)"',
        "echo *.py",
        "ls ?",
        "ls [ab]",
        "echo {a,b}",
        "ls ~",
        "FOO=1 env",
        "ls # all",
        "echo 'a",
    ),
    *("echo a\nls", "echo a\\\nb", "! ls", "echo \\"),
]


@every("line", LINES)
def test_a_line_for_a_shell_is_refused_unless_shells_are_allowed(line: str) -> None:
    assert refused(plan, line) == (FORBIDDEN, "shell_line")
    command = plan(line, shell_lines=True)
    assert command.words == (SHELL, "-c", line)
    assert command.shell_line == line


def test_shell_syntax_without_a_space_is_seen_too() -> None:
    assert refused(plan, "ls;id") == (FORBIDDEN, "shell_line")


def test_with_arguments_a_line_is_a_name_and_nothing_else() -> None:
    assert refused(plan, "echo a", "b") == (NOT_FOUND, "no_program")
    assert refused(plan, "ls; id", "b", shell_lines=True) == (NOT_FOUND, "no_program")


@every("line", ["ls -la", "echo 'a;b|c'", 'echo "a;b"', "echo a\\;b", "git log a..b", "a=b", "x~"])
def test_plain_words_need_no_shell(line: str) -> None:
    assert needs_shell(line) == (line == "a=b")


@example('"\\$HOME"')
@example('"\\`id\\`"')
@given(st.text(alphabet="ab'\" \\$;*~#\n=`", max_size=12))
def test_what_needs_no_shell_means_the_same_to_one(line: str) -> None:
    if needs_shell(line) or not line.strip():
        return
    script = f"printf '%s\\0' {line}"
    shell = subprocess.run([SHELL, "-c", script], capture_output=True, check=True, env=ENV).stdout
    words = plan_command(f"printf {line}", (), cwd="/", env=ENV, shell_lines=False).words
    assert [word.decode() for word in shell.split(b"\0")[:-1]] == list(words[1:])


@every("command", ["", " ", "a\0b", "x" * 200_000, "\ud800"])
def test_what_cannot_be_a_command_is_refused(command: str) -> None:
    assert refused(plan, command) == (INVALID_PARAMS, "bad_command")


@pytest.mark.parametrize("argument", ["a\0b", "x" * 200_000, "\ud800"])
def test_what_cannot_be_an_argument_is_refused(argument: str) -> None:
    assert refused(plan, "echo", argument) == (INVALID_PARAMS, "bad_command")


@every("command", ["no-such-program", "/no/such/program", "./none", "/etc/passwd", "/etc", "cd /"])
def test_an_unknown_program_is_named(command: str) -> None:
    assert refused(plan, command) == (NOT_FOUND, "no_program")


def test_a_relative_entry_of_the_path_is_not_searched(tmp_path: Path) -> None:
    planted = tmp_path / "ls"
    planted.write_text("#!/bin/sh\n")
    planted.chmod(0o755)
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        for path in (".:/bin", ":/bin", f"{os.path.relpath(tmp_path, '/')}:/bin"):
            assert find_program("ls", cwd=str(tmp_path), env={"PATH": path}) == "/bin/ls"
        assert find_program("ls", cwd=str(tmp_path), env={"PATH": "."}) is None
    finally:
        os.chdir(before)

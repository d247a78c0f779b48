from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from dragoman.transport.launch import why_not
from dragoman.transport.owned_tree import Program


def refused(*command: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Try it for real, and say why it failed."""
    with pytest.raises((OSError, ValueError)) as caught:
        subprocess.Popen(command, cwd=cwd, env=env)
    return why_not(Program(command=command, cwd=cwd, env=env, files=(0, 1, 2)), caught.value)


def script(path: Path, text: str, *, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_program_that_is_nowhere() -> None:
    assert refused("no-such-program", "-x") == (
        "cannot start 'no-such-program': no such program on PATH; install it, or give its full path"
    )


def test_a_program_that_is_not_on_the_path_it_is_given(tmp_path: Path) -> None:
    assert "no such program on PATH" in refused("true", env={"PATH": str(tmp_path)})


def test_a_path_to_nothing(tmp_path: Path) -> None:
    assert "there is no such file" in refused(str(tmp_path / "missing"))
    assert "there is no such file" in refused("./missing", cwd=tmp_path)


def test_a_script_whose_interpreter_is_missing(tmp_path: Path) -> None:
    script(tmp_path / "agent", "#!/no/such/interpreter\n")
    assert "interpreter named in its first line is missing" in refused(str(tmp_path / "agent"))
    assert "interpreter named in its first line is missing" in refused("./agent", cwd=tmp_path)
    assert "interpreter named in its first line is missing" in refused("agent", env={"PATH": str(tmp_path)})


def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    assert "not executable; try chmod +x" in refused(script(tmp_path / "agent", "#!/bin/sh\n", mode=0o644))
    assert "not executable" in refused(str(tmp_path))


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    assert "it is not a program; a script needs a first line" in refused(script(tmp_path / "agent", "x"))


def test_a_working_directory_that_is_none(tmp_path: Path) -> None:
    assert "is not there, or no directory" in refused("true", cwd=tmp_path / "nowhere")
    assert "is not there, or no directory" in refused("true", cwd=Path(script(tmp_path / "file", "")))


def test_what_nobody_foresaw_is_told_as_it_is() -> None:
    assert refused("true", "a\0b") == "cannot start 'true': embedded null byte"

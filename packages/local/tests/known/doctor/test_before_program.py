"""What a file is, told without running it."""

import json
import sys
from pathlib import Path

import pytest

from dragoman_local.known.doctor.before import elsewhere, is_too_old, locate, nature_of, required_node
from tests.every import every

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes and first lines are POSIX's")


def a_file(path: Path, content: bytes, *, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("content", "interpreter"),
    [
        (b"#!/bin/sh\n", "/bin/sh"),
        (b"#! /usr/bin/env node\n", "node"),
        (b"#!/usr/bin/env -S node --flag\n", "node"),
        (b"#!/usr/bin/env -S A=b python3 -u\n", "python3"),
        (b"#!/usr/bin/python3 -I", "/usr/bin/python3"),
    ],
)
def test_the_first_line_says_what_runs_a_script(tmp_path: Path, content: bytes, interpreter: str) -> None:
    found = nature_of(a_file(tmp_path / "x", content))
    assert (found.interpreter, found.problem) == (interpreter, "")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"#!/bin/sh\r\nexit\r\n", "its first line ends with a carriage return"),
        (b"console.log(1)\n", "the system cannot run it"),
        (b"", "it is empty"),
    ],
)
def test_a_file_that_the_system_cannot_run_has_a_problem(
    tmp_path: Path, content: bytes, problem: str
) -> None:
    found = nature_of(a_file(tmp_path / "x", content))
    assert found.problem.startswith(problem)
    assert found.advice


def test_a_file_a_folder_and_a_link_that_cannot_be_run_are_told_apart(tmp_path: Path) -> None:
    plain = a_file(tmp_path / "plain", b"#!/bin/sh\n", mode=0o644)
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert nature_of(plain).problem == "it is not executable"
    assert nature_of(str(tmp_path)).what == "a folder"
    assert nature_of(str(tmp_path / "link")).what == "a dangling link"


def test_a_real_program_has_no_problem() -> None:
    found = nature_of(sys.executable)
    assert (found.problem, found.interpreter) == ("", None)


def test_a_path_counts_from_the_working_directory_and_a_name_from_the_path(tmp_path: Path) -> None:
    place = a_file(tmp_path / "bin" / "x", b"#!/bin/sh\n")
    assert locate("./bin/../bin/x", cwd=str(tmp_path), path="") == place
    assert locate("x", cwd="/", path=str(tmp_path / "bin")) == place
    assert locate("./x", cwd=str(tmp_path), path=str(tmp_path / "bin")) is None


def test_a_program_beside_the_path_is_found_in_the_usual_folders(tmp_path: Path) -> None:
    place = a_file(tmp_path / ".local" / "bin" / "only-here-17", b"#!/bin/sh\n")
    other = a_file(tmp_path / ".nvm" / "versions" / "node" / "v22" / "bin" / "only-here-17", b"#!/bin/sh\n")
    assert elsewhere("only-here-17", home=str(tmp_path), path="/nowhere") == [place, other]


def test_a_file_on_the_path_that_may_not_be_run_is_found_too(tmp_path: Path) -> None:
    place = a_file(tmp_path / "only-here-17", b"#!/bin/sh\n", mode=0o644)
    assert elsewhere("only-here-17", home="/nowhere", path=str(tmp_path)) == [place]


def test_the_package_behind_a_link_says_which_node_it_wants(tmp_path: Path) -> None:
    script = a_file(tmp_path / "lib" / "agent" / "dist" / "cli.js", b"#!/usr/bin/env node\n")
    a_file(tmp_path / "lib" / "agent" / "package.json", json.dumps({"engines": {"node": ">=20"}}).encode())
    (tmp_path / "agent").symlink_to(script)
    assert required_node(str(tmp_path / "agent")) == ">=20"


@pytest.mark.parametrize("content", [b"{", b"[]", b'{"engines": 3}', b'{"engines": {"node": 3}}', b"{}"])
def test_a_package_that_says_nothing_wants_nothing(tmp_path: Path, content: bytes) -> None:
    a_file(tmp_path / "package.json", content)
    assert required_node(a_file(tmp_path / "cli.js", b"#!/usr/bin/env node\n")) is None


@every(
    ("version", "wanted", "too_old"),
    [
        ("v18.20.1", ">=20", True),
        ("v20.0.0", ">=20", False),
        ("v20.9.0", ">= 20.10.0", True),
        ("v20.10.0", ">=20.9", False),
        ("v18.0.0", "^20 || >=22", False),
        ("whatever", ">=20", False),
    ],
)
def test_a_version_below_the_least_one_is_too_old(version: str, wanted: str, too_old: bool) -> None:
    assert is_too_old(version, wanted) is too_old

"""The command in surroundings that are not as they should be: it says so, and never with a traceback."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests.apps.run.run_process import DRAGOMAN, home


def result_of(
    words: Sequence[str], folder: Path, *, cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*DRAGOMAN, *words],
        cwd=cwd or folder,
        env=home(folder, **variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=patience(55),
        check=False,
    )


@pytest.mark.parametrize(
    "words", [["where"], ["run", "--agent", "echo", "hi"], ["review", "."]], ids=" ".join
)
def test_whoever_stands_in_a_folder_that_is_gone_is_told_so(words: Sequence[str], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    remove = 'rmdir "$PWD" && exec "$@"'
    done = subprocess.run(
        ["/bin/sh", "-c", remove, "sh", *DRAGOMAN, *words],
        cwd=gone,
        env=home(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=patience(55),
        check=False,
    )
    assert done.returncode == 2
    assert b"the current folder is gone" in done.stderr
    assert b"Traceback" not in done.stderr


def test_an_output_that_lacks_characters_gets_others_instead(tmp_path: Path) -> None:
    place = tmp_path / "häuser"
    shown = result_of(["where", "hub"], tmp_path, XDG_CONFIG_HOME=str(place), PYTHONIOENCODING="ascii")
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"h?user" in shown.stdout
    as_json = result_of(["where", "--json"], tmp_path, XDG_CONFIG_HOME=str(place), PYTHONIOENCODING="ascii")
    paths = [item["path"] for item in json.loads(as_json.stdout)["places"]]
    assert f"{place}/dragoman/hub.toml" in paths


def test_a_folder_and_a_prompt_that_are_no_text_are_refused_before_an_agent_starts(tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"odd\xff")
    odd.mkdir()
    for words, cwd, message in (
        (["run", "--agent", "echo", "hi"], odd, b"is not UTF-8 text"),
        (["run", "--agent", "echo", "--cwd", str(odd), "hi"], tmp_path, b"is not UTF-8 text"),
        (["run", "--agent", "echo", os.fsdecode(b"hi \xff")], tmp_path, b"the prompt is not UTF-8 text"),
    ):
        done = result_of(words, tmp_path, cwd=cwd)
        assert done.returncode == 2
        assert message in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
@pytest.mark.parametrize(
    "words",
    [
        ["where"],
        ["where", "--json"],
        pytest.param(["check", "list"], marks=pytest.mark.slow),
        pytest.param(["completions", "bash"], marks=pytest.mark.slow),
        ["run", "--agent", "echo", "hi"],
        ["run", "--agent", "echo", "--format", "json", "hi"],
    ],
    ids=" ".join,
)
def test_an_output_without_room_is_a_failure_that_says_so_once(words: Sequence[str], tmp_path: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*DRAGOMAN, *words],
            cwd=tmp_path,
            env=home(tmp_path),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=patience(55),
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.count(b"no space left on device") == 1
    assert b"Traceback" not in done.stderr
    assert b"Exception ignored" not in done.stderr

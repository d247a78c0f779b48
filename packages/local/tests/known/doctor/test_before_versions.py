"""Versions, asked for with a deadline."""

import os
import sys
from pathlib import Path

import pytest

from dragoman.transport.owned_tree import owned_trees
from dragoman_local.known.doctor import before
from dragoman_local.known.doctor.before import is_askable, version_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts of POSIX")


async def test_a_program_says_its_version() -> None:
    assert await version_of(sys.executable, env=os.environ) == f"Python {sys.version.split()[0]}"


@pytest.mark.parametrize("script", ["exit 0", "exec sleep 1000", "exec >&-; sleep 1000"])
async def test_one_that_does_not_is_left_alone_in_time(
    tmp_path: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(before, "SECONDS", 0.2)
    (tmp_path / "node").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "node").chmod(0o755)
    assert await version_of(str(tmp_path / "node"), env=os.environ) is None
    assert owned_trees() == []


async def test_one_that_cannot_be_started_has_none(tmp_path: Path) -> None:
    assert await version_of(str(tmp_path / "node"), env=os.environ) is None


def test_only_programs_that_are_known_to_answer_are_asked() -> None:
    assert is_askable("/usr/bin/node")
    assert is_askable("python3.12")
    assert not is_askable("/opt/agent")

"""Where tools are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman_review.places import find_program


def test_the_working_directory_is_no_place_to_find_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "dragoman-test-tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join(("", ".", "relative")))
    assert find_program("dragoman-test-tool") is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_program("dragoman-test-tool") == str(tool)

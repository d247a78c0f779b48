"""Where tools are found, and what makes the digest of all that judges another one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dragoman.review import places
from dragoman.review.places import OUR_FOLDERS, find_program, judge_digest


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


def test_rules_and_code_of_ours_are_among_what_judges() -> None:
    names = {name for folder in OUR_FOLDERS for name in os.listdir(folder)}
    assert {"inspection.py", "taint.py", "rules-secrets.toml", "flows.toml"} <= names


def test_whatever_judges_otherwise_has_another_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, rules, tool = tmp_path / "a.py", tmp_path / "rules-a.toml", tmp_path / "tool"
    for file in (module, rules, tool):
        file.write_text("1\n")
    digests = [judge_digest([str(tool)], [tmp_path])]
    assert judge_digest([str(tool)], [tmp_path]) == digests[0]
    (tmp_path / "notes.md").write_text("nothing that judges\n")
    assert judge_digest([str(tool)], [tmp_path]) == digests[0]
    for file in (module, rules, tool):
        file.write_text("one\n")
        digests.append(judge_digest([str(tool)], [tmp_path]))
    os.utime(rules, ns=(1, 1))  # the same size, written at another time
    digests.append(judge_digest([str(tool)], [tmp_path]))
    (tmp_path / "b.py").write_text("1\n")
    digests.append(judge_digest([str(tool)], [tmp_path]))
    digests.append(judge_digest([None], [tmp_path]))
    digests.append(judge_digest([str(tmp_path / "gone")], [tmp_path]))
    monkeypatch.setattr(places, "VERSION", "another one")
    digests.append(judge_digest([str(tool)], [tmp_path]))
    monkeypatch.setattr("sys.version", "another one")
    digests.append(judge_digest([str(tool)], [tmp_path]))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    digests.append(judge_digest([str(tool)], [tmp_path]))
    assert len(set(digests)) == len(digests)

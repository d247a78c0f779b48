"""Links that the patterns of a command find count as the files to which they lead."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from dragoman_local.workspace.policy.judge import resolve
from tests.workspace.policy.makers import command, policy


@pytest.mark.parametrize("line", ["cat ?ub/key", "cat p*/k*", "cd p* && cat key", "ls pu[b]"])
def test_links_that_a_pattern_finds_are_followed_and_a_folder_with_too_many_names_may_have_any(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = policy(
        '[[rule]]\ndecision = "deny"\npath = "secret/**"\n[[rule]]\ndecision = "allow"\nunreadable = true'
    )
    (tmp_path / "sub/deep").mkdir(parents=True)
    (tmp_path / "sub/other").symlink_to("deep")
    act = replace(command(line), roots=(str(tmp_path),))
    assert rules.decide(resolve(act)).outcome == "allow"
    for number in range(3):
        (tmp_path / f"sub/{number}").touch()
    with monkeypatch.context() as patch:
        patch.setattr("dragoman_local.workspace.policy.judge.MOST_ENTRIES", 0)
        assert rules.decide(resolve(act)).outcome == "ask"
    (tmp_path / "secret/lower").mkdir(parents=True)
    (tmp_path / "pub").symlink_to("secret")
    assert rules.decide(resolve(act)).outcome == "ask"


def test_a_link_counts_that_the_pattern_finds_and_a_folder_outside_that_is_entered(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    for folder in (root / "sub", root / "other", outside):
        folder.mkdir(parents=True)
    (root / "out").symlink_to(outside)
    (root / "in").symlink_to("sub")
    (root / "other/key").symlink_to(outside)
    for line, count, leaves in (
        ("cat s*/key", 0, False),
        ("cat o*r/key", 1, False),
        ("cat out", 1, False),
        ("cd out && ls", 2, True),
        ("cd in && ls", 2, False),
        ("cat 'a\0b'", 0, False),
    ):
        act = resolve(replace(command(line), roots=(str(root),)))
        assert (len(act.links), any("outside" in doubt for doubt in act.doubts)) == (count, leaves), line

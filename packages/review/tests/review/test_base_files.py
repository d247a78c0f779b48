"""The files that judge a change come from its base; one outside of the repository is read where it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from dragoman_review.base_files import BaseFiles
from dragoman_review.git import changes
from tests.agents.review.ground import git

RULE = '[[rule]]\nid = "team/{}"\ntitle = "t"\nwhy = "w"\nseverity = "low"\npattern = "frob"\n'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub" / ".dragoman" / "rules").mkdir(parents=True)
    (folder / "sub" / ".dragoman" / "rules" / "a.toml").write_text(RULE.format("base"))
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Begin")
    (folder / "sub" / ".dragoman" / "rules" / "a.toml").write_text(RULE.format("change"))
    (folder / "sub" / "more.toml").write_text(RULE.format("more"))
    (tmp_path / "outside.toml").write_text(RULE.format("outside"))
    return folder


async def rules(project: Path, against: str | None, *names: str) -> tuple[list[str], list[str]]:
    with BaseFiles(project / "sub", await changes(project, against=against)) as files:
        return [rule.id for rule in await files.rules(names)], files.missing_names


async def test_a_named_base_brings_the_rules_and_the_disk_does_otherwise(project: Path) -> None:
    outside = str(project.parent / "outside.toml")
    assert await rules(project, "main", "more.toml", outside) == (
        ["team/base", "team/outside"],
        ["more.toml"],
    )
    assert await rules(project, None, "more.toml", outside) == (
        ["team/change", "team/more", "team/outside"],
        [],
    )


async def test_a_link_of_the_change_leads_nowhere(project: Path) -> None:
    (project / "sub" / ".dragoman" / "baseline.json").symlink_to(project.parent / "outside.toml")
    with BaseFiles(project / "sub", await changes(project, against="main")) as files:
        assert await files.baseline() is None


async def test_later_rules_of_the_base_hold_for_a_change_that_left_it_before(project: Path) -> None:
    git(project, "checkout", "-q", "-b", "change")
    git(project, "commit", "-q", "-a", "-m", "Change")
    git(project, "checkout", "-q", "main")
    (project / "sub" / ".dragoman" / "rules" / "a.toml").write_text(RULE.format("later"))
    git(project, "commit", "-q", "-a", "-m", "Later")
    git(project, "checkout", "-q", "change")
    assert (await rules(project, "main"))[0] == ["team/later"]

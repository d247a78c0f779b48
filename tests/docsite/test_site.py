"""The site as a whole: its navigation is complete, its reference explains every public name, and it builds.

The build needs the tools that `make docs` installs; without them its test is skipped.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import dragoman
import dragoman.blocking
import dragoman.testing
from docsite.llms import navigation
from docsite.pages import ROOT_PAGES
from docsite.reference import PAGES, public_names, reference_names, write_reference
from dragoman.testing.pace import patience

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SETTINGS = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
TOOLS = ROOT / "build" / "docs-tools"


def entries() -> Iterator[str]:
    return (entry.path for entry in navigation(SETTINGS["nav"]))


def test_every_page_is_in_the_navigation_once() -> None:
    paths = list(entries())
    assert sorted(paths) == sorted(set(paths))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    made = {
        "adr/index.md",
        "reference/index.md",
        "review-rules.md",
        *(f"reference/{page.file}" for page in PAGES),
        *ROOT_PAGES.values(),
    }
    assert set(paths) == pages | made


def test_the_reference_explains_every_public_name() -> None:
    explained = reference_names()
    assert explained["dragoman"] == set(dragoman.__all__)
    assert explained["dragoman.blocking"] == set(dragoman.blocking.__all__)
    assert explained["dragoman.testing"] == set(dragoman.testing.__all__)
    assert {"DragomanError", "SpawnFailed"} <= explained["dragoman.errors"]
    assert sum(len(page.names) for page in PAGES) == len(dragoman.__all__)


def test_a_public_name_without_a_page_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docsite.reference.PAGES", PAGES[1:])
    with pytest.raises(LookupError, match="no page of the reference explains Agent, "):
        reference_names()


def test_a_page_of_the_reference_has_a_section_for_each_name(tmp_path: Path) -> None:
    write_reference(tmp_path)
    text = (tmp_path / "blocking.md").read_text("utf-8")
    assert re.findall(r"^::: dragoman\.blocking\.(\w+)$", text, re.MULTILINE) == public_names(
        "dragoman.blocking"
    )


def test_nothing_of_the_settings_loads_from_elsewhere() -> None:
    assert SETTINGS["theme"]["font"] is False
    assert "://" not in (ROOT / "tools/docsite/site.css").read_text("utf-8")
    assert "extra_javascript" not in SETTINGS


def test_moving_pictures_stand_still_for_those_who_want_that() -> None:
    for name in ("run", "page"):
        text = (DOCS / "pictures" / f"{name}.svg").read_text("utf-8")
        assert "@media (prefers-reduced-motion:reduce)" in text
        assert "<script" not in text
        assert not re.search(r'href="(?!data:)', text)
        assert len(text) < 200_000


def test_the_workflow_builds_with_what_it_may_and_publishes_from_main_alone() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/site.yml").read_text("utf-8"))
    assert workflow["permissions"] == {}
    assert workflow["jobs"]["build"]["permissions"] == {"contents": "read"}
    assert workflow["jobs"]["publish"]["permissions"] == {"pages": "write", "id-token": "write"}
    assert "refs/heads/main" in workflow["jobs"]["publish"]["if"]


def test_tools_are_pinned() -> None:
    lines = (ROOT / "tools/docsite/requirements.txt").read_text("utf-8").splitlines()
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in lines if not line.startswith("#"))
    locked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    assert any(line.startswith("msgspec") for line in locked)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_site_builds_and_a_link_of_a_finding_leads_to_its_rule() -> None:
    if (
        not (TOOLS / ".ready").exists()
        or shutil.which("node") is None
        or not (ROOT / "packages/hub/web/node_modules").is_dir()
    ):
        pytest.skip("the tools of the site are not installed (make docs)")
    done = subprocess.run(
        ["make", "--no-print-directory", "docs"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=patience(200),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = ROOT / "build" / "site"
    assert 'id="python-shell-true"' in (site / "review-rules" / "index.html").read_text("utf-8")
    assert {"llms.txt", "llms-full.txt", "demo", "index.html"} <= {path.name for path in site.iterdir()}

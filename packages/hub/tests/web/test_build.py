"""The page that is committed is the page that its sources make, it is small, and its logic is right."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.web.page import STATIC

WEB = Path(__file__).parents[2] / "web"
NODE = shutil.which("node")
SETTINGS = ("build.mjs", "package.json", "package-lock.json", "tsconfig.json")
MOST = 80_000
"""Bytes, compressed, that come before the page can be used."""


def source_hash() -> str:
    """As web/build.mjs computes it."""
    paths = [path for folder in ("src", "public") for path in (WEB / folder).rglob("*") if path.is_file()]
    paths += [WEB / name for name in SETTINGS]
    digest = hashlib.sha256()
    for name, path in sorted((path.relative_to(WEB).as_posix(), path) for path in paths):
        digest.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


@pytest.mark.skipif(not WEB.is_dir(), reason="the sources of the page are not part of this archive")
def test_the_build_is_fresh() -> None:
    built = json.loads((STATIC / "build.json").read_text())
    assert built["sources"] == source_hash(), "the page's sources have changed: make web"


def test_the_first_load_is_small() -> None:
    page = (STATIC / "index.html").read_text()
    first = [path for path in (STATIC / "assets").glob("*.js") if path.name in page]
    for script in first:  # what it imports is loaded with it; what it imports later has parentheses
        names = re.findall(r'(?:from|import)"\./([\w-]+\.js)"', script.read_text())
        first += [path for name in names if (path := script.parent / name) not in first]
    loaded = [*first, *(STATIC / "assets").glob("*.css"), STATIC / "index.html", STATIC / "icon.svg"]
    assert len(first) == 1
    assert sum(len(gzip.compress(path.read_bytes())) for path in loaded) < MOST


def test_nothing_stands_inline_and_nothing_comes_from_elsewhere() -> None:
    page = (STATIC / "index.html").read_text()
    assert "<style" not in page
    assert "style=" not in page
    assert page.count("<script") == page.count('<script type="module" src="/assets/')
    assert "://" not in page


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_the_logic_of_the_page_is_right() -> None:
    if not (WEB / "node_modules" / "esbuild").is_dir():
        pytest.skip("the tools of the page are not installed (npm ci in packages/hub/web)")
    subprocess.run([str(NODE), "build.mjs", "--tests"], cwd=WEB, check=True, timeout=patience(60))
    done = subprocess.run(
        [str(NODE), "node_modules/.tests/all.mjs"],
        cwd=WEB,
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout

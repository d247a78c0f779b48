"""`make texts` finds what people read, and leaves out what is for machines."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
TOOLS = ROOT / "tools"
ROW = re.compile(r"^\| (.+) \| (.+) \| `([^`|]+)` \|$", re.MULTILINE)
"""A text before, the same text now, and its file, in a table of `docs/voice.md`."""


@pytest.fixture
def texts(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The tool as a module; it is no part of a package."""
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module("list_texts")


def found(texts: Any, name: str, source: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(texts, "ROOT", folder)
    path = folder / name
    path.write_text(source, "utf-8")
    return [f"{text.place}: {text.text}" for text in texts.texts_of(path)]


def test_texts_of_python_have_their_values_and_their_line(
    texts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = '''"""A docstring that is not shown."""

QUERY = "SELECT a, b FROM rows WHERE a = 1"
KEY = "session/new"
raise ValueError(f"{path} cannot be read: {error.strerror}")
'''
    assert found(texts, "a.py", source, tmp_path, monkeypatch) == [
        "a.py:5: {path} cannot be read: {error.strerror}"
    ]


def test_texts_of_the_page_stand_in_strings_and_between_tags(
    texts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """// a comment that is not shown
button.title = "Copy the whole command";
html`<p class="faint">Nothing is waiting for you</p>`;
"""
    assert found(texts, "a.ts", source, tmp_path, monkeypatch) == [
        "a.ts:2: Copy the whole command",
        "a.ts:3: Nothing is waiting for you",
    ]


def test_the_house_has_texts_in_every_box_with_a_face(texts: Any) -> None:
    for place in ("packages/app/src", "packages/hub/web/src", "packages/local/src", "vscode/src"):
        assert any(True for path in texts.files([place]) for _ in texts.texts_of(path)), place


def test_the_fifty_texts_of_the_voice_page_are_still_in_their_files(texts: Any) -> None:
    rows = ROW.findall((ROOT / "docs/voice.md").read_text("utf-8"))
    shown = {
        place: {text.text.replace("`", "") for text in texts.texts_of(ROOT / place)} for *_, place in rows
    }
    assert len(rows) == 50
    for before, after, place in rows:
        assert after.replace("`", "") in shown[place], f"{place} no longer says: {after}"
        assert before.replace("`", "") not in shown[place], f"{place} says again: {before}"

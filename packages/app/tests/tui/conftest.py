"""A home of its own for every test here: nothing of this machine's user is read or written."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman_app.tui.screens import permission


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "home"
    place.mkdir()
    monkeypatch.setenv("HOME", str(place))
    # Stories press keys as fast as they can; the guard against keys that are no answers has its own test.
    monkeypatch.setattr(permission, "STILL", -1.0)
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "NO_COLOR", "DRAGOMAN_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    return place


@pytest.fixture
def shop() -> Iterator[Path]:
    """A folder whose path is as long on every run: it is part of the pictures."""
    place = Path(f"/tmp/dc{os.getpid():07d}")
    place.mkdir()
    yield place
    shutil.rmtree(place)

"""The face of the room."""

import subprocess
import sys

import pytest

import dragoman.testing

SHOW = """
import sys, dragoman.testing
before = [name for name in sys.modules if name.startswith(("dragoman.", "asyncio", "pytest"))]
print(before)
"""


def test_every_export_can_be_had() -> None:
    assert sorted(dragoman.testing._HOMES) == dragoman.testing.__all__ == dir(dragoman.testing)
    assert all(getattr(dragoman.testing, name) is not None for name in dragoman.testing.__all__)


def test_nothing_else_can_be_had() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        dragoman.testing.Nonsense  # noqa: B018


def test_importing_it_loads_nothing_yet() -> None:
    shown = subprocess.run([sys.executable, "-c", SHOW], capture_output=True, text=True, check=True)
    assert shown.stdout == "['dragoman.testing']\n"

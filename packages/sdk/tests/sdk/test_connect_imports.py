"""What a program loads when it imports the SDK, and what it does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dragoman import connect
from dragoman.errors import LocalMistake

SHOW = "import sys; print(*[name for name in ('asyncio', 'ssl') if name in sys.modules])"


@pytest.mark.parametrize("face", ["dragoman", "dragoman.blocking"])
def test_importing_both_sides_does_not_import_asyncio(face: str) -> None:
    code = f"from {face} import Agent, Client, connect; {SHOW}"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"\n"


def test_importing_the_blocking_sides_does_not_import_threads() -> None:
    code = (
        "from dragoman.blocking import Agent, Client, connect; import sys; print('threading' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"False\n"


def test_an_unknown_dialect_is_refused_before_anything_is_started() -> None:
    with pytest.raises(LocalMistake, match="unknown dialect 'klingon'"):
        connect("no-such-program", dialect="klingon")

"""The commands of this room are forks (`tests/forks.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.cli import command_forks
from tests.forks import for_commands


@pytest.fixture(autouse=True, scope="session")
def fork_server() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    command_forks.fork_server = server = for_commands(*command_forks.MODULES)
    try:
        yield
    finally:
        command_forks.fork_server = None
        server.close()

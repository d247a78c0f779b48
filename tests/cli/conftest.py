"""One process for each worker runs the commands of this room (`tests/fork_server.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.cli import command_forks
from tests.fork_server import ForkServer


@pytest.fixture(autouse=True, scope="session")
def fork_server() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    command_forks.fork_server = server = ForkServer(*command_forks.MODULES)
    try:
        yield
    finally:
        command_forks.fork_server = None
        server.close()

"""One process for each worker runs the commands of this room (`tests/fork_server.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.cli import forked
from tests.fork_server import ForkServer


@pytest.fixture(autouse=True, scope="session")
def fork_server() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    forked.fork_server = server = ForkServer(*forked.MODULES)
    try:
        yield
    finally:
        forked.fork_server = None
        server.close()

"""One process for each worker runs the commands of this room (`tests/fork_server.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.apps.run import run_process
from tests.fork_server import ForkServer


@pytest.fixture(autouse=True, scope="session")
def fork_server() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    run_process.fork_server = server = ForkServer(
        "dragoman.apps.run.drive", "dragoman.apps.run.command", "dragoman.apps.console"
    )
    try:
        yield
    finally:
        run_process.fork_server = None
        server.close()

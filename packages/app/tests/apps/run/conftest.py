"""One process for each worker runs the commands of this room as forks (`tests/fork_server.py`)."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests import forks
from tests.apps.run import run_process
from tests.cli import command_forks
from tests.fork_server import ForkServer


@pytest.fixture(autouse=True, scope="session")
def fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    run_process.fork_server = server = ForkServer(
        *command_forks.MODULES,
        python=str(forks.interpreter(tmp_path_factory.mktemp("bin"))),
    )
    try:
        yield
    finally:
        run_process.fork_server = None
        server.close()

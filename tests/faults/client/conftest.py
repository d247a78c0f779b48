"""The fixture that carries a fault's id, and whoever forks for runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.faults.client import faulty_run
from tests.forks import for_commands


@pytest.fixture(autouse=True)
def fault(request: pytest.FixtureRequest) -> str:
    """The id of the fault that is being tried."""
    return str(getattr(request, "param", ""))


@pytest.fixture(autouse=True, scope="session")
def fork_server() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    faulty_run.fork_server = server = for_commands(
        "tests.fork_start",
        "dragoman_app.apps.run.drive",
        "dragoman_app.apps.run.command",
        "dragoman_app.apps.console",
    )
    try:
        yield
    finally:
        faulty_run.fork_server = None
        server.close()

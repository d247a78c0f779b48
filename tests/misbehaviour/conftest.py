"""Each worker has a process that forks for runs, as in the room of faulty agents."""

from __future__ import annotations

import gc

import pytest

from tests.faults.client.conftest import fork_server

__all__ = ["fork_server"]


@pytest.fixture(autouse=True, scope="module")
def little_to_collect() -> None:
    """Every look at what is left collects garbage first. What earlier tests have left is none of it, and is
    not looked through each time.
    """
    gc.collect()
    gc.freeze()

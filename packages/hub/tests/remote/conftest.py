"""What a test of the other side needs once: the archive here, and what was unpacked of it there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.other_side import SshServer


@pytest.fixture(scope="session")
def cache_here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache-here")


@pytest.fixture(scope="session")
def cache_there(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache-there")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, cache_there: Path) -> Iterator[SshServer]:
    server = SshServer(tmp_path_factory.mktemp("sshd"), cache=cache_there)
    server.start()
    yield server
    server.stop()

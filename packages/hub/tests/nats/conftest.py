"""One server for all tests of a module; each test has prefixes of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.nats_servers import Servers, started


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("nats")) as running:
        yield running

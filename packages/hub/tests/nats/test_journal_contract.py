"""The journal, the register and the bus on NATS keep every promise: on one server, and on a cluster of
three."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from dragoman_local.contracts import check_journal
from tests.journal.shared_state_checks import check_shared
from tests.nats.places import fresh, fresh_journal, opened
from tests.nats_servers import Servers, started

CLUSTER = pytest.param(3, id="three servers", marks=pytest.mark.slow)
"""`make test` has three servers below three hubs, in `packages/hub/tests/cluster/test_scl.py`."""


@pytest.fixture(scope="module", params=[pytest.param(1, id="one server"), CLUSTER])
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    with started(tmp_path_factory.mktemp("nats"), count=request.param) as running:
        yield running


@pytest.mark.bound(300)
@pytest.mark.timeout(320)
async def test_the_journal_on_nats_keeps_its_promises(servers: Servers) -> None:
    await check_journal(partial(fresh_journal, servers))


@pytest.mark.bound(150)
@pytest.mark.timeout(170)
async def test_the_register_and_the_bus_on_nats_keep_their_promises(servers: Servers) -> None:
    prefix = fresh("n")
    await check_shared(lambda word: opened(servers, f"{prefix}{word}", query="shards=1"))

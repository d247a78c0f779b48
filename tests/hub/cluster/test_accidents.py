"""Accidents among nodes, from a few seeds; more by hand (see `accidents`)."""

from __future__ import annotations

import pytest

from tests.hub.cluster.accidents import tried


@pytest.mark.bound(120)
async def test_whatever_happens_to_nodes_clients_see_what_is_stored() -> None:
    await tried(list(range(8)))

"""Accidents among nodes, from a few seeds; more by hand (see `accidents`)."""

from __future__ import annotations

import pytest

from dragoman_hub.engine import checkpoints
from tests.hub.cluster.accidents import tried


@pytest.mark.bound(120)
async def test_whatever_happens_to_nodes_clients_see_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoints, "EVERY", 15)  # these sessions are short
    monkeypatch.setattr(checkpoints, "SPANS", (45,))
    await tried(list(range(8)))

"""The fixture that carries a fault's id."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def fault(request: pytest.FixtureRequest) -> str:
    """The id of the fault that is being tried."""
    return str(getattr(request, "param", ""))

"""Whole conversations, in every order that hypothesis thinks of. `run_many.py` plays as many as one likes."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conversations.kinds import KINDS
from tests.runtime.clock import Clockwork

EXAMPLES = max(30, settings().max_examples)


@pytest.fixture(scope="module")
def clockwork() -> Iterator[Clockwork]:
    """One loop for all examples: making one takes longer than playing a short script."""
    logging.disable(logging.CRITICAL)  # handlers fail on purpose, thousands of times
    made = Clockwork()
    yield made
    made.close()
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    print_blob=True,
)
def test_every_conversation_keeps_the_promises(clockwork: Clockwork, kind: str, data: st.DataObject) -> None:
    script = data.draw(KINDS[kind].scripts, label="script")
    clockwork.run(KINDS[kind].stage(script).play())

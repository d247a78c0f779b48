"""Every scenario, in the order in which they run and are reported."""

from __future__ import annotations

from chat.scenarios import CHAT_SCENARIOS
from hub.scenarios import HUB_SCENARIOS
from scenarios import (
    interpret,
    large,
    load,
    mutants,
    pairs,
    pool,
    reads,
    relay,
    replay,
    startup,
    stream,
    tap,
)
from scenarios.client_paths import CLIENT_SCENARIOS
from scenarios.scenario import Scenario

SCENARIOS: list[Scenario] = [
    stream.SMALL,
    stream.LARGE,
    stream.KEPT,
    reads.ONE,
    reads.MANY,
    replay.REPLAY,
    load.LOAD,
    startup.IMPORT,
    startup.IMPORT_USED,
    startup.IMPORT_ALL,
    startup.START,
    pairs.PAIRS,
    pool.POOL,
    large.LARGE,
    relay.RELAY,
    interpret.INTERPRET,
    mutants.MUTANTS,
    tap.TAP,
    *CLIENT_SCENARIOS,
    tap.TAP_RECORD,
    *HUB_SCENARIOS,
    *CHAT_SCENARIOS,
]

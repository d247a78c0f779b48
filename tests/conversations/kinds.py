"""The three kinds of conversation that are played: how a script of each is made, and on which stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from hypothesis import strategies as st

from tests.conversations.raw_agent_stage import OddStage, odd_scripts
from tests.conversations.raw_client_stage import RudeStage, rude_scripts
from tests.conversations.scripts import scripts
from tests.conversations.stage import Stage


class Performance(Protocol):
    """Plays its script and raises when a promise was broken."""

    async def play(self) -> None: ...


class Kind(NamedTuple):
    """One kind of conversation."""

    scripts: st.SearchStrategy[Any]
    stage: Callable[[Any], Performance]


KINDS = {
    "both ours": Kind(scripts, Stage),
    "our agent, a rude client": Kind(rude_scripts, RudeStage),
    "our client, an odd agent": Kind(odd_scripts, OddStage),
}

"""Finds out which models a server of one's own has, and offers them in a session.

Only servers that were named by their address are asked: the lists of the vendors are long, and most of what
is on them cannot write code. A server that does not answer costs nothing but the choice.
"""

from __future__ import annotations

from typing import Any

from dragoman import Choice, KitSession, Option
from dragoman.agents.code.config import BadConfig, CoderConfig, endpoint
from dragoman.agents.code.models import list_models, warm_up

MODEL = "model"
SECONDS = 5.0


async def offer_models(session: KitSession[Any], config: CoderConfig) -> None:
    """Offer what the server has, unless somebody has said what to offer. The model of the configuration
    stays the first.
    """
    try:
        server = endpoint(config, config.model or "")
    except BadConfig:
        return  # the first prompt says so
    if config.base_url is None or config.models:
        if config.model is not None:
            await warm_up(server)
        return
    names = await list_models(server, seconds=SECONDS)
    offered = list(dict.fromkeys([*config.offered, *names]))
    if names and len(offered) > len(config.offered):
        await session.offer(model_option(offered))


def model_option(names: list[str]) -> Option:
    return Option(MODEL, [Choice(name, name) for name in names], category="model")

"""The cost of a response: tokens as the server counts them, and money if the price is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic_ai.messages import ModelResponse

from dragoman_app.agents.code.models import ModelClient

if TYPE_CHECKING:
    from dragoman import KitTurn

MILLION = 1_000_000


async def spend(turn: KitTurn[Any], response: ModelResponse, model: ModelClient) -> None:
    used = response.usage
    price = model.config.price
    await turn.spend(
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        thought_tokens=used.details.get("reasoning_tokens", 0),
        cached_read_tokens=used.cache_read_tokens,
        cached_write_tokens=used.cache_write_tokens,
        cost=_cost(response, model),
        currency="USD" if price is None else price.currency,
        context_used=used.input_tokens + used.output_tokens,
        context_size=model.context_size,
    )


def _cost(response: ModelResponse, model: ModelClient) -> float | None:
    used, price = response.usage, model.config.price
    if price is not None:
        return (used.input_tokens * price.input + used.output_tokens * price.output) / MILLION
    if model.endpoint.base_url is not None:
        return None  # a server of one's own has no price, whatever its models are called
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None  # no list knows this model, or the server did not count

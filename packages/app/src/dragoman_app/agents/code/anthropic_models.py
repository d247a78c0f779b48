"""Anthropic's models. The import takes a second because of the client; `models` does it in a thread."""

from __future__ import annotations

from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider

from dragoman_app.agents.code.config import NO_KEY, ModelEndpoint


def make_model(endpoint: ModelEndpoint) -> AnthropicModel:
    """Return the model of an endpoint whose `api` is `anthropic`."""
    # Anthropic's client adds `/v1` by itself; people write it down all the same.
    address = endpoint.base_url and endpoint.base_url.rstrip("/").removesuffix("/v1")
    provider = AnthropicProvider(api_key=endpoint.key or NO_KEY, base_url=address)
    return AnthropicModel(endpoint.model, provider=provider)

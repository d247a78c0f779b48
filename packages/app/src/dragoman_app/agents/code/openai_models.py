"""Models of OpenAI, and of every server with one of its formats.

Importing this takes a second, for the vendor's client; `models` does it in a thread.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from dragoman_app.agents.code.config import NO_KEY, ModelEndpoint


def make_model(endpoint: ModelEndpoint) -> Model[Any]:
    """Return the model of an endpoint whose `api` is `responses` or `openai`."""
    if endpoint.api == "responses":
        # This format lets the vendor keep every conversation unless told not to. We keep them ourselves.
        settings = OpenAIResponsesModelSettings(openai_store=False)
        return OpenAIResponsesModel(endpoint.model, provider=_provider(endpoint), settings=settings)
    # A stream that ends without a reason was cut off, also where the connection says nothing of it.
    profile = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)
    return OpenAIChatModel(endpoint.model, provider=_provider(endpoint), profile=profile)


def _provider(endpoint: ModelEndpoint) -> Any:
    """Of two types: the library's own for the vendor, and one for servers that are compatible with it."""
    key, address = endpoint.key or NO_KEY, endpoint.base_url
    if address is None:
        return OpenAIProvider(api_key=key)
    name = urlsplit(address).hostname or "server"
    return OpenAICompatibleProvider(name, base_url=address, api_key=key)

"""The adapter to pydantic-ai: chooses the model class of an endpoint, and streams one request.

This module imports pydantic-ai, which takes a second: it is imported when a session has been asked for, in a
thread. A vendor's client takes another, and comes with the first model of that vendor. Nothing is retried
here and no error judged; `model_request` does that.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from dragoman import Choice, KitSession, Option
from dragoman_app.agents.code.config import BadConfig, CoderConfig, ModelEndpoint, endpoint

log = logging.getLogger(__name__)

CONTEXT = 128_000
"""The assumed context of an unknown model, in tokens. A smaller number would compact too early, a larger one
would fail.
"""

Hear = Callable[[Literal["text", "thought"], str], Awaitable[None]]


class RequestOffer:
    """The parts of a request besides the conversation."""

    def __init__(self, *, fixed_text: str, changing: str = "", tools: Sequence[ToolDefinition] = ()) -> None:
        self.fixed_text = fixed_text
        self.changing = changing
        self.tools = list(tools)

    def parameters(self) -> ModelRequestParameters:
        # What changes between requests comes last, so that vendors can keep the rest in their caches.
        parts = [InstructionPart(content=self.fixed_text)] if self.fixed_text else []
        if self.changing:
            parts.append(InstructionPart(content=self.changing, dynamic=True))
        return ModelRequestParameters(function_tools=self.tools, instruction_parts=parts)


class ModelClient:
    """One model at one endpoint. Use it with `async with`, which closes its connections."""

    def __init__(self, endpoint: ModelEndpoint, config: CoderConfig) -> None:
        self.endpoint = endpoint
        self.config = config
        self._model: Model[Any]
        self.context_size = CONTEXT
        self.takes_images = True

    async def __aenter__(self) -> ModelClient:
        self._model = await asyncio.to_thread(make_model, self.endpoint)
        self.context_size = self.config.context_size or self._model.context_window or CONTEXT
        self.takes_images = bool(self._model.profile.get("supports_image_input", True))
        await self._model.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._model.__aexit__(None, None, None)

    async def request(
        self, messages: list[ModelMessage], offer: RequestOffer, hear: Hear, *, thinking: str | None = None
    ) -> ModelResponse:
        """Send one request; output is reported as it arrives. A cancellation closes the connection."""
        parameters = offer.parameters()
        async with self._model.request_stream(messages, self._settings(thinking), parameters) as stream:
            async for event in stream:
                if isinstance(event, PartStartEvent):
                    await _hear_part(event.part, hear)
                elif isinstance(event, PartDeltaEvent):
                    await _hear_part(event.delta, hear)
            response = stream.get()
        if response.finish_reason is None and not (response.provider_details or {}).get("finish_reason"):
            # A whole answer says why it ends; the connection of a proxy may end as if all were well.
            raise ModelConnectionError(self.endpoint.model, "the stream ended early", phase="read")
        return response

    def _settings(self, thinking: str | None) -> ModelSettings:
        # The clients shall not retry by themselves: the user would wait and not know what for.
        settings = ModelSettings(max_retries=0, cache=True)
        if self.config.max_tokens is not None:
            settings["max_tokens"] = self.config.max_tokens
        if thinking == "off":
            settings["thinking"] = False
        elif thinking in ("low", "medium", "high"):
            settings["thinking"] = thinking  # type: ignore[typeddict-item]  # narrowed by the line above
        return settings


class SessionModel:
    """The model of a session: one client for all of its turns, closed when the session ends or changes its
    model. A client reads the system's certificates, which can take 50 ms.
    """

    def __init__(self, session: KitSession[Any]) -> None:
        self._session = session
        self._client: ModelClient | None = None
        self._end: asyncio.Task[None] | None = None

    async def open(self, endpoint: ModelEndpoint, config: CoderConfig) -> ModelClient:
        if self._client is None or self._client.endpoint != endpoint:
            await self._close()
            self._client = await ModelClient(endpoint, config).__aenter__()
        if self._end is None:
            self._end = self._session.start(self._close_at_end())
        return self._client

    async def _close_at_end(self) -> None:
        try:
            await asyncio.Event().wait()  # nobody sets it: the session cancels what it has started
        finally:
            await self._close()

    async def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.__aexit__()


async def list_models(endpoint: ModelEndpoint, *, seconds: float) -> list[str]:
    """Return the names of the server's models; none if the server does not answer in time."""
    async with await asyncio.to_thread(make_model, endpoint) as model:
        assert model.provider is not None
        client: Any = model.provider.client
        try:
            page = await client.with_options(timeout=seconds, max_retries=0).models.list()
        except Exception as error:  # noqa: BLE001  # two vendors' clients, and nothing depends on the answer
            log.info("the server does not list its models: %s", type(error).__name__)
            return []
        return [str(entry.id) for entry in page.data or []]


async def _hear_part(part: object, hear: Hear) -> None:
    match part:
        case TextPart(content=text) | TextPartDelta(content_delta=text) if text:
            await hear("text", text)
        case ThinkingPart(content=text) | ThinkingPartDelta(content_delta=text) if text:
            await hear("thought", text)
        case _:
            pass  # calls are taken from the whole response: half of one can do nothing


def make_model(endpoint: ModelEndpoint) -> Model[Any]:
    """Create the model. Runs in a thread because of its imports."""
    model: Model[Any] = _vendor(endpoint).make_model(endpoint)
    return model


def _vendor(endpoint: ModelEndpoint) -> ModuleType:
    name = "anthropic_models" if endpoint.api == "anthropic" else "openai_models"
    return import_module(f"dragoman_app.agents.code.{name}")


MODEL = "model"
SECONDS = 5.0


async def offer_models(session: KitSession[Any], config: CoderConfig) -> None:
    """Offer the server's models unless the configuration lists models. The configured
    model stays the first.
    """
    try:
        server = endpoint(config, config.model or "")
    except BadConfig:
        return  # the first prompt says so
    if config.base_url is None or config.models:
        if config.model is not None:
            await asyncio.to_thread(_vendor, server)  # so that the first prompt need not wait for it
        return
    names = await list_models(server, seconds=SECONDS)
    models = list(dict.fromkeys([*config.offered_models, *names]))
    if names and len(models) > len(config.offered_models):
        await session.offer(model_option(models))


def model_option(names: list[str]) -> Option:
    return Option(MODEL, [Choice(name, name) for name in names], category="model")

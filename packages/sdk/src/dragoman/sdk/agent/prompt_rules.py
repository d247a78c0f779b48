"""Rules for every prompt: which content it may hold, and how its outcome is reported."""

from __future__ import annotations

from types import CoroutineType
from typing import TYPE_CHECKING

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.core import STOP_REASONS
from dragoman.errors import InvalidValue
from dragoman.schema import v1
from dragoman.schema.base import Unknown
from dragoman.sdk.capabilities import USAGE, Capabilities
from dragoman.sdk.outbound import write_out
from dragoman.wire.codes import invalid_params

if TYPE_CHECKING:
    from dragoman.sdk.agent.agent import Agent

CANCELLED = b'{"stopReason":"cancelled"}'


def check_blocks(agent: Agent, request: v1.PromptRequest) -> None:
    """Refuse content that the agent did not advertise, before any work."""
    for block in request.prompt:
        if isinstance(block, Unknown):
            raise invalid_params("the prompt holds a content block of an unknown type")
        block_type = (
            ("image" if isinstance(block, v1.ImageContent) and not agent.image else "")
            or ("audio" if isinstance(block, v1.AudioContent) and not agent.audio else "")
            or ("resource" if isinstance(block, v1.EmbeddedResource) and not agent.embedded_context else "")
        )
        if block_type:
            raise invalid_params(f"content of type {block_type} was not advertised")


def write_response(response: v1.PromptResponse, capabilities: Capabilities) -> bytes:
    """Write the answer to a prompt, for a client with these capabilities."""
    if response.usage is not UNSET and USAGE not in capabilities:
        response = replace(response, usage=UNSET)
    return write_out(response, v1.PromptResponse, "session/prompt")


def response_to(outcome: object, *, is_cancelled: bool) -> v1.PromptResponse:
    """Return the answer to a prompt from the return value of its handler."""
    if is_cancelled:
        return v1.PromptResponse(stop_reason="cancelled")
    if outcome is None:
        return v1.PromptResponse(stop_reason="end_turn")
    if isinstance(outcome, v1.PromptResponse):
        return outcome
    if isinstance(outcome, str) and outcome in STOP_REASONS:
        return v1.PromptResponse(stop_reason=outcome)  # type: ignore[arg-type]  # it is one of them
    if isinstance(outcome, CoroutineType):
        outcome.close()  # or Python complains about it, too
        name = f"{outcome.__qualname__}()"
        raise InvalidValue(
            "what the prompt handler returned", name, "has to be awaited: write `await` before it"
        )
    reasons = ", ".join(map(repr, sorted(STOP_REASONS)))
    raise InvalidValue(
        "what the prompt handler returned", outcome, f"must be None, a PromptResponse, or one of {reasons}"
    )

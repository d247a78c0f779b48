"""Runs a turn of a durable session: stores the prompt, runs the handler, stores the answer, then sends it.

The prompt is on disk before the handler begins, so a turn that is cut short leaves a trace; the answer is
on disk before the client has it, so what a client has seen finished is never lost. A cancel changes
neither.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET
from msgspec.structs import replace

from dragoman.errors import ErrorAnswer
from dragoman.runtime.owner import run_to_end
from dragoman.schema import v1
from dragoman.sdk.agent.prompt_rules import response_to
from dragoman.sdk.handlers import Handler
from dragoman.wire.codes import INTERNAL_ERROR, invalid_request
from dragoman_local.kit import frames
from dragoman_local.kit.session import StopTurn
from dragoman_local.kit.usage import TokenUsage

if TYPE_CHECKING:
    from dragoman.sdk.agent.session import ClientHandle
    from dragoman_local.kit.session import KitTurn

log = logging.getLogger(__name__)

RUNNING = "a turn is running in this session elsewhere"


async def run_turn(
    turn: KitTurn[Any],
    handler: Handler,
    client: ClientHandle,
    *,
    on_begin: Callable[[KitTurn[Any]], Awaitable[None]],
) -> v1.PromptResponse:
    """Run a prompt handler as a stored turn. `on_begin` is called when the prompt is stored."""
    if not turn.session.lease.take():
        raise invalid_request(RUNNING)
    turn.begin()
    try:
        await turn.session.log.flush()
        await on_begin(turn)
        response = await _run_handler(turn, handler, client)
    except BaseException as error:
        await turn.abort()
        await run_to_end(_store_end(turn, _answer_for(turn, error)))
        raise
    if turn.spent != TokenUsage() and response.usage is UNSET:
        response = replace(response, usage=turn.spent.to_wire())
    answer = frames.answer_frame(turn.number, response)
    await run_to_end(_store_end(turn, answer, must=response.stop_reason != "cancelled"))
    return response


async def _run_handler(turn: KitTurn[Any], handler: Handler, client: ClientHandle) -> v1.PromptResponse:
    try:
        outcome = await handler.work(turn, client)
        await turn.join()
    except StopTurn as stop:
        await turn.abort()
        outcome = stop.reason
    return response_to(outcome, is_cancelled=turn.cancelled)


async def _store_end(turn: KitTurn[Any], answer: bytes, *, must: bool = False) -> None:
    try:
        turn.end(answer)
        await turn.session.log.flush()
    except ErrorAnswer as error:
        if must:
            raise  # a client must not take for kept what is not
        log.warning("the end of a turn could not be stored: %s", error.message)
    finally:
        turn.leave()


def _answer_for(turn: KitTurn[Any], error: BaseException) -> bytes:
    """The frame that the log gets for a turn that failed or was cancelled."""
    if turn.cancelled or isinstance(error, asyncio.CancelledError):
        return frames.answer_frame(turn.number, v1.PromptResponse(stop_reason="cancelled"))
    if isinstance(error, ErrorAnswer):
        return frames.error_frame(turn.number, error.code, error.message)
    return frames.error_frame(turn.number, INTERNAL_ERROR, "Internal error")

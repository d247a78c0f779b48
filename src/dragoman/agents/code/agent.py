"""The agent `code`, declared. Nothing here imports the model layer: `initialize` is answered without it.

When a session is opened the model layer is imported in a thread, so that the first prompt does not wait for
it.
"""

from __future__ import annotations

import asyncio
import logging
from importlib import import_module
from typing import Any

from dragoman import Agent, Choice, Kit, KitSession, KitTurn, Option
from dragoman.agents import VERSION
from dragoman.agents.code.config import Config
from dragoman.agents.code.conversation import Conversation
from dragoman.agents.code.login import auth_methods, log_in, reach
from dragoman.agents.code.permission import modes
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import AuthenticateRequest

log = logging.getLogger(__name__)

INTERNAL_ERROR = -32603
THINKING = "thinking"
MODEL = "model"


def code_agent(config: Config) -> Agent:
    """A new coding agent."""
    agent = Agent(
        "dragoman-code",
        version=VERSION,
        title="Dragoman Code",
        image=True,
        embedded_context=True,
        additional_directories=True,
        auth_methods=auth_methods(),
    )
    kit = Kit(
        agent,
        conversation=_opened,
        journal=config.sessions,
        modes=modes(),
        options=_options(config),
        max_turn_requests=config.max_turn_requests,
    )

    @agent.authenticate
    async def authenticate(request: AuthenticateRequest) -> None:
        log_in(config, request.method_id)

    @kit.prompt
    async def answer(turn: KitTurn[Conversation]) -> None:
        await (await _turns(config, turn)).run_prompt(turn, config, _model(config, turn))

    @kit.command("compact", "Summarise the conversation, to make room in the model's context")
    async def compact(turn: KitTurn[Conversation], argument: str) -> None:
        await (await _turns(config, turn)).run_compaction(turn, config, _model(config, turn))

    return agent


def _opened(session: KitSession[Conversation]) -> Conversation:
    session.start(_warm_up())
    return Conversation(session)


async def _warm_up() -> None:
    try:
        await asyncio.to_thread(import_module, "dragoman.agents.code.turns")
    except ImportError:
        pass  # told when there is a prompt: a session can be opened and read without a model


async def _turns(config: Config, turn: KitTurn[Conversation]) -> Any:
    """The module that runs prompts; what is missing is told before the wait for it."""
    reach(config, _model(config, turn))
    try:
        return await asyncio.to_thread(import_module, "dragoman.agents.code.turns")
    except ImportError as error:
        log.warning("the model layer cannot be imported: %s", error)
        raise ErrorAnswer(
            INTERNAL_ERROR, "The model layer is not installed: pip install 'dragoman[code]'"
        ) from None


def _model(config: Config, turn: KitTurn[Conversation]) -> str | None:
    return str(turn.session[MODEL]) if config.offered else None


def _options(config: Config) -> list[Option]:
    thinking = Option(
        THINKING,
        [
            Choice("default", "As the model has it"),
            Choice("off", "Off"),
            Choice("low", "Low"),
            Choice("medium", "Medium"),
            Choice("high", "High"),
        ],
        description="How much the model thinks before it answers",
        category="thought_level",
    )
    if not config.offered:
        return [thinking]
    return [Option(MODEL, [Choice(name, name) for name in config.offered], category="model"), thinking]

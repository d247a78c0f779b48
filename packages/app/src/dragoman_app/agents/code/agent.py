"""Declares the agent `code`. Importing this module does not load the model layer: `initialize` is answered
without it.

When a session is opened the model layer is imported in a thread, so that the first prompt does not wait for
it, and a server of one's own is asked which models it has.

`config` says which model and how it is reached; `turn_run` runs a prompt and `loop` is its conversation with
the model; `models` is the edge to pydantic-ai; `tools` is what the model can do, without the model layer.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from concurrent.futures import Future
from importlib import import_module
from typing import Any

from dragoman import Agent, AgentTool, Choice, Kit, KitSession, KitTurn, Option
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import AuthenticateRequest
from dragoman.version import VERSION
from dragoman_app.agents.code.config import CoderConfig
from dragoman_app.agents.code.conversation import CoderConversation
from dragoman_app.agents.code.login import auth_methods, log_in, reach
from dragoman_app.agents.code.permission import modes
from dragoman_app.agents.code.tools import OWN_TOOLS

log = logging.getLogger(__name__)

INTERNAL_ERROR = -32603
THINKING = "thinking"
MODEL = "model"


def code_agent(config: CoderConfig) -> Agent:
    """Return a new coding agent."""
    agent = Agent(
        "dragoman-code",
        version=VERSION,
        title="Dragoman Code",
        image=True,
        embedded_context=True,
        additional_directories=True,
        steering=True,
        auth_methods=auth_methods(),
        tools=[
            AgentTool(name=tool.name, description=tool.description, input_schema=tool.schema)
            for tool in OWN_TOOLS
        ],
    )

    def open_conversation(session: KitSession[CoderConversation]) -> CoderConversation:
        session.start(_warm_up(session, config))
        return CoderConversation(session)

    kit = Kit(
        agent,
        conversation=open_conversation,
        journal=config.sessions,
        modes=modes(),
        options=_options(config),
        max_turn_requests=config.max_turn_requests,
    )

    @agent.authenticate
    async def authenticate(request: AuthenticateRequest) -> None:
        log_in(config, request.method_id)

    @kit.prompt
    async def answer(turn: KitTurn[CoderConversation]) -> None:
        model = await _model(turn.session, config)
        await (await _load_turn_run()).run_prompt(turn, config, model)

    @kit.command("compact", "Summarise the conversation, to make room in the model's context")
    async def compact(turn: KitTurn[CoderConversation], argument: str) -> None:
        model = await _model(turn.session, config)
        await (await _load_turn_run()).run_compaction(turn, config, model)

    return agent


async def _warm_up(session: KitSession[CoderConversation], config: CoderConfig) -> None:
    try:
        turns = await _load_turn_run()
    except ErrorAnswer:
        return  # told when there is a prompt: a session can be opened and read without a model
    await turns.offer_models(session, config)


async def _load_turn_run() -> Any:
    """The module that runs prompts, and imports the model layer.

    The import takes seconds. It has a thread of its own because the process waits for the threads of its loop
    when it ends.
    """
    loaded: Future[Any] = Future()
    loaded.set_running_or_notify_cancel()  # whoever stops waiting does not stop the import

    def load() -> None:
        try:
            loaded.set_result(import_module("dragoman_app.agents.code.turn_run"))
        except BaseException as error:  # noqa: BLE001  # it is raised again where the module is awaited
            loaded.set_exception(error)

    threading.Thread(target=load, name="model layer", daemon=True).start()
    try:
        return await asyncio.wrap_future(loaded)
    except ImportError as error:
        log.warning("the model layer cannot be imported: %s", error)
        raise ErrorAnswer(
            INTERNAL_ERROR, "The model layer is not installed: pip install 'dragoman[code]'"
        ) from None


async def _model(session: KitSession[CoderConversation], config: CoderConfig) -> str | None:
    """The model that the session is set to. What is missing is told before the wait for the model layer."""
    if MODEL not in session.settings.values and config.base_url is not None:
        await (await _load_turn_run()).offer_models(session, config)
    value = session.settings.values.get(MODEL)
    model = None if value is None else str(value)
    reach(config, model)
    return model


def _options(config: CoderConfig) -> list[Option]:
    thinking = Option(
        THINKING,
        [
            Choice("default", "The model's default"),
            Choice("off", "Off"),
            Choice("low", "Low"),
            Choice("medium", "Medium"),
            Choice("high", "High"),
        ],
        description="How much the model thinks before it answers",
        category="thought_level",
    )
    if not config.offered_models:
        return [thinking]
    return [Option(MODEL, [Choice(name, name) for name in config.offered_models], category="model"), thinking]

"""Makes the start of a fork cheap: it shares with its fork server what almost every command loads late.

Commands import modules when they need them, and build a decoder with the first message of its kind; a fork
would do so each time. Whoever forks imports this module, which imports them and lets a client and an agent
talk in memory. What is loaded late, and when, is tried by tests that start processes.
"""

from __future__ import annotations

import asyncio
from importlib import import_module
from pkgutil import iter_modules

from dragoman import Agent, Client, Turn
from dragoman.schema import v1
from dragoman.testing import talking_to

MODULES = (
    "dragoman_app.apps.run.execution",
    "dragoman_app.apps.run.texts",
    "dragoman_app.cli.options.apps",
    "dragoman_app.cli.options.gateway",
    "dragoman_app.cli.traced_run",
    "dragoman.dialect.detect",
    "dragoman.dialect.quirks",
    "dragoman.sdk.interpreter",
    "dragoman.sdk.serve",
    "dragoman.transport.launch",
    "dragoman.transport.process",
)


async def _talk() -> None:
    agent, client = Agent("shared"), Client("shared")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        async with turn.tool("Look", kind="read") as tool:
            await tool.ask()
            await tool.complete("done")
        await turn.say(turn.text)

    @client.request_permission
    async def decide(request: v1.RequestPermissionRequest) -> v1.RequestPermissionResponse:
        outcome = v1.SelectedPermissionOutcome(option_id=request.options[0].option_id)
        return v1.RequestPermissionResponse(outcome=outcome)

    async with talking_to(agent, client=client) as handle:
        session = await handle.new_session(cwd="/")
        assert (await session.prompt("hello")).text == "hello"


for _name in (*MODULES, *(f"{v1.__name__}.{found.name}" for found in iter_modules(v1.__path__))):
    import_module(_name)
asyncio.run(_talk())

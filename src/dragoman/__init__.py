"""Dragoman: every editor and every coding agent understand each other over the Agent Client Protocol.

    from dragoman import Agent, Turn, serve

    agent = Agent("echo")


    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.say(f"You said: {turn.text}")


    serve(agent)

The names below are loaded when they are first used, so that an agent does not pay for the client's side.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman.runtime.limits import Limits
    from dragoman.sdk.agent import Agent
    from dragoman.sdk.agent_handle import AgentHandle
    from dragoman.sdk.agent_session import AgentSession
    from dragoman.sdk.client import Client
    from dragoman.sdk.client_handle import ClientHandle
    from dragoman.sdk.connect import connect
    from dragoman.sdk.lender import Permission
    from dragoman.sdk.prompt import PromptTurn, TurnResult
    from dragoman.sdk.proxy.conductor import Conductor
    from dragoman.sdk.proxy.proxy import Proxy
    from dragoman.sdk.serve import serve, serving
    from dragoman.sdk.session import Session
    from dragoman.sdk.terminal import Terminal
    from dragoman.sdk.turn import Turn

_HOMES = {
    "Agent": "dragoman.sdk.agent",
    "AgentHandle": "dragoman.sdk.agent_handle",
    "AgentSession": "dragoman.sdk.agent_session",
    "Client": "dragoman.sdk.client",
    "ClientHandle": "dragoman.sdk.client_handle",
    "Conductor": "dragoman.sdk.proxy.conductor",
    "Limits": "dragoman.runtime.limits",
    "Permission": "dragoman.sdk.lender",
    "PromptTurn": "dragoman.sdk.prompt",
    "Proxy": "dragoman.sdk.proxy.proxy",
    "Session": "dragoman.sdk.session",
    "Terminal": "dragoman.sdk.terminal",
    "Turn": "dragoman.sdk.turn",
    "TurnResult": "dragoman.sdk.prompt",
    "connect": "dragoman.sdk.connect",
    "serve": "dragoman.sdk.serve",
    "serving": "dragoman.sdk.serve",
}

__all__ = [
    "Agent",
    "AgentHandle",
    "AgentSession",
    "Client",
    "ClientHandle",
    "Conductor",
    "Limits",
    "Permission",
    "PromptTurn",
    "Proxy",
    "Session",
    "Terminal",
    "Turn",
    "TurnResult",
    "connect",
    "serve",
    "serving",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dragoman' has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(home), name)
    globals()[name] = found  # the next look-up does not come here
    return found


def __dir__() -> list[str]:
    return sorted(__all__)

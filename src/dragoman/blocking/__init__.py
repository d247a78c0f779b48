"""Dragoman without `await`: the same names, for scripts, notebooks and handlers that are plain functions.

    from dragoman.blocking import connect

    with connect("some-agent --acp") as agent:
        session = agent.new_session(cwd="/project")
        for update in session.prompt("Hello"):
            print(update)

Nothing here needs an event loop, and nothing is in the way of one: it works inside a running loop too. The
pipe is read and written by the thread that waits, which is also the fastest way to use it.

The names below are loaded when they are first used, so that an agent does not pay for the client's side.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman.blocking.connecting import connect
    from dragoman.blocking.serving import serve
    from dragoman.errors import Cancelled
    from dragoman.runtime.limits import Limits
    from dragoman.sdk.agent.agent import Agent
    from dragoman.sdk.agent.lender import Permission
    from dragoman.sdk.client.client import Client
    from dragoman.sdk.client.prompt import TurnResult
    from dragoman.sdk.threads.agent import AgentHandle, PromptTurn, Session
    from dragoman.sdk.threads.tools import Terminal, ToolCallReport
    from dragoman.sdk.threads.turn import AgentSession, ClientHandle, Turn

_HOMES = {
    "Agent": "dragoman.sdk.agent.agent",
    "AgentHandle": "dragoman.sdk.threads.agent",
    "AgentSession": "dragoman.sdk.threads.turn",
    "Cancelled": "dragoman.errors",
    "Client": "dragoman.sdk.client.client",
    "ClientHandle": "dragoman.sdk.threads.turn",
    "Limits": "dragoman.runtime.limits",
    "Permission": "dragoman.sdk.agent.lender",
    "PromptTurn": "dragoman.sdk.threads.agent",
    "Session": "dragoman.sdk.threads.agent",
    "Terminal": "dragoman.sdk.threads.tools",
    "ToolCallReport": "dragoman.sdk.threads.tools",
    "Turn": "dragoman.sdk.threads.turn",
    "TurnResult": "dragoman.sdk.client.prompt",
    "connect": "dragoman.blocking.connecting",
    "serve": "dragoman.blocking.serving",
}

__all__ = [
    "Agent",
    "AgentHandle",
    "AgentSession",
    "Cancelled",
    "Client",
    "ClientHandle",
    "Limits",
    "Permission",
    "PromptTurn",
    "Session",
    "Terminal",
    "ToolCallReport",
    "Turn",
    "TurnResult",
    "connect",
    "serve",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'dragoman.blocking' has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(home), name)
    globals()[name] = found  # the next look-up does not come here
    return found


def __dir__() -> list[str]:
    return sorted(__all__)

"""Dragoman without `await`: the same names, for scripts, notebooks and handlers that are plain functions.

    from dragoman.blocking import connect

    with connect("some-agent --acp") as agent:
        session = agent.new_session(cwd="/project")
        for update in session.prompt("Hello"):
            print(update)

The awaited SDK does the work, in an event loop that has a thread of its own: each call crosses to it and
waits for the result. It works inside a running loop too.

The names below are loaded when they are first used, so that an agent does not pay for the client's side.
"""

import typing as _typing

if _typing.TYPE_CHECKING:
    from dragoman.blocking.connector import connect
    from dragoman.blocking.server import serve
    from dragoman.errors import Cancelled
    from dragoman.runtime.limits import Limits
    from dragoman.sdk.agent.agent import Agent
    from dragoman.sdk.agent.lender import Permission
    from dragoman.sdk.client.client import Client
    from dragoman.sdk.client.prompt import TurnResult
    from dragoman.sdk.sync.agent import SyncAgentHandle as AgentHandle
    from dragoman.sdk.sync.agent import SyncPromptTurn as PromptTurn
    from dragoman.sdk.sync.agent import SyncSession as Session
    from dragoman.sdk.sync.tools import SyncTerminal as Terminal
    from dragoman.sdk.sync.tools import SyncToolCallReport as ToolCallReport
    from dragoman.sdk.sync.turn import SyncAgentSession as AgentSession
    from dragoman.sdk.sync.turn import SyncClientHandle as ClientHandle
    from dragoman.sdk.sync.turn import SyncTurn as Turn

_HOMES = {
    "Agent": "dragoman.sdk.agent.agent:Agent",
    "AgentHandle": "dragoman.sdk.sync.agent:SyncAgentHandle",
    "AgentSession": "dragoman.sdk.sync.turn:SyncAgentSession",
    "Cancelled": "dragoman.errors:Cancelled",
    "Client": "dragoman.sdk.client.client:Client",
    "ClientHandle": "dragoman.sdk.sync.turn:SyncClientHandle",
    "Limits": "dragoman.runtime.limits:Limits",
    "Permission": "dragoman.sdk.agent.lender:Permission",
    "PromptTurn": "dragoman.sdk.sync.agent:SyncPromptTurn",
    "Session": "dragoman.sdk.sync.agent:SyncSession",
    "Terminal": "dragoman.sdk.sync.tools:SyncTerminal",
    "ToolCallReport": "dragoman.sdk.sync.tools:SyncToolCallReport",
    "Turn": "dragoman.sdk.sync.turn:SyncTurn",
    "TurnResult": "dragoman.sdk.client.prompt:TurnResult",
    "connect": "dragoman.blocking.connector:connect",
    "serve": "dragoman.blocking.server:serve",
}
"""The module of each name, and what the name is called there."""

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

    module, _, attribute = home.partition(":")
    value: object = getattr(import_module(module), attribute)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

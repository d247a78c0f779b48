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
    from dragoman.sdk.agent.agent import Agent, AgentTool
    from dragoman.sdk.agent.lender import Permission
    from dragoman.sdk.agent.session import AgentSession, ClientHandle, Turn
    from dragoman.sdk.agent.terminal import Terminal
    from dragoman.sdk.client.agent_handle import AgentHandle, Session
    from dragoman.sdk.client.client import Client
    from dragoman.sdk.client.prompt import PromptTurn, TurnResult
    from dragoman.sdk.client.tool_state import ToolState
    from dragoman.sdk.connect import connect
    from dragoman.sdk.pool import Pool
    from dragoman.sdk.proxy.conductor import Conductor
    from dragoman.sdk.proxy.proxy import Proxy
    from dragoman.sdk.serve import serve, serving
    from dragoman.sdk.supervision.supervisor import supervised
    from dragoman_local.kit.kit import Kit
    from dragoman_local.kit.mounts import MountedTool
    from dragoman_local.kit.session import KitSession, KitTurn, StopTurn
    from dragoman_local.kit.settings import Choice, Modes, Option, Switch

_HOMES = {
    "Agent": "dragoman.sdk.agent.agent",
    "AgentHandle": "dragoman.sdk.client.agent_handle",
    "AgentSession": "dragoman.sdk.agent.session",
    "AgentTool": "dragoman.sdk.agent.agent",
    "Choice": "dragoman_local.kit.settings",
    "Client": "dragoman.sdk.client.client",
    "ClientHandle": "dragoman.sdk.agent.session",
    "Conductor": "dragoman.sdk.proxy.conductor",
    "Kit": "dragoman_local.kit.kit",
    "KitSession": "dragoman_local.kit.session",
    "KitTurn": "dragoman_local.kit.session",
    "Limits": "dragoman.runtime.limits",
    "Modes": "dragoman_local.kit.settings",
    "MountedTool": "dragoman_local.kit.mounts",
    "Option": "dragoman_local.kit.settings",
    "Permission": "dragoman.sdk.agent.lender",
    "Pool": "dragoman.sdk.pool",
    "PromptTurn": "dragoman.sdk.client.prompt",
    "Proxy": "dragoman.sdk.proxy.proxy",
    "Session": "dragoman.sdk.client.agent_handle",
    "StopTurn": "dragoman_local.kit.session",
    "Switch": "dragoman_local.kit.settings",
    "Terminal": "dragoman.sdk.agent.terminal",
    "ToolState": "dragoman.sdk.client.tool_state",
    "Turn": "dragoman.sdk.agent.session",
    "TurnResult": "dragoman.sdk.client.prompt",
    "connect": "dragoman.sdk.connect",
    "serve": "dragoman.sdk.serve",
    "serving": "dragoman.sdk.serve",
    "supervised": "dragoman.sdk.supervision.supervisor",
}

__all__ = [
    "Agent",
    "AgentHandle",
    "AgentSession",
    "AgentTool",
    "Choice",
    "Client",
    "ClientHandle",
    "Conductor",
    "Kit",
    "KitSession",
    "KitTurn",
    "Limits",
    "Modes",
    "MountedTool",
    "Option",
    "Permission",
    "Pool",
    "PromptTurn",
    "Proxy",
    "Session",
    "StopTurn",
    "Switch",
    "Terminal",
    "ToolState",
    "Turn",
    "TurnResult",
    "connect",
    "serve",
    "serving",
    "supervised",
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

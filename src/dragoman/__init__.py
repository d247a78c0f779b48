"""Dragoman: every editor and every coding agent understand each other over the Agent Client Protocol.

from dragoman import Agent, Turn, serve

agent = Agent("echo")


@agent.prompt
async def reply(turn: Turn) -> None:
    await turn.say(f"You said: {turn.text}")


serve(agent)
"""

from dragoman.runtime.limits import Limits
from dragoman.sdk.agent import Agent
from dragoman.sdk.agent_handle import AgentHandle
from dragoman.sdk.agent_session import AgentSession
from dragoman.sdk.client import Client
from dragoman.sdk.client_handle import ClientHandle
from dragoman.sdk.connect import connect
from dragoman.sdk.lender import Permission
from dragoman.sdk.prompt import PromptTurn, TurnResult
from dragoman.sdk.serve import serve, serving
from dragoman.sdk.session import Session
from dragoman.sdk.terminal import Terminal
from dragoman.sdk.turn import Turn

__all__ = [
    "Agent",
    "AgentHandle",
    "AgentSession",
    "Client",
    "ClientHandle",
    "Limits",
    "Permission",
    "PromptTurn",
    "Session",
    "Terminal",
    "Turn",
    "TurnResult",
    "connect",
    "serve",
    "serving",
]

"""Dragoman without `await`: the same names, for scripts, notebooks and handlers that are plain functions.

    from dragoman.blocking import connect

    with connect("some-agent --acp") as agent:
        session = agent.new_session(cwd="/project")
        for update in session.prompt("Hello"):
            print(update)

Nothing here needs an event loop, and nothing is in the way of one: it works inside a running loop too. The
pipe is read and written by the thread that waits, which is also the fastest way to use it.
"""

from dragoman.blocking.connect import connect
from dragoman.blocking.serve import serve
from dragoman.errors import Cancelled
from dragoman.runtime.limits import Limits
from dragoman.sdk.agent import Agent
from dragoman.sdk.blocking_agent import AgentHandle, PromptTurn, Session
from dragoman.sdk.blocking_tools import Terminal, ToolCallReport
from dragoman.sdk.blocking_turn import AgentSession, ClientHandle, Turn
from dragoman.sdk.client import Client
from dragoman.sdk.lender import Permission
from dragoman.sdk.prompt import TurnResult

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

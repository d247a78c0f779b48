"""What a plain handler gets in the place of what an `async def` gets."""

from __future__ import annotations

from typing import Any

from dragoman.sdk.agent_handle import AgentHandle as AwaitedAgent
from dragoman.sdk.agent_session import AgentSession as AwaitedSession
from dragoman.sdk.blocking_agent import AgentHandle
from dragoman.sdk.blocking_run import Runner
from dragoman.sdk.blocking_turn import ClientHandle, Turn
from dragoman.sdk.client_handle import ClientHandle as AwaitedClient
from dragoman.sdk.prompt import PromptTurn as AwaitedPrompt
from dragoman.sdk.turn import Turn as AwaitedTurn


def faces(
    message: Any,
    peer: Any,
    run: Runner,
    *,
    voice: type[AwaitedSession] = AwaitedSession,
    prompts: type[AwaitedPrompt] = AwaitedPrompt,
) -> tuple[Any, Any]:
    """The message and the peer, each with its blocking face if it has one."""
    if isinstance(peer, AwaitedClient):
        client = ClientHandle(peer, run, voice=voice)
        return Turn(message, client) if isinstance(message, AwaitedTurn) else message, client
    if isinstance(peer, AwaitedAgent):
        return message, AgentHandle(peer, run, prompts=prompts)
    return message, peer

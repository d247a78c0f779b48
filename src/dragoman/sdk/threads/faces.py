"""What a plain handler gets in the place of what an `async def` gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman.sdk.agent.client_handle import ClientHandle as AwaitedClient
from dragoman.sdk.agent.session import AgentSession
from dragoman.sdk.agent.turn import Turn as AwaitedTurn
from dragoman.sdk.threads.turn import ClientHandle, Turn

if TYPE_CHECKING:
    from dragoman.sdk.client.prompt import PromptTurn
    from dragoman.sdk.threads.run import Runner


def faces(
    message: Any,
    peer: Any,
    run: Runner,
    *,
    voice: type[AgentSession] = AgentSession,
    prompts: type[PromptTurn] | None = None,
) -> tuple[Any, Any]:
    """The message and the peer, each with its blocking face if it has one. `voice` is how an agent's sessions
    speak, `prompts` how a client's turns wait for their updates.
    """
    if isinstance(peer, AwaitedClient):
        client = ClientHandle(peer, run, voice=voice)
        return Turn(message, client) if isinstance(message, AwaitedTurn) else message, client
    # Imported here: an agent has no use for the client's side.
    from dragoman.sdk.client.agent_handle import AgentHandle as AwaitedAgent
    from dragoman.sdk.threads.agent import AgentHandle

    return message, AgentHandle(peer, run, prompts=prompts) if isinstance(peer, AwaitedAgent) else peer

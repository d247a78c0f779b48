"""`serve` for agents whose handlers are all plain functions.

The awaited `serve` does the work, with its event loop in the main thread; each handler has a thread of its
own. A handler that does not end is left behind in its thread.
"""

from __future__ import annotations

from dragoman.errors import LocalMistake
from dragoman.runtime.limits import Limits
from dragoman.sdk.agent.agent import Agent


def serve(agent: Agent, *, limits: Limits | None = None) -> None:
    """Serve one client over stdin and stdout until the client closes the connection. Blocks.

        agent = Agent("echo")

        @agent.prompt
        def reply(turn: Turn) -> None:
            turn.say(turn.text)

        serve(agent)

    Specification: https://agentclientprotocol.com/protocol/v1/transports
    """
    if waits := sorted(method for method, handler in agent.handlers.items() if handler.is_async):
        raise LocalMistake(
            f"{', '.join(waits)}: an async handler needs an event loop; use dragoman.serve, or a plain `def`"
        )
    from dragoman.blocking.handlers import in_threads
    from dragoman.sdk.serve import serve as serve_in_loop
    from dragoman.sdk.sync.run import ProgramThreads

    serve_in_loop(in_threads(agent, ProgramThreads()), limits=limits)

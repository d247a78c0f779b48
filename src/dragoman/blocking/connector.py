"""`connect`, for code without `await`: scripts, notebooks, and any thread.

    with connect("some-agent --acp") as agent:
        session = agent.new_session(cwd="/project")
        for update in session.prompt("Hello"):
            ...

A command is talked to without an event loop: the thread that waits for something reads the agent's pipe.
Everything else that can be connected to (an `Agent` of this process, a transport), and everything on Windows,
is talked to through an event loop in a thread of its own. Both work inside a running loop too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dragoman.runtime.limits import DEFAULT_LIMITS, Limits, check_kind
from dragoman.sdk.client.client import Client

if TYPE_CHECKING:  # loaded when `connect` is called
    from dragoman.blocking.child import Child
    from dragoman.blocking.client_conversation import LoopConversation, PipeConversation
    from dragoman.sdk.connect import Target
    from dragoman.sdk.environment import Env
    from dragoman.sdk.interpreter import Ledger


def connect(
    target: Target,
    *,
    client: Client | None = None,
    limits: Limits | None = None,
    cwd: str | os.PathLike[str] | None = None,
    env: Env = None,
    on_stderr: Callable[[bytes], None] | None = None,
    dialect: str = "auto",
    quirks: bool = True,
    ledger: Ledger | None = None,
    policy: str = "",
) -> PipeConversation | LoopConversation:
    """An agent, started if need be, and initialized, for the length of a `with`. A string is a command line,
    which no shell runs, or an address. `on_stderr` is called from another thread. `dialect`, `quirks`,
    `ledger` and `policy` are those of the awaited `connect`.

        with connect("some-agent --acp") as agent:
            session = agent.new_session(cwd="/project")
            for update in session.prompt("Hello"):
                print(update)

    Specification: https://agentclientprotocol.com/protocol/v1/initialization
    """
    check_kind(client, Client, "client")
    check_kind(limits, Limits, "limits")
    is_address = isinstance(target, str) and "://" in target.partition(" ")[0]
    from dragoman.blocking.client_conversation import LoopConversation, PipeConversation

    if isinstance(target, str | Sequence) and not is_address and os.name != "nt":
        from dragoman.sdk.interpreter.dialect_transport import agent_interpreter

        def start() -> Child:
            from dragoman.blocking.child import Child
            from dragoman.sdk.environment import resolve_environment

            seconds = (limits or DEFAULT_LIMITS).end_seconds
            return Child(
                target, cwd=cwd, env=resolve_environment(env), end_seconds=seconds, on_stderr=on_stderr
            )

        interpreter = agent_interpreter(dialect, cwd=cwd, ledger=ledger, quirks=quirks)
        return PipeConversation(
            start, client or Client(), limits or DEFAULT_LIMITS, interpreter=interpreter, policy=policy
        )
    from dragoman.sdk.connect import connect as connect_in_loop

    return LoopConversation(
        connect_in_loop(
            target,
            client=client,
            limits=limits,
            cwd=cwd,
            env=env,
            on_stderr=on_stderr,
            dialect=dialect,
            quirks=quirks,
            ledger=ledger,
            policy=policy,
        )
    )

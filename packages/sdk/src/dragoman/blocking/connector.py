"""`connect` for code without `await`: for scripts, notebooks and any thread.

    with connect("some-agent --acp") as agent:
        session = agent.new_session(cwd="/project")
        for update in session.prompt("Hello"):
            ...

The awaited `connect` does the work, in an event loop that has a thread of its own; it works inside a running
loop too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from dragoman.runtime.limits import Limits, check_kind
from dragoman.sdk.client.client import Client

if TYPE_CHECKING:  # loaded when `connect` is called
    from dragoman.blocking.conversation import Conversation
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
) -> Conversation:
    """Start an agent if necessary, and initialize it for the length of a `with`. A string is an address or a
    command line, which runs without a shell. `on_stderr` is called from another thread. `dialect`, `quirks`,
    `ledger` and `policy` are the same as in the asynchronous `connect`.

        with connect("some-agent --acp") as agent:
            session = agent.new_session(cwd="/project")
            for update in session.prompt("Hello"):
                print(update)

    Specification: https://agentclientprotocol.com/protocol/v1/initialization
    """
    check_kind(client, Client, "client")
    check_kind(limits, Limits, "limits")
    from dragoman.blocking.conversation import Conversation, StderrCalls
    from dragoman.blocking.handlers import in_threads
    from dragoman.sdk.connect import connect as connect_in_loop
    from dragoman.sdk.sync.run import ProgramThreads

    threads, stderr = ProgramThreads(), StderrCalls(on_stderr)
    return Conversation(
        connect_in_loop(
            target,
            client=in_threads(client or Client(), threads),
            limits=limits,
            cwd=cwd,
            env=env,
            on_stderr=stderr.put,
            dialect=dialect,
            quirks=quirks,
            ledger=ledger,
            policy=policy,
        ),
        threads,
        stderr,
    )

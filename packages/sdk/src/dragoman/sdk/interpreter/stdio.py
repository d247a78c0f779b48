"""An interpreter alone on stdio, in front of an agent that it starts and owns: `dragoman translate`.

Standard output is armoured, what the agent complains about goes where it would go without us, and the agent's
environment is ours: whoever puts an interpreter before a command in an editor's configuration expects the
command to run as before.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from dragoman.dialect import Ledger, LedgerEntry
from dragoman.sdk.interpreter.conversation import Interpretation, InterpretedConversation
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.transport.file_outlet import stderr_writer

EOF_GRACE = 2.0


class InterpreterResult(NamedTuple):
    """The result of an interpreted conversation."""

    ledger: Ledger
    stopped_by: LedgerEntry | None
    """The loss that ended the conversation, if any."""
    agent_status: int
    """The exit status of an agent that ended by itself, negative for a signal; 0 if we ended it."""


def stand_between(
    command: Sequence[str], how: Interpretation, *, cwd: str | os.PathLike[str] | None = None
) -> InterpreterResult:
    """Run the interpreter until one side ends; blocks."""
    from dragoman.sdk.interpreter.credential_login import LoginTransport
    from dragoman.transport.process import ChildTransport, spawn
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()

    async def interpret(leaving: ShutdownSignals) -> InterpreterResult:
        leaving.listen()
        ours = stdio.open()

        def start(variables: Mapping[str, str]) -> ChildTransport:
            env = {**os.environ, **variables} if variables else None
            return spawn(command, cwd=cwd, env=env, on_stderr=stderr_writer())

        child = LoginTransport(command, start) if how.settings.credentials else start({})
        conversation = InterpretedConversation(ours, child, how)
        async with conversation:
            await first_of(conversation.wait_ended(), leaving.end_event.wait())
            leaving.begin()
            await conversation.aclose(grace=0 if leaving.end_event.is_set() else EOF_GRACE)
        if leaving.end_event.is_set():  # then its status is our doing
            return InterpreterResult(conversation.ledger, conversation.stopped_by, 0)
        last = child.child if isinstance(child, LoginTransport) else child
        died, status = conversation.agent_died, last.tree.returncode or 0
        return InterpreterResult(
            conversation.ledger, conversation.stopped_by, status if died else max(0, status)
        )

    with ShutdownSignals() as leaving, contextlib.suppress(KeyboardInterrupt):
        return asyncio.run(interpret(leaving))
    return InterpreterResult(Ledger(), None, 0)

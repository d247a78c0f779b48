"""What an agent says outside of any turn, for somebody who waits for it.

Agents go on talking after they answered: a list of commands, the end of a tool, a title. It is kept in
`Session.late`, told to `Client.update`, and here it can be waited for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from dragoman.errors import LocalMistake
from dragoman.schema import v1

if TYPE_CHECKING:
    from dragoman.sdk.client.session import Session


async def listen(session: Session) -> AsyncGenerator[v1.SessionUpdate, None]:
    """Each update outside any turn, those in `late` first, until the agent is gone or the session closed.
    Whoever listens takes them, so one at a time may.
    """
    if session.listener is not None:
        raise LocalMistake("somebody listens to this session already")
    loop = asyncio.get_running_loop()
    session.listener = asyncio.Event()
    ended = loop.create_task(session.agent.link.wait_ended(), name=f"end of session {session.id}")
    ended.add_done_callback(lambda _: session.wake_listener())
    try:
        while True:
            session.listener.clear()
            while session.late:
                yield session.late.popleft()
            if session.closed or ended.done():
                return
            await session.listener.wait()
    finally:
        ended.cancel()
        await asyncio.wait((ended,))
        session.listener = None

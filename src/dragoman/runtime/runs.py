"""The short ways of a link: blocks of nothing but answers, or of nothing but requests.

Who has a thousand calls open, or is asked a thousand times, gets them in long runs, and most of the cost of
such a message is the steps between its parts. Here a run is read by one call and has no events. Whatever is
not plainly a run, or needs to be considered, is left untouched: 0 is returned, and the long way does the same
thing slowly.
"""

from __future__ import annotations

import asyncio
from collections import deque

from dragoman.core import Connection
from dragoman.runtime.waiting import Waiting, wake_all
from dragoman.runtime.work import Workshop
from dragoman.wire.answers import plain_answers
from dragoman.wire.requests import plain_requests


def settle_run(connection: Connection[Waiting], block: bytes) -> int:
    """Give all answers of a block to their calls. Nothing may have to be handled before them."""
    answers = plain_answers(block)
    take = connection.calls.pop
    settled: deque[Waiting] = deque()
    for answer in answers:
        call = take(answer.id, None)
        if call is not None:
            waiting = call.context
            waiting.answered = True
            if waiting.outcome is None:
                waiting.outcome = answer.result
                settled.append(waiting)
    if settled:
        asyncio.get_running_loop().call_soon(wake_all, settled)
    return len(answers)


def ask_run(connection: Connection[Waiting], work: Workshop, block: bytes) -> int:
    """Begin to work on all requests of a block."""
    requests = plain_requests(block)
    debts = connection.ask_all(requests) if requests else []
    if debts:
        work.ask_all(debts)
    return len(debts)

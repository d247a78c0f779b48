"""Fast paths of a link, for blocks that hold only answers or only requests.

Who has a thousand calls open, or is asked a thousand times, gets them in long runs, and most of the cost of
such a message is the steps between its parts. Here a run is read by one call and has no events. Whatever is
not plainly a run, or needs to be considered, is left untouched: 0 is returned, and the long way does the same
thing slowly.
"""

from __future__ import annotations

from dragoman.core import Connection
from dragoman.runtime.pending_call import PendingCall
from dragoman.runtime.request_tasks import RequestTasks
from dragoman.wire.plain import plain_answers, plain_requests


def settle_run(connection: Connection[PendingCall], block: bytes, answered_calls: list[PendingCall]) -> int:
    """Give all answers of a block to their calls, if no other message must be handled first. Calls whose
    callers must wake are added to `answered_calls`.
    """
    answers = plain_answers(block)
    take = connection.calls.pop
    for answer in answers:
        call = take(answer.id, None)
        if call is not None:
            waiting = call.context
            waiting.is_answered = True
            if waiting.outcome is None:
                waiting.outcome = answer.result
                answered_calls.append(waiting)
    return len(answers)


def ask_run(connection: Connection[PendingCall], work: RequestTasks, block: bytes) -> int:
    """Start handling all requests of a block."""
    requests = plain_requests(block)
    incoming_requests = connection.ask_all(requests) if requests else []
    if incoming_requests:
        work.ask_all(incoming_requests)
    return len(incoming_requests)

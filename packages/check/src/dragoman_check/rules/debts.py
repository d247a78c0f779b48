"""RPC: every request gets an answer.

Nobody says how long an answer may take, and a recording may end while one is on its way. What counts is a
request that a side answers at once or never: it has answered a later one, and since then a whole turn has
gone by, or an examiner has waited for it. What waits for people, models or commands is judged with what it
belongs to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.replies import proof, requests_to, restarts
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.shapes import method_of
from dragoman_check.timeline import SETUPS

SLOW = frozenset(
    {
        "session/prompt",
        "session/request_permission",
        "elicitation/create",
        "terminal/wait_for_exit",
        "authenticate",
        "auth/login",
        "mcp/message",
    }
)
"""Methods that wait for people, models or commands."""


@rule("RPC-03", fix="Answer every request, with a result or with an error.", unavoidable=True)
def every_request_is_answered(conversation: Conversation, side: Side) -> Iterator[Observation]:
    requests = requests_to(conversation, side)
    used = Counter(repr(request.request.message["id"]) for request in requests)
    for request in requests:
        if request.answer is not None:
            yield kept(request.answer)
            continue
        is_alone = used[repr(request.request.message["id"])] == 1
        if is_alone and _is_plain(conversation, request) and _is_overdue(conversation, side, request):
            yield observe(False, request.request, "a request was never answered")


def _is_plain(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether it is a request of the protocol that nothing is wrong with, and that takes no time."""
    is_right = exchange.request.message.get("jsonrpc") == "2.0"
    is_right = is_right and type(exchange.request.message["id"]) in (int, str)
    return is_right and exchange.method not in SLOW and method_of(exchange.request, conversation) is not None


def _is_overdue(conversation: Conversation, side: Side, exchange: Exchange) -> bool:
    number = exchange.request.number
    if proof(conversation, side).after(number) is None:
        return False
    facts = conversation.recording.facts
    if "scene" in facts and facts.get("exit") is not None and not facts.keys() & {"died", "hung"}:
        return True  # an examiner waits for what it has asked
    end = next((restart for restart in restarts(conversation) if restart > number), None)
    return exchange.method not in SETUPS and any(
        turn.exchange.request.number > number
        and turn.end is not None
        and (end is None or turn.end.number < end)
        for turn in conversation.turns
    )

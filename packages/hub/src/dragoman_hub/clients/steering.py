"""Sends a client's message into a running turn, by one of two methods that the session's agent supports. When
the agent has it, the message is in the session's stream, and every client that follows the session gets it. A
refused message is not in the stream: the client still has to send it.

What happens to a message is the session's to say (`session.steering`). The same key is never given to the
agent twice: whoever sends it again gets its outcome, also from a later hub.
"""

from __future__ import annotations

import asyncio

from msgspec import Raw

from dragoman.errors import ErrorAnswer
from dragoman.schema.steering import INJECT, STEERING
from dragoman.wire import request
from dragoman.wire.codes import INTERNAL_ERROR, invalid_params, invalid_request
from dragoman_hub.clients.client import ClientHub
from dragoman_hub.clients.request_checks import check_no_child, checked_key, new_key
from dragoman_hub.engine.agent_answers import answer_within
from dragoman_hub.engine.key_lookup import check_owner, prompt_refusal, read_steer_outcome
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.gate.admission import Grant
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import encode_json, object_of, ours_in, value_of, without_ours
from dragoman_hub.session.machine import Verdict, steer_verdict
from dragoman_hub.session.state import PromptAnswer
from dragoman_hub.session.steering import DOUBT

STEER_SECONDS = 3600.0
"""The seconds for an agent to confirm a message, which may wait for its current step."""

STEER_MEMBERS = {STEERING: "prompt", INJECT: "content"}
"""The methods, each with the field of the message."""


async def steer(
    hub: ClientHub, session: LiveSession, method: str, params: dict[str, Raw], grant: Grant
) -> bytes:
    """Return the agent's answer, after the message is stored if the agent has it."""
    check_no_child(session)
    member = STEER_MEMBERS[method]
    blocks = value_of(params.get(member))
    if not isinstance(blocks, list) or not blocks:
        raise invalid_params(f"{member} is missing")
    given_key = checked_key(ours_in(params))
    if given_key and not session.state.knows_steer(given_key):  # a session has the latest alone in mind
        outcome = await read_steer_outcome(hub.journal, session.stream, given_key)
        if outcome is not None:
            check_owner(outcome.by, grant)
            return _result(outcome)
    key = given_key or new_key()
    check_owner(session.state.owner_of_steer(key), grant)
    try:
        async with asyncio.timeout(STEER_SECONDS):
            await _submit(hub, session, method, params, key=key, by=grant.name)
        waiting = asyncio.ensure_future(session.wait_for_steer(key))
        answer = await answer_within(
            waiting, STEER_SECONDS, waits_for_person=lambda: session.state.waits_for_person
        )
    except TimeoutError:
        reason = f"it gave no answer within {STEER_SECONDS:g} seconds"
        session.dispatch(ev.SteerGivenUp(key=key, reason=reason))
        raise ErrorAnswer(INTERNAL_ERROR, DOUBT + reason) from None
    if answer is None:
        raise ErrorAnswer(INTERNAL_ERROR, DOUBT + "the session is not at this hub any more")
    return _result(answer)


async def _submit(
    hub: ClientHub, session: LiveSession, method: str, params: dict[str, Raw], *, key: str, by: str
) -> None:
    """Submit a message. Raises the error for the client if the message is not accepted."""
    if steer_verdict(session.state, key) == "known":
        return
    await session.list_as_running()
    try:
        process = await hub.pool.bind(session)  # if it cannot be started it has nothing: that is no doubt
        number = process.next_id()
        frame = request(number, method, encode_json(without_ours(params)))[:-1]
        with await session.bounds.answers.take(len(frame)):
            if process.over:  # it has ended since, and nobody would answer for the message
                raise process.failure()
            verdict = session.dispatch(ev.SteerReceived(key=key, by=by, id=number, frame=frame))
    finally:
        session.on_change()
    refusal = _refusal(verdict)
    if refusal is not None:
        raise refusal


def _refusal(verdict: Verdict) -> ErrorAnswer | None:
    if verdict == "ignored":
        return invalid_request("the session has no agent just now; send the message again")
    if verdict == "full":
        return invalid_request("too many messages wait for the agent's answer in this session already")
    return prompt_refusal(verdict)


def _result(answer: PromptAnswer) -> bytes:
    if not answer.is_error:
        return answer.content
    error = object_of(Raw(answer.content or b"{}"))
    code, message = value_of(error.get("code")), value_of(error.get("message"))
    raise ErrorAnswer(
        code if isinstance(code, int) else INTERNAL_ERROR, str(message), value_of(error.get("data"))
    )

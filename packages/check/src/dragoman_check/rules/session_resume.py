"""RES: resumes old sessions without their history."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.conversation import Conversation, is_update
from dragoman_check.memory import facts_before
from dragoman_check.rule import Observation, observe, rule_v1
from dragoman_check.rules.session_load import (
    observe_continuation,
    observe_missing,
    quiet_loads,
    replay,
    was_replayed,
)
from dragoman_check.rules.sessions import whole_settings
from dragoman_check.timeline import HISTORY_KINDS, session_of, setup_requests
from dragoman_check.values import text


@rule_v1("RES-01", side="client", fix="Call session/resume only if sessionCapabilities.resume is an object.")
def only_agents_that_can_resume_are_asked_to(conversation: Conversation) -> Iterator[Observation]:
    can = type(conversation.agent_can("sessionCapabilities", "resume")) is dict
    for request in setup_requests(conversation, "session/resume"):
        yield observe(can, request.request, "session/resume was not advertised")


@rule_v1("RES-02", side="client", fix="Send session/resume with sessionId, cwd and mcpServers.")
def a_resume_has_all_it_needs(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/resume"):
        right = bool(session_of(request)) and bool(text(request.params.get("cwd")))
        right = right and type(request.params.get("mcpServers")) is list
        yield observe(right, request.request, "sessionId, cwd or mcpServers is missing")


@rule_v1("RES-03", side="agent", fix="Send no history on session/resume.")
def nothing_is_replayed_on_resume(conversation: Conversation) -> Iterator[Observation]:
    for load in quiet_loads(conversation, "session/resume"):
        updates = [frame for frame in replay(conversation, load) if is_update(frame, *HISTORY_KINDS)]
        # Agents greet and warn: a message alone is history if it was told before.
        history = [
            frame
            for frame in updates
            if not is_update(frame, "agent_message_chunk") or was_replayed(conversation, load, frame)
        ]
        # A session in which nothing was said has no history to leave out.
        if history or facts_before(conversation, session_of(load), load.request).user:
            yield observe(not history, load.request, "history was replayed", load.answer, *history[:1])


@rule_v1("RES-04", side="agent", fix="Let a resumed session go on where it was.")
def a_resumed_session_goes_on(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_continuation(conversation, "session/resume")


@rule_v1("RES-05", side="agent", fix="Give modes and configOptions their shapes, or leave them out.")
def settings_of_a_resumed_session_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from whole_settings(conversation, "session/resume")


@rule_v1("RES-06", side="agent", fix="Answer session/resume with an object.")
def a_resume_is_answered_with_an_object(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/resume"):
        if request.has_result and request.answer is not None:
            right = type(request.answer.message["result"]) is dict
            yield observe(right, request.answer, "the result is not an object")


@rule_v1("RES-07", side="agent", fix="Answer with -32002 if the session is not known.")
def a_session_that_is_missing_is_not_resumed(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_missing(conversation, "session/resume")

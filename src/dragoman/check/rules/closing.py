"""CLO and DEL: the end of sessions."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.check.conversation import Conversation, Exchange, ObservedTurn
from dragoman.check.rule import Observation, observe, rule_v1
from dragoman.check.rules.cancelling import was_waiting
from dragoman.check.rules.sessions import SCOPED
from dragoman.check.timeline import (
    NO_METHOD,
    NOT_FOUND,
    has_spoken_after,
    is_fair,
    is_in_stretch,
    is_open,
    observe_survival,
    reason_of,
    running_turns,
    session_of,
    setups,
)
from dragoman.check.values import items, text


def closes(conversation: Conversation) -> list[Exchange]:
    return conversation.calls("session/close", direction="to_agent")


def deletes(conversation: Conversation) -> list[Exchange]:
    return conversation.calls("session/delete", direction="to_agent")


def _is_object(one: Exchange) -> bool:
    return one.answer is not None and type(one.answer.message.get("result")) is dict


@rule_v1("CLO-01", side="client", fix="Call session/close only if sessionCapabilities.close is an object.")
def only_agents_that_can_close_are_asked_to(conversation: Conversation) -> Iterator[Observation]:
    can = type(conversation.agent_can("sessionCapabilities", "close")) is dict
    for one in closes(conversation):
        yield observe(can, one.request, "session/close was not advertised")


@rule_v1("CLO-02", side="agent", fix="Cancel the running turn of a session that is closed.")
def closing_cancels_the_turn(conversation: Conversation) -> Iterator[Observation]:
    for one in closes(conversation):
        for turn in running_turns(conversation, one.request.number, session_of(one))[:1]:
            if one.has_result and _is_cancelled(conversation, one, turn) is not None:
                kept = _is_cancelled(conversation, one, turn) is True
                why = "the turn of a closed session was not answered with cancelled"
                yield observe(kept, one.request, why, turn.exchange.answer)


def _is_cancelled(conversation: Conversation, close: Exchange, turn: ObservedTurn) -> bool | None:
    """None if the turn may have ended before the close was read, or may still end."""
    end = turn.exchange.answer
    if reason_of(turn) == "cancelled":
        return True
    if end is None:
        return False if _went_on(conversation, close) else None
    if was_waiting(conversation, close.request, turn):
        return False
    return None if close.answer is None or end.number < close.answer.number else False


def _went_on(conversation: Conversation, close: Exchange) -> bool:
    """Whether the agent answered something that was asked after the close was answered."""
    return any(
        one.answer is not None and close.answer is not None and one.request.number > close.answer.number
        for one in conversation.calls(direction="to_agent")
    )


@rule_v1("CLO-03", side="agent", fix="Forget a session that is closed, and end its MCP servers.")
def a_closed_session_is_gone(conversation: Conversation) -> Iterator[Observation]:
    closed = {session_of(one) for one in closes(conversation) if one.has_result}
    for one in conversation.calls(*SCOPED[:3], direction="to_agent"):
        is_closed = is_open(conversation, session_of(one), one.request.number) is False
        if session_of(one) in closed and is_closed and is_fair(conversation, one):
            yield observe(one.has_error, one.request, "a closed session still works", one.answer)
    logs = conversation.recording.facts.get("logs")
    for log in logs if type(logs) is list and closed else ():
        if type(log) is list and "initialize" in log:
            last = [one.answer for one in closes(conversation) if one.has_result][-1]
            yield observe("ended" in log, last, "an MCP server of a closed session still runs")


@rule_v1("CLO-04", side="agent", fix="Answer session/close with an empty object.")
def a_close_is_answered_with_an_object(conversation: Conversation) -> Iterator[Observation]:
    for one in closes(conversation):
        if one.has_result:
            yield observe(_is_object(one), one.answer, "the result is no object")


@rule_v1("CLO-05", side="agent", fix="Answer the close of an unknown session with success or -32002.")
def closing_an_unknown_session_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for one in closes(conversation):
        if is_fair(conversation, one) and is_open(conversation, session_of(one), one.request.number) is False:
            right = one.has_result or one.code == NOT_FOUND
            yield observe(right or one.code == NO_METHOD, one.request, "refused in another way", one.answer)


@rule_v1("CLO-06", side="client", fix="Take -32002 as the answer to session/close for: it is closed.")
def a_client_takes_not_found_for_closed(conversation: Conversation) -> Iterator[Observation]:
    lost = [one.answer for one in closes(conversation) if one.code == NOT_FOUND and one.answer is not None]
    yield from observe_survival(conversation, lost, "its close was answered with -32002")


@rule_v1("CLO-07", side="agent", fix="Answer the prompt first, then the close.")
def the_prompt_is_answered_before_the_close(conversation: Conversation) -> Iterator[Observation]:
    for one in closes(conversation):
        for turn in running_turns(conversation, one.request.number, session_of(one)):
            end = turn.exchange.answer
            if end is not None and one.answer is not None and one.has_result:
                yield observe(
                    end.number < one.answer.number,
                    one.answer,
                    "session/close was answered before session/prompt",
                    end,
                )


# session/delete


@rule_v1("DEL-01", side="client", fix="Call session/delete only if sessionCapabilities.delete is an object.")
def only_agents_that_can_delete_are_asked_to(conversation: Conversation) -> Iterator[Observation]:
    can = type(conversation.agent_can("sessionCapabilities", "delete")) is dict
    for one in deletes(conversation):
        yield observe(can, one.request, "session/delete was not advertised")


@rule_v1("DEL-02", side="agent", fix="Leave deleted sessions out of listings.")
def a_deleted_session_is_not_listed(conversation: Conversation) -> Iterator[Observation]:
    for listing in conversation.calls("session/list", direction="to_agent"):
        gone = {session_of(one) for one in deletes(conversation) if _is_before(one, listing)}
        # Loaded or used again, it may exist again.
        back = {
            session_of(one)
            for one in conversation.calls(*SCOPED, direction="to_agent")
            if one.request.number < listing.request.number and _is_after_delete(conversation, one)
        }
        if listing.has_result and gone - back:
            listed = {text(item.get("sessionId")) for item in items(listing.result.get("sessions"))}
            yield observe(not (gone - back) & listed, listing.answer, "a deleted session is listed")


def _is_before(one: Exchange, listing: Exchange) -> bool:
    return one.has_result and one.answer is not None and one.answer.number < listing.request.number


def _is_after_delete(conversation: Conversation, one: Exchange) -> bool:
    return any(
        session_of(gone) == session_of(one) and gone.request.number < one.request.number
        for gone in deletes(conversation)
    )


@rule_v1("DEL-03", side="agent", fix="Answer the deletion of an unknown session with success.")
def what_is_not_there_can_be_deleted(conversation: Conversation) -> Iterator[Observation]:
    known = {one.session for one in setups(conversation)}
    gone: set[str] = set()
    for one in deletes(conversation):
        session = session_of(one)
        is_gone = session in gone or is_in_stretch(conversation, one.request, "delete of nobody")
        if is_fair(conversation, one) and session and is_gone:
            yield observe(
                one.has_result,
                one.request,
                "session/delete of a session that does not exist failed",
                one.answer,
            )
        if one.has_result and session in known | gone:
            gone.add(session)


@rule_v1("DEL-04", side="agent", fix="Answer session/delete with an empty object.")
def a_delete_is_answered_with_an_object(conversation: Conversation) -> Iterator[Observation]:
    for one in deletes(conversation):
        if one.has_result:
            yield observe(_is_object(one), one.answer, "the result is no object")


@rule_v1("DEL-05", side="agent", fix="Answer loads of deleted sessions, and deletions of those in use.")
def odd_deletions_are_answered(conversation: Conversation) -> Iterator[Observation]:
    loads = [
        one
        for one in conversation.calls("session/load", "session/resume", direction="to_agent")
        if _is_after_delete(conversation, one)
    ]
    active = [
        one for one in deletes(conversation) if is_open(conversation, session_of(one), one.request.number)
    ]
    for one in [*loads, *active]:
        if one.answer is not None or has_spoken_after(conversation, one.request, "agent"):
            yield observe(
                one.answer is not None, one.request, "session/delete was never answered", one.answer
            )


@rule_v1("DEL-06", side="agent", fix="Advertise sessionCapabilities.list beside delete.")
def who_can_delete_can_list(conversation: Conversation) -> Iterator[Observation]:
    if (
        conversation.initialize is not None
        and type(conversation.agent_can("sessionCapabilities", "delete")) is dict
    ):
        can = type(conversation.agent_can("sessionCapabilities", "list")) is dict
        yield observe(can, conversation.initialize.answer, "delete is advertised, list is not")

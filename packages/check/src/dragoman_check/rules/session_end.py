"""CLO and DEL: the end of sessions."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange, ObservedTurn
from dragoman_check.rule import Observation, observe, rule, rule_v1
from dragoman_check.rules.cancellation import was_waiting
from dragoman_check.rules.sessions import SCOPED
from dragoman_check.timeline import (
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
from dragoman_check.values import items, text


def closes(conversation: Conversation) -> list[Exchange]:
    return conversation.calls("session/close", direction="to_agent")


def deletes(conversation: Conversation) -> list[Exchange]:
    return conversation.calls("session/delete", direction="to_agent")


def _is_object(exchange: Exchange) -> bool:
    return exchange.answer is not None and type(exchange.answer.message.get("result")) is dict


@rule_v1("CLO-01", side="client", fix="Call session/close only if sessionCapabilities.close is an object.")
def only_agents_that_can_close_are_asked_to(conversation: Conversation) -> Iterator[Observation]:
    can = type(conversation.agent_can("sessionCapabilities", "close")) is dict
    for close in closes(conversation):
        yield observe(can, close.request, "session/close was not advertised")


@rule_v1("CLO-02", side="agent", fix="Cancel the running turn of a session that is closed.")
def closing_cancels_the_turn(conversation: Conversation) -> Iterator[Observation]:
    for close in closes(conversation):
        for turn in running_turns(conversation, close.request.number, session_of(close))[:1]:
            if close.has_result and _is_cancelled(conversation, close, turn) is not None:
                is_right = _is_cancelled(conversation, close, turn) is True
                why = "the turn of a closed session was not answered with cancelled"
                yield observe(is_right, close.request, why, turn.exchange.answer)


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
        call.answer is not None and close.answer is not None and call.request.number > close.answer.number
        for call in conversation.calls(direction="to_agent")
    )


@rule_v1("CLO-03", side="agent", fix="Forget a session that is closed, and end its MCP servers.")
def a_closed_session_is_gone(conversation: Conversation) -> Iterator[Observation]:
    closed_sessions = {session_of(close) for close in closes(conversation) if close.has_result}
    for call in conversation.calls("session/prompt", direction="to_agent"):
        is_closed = is_open(conversation, session_of(call), call.request.number) is False
        if session_of(call) in closed_sessions and is_closed and is_fair(conversation, call):
            yield observe(call.has_error, call.request, "a closed session still works", call.answer)
    logs = conversation.recording.facts.get("logs")
    for log in logs if type(logs) is list and closed_sessions else ():
        if type(log) is list and "initialize" in log:
            last = [close.answer for close in closes(conversation) if close.has_result][-1]
            yield observe("ended" in log, last, "an MCP server of a closed session still runs")


@rule_v1("CLO-04", side="agent", fix="Answer session/close with an empty object.")
def a_close_is_answered_with_an_object(conversation: Conversation) -> Iterator[Observation]:
    for close in closes(conversation):
        if close.has_result:
            yield observe(_is_object(close), close.answer, "the result is not an object")


@rule_v1("CLO-05", side="agent", fix="Answer the close of an unknown session with success or -32002.")
def closing_an_unknown_session_is_answered(conversation: Conversation) -> Iterator[Observation]:
    for close in closes(conversation):
        if (
            is_fair(conversation, close)
            and is_open(conversation, session_of(close), close.request.number) is False
        ):
            right = close.has_result or close.code == NOT_FOUND
            yield observe(
                right or close.code == NO_METHOD, close.request, "refused in another way", close.answer
            )


@rule_v1("CLO-06", side="client", fix="Read -32002 as the answer to session/close as: the session is closed.")
def a_client_takes_not_found_for_closed(conversation: Conversation) -> Iterator[Observation]:
    refusals = [
        close.answer for close in closes(conversation) if close.code == NOT_FOUND and close.answer is not None
    ]
    yield from observe_survival(conversation, refusals, "its close was answered with -32002")


@rule_v1("CLO-07", side="agent", fix="Answer the prompt first, then the close.")
def the_prompt_is_answered_before_the_close(conversation: Conversation) -> Iterator[Observation]:
    for close in closes(conversation):
        for turn in running_turns(conversation, close.request.number, session_of(close)):
            end = turn.exchange.answer
            if end is not None and close.answer is not None and close.has_result:
                yield observe(
                    end.number < close.answer.number,
                    close.answer,
                    "session/close was answered before session/prompt",
                    end,
                )


# session/delete


@rule_v1("DEL-01", side="client", fix="Call session/delete only if sessionCapabilities.delete is an object.")
def only_agents_that_can_delete_are_asked_to(conversation: Conversation) -> Iterator[Observation]:
    can = type(conversation.agent_can("sessionCapabilities", "delete")) is dict
    for delete in deletes(conversation):
        yield observe(can, delete.request, "session/delete was not advertised")


@rule("DEL-02", side="agent", fix="Leave deleted sessions out of listings.")
def a_deleted_session_is_not_listed(conversation: Conversation) -> Iterator[Observation]:
    for listing in conversation.calls("session/list", direction="to_agent"):
        deleted_ids = {session_of(delete) for delete in deletes(conversation) if _is_before(delete, listing)}
        # Loaded or used again, it may exist again.
        back = {
            session_of(call)
            for call in conversation.calls(*SCOPED, direction="to_agent")
            if call.request.number < listing.request.number and _is_after_delete(conversation, call)
        }
        if listing.has_result and deleted_ids - back:
            listed_ids = {text(item.get("sessionId")) for item in items(listing.result.get("sessions"))}
            yield observe(
                not (deleted_ids - back) & listed_ids, listing.answer, "a deleted session is listed"
            )


def _is_before(exchange: Exchange, listing: Exchange) -> bool:
    return (
        exchange.has_result
        and exchange.answer is not None
        and exchange.answer.number < listing.request.number
    )


def _is_after_delete(conversation: Conversation, exchange: Exchange) -> bool:
    return any(
        session_of(delete) == session_of(exchange) and delete.request.number < exchange.request.number
        for delete in deletes(conversation)
    )


@rule("DEL-03", side="agent", fix="Answer the deletion of an unknown session with success.")
def what_is_not_there_can_be_deleted(conversation: Conversation) -> Iterator[Observation]:
    created_ids = {setup.session for setup in setups(conversation)}
    deleted_ids: set[str] = set()
    for delete in deletes(conversation):
        session = session_of(delete)
        is_gone = session in deleted_ids or is_in_stretch(
            conversation, delete.request, "delete of an unknown session"
        )
        if is_fair(conversation, delete) and session and is_gone:
            yield observe(
                delete.has_result,
                delete.request,
                "session/delete of a session that does not exist failed",
                delete.answer,
            )
        if delete.has_result and session in created_ids | deleted_ids:
            deleted_ids.add(session)


@rule_v1("DEL-04", side="agent", fix="Answer session/delete with an empty object.")
def a_delete_is_answered_with_an_object(conversation: Conversation) -> Iterator[Observation]:
    for delete in deletes(conversation):
        if delete.has_result:
            yield observe(_is_object(delete), delete.answer, "the result is not an object")


@rule_v1("DEL-05", side="agent", fix="Answer loads of deleted sessions, and deletions of those in use.")
def odd_deletions_are_answered(conversation: Conversation) -> Iterator[Observation]:
    loads = [
        call
        for call in conversation.calls("session/load", "session/resume", direction="to_agent")
        if _is_after_delete(conversation, call)
    ]
    active = [
        delete
        for delete in deletes(conversation)
        if is_open(conversation, session_of(delete), delete.request.number)
    ]
    for load in [*loads, *active]:
        if load.answer is not None or has_spoken_after(conversation, load.request, "agent"):
            yield observe(
                load.answer is not None, load.request, "session/delete was never answered", load.answer
            )


@rule_v1("DEL-06", side="agent", fix="Advertise sessionCapabilities.list beside delete.")
def who_can_delete_can_list(conversation: Conversation) -> Iterator[Observation]:
    if (
        conversation.initialize is not None
        and type(conversation.agent_can("sessionCapabilities", "delete")) is dict
    ):
        can = type(conversation.agent_can("sessionCapabilities", "list")) is dict
        yield observe(can, conversation.initialize.answer, "delete is advertised, list is not")

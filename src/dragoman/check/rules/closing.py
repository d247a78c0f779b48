"""CLO and DEL: the end of sessions."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.check.lives import (
    NO_METHOD,
    NOT_FOUND,
    is_fair,
    is_open,
    items,
    lived_on,
    marked,
    reason_of,
    running,
    session_of,
    setups,
    spoke_after,
    text,
)
from dragoman.check.rule import Seen, kept_if
from dragoman.check.rules.cancelling import was_waiting
from dragoman.check.rules.first import rule_v1
from dragoman.check.rules.sessions import SCOPED
from dragoman.check.story import Exchange, Story, Turn


def closes(story: Story) -> list[Exchange]:
    return story.calls("session/close", direction="to_agent")


def deletes(story: Story) -> list[Exchange]:
    return story.calls("session/delete", direction="to_agent")


def _is_object(one: Exchange) -> bool:
    return one.answer is not None and type(one.answer.message.get("result")) is dict


@rule_v1("CLO-01", side="client", fix="Call session/close only if sessionCapabilities.close is an object.")
def only_agents_that_can_close_are_asked_to(story: Story) -> Iterator[Seen]:
    can = type(story.agent_can("sessionCapabilities", "close")) is dict
    for one in closes(story):
        yield kept_if(can, one.request, "session/close was not advertised")


@rule_v1("CLO-02", side="agent", fix="Cancel the running turn of a session that is closed.")
def closing_cancels_the_turn(story: Story) -> Iterator[Seen]:
    for one in closes(story):
        for turn in running(story, one.request.number, session_of(one))[:1]:
            if one.has_result and _is_cancelled(story, one, turn) is not None:
                kept = _is_cancelled(story, one, turn) is True
                why = "the turn of a closed session was not answered with cancelled"
                yield kept_if(kept, one.request, why, turn.exchange.answer)


def _is_cancelled(story: Story, close: Exchange, turn: Turn) -> bool | None:
    """None if the turn may have ended before the close was read, or may still end."""
    end = turn.exchange.answer
    if reason_of(turn) == "cancelled":
        return True
    if end is None:
        return False if _went_on(story, close) else None
    if was_waiting(story, close.request, turn):
        return False
    return None if close.answer is None or end.number < close.answer.number else False


def _went_on(story: Story, close: Exchange) -> bool:
    """Whether the agent answered something that was asked after the close was answered."""
    return any(
        one.answer is not None and close.answer is not None and one.request.number > close.answer.number
        for one in story.calls(direction="to_agent")
    )


@rule_v1("CLO-03", side="agent", fix="Forget a session that is closed, and end its MCP servers.")
def a_closed_session_is_gone(story: Story) -> Iterator[Seen]:
    closed = {session_of(one) for one in closes(story) if one.has_result}
    for one in story.calls(*SCOPED[:3], direction="to_agent"):
        is_closed = is_open(story, session_of(one), one.request.number) is False
        if session_of(one) in closed and is_closed and is_fair(story, one):
            yield kept_if(one.has_error, one.request, "a closed session still works", one.answer)
    logs = story.recording.facts.get("logs")
    for log in logs if type(logs) is list and closed else ():
        if type(log) is list and "initialize" in log:
            last = [one.answer for one in closes(story) if one.has_result][-1]
            yield kept_if("ended" in log, last, "an MCP server of a closed session still runs")


@rule_v1("CLO-04", side="agent", fix="Answer session/close with an empty object.")
def a_close_is_answered_with_an_object(story: Story) -> Iterator[Seen]:
    for one in closes(story):
        if one.has_result:
            yield kept_if(_is_object(one), one.answer, "the result is no object")


@rule_v1("CLO-05", side="agent", fix="Answer the close of an unknown session with success or -32002.")
def closing_an_unknown_session_is_answered(story: Story) -> Iterator[Seen]:
    for one in closes(story):
        if is_fair(story, one) and is_open(story, session_of(one), one.request.number) is False:
            right = one.has_result or one.code == NOT_FOUND
            yield kept_if(right or one.code == NO_METHOD, one.request, "refused in another way", one.answer)


@rule_v1("CLO-06", side="client", fix="Take -32002 as the answer to session/close for: it is closed.")
def a_client_takes_not_found_for_closed(story: Story) -> Iterator[Seen]:
    lost = [one.answer for one in closes(story) if one.code == NOT_FOUND and one.answer is not None]
    yield from lived_on(story, lost, "its close was answered with -32002")


@rule_v1("CLO-07", side="agent", fix="Answer the prompt first, then the close.")
def the_prompt_is_answered_before_the_close(story: Story) -> Iterator[Seen]:
    for one in closes(story):
        for turn in running(story, one.request.number, session_of(one)):
            end = turn.exchange.answer
            if end is not None and one.answer is not None and one.has_result:
                yield kept_if(end.number < one.answer.number, one.answer, "the close came first", end)


# session/delete


@rule_v1("DEL-01", side="client", fix="Call session/delete only if sessionCapabilities.delete is an object.")
def only_agents_that_can_delete_are_asked_to(story: Story) -> Iterator[Seen]:
    can = type(story.agent_can("sessionCapabilities", "delete")) is dict
    for one in deletes(story):
        yield kept_if(can, one.request, "session/delete was not advertised")


@rule_v1("DEL-02", side="agent", fix="Leave deleted sessions out of listings.")
def a_deleted_session_is_not_listed(story: Story) -> Iterator[Seen]:
    for listing in story.calls("session/list", direction="to_agent"):
        gone = {session_of(one) for one in deletes(story) if _is_before(one, listing)}
        # Loaded or used again, it may exist again.
        back = {
            session_of(one)
            for one in story.calls(*SCOPED, direction="to_agent")
            if one.request.number < listing.request.number and _is_after_delete(story, one)
        }
        if listing.has_result and gone - back:
            listed = {text(item.get("sessionId")) for item in items(listing.result.get("sessions"))}
            yield kept_if(not (gone - back) & listed, listing.answer, "a deleted session is listed")


def _is_before(one: Exchange, listing: Exchange) -> bool:
    return one.has_result and one.answer is not None and one.answer.number < listing.request.number


def _is_after_delete(story: Story, one: Exchange) -> bool:
    return any(
        session_of(gone) == session_of(one) and gone.request.number < one.request.number
        for gone in deletes(story)
    )


@rule_v1("DEL-03", side="agent", fix="Answer the deletion of an unknown session with success.")
def what_is_not_there_can_be_deleted(story: Story) -> Iterator[Seen]:
    known = {one.session for one in setups(story)}
    gone: set[str] = set()
    for one in deletes(story):
        session = session_of(one)
        is_gone = session in gone or marked(story, one.request, "delete of nobody")
        if is_fair(story, one) and session and is_gone:
            yield kept_if(one.has_result, one.request, "deleting what is gone failed", one.answer)
        if one.has_result and session in known | gone:
            gone.add(session)


@rule_v1("DEL-04", side="agent", fix="Answer session/delete with an empty object.")
def a_delete_is_answered_with_an_object(story: Story) -> Iterator[Seen]:
    for one in deletes(story):
        if one.has_result:
            yield kept_if(_is_object(one), one.answer, "the result is no object")


@rule_v1("DEL-05", side="agent", fix="Answer loads of deleted sessions, and deletions of those in use.")
def odd_deletions_are_answered(story: Story) -> Iterator[Seen]:
    loads = [
        one
        for one in story.calls("session/load", "session/resume", direction="to_agent")
        if _is_after_delete(story, one)
    ]
    active = [one for one in deletes(story) if is_open(story, session_of(one), one.request.number)]
    for one in [*loads, *active]:
        if one.answer is not None or spoke_after(story, one.request, "agent"):
            yield kept_if(one.answer is not None, one.request, "it was not answered", one.answer)


@rule_v1("DEL-06", side="agent", fix="Advertise sessionCapabilities.list beside delete.")
def who_can_delete_can_list(story: Story) -> Iterator[Seen]:
    if story.initialize is not None and type(story.agent_can("sessionCapabilities", "delete")) is dict:
        can = type(story.agent_can("sessionCapabilities", "list")) is dict
        yield kept_if(can, story.initialize.answer, "delete is advertised, list is not")

"""LST: lists of sessions, and information about sessions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, observe_each, rule, rule_v1
from dragoman_check.timeline import (
    NO_METHOD,
    NOT_FOUND,
    has_spoken_after,
    is_fair,
    is_in_stretch,
    observe_survival,
    session_of,
    setup_at,
    setup_requests,
)
from dragoman_check.values import is_absolute, is_same, items, missing_member, text

UNOBSERVED: dict[str, str] = {
    "LST-15": "what a client keeps of a session's title is seen on its screen only",
}

PAGE = 1000
"""More sessions than fit on one page."""

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?")


def lists(conversation: Conversation) -> list[Exchange]:
    return conversation.calls("session/list", direction="to_agent")


def listed_sessions(exchange: Exchange) -> list[JsonObject]:
    return items(exchange.result.get("sessions"))


def _is_plain(exchange: Exchange) -> bool:
    """Whether nothing about it is odd: a first page, of all folders or of an absolute one."""
    folder = exchange.params.get("cwd")
    return exchange.params.get("cursor") is None and (folder is None or is_absolute(folder))


@rule_v1("LST-01", side="client", fix="Call session/list only if sessionCapabilities.list is an object.")
def only_agents_that_can_list_are_asked_to(conversation: Conversation) -> Iterator[Observation]:
    can = type(conversation.agent_can("sessionCapabilities", "list")) is dict
    for call in lists(conversation):
        yield observe(can, call.request, "session/list was not advertised")


@rule_v1("LST-02", side="agent", fix="Answer session/list without params with the first page.")
def a_listing_needs_no_params(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        if not call.request.message.get("params") and is_fair(conversation, call):
            yield observe(call.has_result, call.request, "session/list without params failed", call.answer)


@rule_v1("LST-03", side="agent", fix="Answer session/list with a list under sessions.")
def a_listing_has_sessions(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        if call.has_result:
            yield observe(type(call.result.get("sessions")) is list, call.answer, "sessions is not a list")


@rule("LST-04", side="agent", fix="Answer with an empty list if no session matches.")
def no_match_is_an_empty_list(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        if call.params.get("cwd") is None or not _is_plain(call) or not is_fair(conversation, call):
            continue
        # Other errors have other reasons.
        is_about_it = (
            call.has_result
            or call.code == NOT_FOUND
            or is_in_stretch(conversation, call.request, "list nowhere")
        )
        if is_about_it and not listed_sessions(call):
            right = call.has_result and call.result.get("sessions") == []
            yield observe(
                right, call.request, "no session matches, and the result is not an empty list", call.answer
            )


@rule("LST-05", side="agent", fix="List only the sessions of the folder that was asked for.")
def a_folder_filters(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        folder = text(call.params.get("cwd"))
        if is_absolute(folder) and listed_sessions(call):
            wrong = [item for item in listed_sessions(call) if not is_same(text(item.get("cwd")), folder)]
            yield observe(not wrong, call.answer, "a session of another folder is listed", call.request)


@rule_v1("LST-06", side="agent", fix="Give every listed session an id, an absolute cwd and ISO 8601 times.")
def listed_sessions_are_whole(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        sessions = call.result.get("sessions")
        if type(sessions) is list and sessions:
            fault = next((fault for fault in map(item_fault, sessions) if fault), "")
            yield observe(not fault, call.answer, fault)


def item_fault(item: Json) -> str:
    """Return the mistake in a listed session; empty if there is none."""
    missing = missing_member(item, sessionId=str, cwd=str)
    if missing:
        return f"{missing} of a listed session is missing or wrong"
    if not is_absolute(item["cwd"]):
        return "the cwd of a listed session is not absolute"
    if item.get("title") is not None and type(item["title"]) is not str:
        return "the title of a listed session is not text"
    time = item.get("updatedAt")
    if time is not None and not (type(time) is str and _TIME.fullmatch(time)):
        return "updatedAt of a listed session is not a time in ISO 8601"
    return ""


@rule_v1("LST-07", side="client", fix="Stop listing when there is no nextCursor.")
def a_listing_ends_without_a_cursor(conversation: Conversation) -> Iterator[Observation]:
    calls = lists(conversation)
    for call, following in zip(calls, [*calls[1:], None][: len(calls)], strict=True):
        if call.answer is None or not call.has_result or call.result.get("nextCursor") is not None:
            continue
        if following is not None and following.request.number > call.answer.number:
            right = following.params.get("cursor") is None
            yield observe(right, following.request, "the client asked for a page after the last", call.answer)
        elif following is None and has_spoken_after(conversation, call.answer, "client"):
            yield kept(call.answer)


@rule_v1("LST-08", side="client", fix="Send a cursor back exactly as it came.")
def a_cursor_comes_back_as_it_was(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        cursor = call.params.get("cursor")
        if cursor is not None:
            cursors = _cursors(conversation, call.request)
            yield observe(cursor in cursors, call.request, "a cursor that was not given on this connection")


def _cursors(conversation: Conversation, frame: Frame) -> list[Json]:
    return [
        call.result["nextCursor"]
        for call in lists(conversation)
        if call.result.get("nextCursor") is not None
        and call.answer is not None
        and call.answer.number < frame.number
    ]


@rule_v1("LST-09", side="agent", fix="Refuse a cursor that was never given with -32602.")
def garbage_is_no_cursor(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        cursor = text(call.params.get("cursor"))
        is_made_up = cursor and cursor not in _cursors(conversation, call.request)
        if is_made_up and is_fair(conversation, call) and call.code != NO_METHOD:
            yield observe(call.has_error, call.request, "a made-up cursor was taken", call.answer)


@rule_v1("LST-10", side="agent", fix="Bound the length of a page and give a nextCursor.")
def pages_are_bounded(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        if call.result.get("nextCursor") is not None or len(listed_sessions(call)) > PAGE:
            yield observe(
                len(listed_sessions(call)) <= PAGE, call.answer, f"more than {PAGE} sessions on one page"
            )


@rule_v1("LST-11", side="agent", fix="List all additional directories of a session in their order, or none.")
def listed_roots_are_whole(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        for item in listed_sessions(call):
            roots = item.get("additionalDirectories")
            if roots is None:
                continue
            right = type(roots) is list and all(map(is_absolute, roots))
            setup = setup_at(conversation, text(item.get("sessionId")), call.request.number)
            if right and setup is not None and setup.roots:
                right = [text(root) for root in roots] == list(setup.roots)
            yield observe(right, call.answer, "the additional directories are not the session's")


@rule_v1("LST-12", side="client", fix="Use the reported directories as they are; forget earlier ones.")
def reported_roots_are_not_merged(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/load", "session/resume"):
        reports = [
            [text(root) for root in item["additionalDirectories"]]
            for listing in lists(conversation)
            if listing.answer is not None and listing.answer.number < request.request.number
            for item in listed_sessions(listing)
            if item.get("sessionId") == session_of(request)
            and type(item.get("additionalDirectories")) is list
        ]
        old = {root for report in reports[:-1] for root in report} - set(reports[-1] if reports else ())
        if old:
            roots = request.params.get("additionalDirectories")
            stale_roots = [root for root in roots if root in old] if type(roots) is list else []
            yield observe(not stale_roots, request.request, "a directory that is no longer reported")


@rule_v1("LST-13", side="agent", fix="Change nothing when sessions are listed.")
def listing_changes_nothing(conversation: Conversation) -> Iterator[Observation]:
    calls = lists(conversation)
    for first, again in pairwise(calls):
        if first.has_result and again.has_result and _is_repeated(conversation, first, again):
            same = [item.get("sessionId") for item in listed_sessions(first)] == [
                item.get("sessionId") for item in listed_sessions(again)
            ]
            yield observe(same, again.answer, "the same listing gives something else", first.answer)


def _is_repeated(conversation: Conversation, exchange: Exchange, again: Exchange) -> bool:
    """Whether the same was asked twice with nothing between; other processes work in other folders."""
    if (
        exchange.answer is None
        or exchange.params != again.params
        or not is_absolute(exchange.params.get("cwd"))
    ):
        return False
    between = conversation.between(exchange.request, again.answer)
    return all(frame is exchange.answer or frame is again.request for frame in between)


@rule_v1("LST-14", side="agent", fix="Send only title, updatedAt and _meta with session_info_update.")
def what_is_told_about_a_session_is_what_changed(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_each(conversation.updates("session_info_update"), _info_fault)


def _info_fault(frame: Frame) -> str:
    info = update_of(frame)
    if info.keys() & {"sessionId", "cwd", "additionalDirectories"}:
        return "session_info_update holds what never changes"
    if type(info.get("title")) not in (str, type(None)):
        return "title is not text"
    time = info.get("updatedAt")
    right = time is None or (type(time) is str and _TIME.fullmatch(time))
    return "" if right else "updatedAt is not a time in ISO 8601"


@rule_v1("LST-16", side="agent", fix="List sessions with the title that was told last.")
def a_title_that_was_told_is_listed(conversation: Conversation) -> Iterator[Observation]:
    for call in lists(conversation):
        for item in listed_sessions(call):
            title_updates = [
                frame
                for frame in conversation.updates("session_info_update")
                if session_of(frame) == item.get("sessionId") and "title" in update_of(frame)
            ]
            before = [frame for frame in title_updates if frame.number < call.request.number]
            if before and call.answer is not None:
                late = [
                    frame
                    for frame in title_updates
                    if call.request.number < frame.number < call.answer.number
                ]
                titles = [update_of(frame)["title"] for frame in [before[-1], *late]]
                right = item.get("title") in titles or (None in titles and not item.get("title"))
                yield observe(
                    right,
                    call.answer,
                    "the listed title differs from the last session_info_update",
                    before[-1],
                )


@rule_v1("LST-17", side="client", fix="Leave out listed sessions that make no sense, and keep the others.")
def a_client_lives_with_malformed_items(conversation: Conversation) -> Iterator[Observation]:
    odd = [
        call.answer
        for call in lists(conversation)
        if call.answer is not None
        and type(call.result.get("sessions")) is list
        and any(missing_member(item, sessionId=str, cwd=str) for item in call.result["sessions"])
    ]
    yield from observe_survival(conversation, odd, "a listing with a malformed session")

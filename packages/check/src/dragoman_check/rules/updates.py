"""UPD: the kinds of session/update."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from dragoman_check.conversation import Conversation, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, observe_each, rule_v1
from dragoman_check.rules.options import is_part, listings
from dragoman_check.shapes import shape_errors
from dragoman_check.timeline import observe_survival, session_of, setup_requests
from dragoman_check.values import items, missing_member, text

UNOBSERVED: dict[str, str] = {
    "UPD-08": "whether something needed was said in a notice alone cannot be told from frames",
    "UPD-09": "an agent message in place of a notice looks like any other agent message",
    "UPD-14": "what a client keeps of a compaction is seen on its screen only",
}

SEVERITIES = ("info", "warning", "error")
STATUSES = ("in_progress", "completed", "failed", "cancelled")
COMPACTIONS = ("compaction_update", "compaction_summary_chunk")
CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
LISTS = {"config_option_update": "configOptions", "available_commands_update": "availableCommands"}


def is_nonsense(frame: Frame, conversation: Conversation) -> bool:
    """Whether an update has an unknown kind, or an invalid form."""
    return bool(shape_errors(frame, conversation))


def _notes(conversation: Conversation) -> list[Frame]:
    return [
        frame
        for frame in conversation.frames
        if frame.method == "session/update" and frame.direction == "to_client"
    ]


@rule_v1("UPD-01", side="agent", fix="Send session/update with sessionId and update.sessionUpdate.")
def an_update_names_its_session_and_its_kind(conversation: Conversation) -> Iterator[Observation]:
    for frame in _notes(conversation):
        right = frame.is_notification and bool(session_of(frame))
        right = right and bool(text(update_of(frame).get("sessionUpdate")))
        yield observe(right, frame, "sessionId or update.sessionUpdate is missing")


@rule_v1("UPD-02", side="agent", fix="Put one content block into a chunk, not a list and not a text.")
def a_chunk_holds_one_block(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates(*CHUNKS):
        missing = missing_member(update_of(frame).get("content"), type=str)
        yield observe(not missing, frame, "content is not a content block")


@rule_v1("UPD-03", side="agent", fix="Name the mode as currentModeId.")
def a_change_of_mode_has_the_name_of_the_schema(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("current_mode_update"):
        right = bool(text(update_of(frame).get("currentModeId")))
        yield observe(right, frame, "currentModeId is missing")


@rule_v1("UPD-04", side="agent", fix="Send whole lists of options and commands.")
def updates_of_lists_are_whole(conversation: Conversation) -> Iterator[Observation]:
    parts = [listing.frame.number for listing in listings(conversation) if is_part(conversation, listing)]
    for frame in conversation.updates(*LISTS):
        entries = update_of(frame).get(LISTS[update_of(frame)["sessionUpdate"]])
        right = type(entries) is list and frame.number not in parts
        yield observe(right, frame, "the list is missing, or is a part of it")


@rule_v1("UPD-05", side="agent", fix="Send notices only to clients that advertise session.notices.")
def notices_are_for_clients_that_want_them(conversation: Conversation) -> Iterator[Observation]:
    yield from _undeclared_updates(conversation, conversation.client_can("session", "notices"), "notice")


@rule_v1("UPD-10", side="agent", fix="Send compactions only to clients that advertise session.compaction.")
def compactions_are_for_clients_that_want_them(conversation: Conversation) -> Iterator[Observation]:
    yield from _undeclared_updates(
        conversation, conversation.client_can("session", "compaction"), *COMPACTIONS
    )


def _undeclared_updates(conversation: Conversation, capability: object, *kinds: str) -> Iterator[Observation]:
    if conversation.initialize is not None:
        for frame in conversation.updates(*kinds):
            yield observe(capability not in (None, False), frame, "the client did not advertise it")


@rule_v1("UPD-06", side="agent", fix="Give a notice a severity and a title.")
def a_notice_has_a_severity_and_a_title(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("notice"):
        notice = update_of(frame)
        right = bool(text(notice.get("severity"))) and bool(text(notice.get("title")).strip())
        right = right and type(notice.get("description")) in (str, type(None))
        yield observe(right, frame, "severity or title is missing, or description is not text")


@rule_v1("UPD-07", side="client", fix="Show notices of an unknown severity like any other.")
def a_client_lives_with_unknown_severities(conversation: Conversation) -> Iterator[Observation]:
    odd = [
        frame
        for frame in conversation.updates("notice")
        if update_of(frame).get("severity") not in SEVERITIES
    ]
    yield from observe_survival(conversation, odd, "a notice of an unknown severity")


@rule_v1("UPD-11", side="agent", fix="Give every compaction an id of its own and a status.")
def a_compaction_has_an_id_and_a_status(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_each(
        conversation.updates("compaction_update"),
        lambda frame: (
            "compactionId or status is missing"
            if missing_member(update_of(frame), compactionId=str, status=str)
            else ""
        ),
    )
    for frames in _compactions(conversation).values():
        for before, frame in pairwise(frames):
            if _status(frame) == "in_progress":
                fresh = _status(before) not in STATUSES[1:]
                yield observe(fresh, frame, "the id of a compaction that has ended is used again", before)


def _compactions(conversation: Conversation) -> dict[tuple[str, str], list[Frame]]:
    """The updates of each compaction in order, without those of replays."""
    replays = [
        request
        for request in setup_requests(conversation, "session/load", "session/resume")
        if request.answer is not None
    ]
    compactions: dict[tuple[str, str], list[Frame]] = {}
    for frame in conversation.updates(*COMPACTIONS):
        if not any(
            replay.request.number < frame.number < replay.answer.number for replay in replays if replay.answer
        ):
            key = (session_of(frame), text(update_of(frame).get("compactionId")))
            compactions.setdefault(key, []).append(frame)
    return compactions


def _status(frame: Frame) -> str:
    """The status in an update; empty for a chunk."""
    return text(update_of(frame).get("status")) if is_update(frame, "compaction_update") else ""


@rule_v1("UPD-12", side="agent", fix="End every compaction exactly once.")
def a_compaction_ends_once(conversation: Conversation) -> Iterator[Observation]:
    for frames in _compactions(conversation).values():
        ends = [frame for frame in frames if _status(frame) in STATUSES[1:]]
        if ends:
            yield observe(len(ends) == 1, ends[0], "a compaction ends twice", *ends[1:2])
        elif _status(frames[0]) == "in_progress" and _is_over(conversation, frames[0]):
            yield observe(False, frames[0], "a compaction never ends")


def _is_over(conversation: Conversation, frame: Frame) -> bool:
    """Whether two later turns of the session have ended since."""
    later = [
        turn
        for turn in conversation.turns
        if turn.session == session_of(frame)
        and turn.exchange.request.number > frame.number
        and turn.exchange.has_result
    ]
    return len(later) >= 2


@rule_v1("UPD-13", side="agent", fix="Send the summary between the beginning and the end of a compaction.")
def a_summary_comes_while_the_compaction_runs(conversation: Conversation) -> Iterator[Observation]:
    for frames in _compactions(conversation).values():
        state = ""
        for frame in frames:
            if is_update(frame, "compaction_summary_chunk"):
                yield observe(state == "in_progress", frame, "a summary before or after its compaction")
            state = _status(frame) or state


@rule_v1("UPD-15", side="agent", fix="Send a summary with completed only, an error with failed only.")
def a_summary_is_for_success_and_an_error_for_failure(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("compaction_update"):
        update = update_of(frame)
        has_summary = bool(items(update.get("summary")) or text(update.get("summary")))
        if has_summary or update.get("error") is not None:
            right = not has_summary or update.get("status") == "completed"
            right = right and (update.get("error") is None or update.get("status") == "failed")
            yield observe(right, frame, "a summary without success, or an error without failure")


@rule_v1("UPD-16", side="client", fix="Keep statuses of compactions that are not known.")
def a_client_lives_with_unknown_statuses(conversation: Conversation) -> Iterator[Observation]:
    odd = [
        frame
        for frame in conversation.updates("compaction_update")
        if text(update_of(frame).get("status")) and update_of(frame)["status"] not in STATUSES
    ]
    yield from observe_survival(conversation, odd, "a compaction of an unknown status")

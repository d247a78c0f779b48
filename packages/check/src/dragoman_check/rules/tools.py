"""TOOL: how tool calls are reported: announced, complete, in order, and finished."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import JsonObject
from dragoman_check.calls import (
    ObservedToolCall,
    permission_exchanges,
    tool_call_frames,
    tool_call_objects,
    tool_calls,
    turn_of,
    was_cancelled,
)
from dragoman_check.conversation import Conversation, ObservedTurn, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.timeline import observe_survival
from dragoman_check.values import text

KINDS = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)
STATUSES = frozenset({"pending", "in_progress", "completed", "failed"})

EFFECTS = ("fs/write_text_file", "terminal/create")
"""Client requests that an agent sends only for a tool of the model; files it also reads for itself."""

UNOBSERVED: dict[str, str] = {
    "TOOL-07": "what a client makes of an update is seen on its screen only",
    "TOOL-13": "it says what cannot be told apart, and nothing can break it",
    "TOOL-15": "how a client shows a terminal is seen on its screen only",
    "TOOL-18": "what a client makes of an update is seen on its screen only",
}


@rule("TOOL-01", side="agent", fix="Send a tool_call update for every tool that the model uses.")
def tools_are_told(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        updates = turn.updates("tool_call", "tool_call_update")
        effects = [frame for frame in turn.during if frame.is_request and frame.method in EFFECTS]
        if updates:
            yield kept(updates[0])
        elif effects and turn.end is not None and turn.exchange.has_result:
            yield observe(False, effects[0], "a tool had an effect in this turn, but no tool call was sent")


@rule("TOOL-02", side="agent", fix="Give every tool_call a toolCallId and a title.", versions=(1,))
def a_call_has_an_id_and_a_title(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("tool_call"):
        update = update_of(frame)
        missing = [name for name in ("toolCallId", "title") if type(update.get(name)) is not str]
        yield observe(not missing, frame, f"{' and '.join(missing)} is missing or no string")


@rule("TOOL-06", side="agent", fix="Name the call that a tool_call_update is about.")
def an_update_names_its_call(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("tool_call_update", "tool_call_content_chunk"):
        right = type(update_of(frame).get("toolCallId")) is str
        yield observe(right, frame, "toolCallId is missing or no string")


@rule("TOOL-04", side="agent", fix="Use one of the ten kinds of tools, or other.")
def kinds_are_known(conversation: Conversation) -> Iterator[Observation]:
    for frame, tool_call in tool_call_objects(conversation):
        kind = tool_call.get("kind")
        if kind is not None:
            right = type(kind) is str and (
                kind in KINDS or conversation.version >= 2
            )  # version 2 has open lists
            yield observe(right, frame, "kind is not one of the kinds of tools")


@rule("TOOL-05", side="agent", fix="Use pending, in_progress, completed or failed.")
def statuses_are_known(conversation: Conversation) -> Iterator[Observation]:
    for frame, tool_call in tool_call_objects(conversation):
        status = tool_call.get("status")
        if status is not None:
            right = type(status) is str and (status in STATUSES or conversation.version >= 2)
            yield observe(right, frame, "status is not one of the statuses of a tool call")


@rule("TOOL-03", side="agent", fix="Give every call an id of its own, and announce it once.", versions=(1,))
def a_call_is_announced_once(conversation: Conversation) -> Iterator[Observation]:
    for call in tool_calls(conversation):
        announcements = [frame for frame in call.frames if is_update(frame, "tool_call")]
        if call.id and announcements:
            again = announcements[1:2]
            yield observe(not again, announcements[0], "one toolCallId is announced more than once", *again)


@rule(
    "TOOL-03",
    side="agent",
    fix="Give every call an id of its own: do not use one again that a finished call has had.",
    unavoidable=True,
    versions=(1,),
)
def the_id_of_a_finished_call_is_not_used_again(conversation: Conversation) -> Iterator[Observation]:
    for call in tool_calls(conversation):
        end = call.ending()
        if call.id and end is not None and not call.is_replayed:
            after = [frame for frame in call.frames if frame.number > end.number]
            again = [frame for frame in after if is_update(frame, "tool_call")][:1]
            yield observe(not again, end, "a call was announced under the id of a finished one", *again)


@rule(
    "TOOL-22",
    side="agent",
    fix="Announce a call with tool_call before you update it.",
    unavoidable=True,
    versions=(1,),
)
def a_call_is_known_before_it_is_updated(conversation: Conversation) -> Iterator[Observation]:
    question_numbers = {
        (question.session, question.call): question.exchange.request.number
        for question in reversed(permission_exchanges(conversation))
    }
    for call, first in _first_told(conversation):
        is_known = question_numbers.get((call.session, call.id), first.number) < first.number
        right = is_update(first, "tool_call") or is_known
        yield observe(right, first, "the first message about this call is an update")


@rule(
    "TOOL-22",
    side="agent",
    fix="Announce a call with tool_call also if you ask for permission first.",
    versions=(1,),
)
def a_call_is_announced_before_it_is_updated(conversation: Conversation) -> Iterator[Observation]:
    for _, first in _first_told(conversation):
        right = is_update(first, "tool_call")
        yield observe(right, first, "the first update about this call is not a tool_call")


def _first_told(conversation: Conversation) -> Iterator[tuple[ObservedToolCall, Frame]]:
    """Calls with the first update about each."""
    keys: set[tuple[str, str]] = set()
    for call in tool_calls(conversation):
        key = (call.session, call.id)
        if call.id and key not in keys and conversation.initialize is not None:
            yield call, call.frames[0]  # without the handshake, the beginning may be missing
        keys.add(key)


def _ran_in(conversation: Conversation, call: ObservedToolCall) -> ObservedTurn | None:
    """The turn with the first message about a call: messages outside of turns may be history."""
    told_now = bool(call.id) and not call.is_replayed and conversation.initialize is not None
    return turn_of(conversation, call.frames[0], call.session) if told_now else None


@rule("TOOL-08", side="agent", fix="Send status in_progress when a pending call begins to run.")
def a_call_that_runs_is_in_progress(conversation: Conversation) -> Iterator[Observation]:
    for call in tool_calls(conversation):
        statuses = call.statuses()
        if _ran_in(conversation, call) is None or not statuses or statuses[0][1] != "pending":
            continue
        completion = next((frame for frame, status in statuses if status == "completed"), None)
        if completion is not None:
            began = any(
                status == "in_progress" for frame, status in statuses if frame.number < completion.number
            )
            yield observe(began, completion, "a pending call was completed and was never in progress")


@rule("TOOL-09", side="agent", fix="Nothing: reporting progress is optional.")
def progress_is_told(conversation: Conversation) -> Iterator[Observation]:
    for call in tool_calls(conversation):
        running = False
        for frame in call.frames:
            status = update_of(frame).get("status")
            if running and status in (None, "in_progress"):
                yield kept(frame)
            running = status == "in_progress" or (running and status is None)


@rule("TOOL-10", side="agent", fix="Send completed or failed for every call before its turn ends.")
def every_call_ends(conversation: Conversation) -> Iterator[Observation]:
    refused_calls = {
        (exchange.session, exchange.call)
        for exchange in permission_exchanges(conversation)
        if exchange.is_answered and not exchange.is_allowed
    }
    for call in tool_calls(conversation):
        turn = _ran_in(conversation, call)
        if turn is None or not _ended_by_itself(conversation, turn):
            continue
        end = call.ending()
        is_dropped = (call.session, call.id) in refused_calls or _is_in_background(turn, call)
        if end is not None or not is_dropped:
            yield observe(end is not None, call.frames[-1], "the turn ended and this call did not", turn.end)


@rule("TOOL-10", side="agent", fix="Leave the status of a call alone once it is completed or failed.")
def a_call_that_has_ended_stays_so(conversation: Conversation) -> Iterator[Observation]:
    for call in tool_calls(conversation):
        end = call.ending()
        if not call.id or end is None:
            continue
        back = [
            frame
            for frame, status in call.statuses()
            if frame.number > end.number
            and status in ("pending", "in_progress")
            # A call that is announced anew is another mistake.
            and not is_update(frame, "tool_call")
        ]
        if back:
            yield observe(False, back[0], "a call that had ended is reported as pending or in progress", end)


def _ended_by_itself(conversation: Conversation, turn: ObservedTurn) -> bool:
    if turn.end is None or not turn.exchange.has_result or was_cancelled(conversation, turn):
        return False
    ending = turn.exchange.result if conversation.version < 2 else update_of(turn.end)
    return ending.get("stopReason") not in ("cancelled", "error")


def _is_in_background(turn: ObservedTurn, call: ObservedToolCall) -> bool:
    """Version 2 has calls that run on after their turn."""
    background = update_of(turn.end).get("background") if turn.end is not None else None
    return type(background) is list and any(
        type(entry) is dict and entry.get("toolCallId") == call.id for entry in background
    )


@rule("TOOL-17", side="agent", fix="Keep the name that you first gave a tool.")
def the_name_of_a_tool_stays(conversation: Conversation) -> Iterator[Observation]:
    for call in tool_calls(conversation):
        names = [frame for frame in call.frames if type(update_of(frame).get("name")) is str]
        if names:
            changed_name = [
                frame for frame in names if update_of(frame)["name"] != update_of(names[0])["name"]
            ][:1]
            yield observe(not changed_name, names[0], "the name of the tool changes", *changed_name)


@rule("TOOL-19", side="agent", fix="Nothing: any JSON is right.")
def raw_input_and_output_are_json(conversation: Conversation) -> Iterator[Observation]:
    for frame, tool_call in tool_call_objects(conversation):
        if tool_call.get("rawInput") is not None or tool_call.get("rawOutput") is not None:
            yield kept(frame)


@rule("TOOL-19", side="client", fix="Accept any JSON as input and output of a tool.")
def a_client_takes_any_raw_value(conversation: Conversation) -> Iterator[Observation]:
    def is_plain(fields: JsonObject) -> bool:
        values = (fields.get("rawInput"), fields.get("rawOutput"))
        return any(value is not None and type(value) is not dict for value in values)

    odd = [frame for frame, tool_call in tool_call_objects(conversation) if is_plain(tool_call)]
    yield from observe_survival(conversation, odd, "a raw value that is not an object")


@rule("TOOL-20", side="client", fix="Replace a bad optional member by its default, and leave out bad items.")
def a_client_survives_bad_members_of_a_call(conversation: Conversation) -> Iterator[Observation]:
    odd = [frame for frame in tool_call_frames(conversation) if _is_bad(update_of(frame))]
    yield from observe_survival(conversation, odd, "a tool call with a bad optional member")


def _is_bad(fields: JsonObject) -> bool:
    kind, status, places = fields.get("kind"), fields.get("status"), fields.get("locations")
    bad_places = places is not None and (
        type(places) is not list or any(not _is_place(place) for place in places)
    )
    is_odd = (kind is not None and text(kind) not in KINDS) or (
        status is not None and text(status) not in STATUSES
    )
    return bool(text(fields.get("toolCallId"))) and (is_odd or bad_places)


def _is_place(value: object) -> bool:
    return type(value) is dict and type(value.get("path")) is str


@rule("TOOL-21", side="client", fix="Accept an update for a call that was never announced.", versions=(1,))
def a_client_survives_calls_out_of_order(conversation: Conversation) -> Iterator[Observation]:
    odd: list[Frame] = []
    for call in tool_calls(conversation):
        announcements = [frame for frame in call.frames if is_update(frame, "tool_call")]
        if not is_update(call.frames[0], "tool_call"):
            odd.append(call.frames[0])
        odd += announcements[1:2]
    yield from observe_survival(conversation, odd, "a call that arrived out of order")

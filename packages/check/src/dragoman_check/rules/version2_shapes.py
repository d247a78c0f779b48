"""Version 2: the shapes of messages, area by area, by its own schema, and lists that must be complete.

That every frame has the shape of its version is judged elsewhere for all methods at once; here a fault is
named by the requirement that it breaks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, Exchange, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe
from dragoman_check.rules.version2 import rule_v2
from dragoman_check.shapes import shape_errors
from dragoman_check.timeline import session_of
from dragoman_check.values import items, text

CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
MESSAGES = (*CHUNKS, "user_message", "agent_message", "agent_thought")


def _observe_shapes(conversation: Conversation, frames: Iterable[Frame]) -> Iterator[Observation]:
    for frame in frames:
        faults = shape_errors(frame, conversation)
        yield observe(not faults, frame, str(faults[0]) if faults else "")


def _answers(conversation: Conversation, *methods: str) -> list[Frame]:
    """Results of what the client asked for."""
    calls = conversation.calls(*methods, direction="to_agent")
    return [call.answer for call in calls if call.answer is not None and call.has_result]


@rule_v2("UPD-01", side="agent", fix="Send session/update with sessionId and update.sessionUpdate.")
def an_update_names_its_session_and_kind(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.notes("session/update", direction="to_client"):
        right = bool(session_of(frame)) and type(update_of(frame).get("sessionUpdate")) is str
        yield observe(right, frame, "sessionId or update.sessionUpdate is missing or no string")


@rule_v2("UPD-02", side="agent", fix="Put one content block and a messageId into every chunk.")
def chunks_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, conversation.updates(*CHUNKS))


@rule_v2(
    "TURN-08", side="agent", fix="Give every message an id, and acknowledge a prompt with the id of its own."
)
def messages_have_ids(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates(*MESSAGES):
        right = type(update_of(frame).get("messageId")) is str
        yield observe(right, frame, "messageId is missing or no string")
    yield from _observe_shapes(conversation, _answers(conversation, "session/prompt"))


@rule_v2("UPD-06", side="agent", fix="Give a notice a severity and a title.")
def notices_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, conversation.updates("notice"))


@rule_v2("UPD-11", side="agent", fix="Give a compaction an id and a status.")
def compactions_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(
        conversation, conversation.updates("compaction_update", "compaction_summary_chunk")
    )


@rule_v2("TURN-13", "TURN-26", side="agent", fix="Send used and size as whole numbers.")
def usage_is_told_in_numbers(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, conversation.updates("usage_update"))


@rule_v2("TURN-14", side="agent", fix="Send no usage_update while the size of the window is not known.")
def usage_is_told_of_a_known_window(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("usage_update"):
        size = update_of(frame).get("size")
        if type(size) is int:
            yield observe(size > 0, frame, "size is not above zero")


@rule_v2("LST-14", side="agent", fix="Send only title, updatedAt and _meta with session_info_update.")
def news_of_a_session_are_whole(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("session_info_update"):
        extra = update_of(frame).keys() & {"sessionId", "cwd", "additionalDirectories"}
        faults = [str(fault) for fault in shape_errors(frame, conversation)]
        faults += [f"$.update.{name} does not belong there" for name in sorted(extra)]
        yield observe(not faults, frame, faults[0] if faults else "")


@rule_v2(
    "LST-03", "LST-06", side="agent", fix="Answer session/list with sessions, each with an id and a cwd."
)
def a_list_of_sessions_is_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, _answers(conversation, "session/list"))


@rule_v2("RES-06", side="agent", fix="Answer session/resume with an object.")
def the_answer_to_a_resume_is_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, _answers(conversation, "session/resume"))


@rule_v2("CLO-04", side="agent", fix="Answer session/close with an empty object.")
def the_answer_to_a_close_is_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, _answers(conversation, "session/close"))


@rule_v2("DEL-04", side="agent", fix="Answer session/delete with an empty object.")
def the_answer_to_a_deletion_is_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, _answers(conversation, "session/delete"))


@rule_v2("CMD-02", side="agent", fix="Give every command a type, a name and a description.")
def listed_commands_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, conversation.updates("available_commands_update"))


@rule_v2("CMD-07", side="agent", fix="Leave the slash out of a command's name.")
def listed_commands_have_no_slash(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("available_commands_update"):
        for command in items(update_of(frame).get("availableCommands")):
            name = text(command.get("name"))
            yield observe(not name.startswith("/"), frame, "the name of a command begins with a slash")


# Options.


def _option_lists(conversation: Conversation) -> Iterator[tuple[Frame, str, Json]]:
    """Every list of options, with its frame and session."""
    makers = ("session/new", "session/fork", "session/resume", "session/set_config_option")
    lists = [
        (call.answer, _session(call), call.result["configOptions"])
        for call in conversation.calls(*makers, direction="to_agent")
        if call.answer is not None and "configOptions" in call.result
    ]
    lists += [
        (frame, session_of(frame), update_of(frame).get("configOptions"))
        for frame in conversation.updates("config_option_update")
    ]
    yield from sorted(lists, key=lambda entry: entry[0].number)


def _session(exchange: Exchange) -> str:
    return text(exchange.result.get("sessionId")) or session_of(exchange)


@rule_v2("CFG-01", "CFG-05", side="agent", fix="Give every option configId, name, type and currentValue.")
def listed_options_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from _observe_shapes(conversation, (frame for frame, _, _ in _option_lists(conversation)))


@rule_v2("CFG-07", side="agent", fix="Name one of the option's own values as its currentValue.")
def the_value_of_an_option_is_one_of_its_own(conversation: Conversation) -> Iterator[Observation]:
    for frame, _, options in _option_lists(conversation):
        for option in items(options):
            values = list(_values(option.get("options")))
            if option.get("type") == "select" and values:
                yield observe(
                    option.get("currentValue") in values, frame, "currentValue is not one of its values"
                )


def _values(options: object) -> Iterator[Json]:
    for option in items(options):
        if "options" in option:
            yield from (inner.get("value") for inner in items(option["options"]))
        else:
            yield option.get("value")


@rule_v2("CFG-16", side="agent", fix="Answer session/set_config_option with the whole list of options.")
def a_change_is_answered_with_all_options(conversation: Conversation) -> Iterator[Observation]:
    yield from _whole_lists(
        conversation, {frame.number for frame in _answers(conversation, "session/set_config_option")}
    )


@rule_v2("CFG-17", "UPD-04", side="agent", fix="Send the whole list of options with config_option_update.")
def told_options_are_all_options(conversation: Conversation) -> Iterator[Observation]:
    yield from _whole_lists(
        conversation, {frame.number for frame in conversation.updates("config_option_update")}
    )


def _whole_lists(conversation: Conversation, numbers: set[int]) -> Iterator[Observation]:
    """Lists that must be whole. Options may go; one that is gone for one list only was left out."""
    lists = [(frame, session, _ids(options)) for frame, session, options in _option_lists(conversation)]
    for at, (frame, session, ids) in enumerate(lists):
        before = next(
            (other_ids for _, other_session, other_ids in reversed(lists[:at]) if other_session == session),
            None,
        )
        after = next(
            (other_ids for _, other_session, other_ids in lists[at + 1 :] if other_session == session), None
        )
        if frame.number not in numbers:
            continue
        missing = (before or set()) - ids
        back = missing & after if after is not None else set()
        yield observe(not back and bool(ids or not before), frame, "options are missing in the list")


def _ids(options: object) -> set[str]:
    return {text(option.get("configId")) for option in items(options)}


@rule_v2("CFG-14", side="client", fix="Set an option with its configId, and a value with its type.")
def a_change_of_an_option_is_whole(conversation: Conversation) -> Iterator[Observation]:
    calls = conversation.calls("session/set_config_option", direction="to_agent")
    yield from _observe_shapes(conversation, (call.request for call in calls if call.code is None))

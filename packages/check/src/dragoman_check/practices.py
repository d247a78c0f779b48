"""Checks for advice beyond the protocol: judges for packs that no requirement covers.

They see nothing where they cannot know, as all rules. Breaking one is worth a warning at most.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.conversation import Conversation, update_of
from dragoman_check.rule import Observation, observe

LONG = 5.0
"""The seconds of silence after which a waiting user starts to wonder."""

_DESTROYING = ("edit", "delete", "move")
"""What a command changes cannot be known: those that only look are commands too."""

_SAYING_NOTHING = ("", "error", "internal error", "unknown error", "failed")


def tool_calls_say_what_they_are(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("tool_call"):
        update = update_of(frame)
        missing = [name for name in ("kind", "status") if update.get(name) is None]
        yield observe(not missing, frame, f"a tool call without {' and '.join(missing)}")


def version_one_is_spoken(conversation: Conversation) -> Iterator[Observation]:
    handshake = conversation.initialize
    if handshake is not None and handshake.has_result and handshake.params.get("protocolVersion") == 1:
        version = handshake.result.get("protocolVersion")
        yield observe(version == 1 and type(version) is int, handshake.answer, "the version is not 1")


def the_agent_introduces_itself(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is not None and conversation.initialize.has_result:
        info = conversation.initialize.result.get("agentInfo")
        is_introduced = type(info) is dict and all(
            type(info.get(name)) is str and info.get(name) for name in ("name", "version")
        )
        yield observe(
            is_introduced, conversation.initialize.answer, "agentInfo without a name or without a version"
        )


def a_turn_says_something_before_it_ends(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if turn.exchange.has_result and turn.exchange.result.get("stopReason") == "end_turn":
            has_updates = bool(turn.updates())
            yield observe(
                has_updates, turn.exchange.answer, "the turn ended without any update", turn.exchange.request
            )


def long_turns_are_streamed(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        answer = turn.exchange.answer
        if answer is not None and answer.at - turn.exchange.request.at > LONG:
            silent = not [frame for frame in turn.during if frame.direction == "to_client"]
            yield observe(
                not silent, turn.exchange.request, "a long turn during which nothing was said", answer
            )


def what_changes_things_is_asked_for(conversation: Conversation) -> Iterator[Observation]:
    """Skip a session with a permission for always: then asking again is not expected."""
    asked_calls = {
        (_session(exchange.params), _call_id(exchange.params.get("toolCall")))
        for exchange in conversation.calls("session/request_permission", direction="to_client")
    }
    trusting = {
        _session(exchange.params)
        for exchange in conversation.calls("session/request_permission", direction="to_client")
        if _chosen_kind(exchange.params, exchange.result) == "allow_always"
    }
    kinds: dict[tuple[str, str], object] = {}
    # What is told outside of turns is a replay: it was asked for when it happened.
    for frame in [
        update for turn in conversation.turns for update in turn.updates("tool_call", "tool_call_update")
    ]:
        update, session = update_of(frame), _session(frame.params)
        key = (session, _call_id(update))
        if update.get("kind") is not None:
            kinds[key] = update["kind"]
        is_change = update.get("status") == "completed" and kinds.pop(key, None) in _DESTROYING
        if is_change and session not in trusting:
            yield observe(key in asked_calls, frame, "a tool call that changes things was not asked for")


def errors_say_what_is_wrong(conversation: Conversation) -> Iterator[Observation]:
    """Ignore errors to a client that may have closed the connection already."""
    last = max((frame.number for frame in conversation.frames if frame.direction == "to_agent"), default=0)
    for exchange in conversation.calls(direction="to_agent"):
        if exchange.has_error and exchange.answer is not None and exchange.answer.number < last:
            error = exchange.answer.message["error"]
            message = str(error.get("message") or "").strip().lower().rstrip(".")
            mute = message in _SAYING_NOTHING and not error.get("data")
            yield observe(
                not mute, exchange.answer, "an error message that does not name the problem", exchange.request
            )


def _session(params: dict[str, object]) -> str:
    return str(params.get("sessionId"))


def _call_id(call: object) -> str:
    return str(call.get("toolCallId")) if isinstance(call, dict) else ""


def _chosen_kind(params: dict[str, object], result: dict[str, object]) -> object:
    outcome, options = result.get("outcome"), params.get("options")
    option_id = outcome.get("optionId") if isinstance(outcome, dict) else None
    for option in options if isinstance(options, list) else []:
        if isinstance(option, dict) and option_id is not None and option.get("optionId") == option_id:
            return option.get("kind")
    return None

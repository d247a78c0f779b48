"""Version 2: the order of messages in turns, questions, replays and terminals.

These follow the pages of version 2, which version 1 has no counterpart of.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange, ObservedTurn, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe
from dragoman_check.rules.version2 import WORK, inserted_turns, reason, rule_v2
from dragoman_check.timeline import has_spoken_after, is_fair, is_in_use, session_of, setup_at
from dragoman_check.values import is_absolute, is_same, text

CHUNKS = ("user_message_chunk", "agent_message_chunk", "agent_thought_chunk")
WHOLES = tuple(kind.removesuffix("_chunk") for kind in CHUNKS)


@rule_v2("TURN-27", side="agent", fix="Report running before you work, and idle with a stopReason after it.")
def work_is_announced_before_it_ends(conversation: Conversation) -> Iterator[Observation]:
    for turn in inserted_turns(conversation):
        if turn.end is not None and reason(turn):
            states = [frame for frame in turn.updates("state_update") if frame is not turn.end]
            # A prompt that comes while the session works finds it running.
            before = [
                update_of(frame).get("state")
                for frame in conversation.updates("state_update")
                if session_of(frame) == turn.session and frame.number < turn.exchange.request.number
            ]
            right = before[-1:] == ["running"] or any(update_of(f).get("state") == "running" for f in states)
            yield observe(right, turn.end, "idle with a stopReason, and never running before it", *states[:1])


@rule_v2("TURN-28", side="agent", fix="Give every message of a user an id of its own.")
def every_prompt_has_a_message_id_of_its_own(conversation: Conversation) -> Iterator[Observation]:
    seen: set[tuple[str, str]] = set()
    for turn in inserted_turns(conversation):
        key = (turn.session, text(turn.exchange.result.get("messageId")))
        if key[1]:
            yield observe(key not in seen, turn.exchange.answer, "a messageId that an earlier prompt has")
            seen.add(key)


@rule_v2("TURN-29", side="agent", fix="Report requires_action while you wait for an answer.")
def waiting_for_an_answer_is_told(conversation: Conversation) -> Iterator[Observation]:
    for question in conversation.calls("session/request_permission", direction="to_client"):
        if question.answer is None:
            continue
        states = [
            update_of(frame).get("state")
            for frame in conversation.updates("state_update")
            if session_of(frame) == session_of(question) and frame.number < question.answer.number
        ]
        right = states[-1:] == ["requires_action"]
        yield observe(right, question.request, "a question is open, and the session does not say so")


# Replays.


def _replays(conversation: Conversation) -> Iterator[tuple[Exchange, list[Frame], list[Frame]]]:
    """Each requested replay, with its updates before the answer, and soon after it."""
    for resume in conversation.calls("session/resume", direction="to_agent"):
        if resume.answer is None or not resume.has_result or resume.params.get("replayFrom") is None:
            continue
        session, late = session_of(resume), []
        told = [f for f in conversation.between(resume.request, resume.answer) if session_of(f) == session]
        for frame in conversation.between(resume.answer, None):
            if frame.direction == "to_agent":
                break  # whatever comes now may have been asked for
            if session_of(frame) == session and is_update(frame, *HISTORY):
                late.append(frame)
        yield resume, told, late


@rule_v2("RES-08", side="agent", fix="Answer session/resume after the last update of the replay.")
def a_replay_comes_before_its_answer(conversation: Conversation) -> Iterator[Observation]:
    for resume, _, late in _replays(conversation):
        if late or has_spoken_after(conversation, resume.answer, "agent"):
            yield observe(not late, resume.answer, "history comes after the answer", *late[:1])


@rule_v2("RES-09", side="agent", fix="Replay a message under the id with which you acknowledged its prompt.")
def a_replayed_prompt_has_its_id(conversation: Conversation) -> Iterator[Observation]:
    for resume, told, _ in _replays(conversation):
        acknowledged = {
            text(turn.exchange.result.get("messageId"))
            for turn in inserted_turns(conversation)
            if turn.session == session_of(resume) and turn.exchange.request.number < resume.request.number
        }
        replayed = [frame for frame in told if is_update(frame, "user_message", "user_message_chunk")]
        if acknowledged and replayed:
            ids = {text(update_of(frame).get("messageId")) for frame in replayed}
            yield observe(bool(ids & acknowledged), replayed[0], "no message has the id of its prompt")


@rule_v2("RES-10", side="agent", fix="Begin each replayed message with its whole update, then send chunks.")
def a_replayed_message_begins_as_a_whole(conversation: Conversation) -> Iterator[Observation]:
    for _, told, _ in _replays(conversation):
        begun: set[tuple[str, str]] = set()
        for frame in told:
            update = update_of(frame)
            key = (text(update.get("sessionUpdate")).removesuffix("_chunk"), text(update.get("messageId")))
            if is_update(frame, *WHOLES):
                begun.add(key)
            elif is_update(frame, *CHUNKS):
                yield observe(key in begun, frame, "a chunk of a message that was not begun in this replay")


# Terminals.


@rule_v2("TOOL-23", side="agent", fix="Give a terminal one absolute cwd, and keep it.")
def a_terminal_stays_in_its_folder(conversation: Conversation) -> Iterator[Observation]:
    folders: dict[tuple[str, str], str] = {}
    for frame in conversation.updates("terminal_update"):
        folder = update_of(frame).get("cwd")
        if folder is not None:
            key = (session_of(frame), text(update_of(frame).get("terminalId")))
            right = is_absolute(folder) and is_same(folders.setdefault(key, text(folder)), text(folder))
            yield observe(right, frame, "the cwd of a terminal is not absolute, or changes")


@rule_v2("TOOL-24", side="agent", fix="Encode each piece of output in base64 by itself.")
def output_of_a_terminal_is_base64(conversation: Conversation) -> Iterator[Observation]:
    for frame in conversation.updates("terminal_output_chunk", "terminal_update"):
        update = update_of(frame)
        output = update.get("output")
        holder = output if isinstance(output, dict) else update
        data = holder.get("data")
        if data is not None:
            yield observe(_is_base64(data), frame, "data is not base64 that can be decoded by itself")


def _is_base64(data: object) -> bool:
    if type(data) is not str:
        return False
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


# Version 2: updates about a session while it is closed or resumed.

HISTORY = (*WORK, "user_message", "user_message_chunk", "plan_update", "terminal_update")


def _closes(conversation: Conversation) -> list[Exchange]:
    return [call for call in conversation.calls("session/close", direction="to_agent") if call.has_result]


@rule_v2(
    "CLO-02", "CLO-07", side="agent", fix="Report idle with stopReason cancelled, then answer session/close."
)
def a_running_session_is_idle_before_it_is_closed(conversation: Conversation) -> Iterator[Observation]:
    for close in _closes(conversation):
        for turn in inserted_turns(conversation):
            if (
                close.answer is not None
                and turn.session == session_of(close)
                and _ran_at(turn, close.request)
            ):
                right = turn.end is not None and turn.end.number < close.answer.number
                yield observe(right, close.answer, "closed before its work had ended", turn.exchange.request)


def _ran_at(turn: ObservedTurn, frame: Frame) -> bool:
    answer = turn.exchange.answer
    has_begun = answer is not None and answer.number < frame.number
    return has_begun and (turn.end is None or turn.end.number > frame.number)


@rule_v2("CLO-03", side="agent", fix="Send nothing more about a closed session.")
def a_closed_session_is_silent(conversation: Conversation) -> Iterator[Observation]:
    for close in _closes(conversation):
        reopening = _opened_again(conversation, close)
        after = [] if close.answer is None else conversation.between(close.answer, reopening)
        late = [frame for frame in after if is_update(frame) and session_of(frame) == session_of(close)]
        if late or (after and has_spoken_after(conversation, close.answer, "agent")):
            yield observe(not late, close.answer, "an update of a session that is closed", *late[:1])


def _opened_again(conversation: Conversation, exchange: Exchange) -> Frame | None:
    """The next request that may bring a closed session back, or the next connection of the recording."""
    for frame in [] if exchange.answer is None else conversation.between(exchange.answer, None):
        is_setup = frame.method in ("session/resume", "session/fork") and session_of(frame) == session_of(
            exchange
        )
        if frame.method == "initialize" or is_setup:
            return frame
    return None


@rule_v2("CLO-03", side="agent", fix="Refuse prompts to a session that is closed.")
def a_closed_session_takes_no_prompts(conversation: Conversation) -> Iterator[Observation]:
    for turn in conversation.turns:
        if _is_closed_at(conversation, turn) and is_fair(conversation, turn.exchange):
            yield observe(turn.exchange.has_error, turn.exchange.answer, "a closed session took a prompt")


def _is_closed_at(conversation: Conversation, turn: ObservedTurn) -> bool:
    number = turn.exchange.request.number
    setup = setup_at(conversation, turn.session, number)
    earlier_closes = [
        close
        for close in _closes(conversation)
        if session_of(close) == turn.session and close.request.number < number
    ]
    return bool(earlier_closes) and (
        setup is None or setup.exchange.request.number < earlier_closes[-1].request.number
    )


@rule_v2("RES-03", side="agent", fix="Send no history on session/resume unless replayFrom asks for it.")
def history_is_told_only_if_it_is_asked_for(conversation: Conversation) -> Iterator[Observation]:
    for resume in _resumes(conversation):
        history = [frame for frame in _meanwhile(conversation, resume) if is_update(frame, *HISTORY)]
        running = [
            frame for frame in _meanwhile(conversation, resume) if update_of(frame).get("state") == "running"
        ]
        has_history = history or is_in_use(conversation, resume) or "told" in conversation.recording.facts
        # What runs may tell of itself, and a session without history has none to leave out.
        if resume.params.get("replayFrom") is None and not running and has_history:
            yield observe(not history, resume.answer, "history was sent without replayFrom", *history[:1])


def _resumes(conversation: Conversation) -> list[Exchange]:
    return [call for call in conversation.calls("session/resume", direction="to_agent") if call.has_result]


def _meanwhile(conversation: Conversation, exchange: Exchange) -> list[Frame]:
    return [
        frame
        for frame in conversation.between(exchange.request, exchange.answer)
        if session_of(frame) == session_of(exchange)
    ]


@rule_v2("RES-04", side="agent", fix="Send the state of a session before you answer session/resume.")
def a_resumed_session_tells_its_state(conversation: Conversation) -> Iterator[Observation]:
    for resume in _resumes(conversation):
        states = [frame for frame in _meanwhile(conversation, resume) if "state" in update_of(frame)]
        yield observe(
            bool(states),
            resume.answer,
            "no state_update was sent before session/resume was answered",
            *states[-1:],
        )

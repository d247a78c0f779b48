"""Version 2: updates about a session while it is closed or resumed."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange, ObservedTurn, is_update, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe
from dragoman_check.rules.version2 import WORK, inserted_turns, rule_v2
from dragoman_check.timeline import has_spoken_after, is_fair, is_in_use, session_of, setup_at

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

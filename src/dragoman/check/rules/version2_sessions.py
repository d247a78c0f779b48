"""Version 2: what is told of a session while it is closed or resumed."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.check.lives import is_fair, session_of, setup_at, spoke_after
from dragoman.check.recording import Frame
from dragoman.check.rule import Seen, kept_if
from dragoman.check.rules.version2 import WORK, inserted, rule_v2
from dragoman.check.story import Exchange, Story, Turn, is_update, update_of

HISTORY = (*WORK, "user_message", "user_message_chunk", "plan_update", "terminal_update")


def _closes(story: Story) -> list[Exchange]:
    return [one for one in story.calls("session/close", direction="to_agent") if one.has_result]


@rule_v2(
    "CLO-02", "CLO-07", side="agent", fix="Say idle with stopReason cancelled, then answer session/close."
)
def a_running_session_is_idle_before_it_is_closed(story: Story) -> Iterator[Seen]:
    for one in _closes(story):
        for turn in inserted(story):
            if one.answer is not None and turn.session == session_of(one) and _ran_at(turn, one.request):
                right = turn.end is not None and turn.end.number < one.answer.number
                yield kept_if(right, one.answer, "closed before its work had ended", turn.exchange.request)


def _ran_at(turn: Turn, frame: Frame) -> bool:
    taken = turn.exchange.answer
    begun = taken is not None and taken.number < frame.number
    return begun and (turn.end is None or turn.end.number > frame.number)


@rule_v2("CLO-03", side="agent", fix="Tell nothing more of a session that is closed.")
def a_closed_session_is_silent(story: Story) -> Iterator[Seen]:
    for one in _closes(story):
        opened = _opened_again(story, one)
        after = [] if one.answer is None else story.between(one.answer, opened)
        late = [frame for frame in after if is_update(frame) and session_of(frame) == session_of(one)]
        if late or (after and spoke_after(story, one.answer, "agent")):
            yield kept_if(not late, one.answer, "an update of a session that is closed", *late[:1])


def _opened_again(story: Story, one: Exchange) -> Frame | None:
    """The next request that may bring a closed session back, or the next connection of the recording."""
    for frame in [] if one.answer is None else story.between(one.answer, None):
        is_setup = frame.method in ("session/resume", "session/fork") and session_of(frame) == session_of(one)
        if frame.method == "initialize" or is_setup:
            return frame
    return None


@rule_v2("CLO-03", side="agent", fix="Refuse prompts to a session that is closed.")
def a_closed_session_takes_no_prompts(story: Story) -> Iterator[Seen]:
    for turn in story.turns:
        if _is_closed_at(story, turn) and is_fair(story, turn.exchange):
            yield kept_if(turn.exchange.has_error, turn.exchange.answer, "a closed session took a prompt")


def _is_closed_at(story: Story, turn: Turn) -> bool:
    number = turn.exchange.request.number
    setup = setup_at(story, turn.session, number)
    closed = [
        one for one in _closes(story) if session_of(one) == turn.session and one.request.number < number
    ]
    return bool(closed) and (setup is None or setup.exchange.request.number < closed[-1].request.number)


@rule_v2("RES-03", side="agent", fix="Send no history on session/resume unless replayFrom asks for it.")
def history_is_told_only_if_it_is_asked_for(story: Story) -> Iterator[Seen]:
    for one in _resumes(story):
        told = [frame for frame in _meanwhile(story, one) if is_update(frame, *HISTORY)]
        running = [frame for frame in _meanwhile(story, one) if update_of(frame).get("state") == "running"]
        if one.params.get("replayFrom") is None and not running:  # what runs may tell of itself
            yield kept_if(not told, one.answer, "history that nobody asked for", *told[:1])


def _resumes(story: Story) -> list[Exchange]:
    return [one for one in story.calls("session/resume", direction="to_agent") if one.has_result]


def _meanwhile(story: Story, one: Exchange) -> list[Frame]:
    return [frame for frame in story.between(one.request, one.answer) if session_of(frame) == session_of(one)]


@rule_v2("RES-04", side="agent", fix="Tell the state of a session before you answer session/resume.")
def a_resumed_session_tells_its_state(story: Story) -> Iterator[Seen]:
    for one in _resumes(story):
        states = [frame for frame in _meanwhile(story, one) if "state" in update_of(frame)]
        yield kept_if(bool(states), one.answer, "its state was not told before the answer", *states[-1:])

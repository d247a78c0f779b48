"""LOAD: old sessions with their history.

What was said on connections before is known from the fact `told` (see `memory`). Without it only what this
connection has seen of a session is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.check.lives import (
    HISTORY_KINDS,
    NO_METHOD,
    NOT_FOUND,
    announced,
    asked_setups,
    is_fair,
    known_sessions,
    lived_on,
    running,
    session_of,
    spoke_after,
    text,
)
from dragoman.check.memory import chunks, recalls, told_before
from dragoman.check.recording import Frame
from dragoman.check.rule import Seen, kept_if
from dragoman.check.rules.first import rule_v1
from dragoman.check.rules.sessions import is_missing, whole_settings
from dragoman.check.story import Exchange, Story, is_update, update_of

UNOBSERVED: dict[str, str] = {
    "LOAD-15": "whether a client keeps message ids from one load to the next is not seen on the wire",
}

CHUNKS = ("user_message_chunk", "agent_message_chunk")
PART = 8
"""As many letters are found by accident only rarely."""


def replay(story: Story, one: Exchange) -> list[Frame]:
    """The updates of a session between a request and its answer."""
    return [
        frame
        for frame in story.between(one.request, one.answer)
        if is_update(frame) and session_of(frame) == session_of(one)
    ]


def quiet_loads(story: Story, method: str) -> list[Exchange]:
    """Those that succeeded while no turn of their session was running: what came is theirs."""
    return [
        one
        for one in asked_setups(story, method)
        if one.has_result and not running(story, one.request.number, session_of(one))
    ]


def squeezed(words: str) -> str:
    """Without white space, which agents may lay out anew."""
    return re.sub(r"\s+", "", words)


@rule_v1("LOAD-01", side="client", fix="Call session/load only if the agent advertised loadSession.")
def only_agents_that_can_load_are_asked_to(story: Story) -> Iterator[Seen]:
    can = story.agent_can("loadSession") is True
    for one in asked_setups(story, "session/load"):
        yield kept_if(can, one.request, "session/load, and the agent did not advertise loadSession")


@rule_v1("LOAD-02", side="client", fix="Send session/load with sessionId, cwd and mcpServers.")
def a_load_has_all_it_needs(story: Story) -> Iterator[Seen]:
    for one in asked_setups(story, "session/load"):
        right = type(one.params.get("mcpServers")) is list and bool(session_of(one))
        right = right and bool(text(one.params.get("cwd")))
        yield kept_if(right, one.request, "sessionId, cwd or mcpServers is missing")


@rule_v1("LOAD-03", side="agent", fix="Replay every message of the session before session/load is answered.")
def the_whole_conversation_comes_again(story: Story) -> Iterator[Seen]:
    for one in quiet_loads(story, "session/load"):
        # What comes after the answer comes too late, which is another mistake.
        replayed = [*replay(story, one), *_until_next(story, one)]
        told = told_before(story, session_of(one), one.request)
        users = squeezed("".join(chunks(replayed, "user_message_chunk")))
        for words in filter(squeezed, told.user):
            yield kept_if(squeezed(words) in users, one.request, "a prompt was not replayed", one.answer)
        agents = squeezed("".join(chunks(replayed, "agent_message_chunk")))
        for parts in told.agent:
            if squeezed("".join(parts)):
                found = _comes_again(parts, agents)
                yield kept_if(found, one.request, "the answer of a turn was not replayed", one.answer)


def _comes_again(parts: list[str], replayed: str) -> bool:
    """Whether an answer was replayed, or at least its beginning or its end: agents put passing remarks before
    and after their answers.
    """
    begins, ends = _first_words(parts), _first_words(parts, backwards=True)
    return any(words in replayed for words in (squeezed("".join(parts)), begins, ends))


def _first_words(parts: list[str], *, backwards: bool = False) -> str:
    words = ""
    for part in reversed(parts) if backwards else parts:
        words = squeezed(part) + words if backwards else words + squeezed(part)
        if len(words) >= PART:
            break
    return words


@rule_v1("LOAD-04", side="agent", fix="Answer session/load after the last update of the replay.")
def nothing_is_replayed_after_the_answer(story: Story) -> Iterator[Seen]:
    for one in quiet_loads(story, "session/load"):
        late = [frame for frame in _until_next(story, one) if _is_history(story, one, frame)]
        if late or spoke_after(story, one.answer, "agent"):
            yield kept_if(not late, one.answer, "the replay goes on after the answer", *late[:1])


def _is_history(story: Story, one: Exchange, frame: Frame) -> bool:
    """Agents greet and warn after a load: a message is history if it was told before, or answers a user."""
    if not is_update(frame, "agent_message_chunk"):
        return is_update(frame, *HISTORY_KINDS)
    messages = [other for other in replay(story, one) if is_update(other, *CHUNKS)]
    if messages and is_update(messages[-1], "user_message_chunk"):
        return True
    return was_told(story, one, frame)


def was_told(story: Story, one: Exchange, frame: Frame) -> bool:
    """Whether a chunk repeats what the agent said before the session was left."""
    said = squeezed("".join(chunks([frame], "agent_message_chunk")))
    before = told_before(story, session_of(one), one.request).agent
    return bool(said) and any(said in squeezed("".join(parts)) for parts in before)


def _until_next(story: Story, one: Exchange) -> Iterator[Frame]:
    """What is said about the session after the answer, before the client does anything with it again."""
    if one.answer is None:
        return
    for frame in story.between(one.answer, None):
        if session_of(frame) == session_of(one):
            if frame.direction == "to_agent":
                return
            yield frame


@rule_v1("LOAD-05", side="agent", fix="Replay what the user said as user_message_chunk.")
def what_the_user_said_is_replayed_as_such(story: Story) -> Iterator[Seen]:
    for one in quiet_loads(story, "session/load"):
        kinds = {text(update_of(frame).get("sessionUpdate")) for frame in replay(story, one)}
        if kinds & {"agent_message_chunk", "user_message_chunk"}:
            right = "user_message_chunk" in kinds
            yield kept_if(right, one.request, "answers were replayed without what the user said", one.answer)


@rule_v1("LOAD-06", side="agent", fix="Give each replayed message a messageId of its own.")
def ids_of_replayed_messages_are_their_own(story: Story) -> Iterator[Seen]:
    for one in quiet_loads(story, "session/load"):
        yield from ids_stay_with_their_message(replay(story, one))


def ids_stay_with_their_message(frames: list[Frame]) -> Iterator[Seen]:
    """An id that comes back after the other role has spoken stands for two messages."""
    ended: dict[str, set[str]] = {kind: set() for kind in CHUNKS}
    current: dict[str, set[str]] = {kind: set() for kind in CHUNKS}
    for frame in frames:
        kind = text(update_of(frame).get("sessionUpdate"))
        if kind not in CHUNKS:
            continue
        role, other = CHUNKS if kind == CHUNKS[0] else CHUNKS[::-1]
        ended[other] |= current[other]
        current[other] = set()
        chosen = text(update_of(frame).get("messageId"))
        if chosen:
            used = chosen in ended[role] | ended[other]
            yield kept_if(not used, frame, "the messageId of another message")
            current[role].add(chosen)


@rule_v1("LOAD-07", side="agent", fix="Answer session/load with an object.")
def a_load_is_answered_with_an_object(story: Story) -> Iterator[Seen]:
    for one in asked_setups(story, "session/load"):
        if one.has_result and one.answer is not None:
            right = type(one.answer.message["result"]) is dict
            yield kept_if(right, one.answer, "the result is no object")


@rule_v1("LOAD-07", side="client", fix="Take null as well as an object as the answer to session/load.")
def a_client_takes_both_answers_to_a_load(story: Story) -> Iterator[Seen]:
    answers = [one.answer for one in asked_setups(story, "session/load") if one.has_result and one.answer]
    yield from lived_on(story, answers, "the answer to session/load")


@rule_v1("LOAD-08", side="agent", fix="Let a loaded session go on where it was.")
def a_loaded_session_goes_on(story: Story) -> Iterator[Seen]:
    yield from goes_on(story, "session/load")


def goes_on(story: Story, method: str) -> Iterator[Seen]:
    for one in quiet_loads(story, method):
        following = (
            turn
            for turn in story.turns
            if turn.session == session_of(one)
            and one.answer is not None
            and turn.exchange.request.number > one.answer.number
        )
        turn = next(following, None)
        if turn is not None and is_fair(story, turn.exchange):
            found = turn.exchange.has_result and recalls(story, turn) is not False
            if found or turn.exchange.code == NOT_FOUND or turn.exchange.has_result:
                yield kept_if(found, turn.exchange.request, "the session did not go on", turn.exchange.answer)


@rule_v1("LOAD-09", side="agent", fix="Answer with -32002 if the session is not known, and say nothing else.")
def a_session_that_is_missing_is_not_loaded(story: Story) -> Iterator[Seen]:
    yield from missing(story, "session/load")


def missing(story: Story, method: str) -> Iterator[Seen]:
    for one in asked_setups(story, method):
        if is_fair(story, one) and one.code != NO_METHOD and is_missing(story, one):
            updates = replay(story, one)
            right = one.code == NOT_FOUND and not updates
            yield kept_if(right, one.request, "an unknown session is not answered with -32002", one.answer)


@rule_v1("LOAD-10", side="agent", fix="Answer session/load with -32601 if loadSession is not advertised.")
def who_cannot_load_says_so(story: Story) -> Iterator[Seen]:
    for one in asked_setups(story, "session/load"):
        if is_fair(story, one) and story.agent_can("loadSession") is not True:
            yield kept_if(one.code == NO_METHOD, one.request, "not answered with -32601", one.answer)


@rule_v1("LOAD-11", side="agent", fix="Name the loaded session in every update of its replay.")
def every_update_of_a_replay_names_the_session(story: Story) -> Iterator[Seen]:
    known = known_sessions(story) | announced(story)
    for one in quiet_loads(story, "session/load"):
        for frame in story.between(one.request, one.answer):
            if is_update(frame, *HISTORY_KINDS):
                mine = session_of(frame) == session_of(one)
                if mine or session_of(frame) not in known:
                    yield kept_if(mine, frame, "an update of the replay names another session")


@rule_v1("LOAD-12", side="agent", fix="Send usage_update on load and resume when the usage is known.")
def usage_is_told_again(story: Story) -> Iterator[Seen]:
    for one in [*quiet_loads(story, "session/load"), *quiet_loads(story, "session/resume")]:
        if told_before(story, session_of(one), one.request).usage:
            told = [*replay(story, one), *_until_next(story, one)]
            right = any(is_update(frame, "usage_update") for frame in told)
            yield kept_if(right, one.request, "usage was known, and was not told", one.answer)


@rule_v1("LOAD-13", side="agent", fix="Leave notices out of the replay.")
def notices_are_not_replayed(story: Story) -> Iterator[Seen]:
    for one in quiet_loads(story, "session/load"):
        before = told_before(story, session_of(one), one.request).notices
        if before:
            again = [
                frame
                for frame in replay(story, one)
                if is_update(frame, "notice") and update_of(frame).get("title") in before
            ]
            yield kept_if(not again, one.request, "a notice was replayed", *again[:1])


@rule_v1("LOAD-14", side="agent", fix="Give modes and configOptions their shapes, or leave them out.")
def settings_of_a_loaded_session_are_whole(story: Story) -> Iterator[Seen]:
    yield from whole_settings(story, "session/load")


@rule_v1("LOAD-16", side="agent", fix="Replay a finished compaction as one update with its summary.")
def a_finished_compaction_is_replayed_as_one_update(story: Story) -> Iterator[Seen]:
    for one in quiet_loads(story, "session/load"):
        seen: dict[str, list[Frame]] = {}
        for frame in replay(story, one):
            if is_update(frame, "compaction_update", "compaction_summary_chunk"):
                seen.setdefault(text(update_of(frame).get("compactionId")), []).append(frame)
        for frames in seen.values():
            if update_of(frames[-1]).get("status") != "in_progress":
                yield kept_if(len(frames) == 1, frames[0], "a finished compaction is replayed in pieces")

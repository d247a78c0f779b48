"""LOAD: loads old sessions with their history.

What was said on connections before is known from the fact `told` (see `memory`). Without it only what this
connection has seen of a session is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange, is_update, update_of
from dragoman_check.memory import chunk_texts, facts_before, has_recalled
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, rule_v1
from dragoman_check.rules.sessions import is_missing, whole_settings
from dragoman_check.timeline import (
    HISTORY_KINDS,
    NO_METHOD,
    NOT_FOUND,
    announced_sessions,
    has_spoken_after,
    is_fair,
    is_in_use,
    known_sessions,
    observe_survival,
    running_turns,
    session_of,
    setup_requests,
)
from dragoman_check.values import text

UNOBSERVED: dict[str, str] = {
    "LOAD-15": "whether a client keeps message ids from one load to the next is not seen on the wire",
}

CHUNKS = ("user_message_chunk", "agent_message_chunk")
PART = 8
"""The least letters of a text that is rarely found by chance."""


def replay(conversation: Conversation, exchange: Exchange) -> list[Frame]:
    """Return the updates of a session between a request and its answer."""
    return [
        frame
        for frame in conversation.between(exchange.request, exchange.answer)
        if is_update(frame) and session_of(frame) == session_of(exchange)
    ]


def quiet_loads(conversation: Conversation, method: str) -> list[Exchange]:
    """Return successful loads without a running turn in their session, so that all updates belong to them."""
    return [
        request
        for request in setup_requests(conversation, method)
        if request.has_result and not running_turns(conversation, request.request.number, session_of(request))
    ]


def squeeze(words: str) -> str:
    """Return a text without white space, which agents may change."""
    return re.sub(r"\s+", "", words)


@rule_v1("LOAD-01", side="client", fix="Call session/load only if the agent advertised loadSession.")
def only_agents_that_can_load_are_asked_to(conversation: Conversation) -> Iterator[Observation]:
    can = conversation.agent_can("loadSession") is True
    for request in setup_requests(conversation, "session/load"):
        yield observe(can, request.request, "session/load, and the agent did not advertise loadSession")


@rule_v1("LOAD-02", side="client", fix="Send session/load with sessionId, cwd and mcpServers.")
def a_load_has_all_it_needs(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/load"):
        right = type(request.params.get("mcpServers")) is list and bool(session_of(request))
        right = right and bool(text(request.params.get("cwd")))
        yield observe(right, request.request, "sessionId, cwd or mcpServers is missing")


@rule_v1("LOAD-03", side="agent", fix="Replay every message of the session before session/load is answered.")
def the_whole_conversation_comes_again(conversation: Conversation) -> Iterator[Observation]:
    for load in quiet_loads(conversation, "session/load"):
        # What comes after the answer comes too late, which is another mistake.
        frames = [*replay(conversation, load), *_until_next(conversation, load)]
        facts = facts_before(conversation, session_of(load), load.request)
        users = squeeze("".join(chunk_texts(frames, "user_message_chunk")))
        for words in filter(squeeze, facts.user):
            yield observe(squeeze(words) in users, load.request, "a prompt was not replayed", load.answer)
        agents = squeeze("".join(chunk_texts(frames, "agent_message_chunk")))
        for parts in facts.agent:
            if squeeze("".join(parts)):
                is_repeated = _comes_again(parts, agents)
                yield observe(is_repeated, load.request, "the answer of a turn was not replayed", load.answer)


@rule_v1(
    "LOAD-03",
    side="agent",
    fix="Load the sessions of this connection, too, or do not advertise loadSession.",
)
def an_advertised_load_is_not_refused(conversation: Conversation) -> Iterator[Observation]:
    if conversation.agent_can("loadSession") is not True:
        return
    for load in setup_requests(conversation, "session/load"):
        is_surely_there = load.code == NO_METHOD or is_in_use(conversation, load)
        if load.has_error and is_fair(conversation, load) and is_surely_there:
            why = f"loadSession was advertised, and session/load was answered with {load.code}"
            yield observe(False, load.request, why, load.answer)


def _comes_again(parts: list[str], replay_text: str) -> bool:
    """Whether an answer was replayed, or at least its beginning or its end: agents put passing remarks before
    and after their answers.
    """
    begins, ends = _first_words(parts), _first_words(parts, backwards=True)
    return any(words in replay_text for words in (squeeze("".join(parts)), begins, ends))


def _first_words(parts: list[str], *, backwards: bool = False) -> str:
    words = ""
    for part in reversed(parts) if backwards else parts:
        words = squeeze(part) + words if backwards else words + squeeze(part)
        if len(words) >= PART:
            break
    return words


@rule_v1("LOAD-04", side="agent", fix="Answer session/load after the last update of the replay.")
def nothing_is_replayed_after_the_answer(conversation: Conversation) -> Iterator[Observation]:
    for load in quiet_loads(conversation, "session/load"):
        late = [frame for frame in _until_next(conversation, load) if _is_history(conversation, load, frame)]
        early = [frame for frame in replay(conversation, load) if is_update(frame, *HISTORY_KINDS)]
        # Where nothing was replayed, nothing shows when the replay ends.
        if late or (early and has_spoken_after(conversation, load.answer, "agent")):
            why = "the replay goes on after the answer"
            yield observe(not late, load.answer, why, *(late or early)[:1])


def _is_history(conversation: Conversation, exchange: Exchange, frame: Frame) -> bool:
    """Whether a message after a load is history: sent before, or an answer to a user. Agents greet and warn
    too.
    """
    if not is_update(frame, "agent_message_chunk"):
        return is_update(frame, *HISTORY_KINDS)
    messages = [chunk for chunk in replay(conversation, exchange) if is_update(chunk, *CHUNKS)]
    if messages and is_update(messages[-1], "user_message_chunk"):
        return True
    return was_replayed(conversation, exchange, frame)


def was_replayed(conversation: Conversation, exchange: Exchange, frame: Frame) -> bool:
    """Whether a chunk repeats the agent's earlier text."""
    chunk_text = squeeze("".join(chunk_texts([frame], "agent_message_chunk")))
    before = facts_before(conversation, session_of(exchange), exchange.request).agent
    return bool(chunk_text) and any(chunk_text in squeeze("".join(parts)) for parts in before)


def _until_next(conversation: Conversation, exchange: Exchange) -> Iterator[Frame]:
    """Updates of the session after the answer, before the client uses it again."""
    if exchange.answer is None:
        return
    for frame in conversation.between(exchange.answer, None):
        if session_of(frame) == session_of(exchange):
            if frame.direction == "to_agent":
                return
            yield frame


@rule_v1("LOAD-05", side="agent", fix="Replay what the user said as user_message_chunk.")
def what_the_user_said_is_replayed_as_such(conversation: Conversation) -> Iterator[Observation]:
    for load in quiet_loads(conversation, "session/load"):
        kinds = {text(update_of(frame).get("sessionUpdate")) for frame in replay(conversation, load)}
        if kinds & {"agent_message_chunk", "user_message_chunk"}:
            right = "user_message_chunk" in kinds
            yield observe(
                right, load.request, "answers were replayed without what the user said", load.answer
            )


@rule_v1("LOAD-06", side="agent", fix="Give each replayed message a messageId of its own.")
def ids_of_replayed_messages_are_their_own(conversation: Conversation) -> Iterator[Observation]:
    for load in quiet_loads(conversation, "session/load"):
        yield from ids_stay_with_their_message(replay(conversation, load))


def ids_stay_with_their_message(frames: list[Frame]) -> Iterator[Observation]:
    """Find an id that comes back after the other role has sent a message, and so names two messages."""
    past_ids: dict[str, set[str]] = {kind: set() for kind in CHUNKS}
    current: dict[str, set[str]] = {kind: set() for kind in CHUNKS}
    for frame in frames:
        kind = text(update_of(frame).get("sessionUpdate"))
        if kind not in CHUNKS:
            continue
        role, other_role = CHUNKS if kind == CHUNKS[0] else CHUNKS[::-1]
        past_ids[other_role] |= current[other_role]
        current[other_role] = set()
        message_id = text(update_of(frame).get("messageId"))
        if message_id:
            used = message_id in past_ids[role] | past_ids[other_role]
            yield observe(not used, frame, "the messageId of another message")
            current[role].add(message_id)


@rule_v1("LOAD-07", side="agent", fix="Answer session/load with an object.")
def a_load_is_answered_with_an_object(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/load"):
        if request.has_result and request.answer is not None:
            right = type(request.answer.message["result"]) is dict
            yield observe(right, request.answer, "the result is not an object")


@rule_v1("LOAD-07", side="client", fix="Accept null as well as an object as the answer to session/load.")
def a_client_takes_both_answers_to_a_load(conversation: Conversation) -> Iterator[Observation]:
    answers = [
        request.answer
        for request in setup_requests(conversation, "session/load")
        if request.has_result and request.answer
    ]
    yield from observe_survival(conversation, answers, "the answer to session/load")


@rule_v1("LOAD-08", side="agent", fix="Let a loaded session go on where it was.")
def a_loaded_session_goes_on(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_continuation(conversation, "session/load")


def observe_continuation(conversation: Conversation, method: str) -> Iterator[Observation]:
    for load in quiet_loads(conversation, method):
        following = (
            turn
            for turn in conversation.turns
            if turn.session == session_of(load)
            and load.answer is not None
            and turn.exchange.request.number > load.answer.number
        )
        turn = next(following, None)
        if turn is not None and is_fair(conversation, turn.exchange):
            is_continued = turn.exchange.has_result and has_recalled(conversation, turn) is not False
            if is_continued or turn.exchange.code == NOT_FOUND or turn.exchange.has_result:
                yield observe(
                    is_continued,
                    turn.exchange.request,
                    "the session took no prompt after it was opened again",
                    turn.exchange.answer,
                )


@rule_v1("LOAD-09", side="agent", fix="Answer with -32002 if the session is not known, and say nothing else.")
def a_session_that_is_missing_is_not_loaded(conversation: Conversation) -> Iterator[Observation]:
    yield from observe_missing(conversation, "session/load")


def observe_missing(conversation: Conversation, method: str) -> Iterator[Observation]:
    for request in setup_requests(conversation, method):
        if is_fair(conversation, request) and request.code != NO_METHOD and is_missing(conversation, request):
            updates = replay(conversation, request)
            right = request.code == NOT_FOUND and not updates
            yield observe(
                right, request.request, "an unknown session is not answered with -32002", request.answer
            )


@rule_v1("LOAD-10", side="agent", fix="Answer session/load with -32601 if loadSession is not advertised.")
def who_cannot_load_says_so(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/load"):
        if is_fair(conversation, request) and conversation.agent_can("loadSession") is not True:
            yield observe(
                request.code == NO_METHOD, request.request, "not answered with -32601", request.answer
            )


@rule_v1("LOAD-11", side="agent", fix="Name the loaded session in every update of its replay.")
def every_update_of_a_replay_names_the_session(conversation: Conversation) -> Iterator[Observation]:
    known_ids = known_sessions(conversation) | announced_sessions(conversation)
    for load in quiet_loads(conversation, "session/load"):
        for frame in conversation.between(load.request, load.answer):
            if is_update(frame, *HISTORY_KINDS):
                mine = session_of(frame) == session_of(load)
                if mine or session_of(frame) not in known_ids:
                    yield observe(mine, frame, "an update of the replay names another session")


@rule_v1("LOAD-12", side="agent", fix="Send usage_update on load and resume when the usage is known.")
def usage_is_told_again(conversation: Conversation) -> Iterator[Observation]:
    for load in [*quiet_loads(conversation, "session/load"), *quiet_loads(conversation, "session/resume")]:
        if facts_before(conversation, session_of(load), load.request).usage:
            frames = [*replay(conversation, load), *_until_next(conversation, load)]
            right = any(is_update(frame, "usage_update") for frame in frames)
            yield observe(right, load.request, "usage was known, but was not sent", load.answer)


@rule_v1("LOAD-13", side="agent", fix="Leave notices out of the replay.")
def notices_are_not_replayed(conversation: Conversation) -> Iterator[Observation]:
    for load in quiet_loads(conversation, "session/load"):
        before = facts_before(conversation, session_of(load), load.request).notices
        if before:
            again = [
                frame
                for frame in replay(conversation, load)
                if is_update(frame, "notice") and update_of(frame).get("title") in before
            ]
            yield observe(not again, load.request, "a notice was replayed", load.answer, *again[:1])


@rule_v1("LOAD-14", side="agent", fix="Give modes and configOptions their shapes, or leave them out.")
def settings_of_a_loaded_session_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from whole_settings(conversation, "session/load")


@rule_v1("LOAD-16", side="agent", fix="Replay a finished compaction as one update with its summary.")
def a_finished_compaction_is_replayed_as_one_update(conversation: Conversation) -> Iterator[Observation]:
    for load in quiet_loads(conversation, "session/load"):
        compactions: dict[str, list[Frame]] = {}
        for frame in replay(conversation, load):
            if is_update(frame, "compaction_update", "compaction_summary_chunk"):
                compactions.setdefault(text(update_of(frame).get("compactionId")), []).append(frame)
        for frames in compactions.values():
            if update_of(frames[-1]).get("status") != "in_progress":
                yield observe(len(frames) == 1, frames[0], "a finished compaction is replayed in pieces")

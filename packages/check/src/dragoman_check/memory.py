"""Remembers the messages of sessions, to compare them with the history when a session is loaded.

A scene that loads a session on another connection than the one it was made on leaves `session_facts` of the
first as the fact `session_facts` of the second. Turns that were stopped, failed or ran a command are left
out: agents differ in what they keep of those.
"""

from __future__ import annotations

from msgspec import Struct, to_builtins

from dragoman.decoders import convert
from dragoman.wire.envelope import JsonObject
from dragoman_check.conversation import Conversation, ObservedTurn, is_update, update_of
from dragoman_check.recording import Frame, Recording
from dragoman_check.timeline import is_in_stretch, reason_of, session_of
from dragoman_check.values import items, text


class SessionFacts(Struct):
    """The remembered facts of one session."""

    user: list[str] = []
    """The prompts, one text for each turn."""
    agent: list[list[str]] = []
    """The chunks of each turn's answer."""
    usage: bool = False
    notices: list[str] = []
    """The titles of its notices."""


def session_facts(recording: Recording) -> JsonObject:
    """Return the facts for every session of a recording."""
    conversation = Conversation(recording)
    sessions = {turn.session for turn in conversation.turns} - {""}
    return {session: to_builtins(facts_before(conversation, session)) for session in sessions}


def facts_before(conversation: Conversation, session: str, frame: Frame | None = None) -> SessionFacts:
    """Return messages of a session before a frame, on earlier connections and on this one."""
    last = frame.number if frame is not None else len(conversation.frames) + 1
    return conversation.compute_once(
        f"told before {last} in {session}", lambda: _facts_before(conversation, session, last)
    )


def _facts_before(conversation: Conversation, session: str, last: int) -> SessionFacts:
    deleted = _deleted_at(conversation, session, last)
    facts = SessionFacts() if deleted else _fact(conversation, session)
    for turn in conversation.turns:
        end = turn.exchange.answer
        is_whole = reason_of(turn) == "end_turn" and not prompt_text(turn).startswith("/")
        if turn.session == session and is_whole and end is not None and deleted < end.number < last:
            facts.user.append(prompt_text(turn))
            facts.agent.append(chunk_texts(turn.during, "agent_message_chunk"))
    for update in conversation.updates("usage_update", "notice"):
        if session_of(update) == session and update.number < last:
            facts.usage = facts.usage or is_update(update, "usage_update")
            facts.notices += [text(update_of(update)["title"])] if update_of(update).get("title") else []
    return facts


def _deleted_at(conversation: Conversation, session: str, last: int) -> int:
    """When a session was deleted, so that the agent may forget it. 0 if it was not."""
    deletes = conversation.calls("session/delete", direction="to_agent")
    numbers = [
        delete.request.number for delete in deletes if delete.has_result and session_of(delete) == session
    ]
    return max((number for number in numbers if number < last), default=0)


def _fact(conversation: Conversation, session: str) -> SessionFacts:
    facts = conversation.recording.facts.get("told")
    fact = facts.get(session) if type(facts) is dict else None
    try:
        return convert({} if fact is None else fact, SessionFacts)
    except ValueError:
        return SessionFacts()  # a file from elsewhere may hold anything


def prompt_text(turn: ObservedTurn) -> str:
    """Return the text of a prompt that is only text."""
    blocks = items(turn.exchange.params.get("prompt"))
    return text(blocks[0].get("text")) if len(blocks) == 1 else ""


def chunk_texts(frames: list[Frame], kind: str) -> list[str]:
    """Return the texts of the chunks of a kind."""
    blocks = (update_of(frame).get("content") for frame in frames if is_update(frame, kind))
    return [text(block.get("text")) for block in blocks if type(block) is dict]


def has_recalled(conversation: Conversation, turn: ObservedTurn) -> bool | None:
    """Whether a turn that asks for an earlier word contains it: the fact `word`, in a stretch `recall`.

    None if it asks for nothing, if it is not sure that the word was said, or if this agent does not repeat
    words at all: it has forgotten one only if it repeats it where word and question are in one prompt, in a
    stretch `recall control`.
    """
    word = text(conversation.recording.facts.get("word")).lower()
    if not word or not is_in_stretch(conversation, turn.exchange.request, "recall"):
        return None
    if word in "".join(chunk_texts(turn.during, "agent_message_chunk")).lower():
        return True
    return (
        False
        if word in _text_before(conversation, turn).lower() and _can_repeat(conversation, word)
        else None
    )


def _can_repeat(conversation: Conversation, word: str) -> bool:
    turns = [
        turn
        for turn in conversation.turns
        if is_in_stretch(conversation, turn.exchange.request, "recall control")
    ]
    return any(
        word in "".join(chunk_texts(request.during, "agent_message_chunk")).lower() for request in turns
    )


def _text_before(conversation: Conversation, turn: ObservedTurn) -> str:
    """Certain earlier words of a session: in the stretch `remember`, in a replay, or elsewhere."""
    prompt = turn.exchange.request
    facts = _fact(conversation, turn.session)
    remember_turns = [
        turn for turn in conversation.turns if is_in_stretch(conversation, turn.exchange.request, "remember")
    ]
    frames = [
        frame for request in remember_turns if request.session == turn.session for frame in request.during
    ]
    for call in conversation.calls("session/load", direction="to_agent"):
        if session_of(call) == turn.session and call.request.number < prompt.number:
            frames += [frame for frame in conversation.between(call.request, call.answer) if is_update(frame)]
    parts = [*facts.user, *(part for parts in facts.agent for part in parts)]
    parts += [prompt_text(request) for request in remember_turns if request.session == turn.session]
    parts += chunk_texts(frames, "agent_message_chunk") + chunk_texts(frames, "user_message_chunk")
    return "".join(parts)

"""PERM: what an agent does after a permission request was not granted.

A fact comes from an examination: `changed after X` names the files that changed in the turn marked `edit, X`,
in which every question was refused in the way X.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.calls import ASK, PermissionExchange, contents, permission_exchanges, tool_calls, turn_of
from dragoman_check.conversation import Conversation, update_of
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, rule
from dragoman_check.values import is_same, items, text


@rule("PERM-09", side="agent", fix="Do not run a tool whose permission was refused; end its call as failed.")
def a_refused_tool_does_not_run(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        if question.is_answered and question.is_refused:
            yield _not_run(conversation, question)
    yield from _observe_files(conversation, "reject_once", "cancelled")


@rule("PERM-10", side="agent", fix="Treat every answer that is not a clear yes as a no.")
def an_odd_answer_is_no_permission(conversation: Conversation) -> Iterator[Observation]:
    for question in permission_exchanges(conversation):
        if question.is_answered and not question.is_refused and not question.is_allowed:
            yield _not_run(conversation, question)
    yield from _observe_files(conversation, "unknown option", "unknown outcome", "error")


def _not_run(conversation: Conversation, question: PermissionExchange) -> Observation:
    answer = question.exchange.answer
    effect = _completion(conversation, question) or _find_write(conversation, question)
    return observe(effect is None, answer, "permission was not given, and the tool ran", effect)


def _completion(conversation: Conversation, question: PermissionExchange) -> Frame | None:
    """The update that completes the call, unless it was allowed later."""
    answer = question.exchange.answer
    if answer is None or not question.call or _is_asked_again(conversation, question):
        return None
    for call in tool_calls(conversation):
        if call.session == question.session and call.id == question.call:
            for frame, status in call.statuses():
                if status == "completed" and frame.number > answer.number and not call.is_replayed:
                    return frame
    return None


def _is_asked_again(conversation: Conversation, question: PermissionExchange) -> bool:
    return any(
        later.call == question.call
        and later.session == question.session
        and later.is_allowed
        and later.exchange.request.number > question.exchange.request.number
        for later in permission_exchanges(conversation)
    )


def _find_write(conversation: Conversation, question: PermissionExchange) -> Frame | None:
    """A write to a file that it named, in the same turn, without another question in between."""
    answer, turn = (
        question.exchange.answer,
        turn_of(conversation, question.exchange.request, question.session),
    )
    paths = _paths(conversation, question)
    if answer is None or turn is None or not paths:
        return None
    for frame in turn.during:
        if frame.number > answer.number and frame.method in (ASK, "session/prompt"):
            return None
        if frame.number > answer.number and frame.method == "fs/write_text_file":
            path = text(frame.params.get("path"))
            if any(is_same(path, other_path) for other_path in paths):
                return frame
    return None


def _paths(conversation: Conversation, question: PermissionExchange) -> list[str]:
    """The files that a question is about to change."""
    request = question.exchange.request
    shown_items = [
        item
        for frame, item in contents(conversation)
        if frame is request or (question.call and update_of(frame).get("toolCallId") == question.call)
    ]
    diffs = [item.get("path") for item in items(shown_items) if item.get("type") == "diff"]
    return [path for path in diffs if type(path) is str]


def _observe_files(conversation: Conversation, *ways: str) -> Iterator[Observation]:
    """In turns of an examination in which every question was refused: whether files were left alone."""
    for way in ways:
        changes = conversation.recording.facts.get(f"changed after {way}")
        for frames in conversation.recording.stretches(f"edit, {way}"):
            question = next((frame for frame in frames if frame.method == ASK), None)
            if question is not None and type(changes) is list:
                yield observe(not changes, question, "permission was not given, and a file was changed")

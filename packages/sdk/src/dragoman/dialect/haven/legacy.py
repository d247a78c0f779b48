"""The older form, which the reference calls the bridge's mistakes: updates are told apart by `type`, and a
permission request is a notification, to which there is no answer.

Consent cannot be expressed here, so nobody's is assumed. What a client cannot be asked, the policy decides,
or other clients of its session; the client is told of the question in the form that it knows. An agent that
asks without waiting for an answer can be stopped, and that is what happens unless the policy allows what it
asks for.
"""

from __future__ import annotations

from typing import ClassVar

from dragoman.dialect.edge import Out, Signs
from dragoman.dialect.haven.agent import HavenAgent
from dragoman.dialect.haven.client import HavenClient
from dragoman.dialect.haven.names import (
    KNOWN,
    LEGACY,
    PERMISSION,
    REPLAYED,
    UNANSWERABLE,
    UNKNOWN_KIND,
    UPDATE,
)
from dragoman.dialect.haven.permission import allows
from dragoman.dialect.haven.tools import UNNAMED
from dragoman.dialect.message import Message, Object, as_object, as_text, notification, rename_members
from dragoman.dialect.permission import NOTICE, answer_unasked, decide, question_in


class LegacyClient(HavenClient):
    """A client that gets notices of permissions but no requests: the policy or another party answers."""

    name = LEGACY
    asks_permission = False
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {}

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_request and message.method == PERMISSION:
            if self.settings.answers_for_peer:
                self.note_loss(*UNANSWERABLE)
            return [self._notify(as_object(message.params)), ("inside", answer_unasked(message, self))]
        if message.is_notification and message.method == NOTICE:
            question = question_in(message)
            return [self._notify(question)] if question else []
        return super().from_inside(message)

    def _notify(self, question: Object) -> Out:
        return ("peer", notification(PERMISSION, self.question(question)))

    def write_update(self, update: Object, session: str) -> Object:
        return rename_members(super().write_update(update, session), {"sessionUpdate": "type"})


class LegacyAgent(HavenAgent):
    """Shows permission notices as tool calls, and stops the agent unless the tool is allowed."""

    name = LEGACY
    SIGNS_FROM_PEER: ClassVar[Signs] = {}

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_notification and message.method == PERMISSION:
            return self._on_announcement(message)
        return super().from_peer(message)

    def read(self, update: Object, session: str) -> Object:
        if "sessionUpdate" not in update and "type" in update:
            if as_text(update["type"]) not in KNOWN:
                self.note_loss(*UNKNOWN_KIND)
                return update
            update = rename_members(update, {"type": "sessionUpdate"})
        return super().read(update, session)

    def _on_announcement(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        session = as_text(params.get("sessionId"))
        is_known_call = bool(self._calls.of(session, as_object(params.get("toolCall")).get("id")))
        question = self.question(message)
        outs = _call_update(question["toolCall"], session, is_known_call=is_known_call)
        if self.is_history(session):
            self.note_repair(*REPLAYED)
            return outs
        self.note_loss(*UNANSWERABLE)
        if not allows(question, decide(question, self)):
            outs.append(("peer", notification("session/cancel", {"sessionId": session})))
        return outs


def _call_update(call: Object, session: str, *, is_known_call: bool) -> list[Out]:
    """The tool call that it asks for, as an update; as a new call if nothing was said of it before."""
    if type(call.get("toolCallId")) is not str:
        return []
    new: Object = {"title": UNNAMED} if not is_known_call else {}
    update = {**new, **call, "sessionUpdate": "tool_call_update" if is_known_call else "tool_call"}
    return [("inside", notification(UPDATE, {"sessionId": session, "update": update}))]

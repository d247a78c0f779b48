"""A haven client in front of a v1 agent."""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import NO_SIGN, Edge, EdgeSettings, Out, Signs
from dragoman.dialect.haven.content import read_blocks, write_block
from dragoman.dialect.haven.names import (
    CANCEL,
    LISTED,
    NAME,
    PERMISSION,
    STOP_REASONS,
    STOPPED,
    UNLISTED,
    UPDATE,
)
from dragoman.dialect.haven.permission import HavenQuestions
from dragoman.dialect.haven.tools import HavenToolCalls, write_call
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    answer,
    as_object,
    as_text,
    notification,
    rename_members,
    with_params,
)

_CHUNKS = rb"(?:user_message|agent_message|agent_thought)_chunk"


class HavenClient(Edge):
    """Sends the client the reference's form; only the client's own choice counts as consent."""

    name = NAME
    SIGNS_FROM_PEER: ClassVar[Signs] = {"session/cancel": NO_SIGN}
    # Tool calls and what is not listed, other types of blocks, kept originals.
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {
        UPDATE: re.compile(
            rb'"(?:sessionUpdate"\s*:\s*"(?!'
            + _CHUNKS
            + rb'"|plan"|available_commands_update"|current_mode_update")'
            rb'|resource"|dragoman/dialect")'
        )
    }

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._requests: PendingRequests[str] = PendingRequests()  # by the client
        self._questions = HavenQuestions()  # by the agent
        self._calls = HavenToolCalls()

    # What the client says.

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_answer:
            choice = self._questions.hear(message, self)
            return [] if choice is None else [("inside", choice)]
        if not message.is_request:
            return [("inside", message)]
        if message.method == "session/cancel":
            self.note_repair(*CANCEL)
            cancel = notification("session/cancel", message.params)
            return [("inside", cancel), ("peer", answer(message.id, {}))]
        self._requests.owe(message.id, str(message.method))
        return [("inside", self._ask(message))]

    def _ask(self, message: Message) -> Message:
        params = as_object(message.params)
        if message.method == "initialize":
            read = params
            if "capabilities" in params:
                read = rename_members(params, {"capabilities": "clientCapabilities"})
            read = self.announce_limits(read)
            return message if read is params else with_params(message, read)
        if message.method == "session/prompt" and "prompt" in params:
            return with_params(message, {**params, "prompt": read_blocks(params["prompt"], self)})
        return message

    # What the client hears.

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_answer:
            return [("peer", self._convert_answer(message))]
        if message.is_request:
            return self._on_question(message)
        if message.method == UPDATE:
            return [("peer", self._convert_update(message))]
        if message.method == "$/cancel_request" and not self.settings.answers_for_peer:
            self._questions.forget(as_object(message.params).get("requestId"))
        return [("peer", message)]

    def _convert_answer(self, message: Message) -> Message:
        method = self._requests.settle(message.id)
        result = as_object(message.result)
        if method == "initialize" and type(message.result) is dict:
            # v1 leaves them out where there are none; haven always has them.
            able = {**result, "agentCapabilities": as_object(result.get("agentCapabilities"))}
            return answer(message.id, rename_members(able, {"agentCapabilities": "capabilities"}))
        if method == "session/prompt" and result and as_text(result.get("stopReason")) not in STOP_REASONS:
            self.note_loss(*STOPPED)
        return message

    def _on_question(self, message: Message) -> list[Out]:
        self._questions.ask(message)
        if message.method == PERMISSION:
            message = with_params(message, self.question(as_object(message.params)))
        return [("peer", message)]

    def question(self, params: Object) -> Object:
        """Translate the params of a permission request into the dialect."""
        call, session = as_object(params.get("toolCall")), as_text(params.get("sessionId"))
        return {**params, "toolCall": write_call(call, session, self._calls, self, whole=True)}

    def _convert_update(self, message: Message) -> Message:
        params = as_object(message.params)
        before = params.get("update")
        if type(before) is not dict:
            return message
        update = self.write_update(before, as_text(params.get("sessionId")))
        return message if update == before else with_params(message, {**params, "update": update})

    def write_update(self, update: Object, session: str) -> Object:
        """Translate a v1 update into the dialect."""
        kind = as_text(update.get("sessionUpdate"))
        if kind not in LISTED:
            self.note_loss(*UNLISTED)
        elif kind in ("tool_call", "tool_call_update"):
            return write_call(update, session, self._calls, self, whole=kind == "tool_call")
        elif kind.endswith("_chunk") and "content" in update:
            return {**update, "content": write_block(update["content"])}
        return update

    def peer_ended(self) -> list[Out]:
        return [("inside", nothing) for nothing in self._questions.cancel_all()]

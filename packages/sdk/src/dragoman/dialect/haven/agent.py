"""A haven agent behind a v1 client."""

from __future__ import annotations

from typing import ClassVar

from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import NO_SIGN, Edge, EdgeSettings, Needles, Out, Signs
from dragoman.dialect.haven.content import read_block, write_blocks
from dragoman.dialect.haven.names import NAME, PERMISSION, UPDATE
from dragoman.dialect.haven.permission import HavenQuestions
from dragoman.dialect.haven.tools import HavenToolCalls, read_call
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, Object, answer, as_object, as_text, rename_members, with_params


class HavenAgent(Edge):
    """Sends the agent the reference's form, and reads its tools and blocks as v1."""

    name = NAME
    # Tool calls, and the blocks that may need a change.
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        UPDATE: Needles(b'"tool_call', b'"embedded_resource"', b'"resource_link"')
    }
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {"session/cancel": NO_SIGN}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._requests: PendingRequests[tuple[str, str]] = (
            PendingRequests()
        )  # by the client: the method, and for which session
        self._questions = HavenQuestions()  # by the agent
        self._calls = HavenToolCalls()

    # What the agent hears.

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_answer:
            choice = self._questions.hear(message, self)
            return [] if choice is None else [("peer", choice)]
        if not message.is_request:
            return [("peer", message)]
        params = as_object(message.params)
        self._requests.owe(message.id, (str(message.method), as_text(params.get("sessionId"))))
        if message.method == "initialize":
            # v1 leaves them out where there are none; haven always has them.
            able = {**params, "clientCapabilities": as_object(params.get("clientCapabilities"))}
            params = rename_members(able, {"clientCapabilities": "capabilities"})
        elif message.method == "session/prompt" and "prompt" in params:
            params = {**params, "prompt": write_blocks(params["prompt"])}
        return [("peer", message if params == message.params else with_params(message, params))]

    # What the agent says.

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_answer:
            return [("inside", self._convert_answer(message))]
        if message.method == UPDATE:
            return [("inside", self._convert_update(message))]
        if message.is_request:
            if message.method == PERMISSION:
                message = with_params(message, self.question(message))
            self._questions.ask(message)
        return [("inside", message)]

    def _convert_answer(self, message: Message) -> Message:
        result = as_object(message.result)
        method, _ = self._requests.settle(message.id) or ("", "")
        if method == "initialize" and "capabilities" in result:
            return answer(message.id, rename_members(result, {"capabilities": "agentCapabilities"}))
        return message

    def is_history(self, session: str) -> bool:
        """Whether an update of this session belongs to its history: it is being loaded, and no turn runs
        in it.
        """
        open_requests = [request for _, request in self._requests.items()]
        return ("session/load", session) in open_requests and ("session/prompt", session) not in open_requests

    def question(self, message: Message) -> Object:
        """Translate the params of a permission request into v1."""
        params = as_object(message.params)
        call, session = as_object(params.get("toolCall")), as_text(params.get("sessionId"))
        return {**params, "toolCall": read_call(call, session, self._calls, self)}

    def _convert_update(self, message: Message) -> Message:
        params = as_object(message.params)
        before = params.get("update")
        if type(before) is not dict:
            return message
        update = self.read(before, as_text(params.get("sessionId")))
        return message if update == before else with_params(message, {**params, "update": update})

    def read(self, update: Object, session: str) -> Object:
        """Translate an update of the dialect into v1."""
        kind = as_text(update.get("sessionUpdate"))
        if kind in ("tool_call", "tool_call_update"):
            return read_call(update, session, self._calls, self, whole=kind == "tool_call")
        if kind.endswith("_chunk") and "content" in update:
            return {**update, "content": read_block(update["content"], self)}
        return update

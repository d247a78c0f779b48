"""A koog client in front of a v1 agent: the guide's client speaks v1, but expects `serverInfo` and
complete tool calls.
"""

from __future__ import annotations

from typing import ClassVar

from dragoman.dialect.debts import PendingRequests
from dragoman.dialect.edge import NO_SIGN, Edge, EdgeSettings, Needles, Out, Signs
from dragoman.dialect.koog.agent import read_introduction
from dragoman.dialect.koog.names import NAME, SPARSE, SWITCH, UPDATE
from dragoman.dialect.koog.whole import MessageParts, is_in_answer
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    answer,
    as_list,
    as_object,
    as_text,
    update_of,
    with_params,
)
from dragoman.dialect.originals import drop_original, original_of, restore

# A kind of tool stands in a report of a tool call, and nowhere else.
_SIGNS: Signs = {UPDATE: Needles(b'"tool_call', b'"dragoman/dialect"')}
_ALL: Signs = {}

TOOL_CALL = {"title": "Tool call", "kind": "other", "status": "pending"}


class KoogClient(Edge):
    """Passes the client's requests unchanged."""

    name = NAME
    SIGNS_FROM_PEER: ClassVar[Signs] = {"session/cancel": NO_SIGN}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._requests: PendingRequests[str] = PendingRequests()
        self._gathering = MessageParts()

    @property
    def signs_from_inside(self) -> Signs:
        """Reads everything while parts of a message are held: nothing may overtake them."""
        return _ALL if self._gathering.parts else _SIGNS

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_request:
            self._requests.owe(message.id, str(message.method))
        return [("inside", message)]

    def from_inside(self, message: Message) -> list[Out]:
        if is_in_answer(message):
            return []
        return [("peer", self._convert(whole_message)) for whole_message in self._gathering.take(message)]

    def _convert(self, message: Message) -> Message:
        if message.method == UPDATE:
            return self._convert_update(message)
        if not message.is_answer:
            return message
        method = self._requests.settle(message.id)
        result = as_object(message.result)
        if method == "initialize" and result:
            return answer(message.id, _write_introduction(result))
        if method == "session/prompt" and drop_original(result) is not result:
            return answer(message.id, {**drop_original(result), **as_object(original_of(result, NAME))})
        return message

    def _convert_update(self, message: Message) -> Message:
        update = update_of(message)
        changes: Object = {}
        if update.get("sessionUpdate") == "tool_call":
            changes = {name: value for name, value in TOOL_CALL.items() if not as_text(update.get(name))}
            if changes:
                self.note_repair(*SPARSE)
        if update.get("kind") == "switch_mode":
            self.note_repair(*SWITCH)
            changes["kind"] = "other"
        if not changes:
            return message
        return with_params(message, {**as_object(message.params), "update": {**update, **changes}})


def _write_introduction(result: Object) -> Object:
    original = restore(result, NAME, read_introduction)
    if original is not None:
        return as_object(original)
    # Its v1 fields stay: who reads more than the guide teaches learns what the agent can do.
    return {**drop_original(result), **server_words(result)}


def server_words(result: Object) -> Object:
    """Return the guide's fields in the `initialize` answer, for an agent that answered in v1."""
    info = as_object(result.get("agentInfo"))
    server = {"name": info.get("name", "unknown"), "version": info.get("version", "unknown")}
    return {"capabilities": {"tools": _tools(result)}, "serverInfo": server}


def _tools(result: Object) -> list[Object]:
    """Tools that the agent is known to have. v1 has no list of them, so it can only stand in `_meta`: what a
    koog agent listed, whoever changed the rest of its answer, or what an agent of ours names.
    """
    meta = as_object(result.get("_meta"))
    own_tools = as_object(as_object(original_of(result, NAME)).get("capabilities")).get("tools")
    tools = as_list(own_tools) or as_list(as_object(meta.get("dragoman")).get("tools"))
    return [_tool(tool) for tool in tools if as_text(as_object(tool).get("name"))]


def _tool(tool: Object) -> Object:
    """With everything that the guide shows."""
    return {"description": "", "inputSchema": {"type": "object"}, **tool}

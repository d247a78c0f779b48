"""A koog client in front of a v1 agent: the guide's client speaks v1, and looks for `serverInfo` and for tool
calls that say everything.
"""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.debts import Debts
from dragoman.dialect.edge import NEVER, Edge, Out, Plain, Settings
from dragoman.dialect.keeping import KEY, dropped, restore
from dragoman.dialect.koog.agent import NAME, introduced
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, Object, answer, as_object, update_of, with_params


class KoogClient(Edge):
    """Its requests pass as they are."""

    name = NAME
    plain_from_peer: ClassVar[Plain] = {"session/cancel": NEVER}
    plain_from_inside: ClassVar[Plain] = {
        "session/update": re.compile(rb'"tool_call"|"dragoman/dialect"|"switch_mode"')
    }

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._asked: Debts[str] = Debts()

    def from_peer(self, message: Message) -> list[Out]:
        if message.is_request:
            self._asked.owe(message.id, str(message.method))
        return [("inside", message)]

    def from_inside(self, message: Message) -> list[Out]:
        if message.method == "session/update":
            return self._updated(message)
        if message.is_answer:
            method = self._asked.settle(message.id)
            result = as_object(message.result)
            if method == "initialize" and result:
                return [("peer", answer(message.id, self._introduced(result)))]
            if method == "session/prompt" and KEY in as_object(result.get("_meta")):
                return [("peer", answer(message.id, _ended(result)))]
        return [("peer", message)]

    def _introduced(self, result: Object) -> Object:
        original = restore(result, NAME, introduced)
        if original is not None:
            return as_object(original)
        info = as_object(result.get("agentInfo"))
        server = {"name": info.get("name", "unknown"), "version": info.get("version", "unknown")}
        # Its v1 fields stay: who reads more than the guide teaches learns what the agent can do.
        return {**dropped(result), "capabilities": {"tools": []}, "serverInfo": server}

    def _updated(self, message: Message) -> list[Out]:
        params, update = as_object(message.params), update_of(message)
        if KEY in as_object(update.get("_meta")):
            update = dropped(update)
        if update.get("sessionUpdate") == "tool_call":
            missing = {name: value for name, value in TOOL_CALL.items() if update.get(name) is None}
            if missing:
                self.repaired(f"a tool call without {' and '.join(missing)}", "filled in with v1's defaults")
            update = {**update, **missing}
        if update.get("kind") == "switch_mode":
            self.repaired("tool kind switch_mode", "sent as other: the guide does not know it")
            update = {**update, "kind": "other"}
        if update == update_of(message):
            return [("peer", message)]
        return [("peer", with_params(message, {**params, "update": update}))]


TOOL_CALL = {"title": "Tool call", "kind": "other", "status": "pending"}


def _ended(result: Object) -> Object:
    kept = as_object(as_object(as_object(result.get("_meta")).get(KEY)).get("raw"))
    rest = dropped(result)
    return {**rest, "content": kept["content"]} if "content" in kept else rest

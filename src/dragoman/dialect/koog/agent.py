"""A koog agent behind a v1 client."""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.debts import Debts, OwnIds
from dragoman.dialect.edge import NEVER, Edge, Out, Plain, Settings
from dragoman.dialect.keeping import keep
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    answer,
    as_list,
    as_object,
    as_text,
    notification,
    renamed,
    update_of,
    with_params,
)

NAME = "koog"


class KoogAgent(Edge):
    """Reads what the guide teaches agents to write, its wrong form without `update` included."""

    name = NAME
    # A whole message; or an update without its wrapper, whose params begin with another member than these.
    plain_from_peer: ClassVar[Plain] = {
        "session/update": re.compile(
            rb'"message"|"params"\s*:\s*\{(?!\s*"(sessionId|update)"\s*:[^{}]*"update"|\s*"update")'
        )
    }
    plain_from_inside: ClassVar[Plain] = {"session/cancel": NEVER}

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._asked: Debts[tuple[str, str]] = Debts()  # what the client asked, and for which session
        self._spoken: set[str] = set()  # sessions whose running turn has said something
        self._message_ids = OwnIds("message")

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_request:
            session = as_text(as_object(message.params).get("sessionId"))
            self._asked.owe(message.id, (str(message.method), session))
            if message.method == "session/prompt":
                self._spoken.discard(session)
        return [("peer", message)]

    def from_peer(self, message: Message) -> list[Out]:
        if message.method == "session/update":
            return self._updated(message)
        if not message.is_answer:
            return [("inside", message)]
        method, session = self._asked.settle(message.id) or ("", "")
        result = as_object(message.result)
        if method == "initialize" and ("serverInfo" in result or "capabilities" in result):
            if as_object(result.get("capabilities")).get("tools"):
                self.repaired("capabilities.tools", "kept in _meta: v1 has no list of an agent's tools")
            return [("inside", answer(message.id, keep(introduced(result), NAME, result)))]
        if method == "session/prompt" and "content" in result:
            return self._ended(message, session, result)
        return [("inside", message)]

    def _updated(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        update = update_of(message)
        session = as_text(params.get("sessionId"))
        self._spoken.add(session)
        if not update and "update" not in params and "type" in params:
            self.repaired("an update without its wrapper", "wrapped")
            update = renamed({name: value for name, value in params.items() if name != "sessionId"}, WRONG)
            params = {"sessionId": session, "update": update}
            message = with_params(message, params)
        if update.get("sessionUpdate") != "message":
            return [("inside", message)]
        return [("inside", chunk) for chunk in self._chunks(session, update)]

    def _chunks(self, session: str, update: Object) -> list[Message]:
        """One chunk a block, all of one message."""
        kind = "user_message_chunk" if update.get("role") == "user" else "agent_message_chunk"
        message_id = self._message_ids.next()
        content = update.get("content")
        blocks = [content] if type(content) is dict else as_list(content)
        chunks = [
            {"sessionUpdate": kind, "messageId": message_id, "content": block}
            for block in blocks
            if type(block) is dict
        ]
        if chunks:  # the first carries the whole, so that it can be said as one again
            chunks[0] = keep(chunks[0], NAME, update)
        return [notification("session/update", {"sessionId": session, "update": one}) for one in chunks]

    def _ended(self, message: Message, session: str, result: Object) -> list[Out]:
        """The guide lets an agent repeat its text in the answer; it is news only if nothing was said."""
        rest = {name: value for name, value in result.items() if name != "content"}
        outs: list[Out] = []
        if session not in self._spoken:
            said = self._chunks(session, {"role": "assistant", "content": result["content"]})
            outs += [("inside", chunk) for chunk in said]
            self.repaired("content in the answer of a silent turn", "said as a message before the answer")
        outs.append(("inside", answer(message.id, keep(rest, NAME, {"content": result["content"]}))))
        return outs


WRONG = {"type": "sessionUpdate"}
"""The guide's first common mistake: the update's members stand where its wrapper should."""


def introduced(result: Object) -> Object:
    """The agent's answer to `initialize` in v1."""
    plain = renamed(result, {"serverInfo": "agentInfo"})
    plain.pop("capabilities", None)
    return {
        **plain,
        "agentCapabilities": plain.get("agentCapabilities", {}),
        "authMethods": plain.get("authMethods", []),
    }

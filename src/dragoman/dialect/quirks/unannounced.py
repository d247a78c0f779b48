"""gemini-cli, the older codex-acp and others ask for permission for a tool call that they never announced.

A client that shows what it is asked about looks for the call, and has none.
"""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.edge import NEVER, Needles, Out, Plain, Settings
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, as_object, notification, update_of
from dragoman.dialect.quirks.quirk import Quirk, session_of


class Unannounced(Quirk):
    """The call is announced with what the question says about it, just before the question."""

    title = "unannounced"
    position = "agent"
    who = re.compile(r"(?i)gemini-cli|codex-acp|deepagents.*|openhands.*")
    what = "permission for a tool call that was never announced"
    done = "announced before it is asked"
    fix = "send tool_call before asking for permission for it"
    PLAIN_FROM_PEER: ClassVar[Plain] = {
        "session/update": Needles(b'"tool_call"'),
        "session/cancel": NEVER,
    }

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._announced: set[tuple[str, str]] = set()

    def told_by_peer(self, message: Message) -> Message:
        update = update_of(message)
        if update.get("sessionUpdate") == "tool_call":
            self._announced.add((session_of(message), str(update.get("toolCallId"))))
        return message

    def asked_by_peer(self, message: Message) -> list[Out]:
        call = as_object(as_object(message.params).get("toolCall"))
        session, call_id = session_of(message), call.get("toolCallId")
        if message.method != "session/request_permission" or type(call_id) is not str:
            return [("inside", message)]
        if (session, call_id) in self._announced:
            return [("inside", message)]
        self._announced.add((session, call_id))
        self.repair()
        title = call.get("title")
        update = {
            **{name: value for name, value in call.items() if value is not None},
            "sessionUpdate": "tool_call",
            "title": title if type(title) is str and title else "Tool call",
        }
        told = notification("session/update", {"sessionId": session, "update": update})
        return [("inside", told), ("inside", message)]

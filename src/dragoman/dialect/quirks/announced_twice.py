"""The older claude-code-acp announces a tool call twice: when it begins to write it, and when it is whole.

The second time it says more, so it is news about the call, not another call.
"""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.edge import NEVER, Needles, Plain, Settings
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, as_object, update_of, with_params
from dragoman.dialect.quirks.quirk import Quirk, session_of


class AnnouncedTwice(Quirk):
    """The second announcement becomes an update."""

    title = "announced-twice"
    position = "agent"
    who = re.compile(r"(?i)@zed-industries/claude-code-acp")
    what = "a tool call that is announced twice"
    done = "the second time sent as an update of it"
    fix = "announce a call once, and send tool_call_update after that"
    PLAIN_FROM_PEER: ClassVar[Plain] = {
        "session/update": Needles(b'"tool_call"'),
        "session/cancel": NEVER,
    }

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._announced: set[tuple[str, str]] = set()

    def told_by_peer(self, message: Message) -> Message:
        update = update_of(message)
        call_id = update.get("toolCallId")
        if update.get("sessionUpdate") != "tool_call" or type(call_id) is not str:
            return message
        call = (session_of(message), call_id)
        if call not in self._announced:
            self._announced.add(call)
            return message
        self.repair()
        renamed = {**update, "sessionUpdate": "tool_call_update"}
        return with_params(message, {**as_object(message.params), "update": renamed})

    def asked_by_inside(self, message: Message) -> Message:
        if message.method == "session/load":  # a replay announces everything once more, and rightly so
            session = session_of(message)
            self._announced = {call for call in self._announced if call[0] != session}
        return message

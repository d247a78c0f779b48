"""cline and openhands end a cancelled turn with `end_turn`.

The client asked for an end and is told that the work is done. Whether the turn was over anyway when the
cancel came cannot be told from outside; v1 wants `cancelled` either way.
"""

from __future__ import annotations

import re
from typing import ClassVar

from msgspec import UNSET

from dragoman.dialect.edge import NEVER, Plain, Settings
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Id, Message, answer, as_object
from dragoman.dialect.quirks.quirk import Quirk, session_of


class CancelledTurn(Quirk):
    """The answer to a prompt that was open when the client cancelled."""

    title = "cancelled-turn"
    position = "agent"
    who = re.compile(r"(?i)cline|openhands.*")
    what = "end_turn after a cancel"
    done = "sent as cancelled"
    fix = "end a turn that was cancelled with the stop reason cancelled"
    PLAIN_FROM_INSIDE: ClassVar[Plain] = {"session/update": NEVER}

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._cancelled: set[Id] = set()  # open prompts

    def told_by_inside(self, message: Message) -> Message:
        if message.method == "session/cancel":
            session = session_of(message)
            self._cancelled |= {
                request_id
                for request_id, asked in self._asked_by_inside.items()
                if asked.method == "session/prompt" and session_of(asked) == session
            }
        return message

    def answered_by_peer(self, asked: Message, message: Message) -> Message:
        if message.id is UNSET or message.id not in self._cancelled:
            return message
        self._cancelled.discard(message.id)
        result = as_object(message.result)
        if message.error is not UNSET or result.get("stopReason") != "end_turn":
            return message
        self.repair()
        return answer(message.id, {**result, "stopReason": "cancelled"})

"""Toad refuses `session_info_update` with -32602, although nobody waits for an answer to it.

It shows no titles of sessions, so it misses nothing.
"""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.edge import NEVER, Needles, Plain
from dragoman.dialect.message import Message, update_of
from dragoman.dialect.quirks.quirk import Quirk


class SessionInfo(Quirk):
    """The update is not sent."""

    title = "session-info"
    position = "client"
    who = re.compile(r"(?i)toad")
    what = "session_info_update, which the client refuses"
    done = "not sent"
    fix = "skip updates that are not known"
    PLAIN_FROM_INSIDE: ClassVar[Plain] = {
        "session/update": Needles(b'"session_info_update"'),
        "session/cancel": NEVER,
    }

    def told_by_inside(self, message: Message) -> Message | None:
        if update_of(message).get("sessionUpdate") != "session_info_update":
            return message
        self.repair()
        return None

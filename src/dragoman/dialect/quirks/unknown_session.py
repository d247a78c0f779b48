"""gemini-cli, OpenCode and the older claude-code-acp refuse an unknown session with another code.

A client that knows the right code opens a new session instead of showing a failure.
"""

from __future__ import annotations

import re

from msgspec import UNSET

from dragoman.dialect.message import Message, as_object, refusal
from dragoman.dialect.quirks.quirk import Quirk, error_text, session_of
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND

_SAYS_UNKNOWN = re.compile(r"(?i)\b(session not found|unknown session|no such session)\b")


class UnknownSession(Quirk):
    """Only where the error says it in words."""

    title = "unknown-session"
    position = "agent"
    who = re.compile(r"(?i)gemini-cli|opencode|@zed-industries/claude-code-acp")
    what = "an unknown session refused with another code"
    done = "sent with the code for it"
    fix = "answer with the code -32002"

    def answered_by_peer(self, asked: Message, message: Message) -> Message:
        session = session_of(asked)
        error = as_object(message.error)
        if message.error is UNSET or not session or error.get("code") not in (INVALID_PARAMS, INTERNAL_ERROR):
            return message
        if not _SAYS_UNKNOWN.search(error_text(error)):
            return message
        self.repair()
        return refusal(message.id, NOT_FOUND, "Session not found", {"sessionId": session})

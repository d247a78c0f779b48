"""The Python SDK's example client and crow's client do not know `session/request_permission`.

Every client must answer it. An agent that hears of an unknown method may take the turn for broken; what these
clients mean is that nobody answered. Where others are asked too, the error is what has to be said.
"""

from __future__ import annotations

import re

from dragoman.dialect.message import Message, answer, as_object
from dragoman.dialect.quirks.quirk import Quirk
from dragoman.wire.codes import METHOD_NOT_FOUND


class DeafToQuestions(Quirk):
    """Nobody consented."""

    title = "deaf-to-questions"
    position = "client"
    who = re.compile(r"(?i)example-client|crow(-cli|-ide)?")
    what = "a permission request that the client does not know"
    done = "answered as cancelled"
    fix = "answer session/request_permission, if only with the outcome cancelled"

    def answered_by_peer(self, asked: Message, message: Message) -> Message:
        error = as_object(message.error)
        if not self.settings.answers_for_peer:
            return message
        if asked.method != "session/request_permission" or error.get("code") != METHOD_NOT_FOUND:
            return message
        self.repair()
        return answer(message.id, {"outcome": {"outcome": "cancelled"}})

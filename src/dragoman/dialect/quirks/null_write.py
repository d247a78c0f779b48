"""Toad and CodeCompanion answer `fs/write_text_file` with `null`.

The answer has no members that must be there, but it is an object; strict agents refuse to read it.
"""

from __future__ import annotations

import re

from dragoman.dialect.message import Message, answer
from dragoman.dialect.quirks.quirk import Quirk


class NullWrite(Quirk):
    """Success stays success."""

    title = "null-write"
    position = "client"
    who = re.compile(r"(?i)toad|codecompanion.*")
    what = "null as the answer to fs/write_text_file"
    done = "sent as an empty object"
    fix = "answer with an empty object"

    def answered_by_peer(self, asked: Message, message: Message) -> Message:
        if asked.method != "fs/write_text_file" or message.result is not None:
            return message
        self.repair()
        return answer(message.id, {})

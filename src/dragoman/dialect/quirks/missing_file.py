"""gemini-cli reads a file before it creates it, and gives up when it hears that there is none.

Any error makes its write fail; an empty file is what it can go on with.
"""

from __future__ import annotations

import re

from msgspec import UNSET

from dragoman.dialect.message import Message, answer, as_object
from dragoman.dialect.quirks.quirk import Quirk, error_text
from dragoman.wire.codes import NOT_FOUND

_SAYS_MISSING = re.compile(r"(?i)not found|no such file|does not exist|ENOENT")


class MissingFile(Quirk):
    """Only an error that says that the file is missing: one that is forbidden stays forbidden."""

    title = "missing-file"
    position = "agent"
    who = re.compile(r"(?i)gemini-cli")
    what = "a missing file that the agent reads before it creates it"
    done = "answered as an empty file"
    fix = "take the error for a missing file as such, and create it"

    def answered_by_inside(self, asked: Message, message: Message) -> Message:
        if asked.method != "fs/read_text_file" or message.error is UNSET:
            return message
        error = as_object(message.error)
        if error.get("code") != NOT_FOUND and not _SAYS_MISSING.search(error_text(error)):
            return message
        self.repair()
        return answer(message.id, {"content": ""})

"""The older claude-code-acp puts a whole shell line into `command` of `terminal/create`, and no arguments.

In v1 `command` is a program. A client that starts it as one looks for a program of that long name.
"""

from __future__ import annotations

import re

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Message, as_object, with_params
from dragoman.dialect.quirks.quirk import Quirk

_NEEDS_A_SHELL = re.compile(r"[\s;&|<>$`(){}*?~#!\"'\\]")


class ShellLine(Quirk):
    """A line that no program can be called goes to a shell; whoever consents sees the whole line."""

    title = "shell-line"
    position = "agent"
    who = re.compile(r"(?i)@zed-industries/claude-code-acp")
    what = "a shell line as the command of a terminal"
    done = "given to /bin/sh -c"
    fix = "name the program in command and its arguments in args, or call /bin/sh with -c"

    def asked_by_peer(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        line = params.get("command")
        if message.method != "terminal/create" or type(line) is not str or params.get("args"):
            return [("inside", message)]
        if not _NEEDS_A_SHELL.search(line):
            return [("inside", message)]
        self.repair()
        return [("inside", with_params(message, {**params, "command": "/bin/sh", "args": ["-c", line]}))]

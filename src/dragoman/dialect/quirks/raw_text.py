"""Toad takes only objects as `rawInput` and `rawOutput` of a tool call, and refuses updates that hold a text.

v1 leaves both open: most agents send what their tool took and gave, which is often a text.
"""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.edge import NEVER, Needles, Plain
from dragoman.dialect.message import Message, Object, as_object, update_of, with_params
from dragoman.dialect.quirks.quirk import Quirk

_MEMBERS = {"rawInput": "input", "rawOutput": "output"}


class RawText(Quirk):
    """What is no object is put into one."""

    title = "raw-text"
    position = "client"
    who = re.compile(r"(?i)toad")
    what = "a raw value of a tool call that is no object"
    done = "put into one, under input or output"
    fix = "take any JSON value as rawInput and rawOutput"
    PLAIN_FROM_INSIDE: ClassVar[Plain] = {
        "session/update": Needles(b'"rawInput"', b'"rawOutput"'),
        "session/cancel": NEVER,
    }

    def told_by_inside(self, message: Message) -> Message:
        return self._mended(message, "update", update_of(message))

    def asked_by_inside(self, message: Message) -> Message:
        if message.method != "session/request_permission":
            return message
        return self._mended(message, "toolCall", as_object(as_object(message.params).get("toolCall")))

    def _mended(self, message: Message, member: str, call: Object) -> Message:
        changes = {
            name: {inner: call[name]}
            for name, inner in _MEMBERS.items()
            if call.get(name) is not None and type(call[name]) is not dict
        }
        if not changes:
            return message
        self.repair()
        return with_params(message, {**as_object(message.params), member: {**call, **changes}})

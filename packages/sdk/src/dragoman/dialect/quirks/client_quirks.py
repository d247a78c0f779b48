"""Known deviations of real clients from v1, with one class that repairs each."""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.edge import NO_SIGN, Needles, Signs
from dragoman.dialect.message import Message, Object, answer, as_object, update_of, with_params
from dragoman.dialect.quirks.quirk import Quirk
from dragoman.wire.codes import METHOD_NOT_FOUND


class DeafToQuestions(Quirk):
    """The Python SDK's example client and crow's client do not know `session/request_permission`.

    Every client must answer it. An agent that hears of an unknown method may take the turn for broken; what
    these clients mean is that nobody answered. Where others are asked too, the error is what has to be said.

    Nobody consented.
    """

    title = "deaf-to-questions"
    position = "client"
    who = re.compile(r"(?i)example-client|crow(-cli|-ide)?")
    what = "a permission request that the client does not know"
    action = "answered as cancelled"
    fix = "answer session/request_permission, if only with the outcome cancelled"

    def on_peer_answer(self, incoming: Message, message: Message) -> Message:
        error = as_object(message.error)
        if not self.settings.answers_for_peer:
            return message
        if incoming.method != "session/request_permission" or error.get("code") != METHOD_NOT_FOUND:
            return message
        self.repair()
        return answer(message.id, {"outcome": {"outcome": "cancelled"}})


class NullWrite(Quirk):
    """Toad and CodeCompanion answer `fs/write_text_file` with `null`.

    The answer has no members that must be there, but it is an object; strict agents refuse to read it.

    Success stays success.
    """

    title = "null-write"
    position = "client"
    who = re.compile(r"(?i)toad|codecompanion.*")
    what = "null as the answer to fs/write_text_file"
    action = "sent as an empty object"
    fix = "answer with an empty object"

    def on_peer_answer(self, incoming: Message, message: Message) -> Message:
        if incoming.method != "fs/write_text_file" or message.result is not None:
            return message
        self.repair()
        return answer(message.id, {})


_MEMBERS = {"rawInput": "input", "rawOutput": "output"}


class RawText(Quirk):
    """Toad accepts only objects as `rawInput` and `rawOutput` of a tool call, and refuses updates with a text
    there.

    v1 leaves both open: most agents send what their tool took and gave, which is often a text.

    What is not an object is put into one.
    """

    title = "raw-text"
    position = "client"
    who = re.compile(r"(?i)toad")
    what = "a raw value of a tool call that is not an object"
    action = "put into one, under input or output"
    fix = "take any JSON value as rawInput and rawOutput"
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {
        "session/update": Needles(b'"rawInput"', b'"rawOutput"'),
        "session/cancel": NO_SIGN,
    }

    def on_inside_notification(self, message: Message) -> Message:
        return self._wrap_raw_values(message, "update", update_of(message))

    def on_inside_request(self, message: Message) -> Message:
        if message.method != "session/request_permission":
            return message
        return self._wrap_raw_values(
            message, "toolCall", as_object(as_object(message.params).get("toolCall"))
        )

    def _wrap_raw_values(self, message: Message, member: str, call: Object) -> Message:
        changes = {
            name: {inner: call[name]}
            for name, inner in _MEMBERS.items()
            if call.get(name) is not None and type(call[name]) is not dict
        }
        if not changes:
            return message
        self.repair()
        return with_params(message, {**as_object(message.params), member: {**call, **changes}})


class SessionInfo(Quirk):
    """Toad refuses `session_info_update` with -32602, although it is a notification.

    It shows no titles of sessions, so it misses nothing.

    The update is not sent.
    """

    title = "session-info"
    position = "client"
    who = re.compile(r"(?i)toad")
    what = "session_info_update, which the client refuses"
    action = "not sent"
    fix = "skip updates that are not known"
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {
        "session/update": Needles(b'"session_info_update"'),
        "session/cancel": NO_SIGN,
    }

    def on_inside_notification(self, message: Message) -> Message | None:
        if update_of(message).get("sessionUpdate") != "session_info_update":
            return message
        self.repair()
        return None

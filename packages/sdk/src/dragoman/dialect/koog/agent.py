"""A koog agent behind a v1 client."""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import NO_SIGN, Edge, EdgeSettings, Out, Signs
from dragoman.dialect.koog.names import (
    KINDLESS,
    NAME,
    NO_NAME,
    NO_VERSION,
    REPEATED,
    SHOWN,
    SILENT,
    TOOLS,
    UNSAID,
    UNWRAPPED,
    UPDATE,
    WHOLE,
)
from dragoman.dialect.koog.whole import IN_ANSWER, split
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    answer,
    as_object,
    as_text,
    rename_members,
    update_of,
    with_params,
)
from dragoman.dialect.originals import keep
from dragoman.dialect.streamed_text import StreamedText, StreamedTurns

# A whole message; params or an update that begin with another member than v1's.
_LOOK = re.compile(
    rb'"(?:message"|update"\s*:\s*\{(?!\s*"sessionUpdate")'
    rb'|params"\s*:\s*\{(?!\s*(?:"sessionId"\s*:\s*"[^"\\]*"\s*,\s*)?"update"\s*:\s*\{))'
)
_SIGNS: Signs = {UPDATE: _LOOK}
_ALL: Signs = {}


class KoogAgent(Edge):
    """Reads the form that the guide teaches to agents, and the two wrong forms that it warns of."""

    name = NAME
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {"session/cancel": NO_SIGN}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._requests: PendingRequests[tuple[str, str]] = (
            PendingRequests()
        )  # what the client asked, and for which session
        self._streamed_turns = StreamedTurns()
        self._message_ids = OwnIds(f"message-{settings.nonce}" if settings.nonce else "message")

    @property
    def signs_from_peer(self) -> Signs:
        """Reads everything while a turn runs: the turn's answer may repeat the streamed text, or not."""
        return _ALL if self._streamed_turns else _SIGNS

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_request:
            session = as_text(as_object(message.params).get("sessionId"))
            self._requests.owe(message.id, (str(message.method), session))
            if message.method == "session/prompt":
                self._streamed_turns.begin(session)
        return [("peer", message)]

    def from_peer(self, message: Message) -> list[Out]:
        if message.method == UPDATE and message.is_notification:
            return self._on_update(message)
        if message.is_answer:
            return self._on_answer(message)
        return [("inside", message)]

    def _on_answer(self, message: Message) -> list[Out]:
        method, session = self._requests.settle(message.id) or ("", "")
        result = as_object(message.result)
        if method == "initialize" and ("serverInfo" in result or "capabilities" in result):
            return [("inside", answer(message.id, self._convert_introduction(result)))]
        if method != "session/prompt":
            return [("inside", message)]
        streamed_text = self._streamed_turns.end(session)
        if "content" not in result:
            return [("inside", message)]
        return self._on_turn_end(message, session, result, streamed_text)

    def _convert_introduction(self, result: Object) -> Object:
        if as_object(result.get("capabilities")).get("tools"):
            self.note_repair(*TOOLS)
        if type(result.get("protocolVersion")) is not int:
            self.note_repair(*NO_VERSION)
        if "serverInfo" in result and read_introduction(result).get("agentInfo") != result["serverInfo"]:
            self.note_repair(*NO_NAME)
        return keep(read_introduction(result), NAME, result)

    def _on_update(self, message: Message) -> list[Out]:
        message = self._repair_update(message)
        params = as_object(message.params)
        update, session = as_object(params.get("update")), as_text(params.get("sessionId"))
        kind = update.get("sessionUpdate")
        messages = [message]
        if kind == WHOLE:
            messages = split(update, params, self._message_ids.next(), self)
        for part in messages if self._streamed_turns else ():
            chunk = update_of(part)
            if chunk.get("sessionUpdate") == "agent_message_chunk":
                self._streamed_turns.add(session, chunk.get("content"))
        return [("inside", message) for message in messages]

    def _repair_update(self, message: Message) -> Message:
        """The two common mistakes: members of the update where its wrapper should be, and no kind."""
        params = as_object(message.params)
        if "update" not in params and as_text(params.get("sessionUpdate", params.get("type"))) in SHOWN:
            self.note_repair(*UNWRAPPED)
            around = {name: params[name] for name in ("sessionId", "_meta") if name in params}
            update = {name: value for name, value in params.items() if name not in around}
            return with_params(message, {**around, "update": rename_members(update, _TYPE)})
        update = as_object(params.get("update"))
        if not update or "sessionUpdate" in update:
            return message
        if as_text(update.get("type")) in SHOWN:
            update = rename_members(update, _TYPE)
        elif "role" in update and "content" in update:
            update = {"sessionUpdate": WHOLE, **update}
        else:
            return message
        self.note_repair(*KINDLESS)
        return with_params(message, {**params, "update": update})

    def _on_turn_end(
        self, message: Message, session: str, result: Object, streamed_text: StreamedText
    ) -> list[Out]:
        """The guide lets an agent repeat its text in the answer. What repeats is not said again; what does
        not is said before the answer, because a v1 client looks for no content there.
        """
        rest = {name: value for name, value in result.items() if name != "content"}
        final: Object = {"sessionUpdate": WHOLE, "role": "assistant", "content": result["content"]}
        with self.ledger.mute():
            blocks = [update_of(update)["content"] for update in split(final, {}, "", self)]
        end_answer = answer(message.id, keep(rest, NAME, {"content": result["content"]}))
        if streamed_text.repeats(blocks):
            if blocks:
                self.note_repair(*REPEATED)
            return [("inside", end_answer)]
        if streamed_text.is_silent:
            self.note_repair(*SILENT)
        else:
            self.note_repair(*UNSAID)
            final[IN_ANSWER] = True
        chunks = split(final, {"sessionId": session}, self._message_ids.next(), self)
        return [*(("inside", chunk) for chunk in chunks), ("inside", end_answer)]


_TYPE = {"type": "sessionUpdate"}


def read_introduction(result: Object) -> Object:
    """Translate the agent's answer to `initialize` into v1."""
    plain = rename_members(result, {"serverInfo": "agentInfo"})
    plain.pop("capabilities", None)
    if type(plain.get("protocolVersion")) is not int:
        plain["protocolVersion"] = 1
    info = plain.get("agentInfo")
    if type(info) is dict:
        plain["agentInfo"] = {
            **info,
            **{name: "unknown" for name in _NAMES if type(info.get(name)) is not str},
        }
    elif info is not None:
        del plain["agentInfo"]
    return {
        **plain,
        "agentCapabilities": plain.get("agentCapabilities", {}),
        "authMethods": plain.get("authMethods", []),
    }


_NAMES = ("name", "version")

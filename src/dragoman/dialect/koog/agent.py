"""A koog agent behind a v1 client."""

from __future__ import annotations

import re
from typing import ClassVar

from dragoman.dialect.debts import Debts, OwnIds
from dragoman.dialect.edge import NEVER, Edge, Out, Plain, Settings
from dragoman.dialect.keeping import keep
from dragoman.dialect.koog.names import (
    KINDLESS,
    NAME,
    NO_NAME,
    NO_VERSION,
    SHOWN,
    SILENT,
    TOOLS,
    UNWRAPPED,
    UPDATE,
    WHOLE,
)
from dragoman.dialect.koog.whole import split
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    answer,
    as_object,
    as_text,
    renamed,
    with_params,
)

# A whole message; params or an update that begin with another member than v1's.
_LOOK = re.compile(
    rb'"(?:message"|update"\s*:\s*\{(?!\s*"sessionUpdate")'
    rb'|params"\s*:\s*\{(?!\s*(?:"sessionId"\s*:\s*"[^"\\]*"\s*,\s*)?"update"\s*:\s*\{))'
)
_PLAIN: Plain = {UPDATE: _LOOK}
_NOT_PLAIN: Plain = {}


class KoogAgent(Edge):
    """Reads what the guide teaches agents to write, and the two wrong forms that it warns of."""

    name = NAME
    PLAIN_FROM_INSIDE: ClassVar[Plain] = {"session/cancel": NEVER}

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._asked: Debts[tuple[str, str]] = Debts()  # what the client asked, and for which session
        self._silent: set[str] = set()  # sessions whose running turn has not said anything yet
        self._message_ids = OwnIds(f"message-{settings.nonce}" if settings.nonce else "message")

    @property
    def plain_from_peer(self) -> Plain:
        """As long as a turn is silent everything is looked at: whether it says something must be known."""
        return _NOT_PLAIN if self._silent else _PLAIN

    def from_inside(self, message: Message) -> list[Out]:
        if message.is_request:
            session = as_text(as_object(message.params).get("sessionId"))
            self._asked.owe(message.id, (str(message.method), session))
            if message.method == "session/prompt":
                self._silent.add(session)
        return [("peer", message)]

    def from_peer(self, message: Message) -> list[Out]:
        if message.method == UPDATE and message.is_notification:
            return self._updated(message)
        if message.is_answer:
            return self._answered(message)
        return [("inside", message)]

    def _answered(self, message: Message) -> list[Out]:
        method, session = self._asked.settle(message.id) or ("", "")
        result = as_object(message.result)
        if method == "initialize" and ("serverInfo" in result or "capabilities" in result):
            return [("inside", answer(message.id, self._introduced(result)))]
        if method != "session/prompt":
            return [("inside", message)]
        silent = session in self._silent
        self._silent.discard(session)
        if "content" not in result:
            return [("inside", message)]
        return self._ended(message, session if silent else None, result)

    def _introduced(self, result: Object) -> Object:
        if as_object(result.get("capabilities")).get("tools"):
            self.repaired(*TOOLS)
        if type(result.get("protocolVersion")) is not int:
            self.repaired(*NO_VERSION)
        if "serverInfo" in result and introduced(result).get("agentInfo") != result["serverInfo"]:
            self.repaired(*NO_NAME)
        return keep(introduced(result), NAME, result)

    def _updated(self, message: Message) -> list[Out]:
        message = self._mended(message)
        params = as_object(message.params)
        update, session = as_object(params.get("update")), as_text(params.get("sessionId"))
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk" or (kind == WHOLE and update.get("role") != "user"):
            self._silent.discard(session)
        if kind != WHOLE:
            return [("inside", message)]
        return [("inside", one) for one in split(update, params, self._message_ids.next(), self)]

    def _mended(self, message: Message) -> Message:
        """The two common mistakes: members of the update where its wrapper should be, and no kind."""
        params = as_object(message.params)
        if "update" not in params and as_text(params.get("sessionUpdate", params.get("type"))) in SHOWN:
            self.repaired(*UNWRAPPED)
            around = {name: params[name] for name in ("sessionId", "_meta") if name in params}
            update = {name: value for name, value in params.items() if name not in around}
            return with_params(message, {**around, "update": renamed(update, _TYPE)})
        update = as_object(params.get("update"))
        if not update or "sessionUpdate" in update:
            return message
        if as_text(update.get("type")) in SHOWN:
            update = renamed(update, _TYPE)
        elif "role" in update and "content" in update:
            update = {"sessionUpdate": WHOLE, **update}
        else:
            return message
        self.repaired(*KINDLESS)
        return with_params(message, {**params, "update": update})

    def _ended(self, message: Message, silent: str | None, result: Object) -> list[Out]:
        """The guide lets an agent repeat its text in the answer; it is news only if nothing was said."""
        rest = {name: value for name, value in result.items() if name != "content"}
        outs: list[Out] = []
        if silent is not None and result["content"]:
            self.repaired(*SILENT)
            said = {"sessionUpdate": WHOLE, "role": "assistant", "content": result["content"]}
            chunks = split(said, {"sessionId": silent}, self._message_ids.next(), self)
            outs += [("inside", chunk) for chunk in chunks]
        outs.append(("inside", answer(message.id, keep(rest, NAME, {"content": result["content"]}))))
        return outs


_TYPE = {"type": "sessionUpdate"}


def introduced(result: Object) -> Object:
    """The agent's answer to `initialize` in v1."""
    plain = renamed(result, {"serverInfo": "agentInfo"})
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

"""Commands that an agent runs itself, and whose output it sends outside the protocol."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, TypeAlias

from dragoman.dialect.edge import NO_SIGN, EdgeSettings, Needles, Out, Signs
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Message,
    Object,
    as_list,
    as_object,
    as_text,
    notification,
    update_of,
    with_params,
)
from dragoman.dialect.quirks.quirk import Quirk, session_of, with_update
from dragoman.dialect.shown_terminal import ShownTerminal, exit_text

MOST_CALLS = 32
"""The most tool calls whose output is remembered: 8 MiB with the limit of a terminal. The oldest go first."""

_OUTPUT = ("terminal_output", "terminal_output_delta")
_IsOwn: TypeAlias = Callable[[Object], bool]

_MEMBERS = ("terminal_info", *_OUTPUT, "terminal_exit")


class OwnTerminals(Quirk):
    """codex-acp and pi-acp run commands themselves. They send the output piece by piece in `_meta`, and show
    it as a terminal that the client never created.

    A client that does not know these members of `_meta` shows nothing of what a command printed.

    The output becomes text in the content of the call, and ids of such terminals are left out. Nothing is
    changed for a client that says that it knows `terminal_output`.
    """

    title = "own-terminals"
    position = "agent"
    who = re.compile(r"(?i)@agentclientprotocol/codex-acp|pi-acp")
    what = "output of a command in _meta"
    action = "shown as the content of its tool call"
    fix = "send the output as content of the tool call, or run the command in a terminal of the client"
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        "session/update": Needles(b'"tool_call"', b'"terminal_', b'"terminal"'),
        "session/cancel": NO_SIGN,
    }

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._is_known_to_client = False
        self._client_terminals: set[str] = set()
        self._calls: dict[tuple[str, str], _ShownCall] = {}

    def on_inside_request(self, message: Message) -> Message:
        if message.method == "initialize":
            capabilities = as_object(as_object(message.params).get("clientCapabilities"))
            meta = as_object(capabilities.get("_meta"))
            self._is_known_to_client = any(meta.get(name) for name in _OUTPUT)
        return message

    def on_inside_answer(self, incoming: Message, message: Message) -> Message:
        if incoming.method == "terminal/create":
            self._client_terminals.add(as_text(as_object(message.result).get("terminalId")))
        return message

    def from_peer(self, message: Message) -> list[Out]:
        outs = super().from_peer(message)
        # Whoever asked for something has all output by the time of the answer.
        return [*self._unsent_updates(), *outs] if message.is_answer else outs

    def on_peer_request(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        call = as_object(params.get("toolCall"))
        is_question = message.method == "session/request_permission" and not self._is_known_to_client
        if not (is_question and self._shows_own(call.get("content"))):
            return [("inside", message)]
        self.repair()
        content = [item for item in call["content"] if not self._is_own(as_object(item))]
        question = {**params, "toolCall": {**call, "content": content}}
        return [("inside", with_params(message, question))]

    def on_peer_notification(self, message: Message) -> Message | None:
        update = update_of(message)
        meta = as_object(update.get("_meta"))
        kind, content = update.get("sessionUpdate"), update.get("content")
        if self._is_known_to_client or kind not in ("tool_call", "tool_call_update"):
            return message
        if kind == "tool_call":  # a replay announces a call once more, and then sends its output once more
            self._calls.pop(_key(message, update), None)
        if not (self._shows_own(content) or any(name in meta for name in _MEMBERS)):
            return message
        self.repair()
        call = self._call(message, update)
        if type(content) is list:
            call.content = content
        call.take(meta)
        rest = {name: value for name, value in meta.items() if name not in _MEMBERS}
        members = {name: value for name, value in update.items() if name not in ("_meta", "content")}
        if rest:
            members["_meta"] = rest
        is_news = len(members) > 2  # besides the kind of the update and the id of the call
        if type(content) is list or call.has_grown or (is_news and call.unsent):
            return with_update(message, {**members, "content": call.items(call.content, self._is_own)})
        return with_update(message, members) if is_news else None

    def _call(self, message: Message, update: Object) -> _ShownCall:
        key = _key(message, update)
        call = self._calls[key] = self._calls.pop(key, _ShownCall())
        if len(self._calls) > MOST_CALLS:
            del self._calls[next(iter(self._calls))]
        return call

    def _unsent_updates(self) -> list[Out]:
        outs: list[Out] = []
        for (session, call_id), call in self._calls.items():
            if call.unsent:
                content = call.items(call.content, self._is_own)
                update = {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "content": content}
                outs.append(
                    ("inside", notification("session/update", {"sessionId": session, "update": update}))
                )
        return outs

    def _shows_own(self, content: object) -> bool:
        return any(self._is_own(as_object(item)) for item in as_list(content))

    def _is_own(self, item: Object) -> bool:
        """Whether an item of a call's content is a terminal of the agent."""
        terminal = as_text(item.get("terminalId"))
        return item.get("type") == "terminal" and terminal not in self._client_terminals


class _ShownCall:
    """A tool call: its content as the agent sent it, and what happened in its terminals."""

    __slots__ = ("content", "terminals")

    def __init__(self) -> None:
        self.content: list[object] = []
        self.terminals: dict[str, ShownTerminal] = {}

    def take(self, meta: Object) -> None:
        for name in _OUTPUT:
            output = as_object(meta.get(name))
            if output:
                self._terminal(output).append(as_text(output.get("data")).encode("utf-8", "replace"))
        end = as_object(meta.get("terminal_exit"))
        if end:
            terminal = self._terminal(end)
            terminal.exit = exit_text(end.get("exit_code"), end.get("signal"))
            terminal.unsent += bool(terminal.exit)

    def _terminal(self, fields: Object) -> ShownTerminal:
        """By its id; without one it is the last of the call."""
        name = as_text(fields.get("terminal_id")) or next(reversed(self.terminals), "")
        return self.terminals.setdefault(name, ShownTerminal())

    @property
    def unsent(self) -> bool:
        return any(terminal.unsent for terminal in self.terminals.values())

    @property
    def has_grown(self) -> bool:
        return any(terminal.has_grown for terminal in self.terminals.values())

    def items(self, content: list[object], is_own: _IsOwn) -> list[object]:
        """The content with text for terminals of the agent; those that it does not show are last."""
        waiting = {name: terminal for name, terminal in self.terminals.items() if not terminal.is_empty}
        items: list[object] = []
        for item in content:
            if not is_own(as_object(item)):
                items.append(item)
            elif (terminal := waiting.pop(as_text(as_object(item).get("terminalId")), None)) is not None:
                items.append(_text(terminal))
        return [*items, *map(_text, waiting.values())]


def _text(terminal: ShownTerminal) -> Object:
    return {"type": "content", "content": {"type": "text", "text": terminal.text()}}


def _key(message: Message, update: Object) -> tuple[str, str]:
    return session_of(message), as_text(update.get("toolCallId"))

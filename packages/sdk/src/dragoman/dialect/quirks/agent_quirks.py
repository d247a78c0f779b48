"""Known deviations of real agents from v1, with one class that repairs each."""

from __future__ import annotations

import re
from typing import ClassVar

from msgspec import UNSET

from dragoman.dialect.edge import NO_SIGN, EdgeSettings, Needles, Out, Signs
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Id,
    Message,
    answer,
    as_list,
    as_object,
    as_text,
    notification,
    refusal,
    update_of,
    with_params,
)
from dragoman.dialect.quirks.quirk import Quirk, error_text, session_of, with_update
from dragoman.schema.subagent_words import as_subagent_update
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND

LONGEST_REASON = 2000
"""The most characters of a failed turn's reason in the error."""


class AnnouncedTwice(Quirk):
    """The older claude-code-acp announces a tool call twice: when it begins to write the call, and when the
    call is complete.

    The second time it says more, so it is news about the call, not another call.

    The second announcement becomes an update.
    """

    title = "announced-twice"
    position = "agent"
    who = re.compile(r"(?i)@zed-industries/claude-code-acp")
    what = "a tool call that is announced twice"
    action = "the second time sent as an update of it"
    fix = "announce a call once, and send tool_call_update after that"
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        "session/update": Needles(b'"tool_call"'),
        "session/cancel": NO_SIGN,
    }

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._announced_calls: set[tuple[str, str]] = set()

    def on_peer_notification(self, message: Message) -> Message:
        update = update_of(message)
        call_id = update.get("toolCallId")
        if update.get("sessionUpdate") != "tool_call" or type(call_id) is not str:
            return message
        call = (session_of(message), call_id)
        if call not in self._announced_calls:
            self._announced_calls.add(call)
            return message
        self.repair()
        return with_update(message, {**update, "sessionUpdate": "tool_call_update"})

    def on_inside_request(self, message: Message) -> Message:
        if message.method == "session/load":  # a replay announces everything once more, and rightly so
            session = session_of(message)
            self._announced_calls = {call for call in self._announced_calls if call[0] != session}
        return message


class CancelledTurn(Quirk):
    """cline and openhands end a cancelled turn with `end_turn`.

    The client asked for an end and is told that the work is done. Whether the turn was over anyway when the
    cancel came cannot be told from outside; v1 wants `cancelled` either way.

    The answer to a prompt that was open when the client cancelled.
    """

    title = "cancelled-turn"
    position = "agent"
    who = re.compile(r"(?i)cline|openhands.*")
    what = "end_turn after a cancel"
    action = "sent as cancelled"
    fix = "end a turn that was cancelled with the stop reason cancelled"
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {"session/update": NO_SIGN}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._cancelled_ids: set[Id] = set()  # open prompts

    def on_inside_notification(self, message: Message) -> Message:
        if message.method == "session/cancel":
            session = session_of(message)
            self._cancelled_ids |= {
                request_id
                for request_id, request in self._asked_by_inside.items()
                if request.method == "session/prompt" and session_of(request) == session
            }
        return message

    def on_peer_answer(self, incoming: Message, message: Message) -> Message:
        if message.id is UNSET or message.id not in self._cancelled_ids:
            return message
        self._cancelled_ids.discard(message.id)
        result = as_object(message.result)
        if message.error is not UNSET or result.get("stopReason") != "end_turn":
            return message
        self.repair()
        return answer(message.id, {**result, "stopReason": "cancelled"})


class DraftSubagents(Quirk):
    """codex-acp announces subagents in the words of an early draft of the protocol.

    A client that knows the published words takes them for updates that it does not know, and shows neither
    the names of subagents nor how they end.

    The same in the words of the schema.
    """

    title = "draft-subagents"
    position = "agent"
    who = re.compile(r"(?i)@agentclientprotocol/codex-acp")
    what = "a subagent in the words of an early draft"
    action = "sent as subagent_update"
    fix = "send subagent_update"
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        "session/update": Needles(b'"subagent_s'),
        "session/cancel": NO_SIGN,
    }

    def on_peer_notification(self, message: Message) -> Message:
        update = update_of(message)
        published = as_subagent_update(update)
        if published == update:
            return message
        self.repair()
        return with_update(message, published)


class FailedTurn(Quirk):
    """codex-acp reports a failed turn, for example at a limit of its model, as `end_turn`.

    That it failed stands in `_meta` of an update, as `systemError`; why is the text that follows.

    The prompt is answered with an error that says why, unless the agent has begun to work again.
    """

    title = "failed-turn"
    position = "agent"
    who = re.compile(r"(?i)@agentclientprotocol/codex-acp")
    what = "end_turn after a system error"
    action = "answered as an error"
    fix = "answer the prompt of a turn that failed with an error"
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        "session/update": Needles(b'"threadStatus"'),
        "session/cancel": NO_SIGN,
    }
    _FAILING_SIGNS: ClassVar[Signs] = {
        "session/update": Needles(b'"threadStatus"', b'"agent_message_chunk"'),
        "session/cancel": NO_SIGN,
    }

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._reasons: dict[str, str] = {}  # by the sessions whose prompt is about to fail

    @property
    def signs_from_peer(self) -> Signs:
        """Look at text only while a turn fails."""
        return self._FAILING_SIGNS if self._reasons else self.SIGNS_FROM_PEER

    def on_peer_notification(self, message: Message) -> Message:
        session, update = session_of(message), update_of(message)
        if update.get("sessionUpdate") == "session_info_update":
            codex = as_object(as_object(update.get("_meta")).get("codex"))
            self._on_status(session, as_object(codex.get("threadStatus")).get("type"))
        elif update.get("sessionUpdate") == "agent_message_chunk" and session in self._reasons:
            text = as_text(as_object(update.get("content")).get("text"))
            self._reasons[session] = f"{self._reasons[session]}{text}"[:LONGEST_REASON]
        return message

    def _on_status(self, session: str, status: object) -> None:
        if type(status) is not str:
            return
        self._reasons.pop(session, None)
        is_prompted = any(
            request.method == "session/prompt" and session_of(request) == session
            for _, request in self._asked_by_inside.items()
        )
        if status == "systemError" and is_prompted:
            self._reasons[session] = ""

    def on_peer_answer(self, incoming: Message, message: Message) -> Message:
        if incoming.method != "session/prompt":
            return message
        reason = self._reasons.pop(session_of(incoming), None)
        if reason is None or as_object(message.result).get("stopReason") != "end_turn":
            return message
        self.repair()
        return refusal(message.id, INTERNAL_ERROR, reason.strip() or "The agent reports a system error")


class LineZero(Quirk):
    """The older claude-code-acp sends line 0 when it means no line.

    Lines are counted from 1: an editor that follows along would jump to the line before the first.

    The location stays, its line goes.
    """

    title = "line-zero"
    position = "agent"
    who = re.compile(r"(?i)@zed-industries/claude-code-acp")
    what = "line 0 of a location"
    action = "left out: lines are counted from 1"
    fix = "count lines from 1, and leave line out where there is none"
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        "session/update": re.compile(rb'"line"\s*:\s*0'),
        "session/cancel": NO_SIGN,
    }

    def on_peer_notification(self, message: Message) -> Message:
        update = update_of(message)
        places = as_list(update.get("locations"))
        if not any(_is_nowhere(place) for place in places):
            return message
        self.repair()
        places_without_line = [
            {name: value for name, value in place.items() if name != "line"} if _is_nowhere(place) else place
            for place in places
        ]
        return with_update(message, {**update, "locations": places_without_line})


def _is_nowhere(place: object) -> bool:
    return type(place) is dict and type(place.get("line")) is int and place["line"] == 0


_SAYS_MISSING = re.compile(r"(?i)not found|no such file|does not exist|ENOENT")


class MissingFile(Quirk):
    """gemini-cli reads a file before it creates it, and stops if the file does not exist.

    Any error makes its write fail; an empty file is what it can go on with.

    Only an error that says that the file is missing: one that is forbidden stays forbidden.
    """

    title = "missing-file"
    position = "agent"
    who = re.compile(r"(?i)gemini-cli")
    what = "a missing file that the agent reads before it creates it"
    action = "answered as an empty file"
    fix = "take the error for a missing file as such, and create it"

    def on_inside_answer(self, incoming: Message, message: Message) -> Message:
        if incoming.method != "fs/read_text_file" or message.error is UNSET:
            return message
        error = as_object(message.error)
        if error.get("code") != NOT_FOUND and not _SAYS_MISSING.search(error_text(error)):
            return message
        self.repair()
        return answer(message.id, {"content": ""})


class RunningSubagents(Quirk):
    """claude-agent-acp does not stop the subagents of a turn when the turn is cancelled.

    Whoever cancels wants the work to stop. Subagents go on to use tools, and are shown as running.

    Those that can be cancelled are, just before the session that they work for. The agent says of each of
    them that it was cancelled, and then answers the prompt.
    """

    title = "running-subagents"
    position = "agent"
    who = re.compile(r"(?i)@agentclientprotocol/claude-agent-acp")
    what = "subagents that run on after a cancel"
    action = "cancelled before the session that they work for"
    fix = "cancel the subagents of a turn with it"
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        "session/update": Needles(b'"subagent_update"'),
        "session/cancel": NO_SIGN,
    }
    SIGNS_FROM_INSIDE: ClassVar[Signs] = {"session/update": NO_SIGN}

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._parents: dict[str, str] = {}  # of those that run and can be cancelled
        self._cancellable_ids: set[str] = set()

    def on_peer_notification(self, message: Message) -> Message:
        update = update_of(message)
        child = as_text(update.get("sessionId"))
        if update.get("sessionUpdate") != "subagent_update":
            return message
        if type(as_object(update.get("capabilities")).get("cancel")) is dict:
            self._cancellable_ids.add(child)
        if "state" in update:
            self._parents.pop(child, None)
            is_running = as_object(update["state"]).get("state") in ("running", "requires_action")
            if is_running and child in self._cancellable_ids:
                self._parents[child] = session_of(message)
        return message

    def from_inside(self, message: Message) -> list[Out]:
        outs = super().from_inside(message)
        if message.method != "session/cancel":
            return outs
        subagents = [session_of(message)]
        for child, parent in self._parents.items():  # a parent is announced before its children
            if parent in subagents:
                subagents.append(child)
        if len(subagents) > 1:
            self.repair()
        cancels = [notification("session/cancel", {"sessionId": child}) for child in subagents[:0:-1]]
        return [*(("peer", cancel) for cancel in cancels), *outs]


_NEEDS_A_SHELL = re.compile(r"[\s;&|<>$`(){}*?~#!\"'\\]")


class ShellLine(Quirk):
    """The older claude-code-acp puts a whole shell line into `command` of `terminal/create`, and no
    arguments.

    In v1 `command` is a program. A client that starts it as one looks for a program of that long name.

    A line that no program can be called goes to a shell; whoever consents sees the whole line.
    """

    title = "shell-line"
    position = "agent"
    who = re.compile(r"(?i)@zed-industries/claude-code-acp")
    what = "a shell line as the command of a terminal"
    action = "given to /bin/sh -c"
    fix = "name the program in command and its arguments in args, or call /bin/sh with -c"

    def on_peer_request(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        line = params.get("command")
        if message.method != "terminal/create" or type(line) is not str or params.get("args"):
            return [("inside", message)]
        if not _NEEDS_A_SHELL.search(line):
            return [("inside", message)]
        self.repair()
        return [("inside", with_params(message, {**params, "command": "/bin/sh", "args": ["-c", line]}))]


class Unannounced(Quirk):
    """gemini-cli, the older codex-acp and others ask for permission for a tool call that they never
    announced.

    A client that shows what it is asked about looks for the call, and has none.

    The call is announced with what the question says about it, just before the question.
    """

    title = "unannounced"
    position = "agent"
    who = re.compile(r"(?i)gemini-cli|codex-acp|deepagents.*|openhands.*")
    what = "permission for a tool call that was never announced"
    action = "announced before it is asked"
    fix = "send tool_call before asking for permission for it"
    SIGNS_FROM_PEER: ClassVar[Signs] = {
        "session/update": Needles(b'"tool_call"'),
        "session/cancel": NO_SIGN,
    }

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._announced_calls: set[tuple[str, str]] = set()

    def on_peer_notification(self, message: Message) -> Message:
        update = update_of(message)
        if update.get("sessionUpdate") == "tool_call":
            self._announced_calls.add((session_of(message), str(update.get("toolCallId"))))
        return message

    def on_peer_request(self, message: Message) -> list[Out]:
        call = as_object(as_object(message.params).get("toolCall"))
        session, call_id = session_of(message), call.get("toolCallId")
        if message.method != "session/request_permission" or type(call_id) is not str:
            return [("inside", message)]
        if (session, call_id) in self._announced_calls:
            return [("inside", message)]
        self._announced_calls.add((session, call_id))
        self.repair()
        title = call.get("title")
        update = {
            **{name: value for name, value in call.items() if value is not None},
            "sessionUpdate": "tool_call",
            "title": title if type(title) is str and title else "Tool call",
        }
        announcement = notification("session/update", {"sessionId": session, "update": update})
        return [("inside", announcement), ("inside", message)]


_SAYS_UNKNOWN = re.compile(r"(?i)\b(session not found|unknown session|no such session)\b")


class UnknownSession(Quirk):
    """gemini-cli, OpenCode and the older claude-code-acp refuse an unknown session with another code.

    A client that knows the right code opens a new session instead of showing a failure.

    Only where the error says it in words.
    """

    title = "unknown-session"
    position = "agent"
    who = re.compile(r"(?i)gemini-cli|opencode|@zed-industries/claude-code-acp")
    what = "an unknown session refused with another code"
    action = "sent with the code for it"
    fix = "answer with the code -32002"

    def on_peer_answer(self, incoming: Message, message: Message) -> Message:
        session = session_of(incoming)
        error = as_object(message.error)
        if message.error is UNSET or not session or error.get("code") not in (INVALID_PARAMS, INTERNAL_ERROR):
            return message
        if not _SAYS_UNKNOWN.search(error_text(error)):
            return message
        self.repair()
        return refusal(message.id, NOT_FOUND, "Session not found", {"sessionId": session})

"""One session as a v2 client sees it: its turns, its state, its updates.

In v1 the answer to a prompt is its end. In v2 a prompt is acknowledged when it is part of the conversation,
and the session says when it is done. An acknowledged prompt can only fail as a state, so the acknowledgement
waits for a sign that the agent works on it: an update of its turn, a question, or its answer. There is no
clock: an agent that is silent for a minute is acknowledged after a minute.
"""

from __future__ import annotations

from collections import deque
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from dragoman.dialect.debts import OwnIds
from dragoman.dialect.edge import Out
from dragoman.dialect.message import Id, Json, Message, Object, answer, as_object, notification, refusal
from dragoman.dialect.v2.to_v1.fields import LossReporter
from dragoman.dialect.v2.to_v2 import originals, updates
from dragoman.dialect.v2.to_v2.config import mode_option, options, values
from dragoman.dialect.v2.to_v2.content import block
from dragoman.dialect.v2.to_v2.ledger_notes import AFTER_CLOSE, CHUNK_ID, ECHO, LATE_ERROR, STOP_REASON, WRONG
from dragoman.dialect.v2.to_v2.tool_call import terminals, tool_call
from dragoman.dialect.v2.to_v2.writer import V2Writer, error_in_v2, is_count, is_list, is_object, is_text
from dragoman.wire.codes import CANCELLED

CHUNKS = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})
WORK = CHUNKS | {
    *("tool_call", "tool_call_update", "plan", "plan_update", "plan_removed"),
    *("compaction_update", "compaction_summary_chunk"),
}
"""Updates that only a turn or its replay sends: their sender has accepted the prompt."""

Loading = Literal["no", "shown", "swallowed"]

_TOKENS = ("totalTokens", "inputTokens", "outputTokens")
_MORE_TOKENS = ("thoughtTokens", "cachedReadTokens", "cachedWriteTokens")
_USAGE = {**dict.fromkeys((*_TOKENS, *_MORE_TOKENS), is_count), "_meta": is_object}


class V2ClientTurn(Struct):
    """A prompt that the agent works on."""

    id: Id | UnsetType
    message_id: str
    prompt_blocks: list[Object]
    """The prompt as the client sent it."""
    echo: deque[Object]
    """The rest of the prompt that the agent has not repeated yet."""
    is_acknowledged: bool = False
    is_cancelled: bool = False


class V2ClientSession:
    """A session as a v2 client sees it. All messages of this class go to the client; `client_calls` sends to
    the agent.
    """

    def __init__(self, session_id: str, ids: OwnIds, report: LossReporter, cwd: str = "/") -> None:
        self.id = session_id
        self.writer = V2Writer(report, cwd)
        self.config = V2ClientConfig()
        self.turn: V2ClientTurn | None = None
        self.held_prompts: deque[Message] = deque()  # prompts that wait for the turn, unacknowledged
        self.closing: list[Message] = []  # answers to session/close that wait for the turn to end
        self.loading: Loading = "no"
        self.is_closed = False
        self.is_child = False
        """Whether the agent has announced it as a child: it says how it stands with its parent's updates."""
        self.shows_usage = False
        """Whether the client asked for the usage of turns, which the stable protocol does not have."""
        self.title: str | None = None
        self.updated_at: str | None = None
        self._messages = MessageIds(ids)
        self._state = "idle"
        self._terminals: set[str] = set()
        self._replayed: set[tuple[str, str]] = set()
        """Messages of the replay that is being shown, by kind and id."""
        self._swallow_late = False

    def begin(
        self,
        request_id: Id | UnsetType,
        prompt_blocks: list[Object],
        echoes: list[Object],
        message_id: str,
    ) -> None:
        """Note that the prompt was sent to the agent."""
        self._messages.interrupt()
        self._swallow_late = False
        self.turn = V2ClientTurn(request_id, message_id, prompt_blocks, deque(echoes))

    def acknowledge(self) -> list[Out]:
        turn = self.turn
        if turn is None or turn.is_acknowledged:
            return []
        turn.is_acknowledged = True
        message: Object = {
            "sessionUpdate": "user_message",
            "messageId": turn.message_id,
            "content": turn.prompt_blocks,
        }
        return [
            ("peer", answer(turn.id, {"messageId": turn.message_id})),
            self._say(message),
            *self.move("running"),
        ]

    def end(self, message: Message) -> list[Out]:
        """Handle the agent's answer to the prompt."""
        turn = self.turn
        if turn is None:
            return []
        if message.error is not UNSET and not turn.is_acknowledged:
            self.turn = None
            if turn.is_cancelled:
                return [("peer", refusal(turn.id, CANCELLED, "Request cancelled"))]
            return [("peer", Message("2.0", turn.id, error=error_in_v2(message.error, self.id)))]
        outs = self.acknowledge()
        self.turn = None
        self._messages.interrupt()
        if message.error is UNSET:
            return outs + self.move("idle", self._turn_end(as_object(message.result)))
        error = error_in_v2(message.error, self.id)
        if turn.is_cancelled or error["code"] == CANCELLED:
            return outs + self.move("idle", {"stopReason": "cancelled"})
        self.writer.note(LATE_ERROR)
        return outs + self.move("idle", {"stopReason": "error", "error": error})

    def _turn_end(self, result: Object) -> Object:
        fields: Object = {}
        result = originals.ending(result)
        if is_text(result.get("stopReason")):
            fields["stopReason"] = result["stopReason"]
        else:
            self.writer.note(STOP_REASON)
        usage = self.writer.clean(as_object(result.get("usage")), _USAGE)
        if self.shows_usage and all(name in usage for name in _TOKENS):
            fields["usage"] = usage
        if is_object(result.get("_meta")):
            fields["_meta"] = result["_meta"]
        return fields

    def move(self, state: str, more: Object | None = None) -> list[Out]:
        """Change the state, if the state or its details are new."""
        if self.is_child or (state == self._state and more is None):
            return []
        self._state = state
        return [self._say({"sessionUpdate": "state_update", "state": state, **(more or {})})]

    def settle(self) -> list[Out]:
        """Note that no question to the user is open."""
        if self._state != "requires_action":
            return []
        return self.move("running" if self.turn is not None else "idle")

    def snapshot(self) -> list[Out]:
        """The current state of a resumed session."""
        self._state = "running" if self.turn is not None else "idle"
        return self.move(self._state, {})

    def load(self, *, swallow: bool) -> None:
        self._messages.interrupt()
        self.is_closed = False
        self.loading = "swallowed" if swallow else "shown"
        self._replayed.clear()
        self._swallow_late = swallow

    def on_load(self) -> None:
        self._messages.interrupt()
        self.loading = "no"

    def update(self, params: Object) -> list[Out]:
        """Translate one update of the agent."""
        fields = as_object(params.get("update"))
        kind = fields.get("sessionUpdate")
        if self.is_closed:
            self.writer.note(AFTER_CLOSE)
            return []
        if type(kind) is not str:
            self.writer.note(WRONG)
            return []
        if kind in WORK and self._swallows():
            return []
        outs = self.acknowledge() if kind in WORK else []
        if self._state == "requires_action" and kind in WORK and self.turn is not None:
            outs += self.move("running")
        meta = params.get("_meta")
        return outs + [self._say(v2_update, meta) for v2_update in self._convert(kind, fields)]

    def _swallows(self) -> bool:
        """A replay that nobody asked for: while the session loads; and after it until the next prompt, if
        nothing came before, because there are agents that answer first.
        """
        if self.loading == "swallowed":
            self._swallow_late = False
            return True
        return self._swallow_late and self.loading == "no" and self.turn is None

    def _convert(self, kind: str, fields: Object) -> list[Object]:
        if kind in CHUNKS:
            return self._chunk(kind, fields)
        if kind in ("tool_call", "tool_call_update"):
            return self._call(fields)
        if kind == "config_option_update":
            self.config.replace(fields.get("configOptions"), self.writer)
            return [self.options()]
        if kind == "current_mode_update":
            if self.config.set_mode(fields.get("currentModeId")):
                return [self.options()]
            self.writer.note(WRONG)
            return []
        v2_update = updates.update(fields, self.writer)
        if v2_update is not None and kind == "session_info_update":
            self.title = v2_update.get("title", self.title)
            self.updated_at = v2_update.get("updatedAt", self.updated_at)
        return [] if v2_update is None else [v2_update]

    def options(self) -> Object:
        return {"sessionUpdate": "config_option_update", "configOptions": self.config.listed_options}

    def _chunk(self, kind: str, fields: Object) -> list[Object]:
        content = block(fields.get("content"), self.writer)
        if content is None or (kind == "user_message_chunk" and self._is_echo(fields.get("content"))):
            return []
        message_id = self._messages.of(kind, fields.get("messageId"), self.writer)
        chunk: Object = {
            "sessionUpdate": kind,
            "messageId": message_id,
            "content": content,
            **({"_meta": fields["_meta"]} if is_object(fields.get("_meta")) else {}),
        }
        if self.loading != "shown" or (kind, message_id) in self._replayed:
            return [chunk]
        # A client that has the message already would append to it: a replay in chunks empties it first.
        self._replayed.add((kind, message_id))
        return [{"sessionUpdate": kind.removesuffix("_chunk"), "messageId": message_id, "content": []}, chunk]

    def _is_echo(self, content: Json) -> bool:
        """Whether an agent repeats the prompt, which the client has seen acknowledged."""
        turn = self.turn
        if turn is None or self.loading != "no" or not turn.echo or turn.echo[0] != content:
            return False
        turn.echo.popleft()
        self.writer.note(ECHO)
        return True

    def _call(self, fields: Object) -> list[Object]:
        self._messages.interrupt()
        call = tool_call(fields, self.writer)
        if call is None:
            return []
        terminal_updates = []
        for terminal in terminals(fields, self.writer):
            if len(terminal) > 2 or terminal["terminalId"] not in self._terminals:
                terminal_updates.append(terminal)
            self._terminals.add(terminal["terminalId"])
        return [*terminal_updates, {"sessionUpdate": "tool_call_update", **call}]

    def _say(self, update: Object, meta: Json = None) -> Out:
        params: Object = {"sessionId": self.id, "update": update}
        if is_object(meta):
            params["_meta"] = meta
        return ("peer", notification("session/update", params))


class MessageIds:
    """Ids for messages. Consecutive chunks of a kind belong to one message, unless their own ids differ."""

    def __init__(self, ids: OwnIds) -> None:
        self._ids = ids
        self._kind = ""
        self._id = ""

    def of(self, kind: str, own_id: Json, writer: V2Writer) -> str:
        if type(own_id) is str and own_id:
            self._kind = ""
            return own_id
        if kind != self._kind:
            self._kind, self._id = kind, self._ids.next()
        writer.note(CHUNK_ID)
        return self._id

    def interrupt(self) -> None:
        """Start a new message after the beginning of a tool call or a turn."""
        self._kind = ""


# The settings of a session: v1's config options and modes become v2's single list.
#
# v2 always tells the whole list, so the list is kept here as the client has seen it last.


class V2ClientConfig:
    """The settings of one session, in v2's form."""

    def __init__(self) -> None:
        self._options: list[Object] = []
        self._modes: Object = {}
        self._modes_option: str | None = None  # the id of the option that we made of the modes
        self.is_known = False

    def learn(self, result: Object, writer: V2Writer) -> None:
        """Read the settings from the answer that created or resumed the session."""
        modes, entries = as_object(result.get("modes")), result.get("configOptions")
        self._modes = modes
        self.is_known = bool(modes) or is_list(entries)
        self.replace(entries, writer)

    def replace(self, entries: Json, writer: V2Writer) -> None:
        """Replace the settings by the options that v1 lists. Modes are added unless an option has the same
        meaning.
        """
        self._options, self._modes_option = options(entries, writer), None
        if self._modes and self._mode() is None:
            used_ids = {option["configId"] for option in self._options}
            modes_as_option = mode_option(self._modes, used_ids, writer)
            if modes_as_option is not None:
                self._options.append(modes_as_option)
                self._modes_option = modes_as_option["configId"]

    @property
    def listed_options(self) -> list[Object]:
        return self._options

    def is_made(self, config_id: str) -> bool:
        """Whether this option represents the agent's modes."""
        return config_id == self._modes_option

    def set_mode(self, mode_id: Json) -> bool:
        """Set the session's mode; false if there are no modes."""
        choice = self._mode()
        if choice is None or mode_id not in values(choice):
            return False
        self._modes = {**self._modes, "currentModeId": mode_id}
        self.set_value(choice["configId"], mode_id)
        return True

    def set_value(self, config_id: str, value: Json) -> None:
        self._options = [
            {**option, "currentValue": value} if option["configId"] == config_id else option
            for option in self._options
        ]

    def _mode(self) -> Object | None:
        mode_options = (
            option
            for option in self._options
            if option.get("category") == "mode" and option["type"] == "select"
        )
        return next(mode_options, None)

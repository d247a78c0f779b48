"""The parts of a threads agent that are the same in both directions of its methods: the handshake, and
turns that are prompted, cancelled and answered once.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Id, Message, Object, as_list, as_object, as_text
from dragoman.dialect.threads.content import chunks_of
from dragoman.dialect.threads.exchange import GONE
from dragoman.dialect.threads.file_reads import ReadsForPeer, lent_by
from dragoman.dialect.threads.introduction import BUSY
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes
from dragoman.dialect.threads.turns import ThreadPrompt, ThreadPrompts
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS


class TurningEdge(ReadsForPeer):
    """The edge behind a v1 client."""

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._turns: dict[str, ThreadPrompts] = {}

    def begin(self, thread_id: str, prompt: ThreadPrompt) -> list[Out]:
        """Send the user's prompt to the agent."""
        raise NotImplementedError

    # The introduction.

    def introduce(self, message: Message) -> list[Out]:
        client = as_object(as_object(message.params).get("clientCapabilities"))
        self.lent_by_client = lent_by(client)
        self.note(RepairNotes.AGENT)
        result = {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
                "mcpCapabilities": {"http": False, "sse": False},
                "sessionCapabilities": {"list": {}, "resume": {}},
            },
            "agentInfo": {"name": "threads-agent", "version": "unknown"},
            "authMethods": [],
        }
        return [self.tell_inside(message.id, result)]

    def folders_in(self, params: Object) -> Object | None:
        """Return the folders in a request to create or load a session; None if it has no `cwd`."""
        cwd = as_text(params.get("cwd"))
        if not cwd:
            return None
        if params.get("mcpServers"):
            self.note(Lost.MCP_SERVERS)
        self.note(RepairNotes.FOLDER)
        more = [as_text(path) for path in as_list(params.get("additionalDirectories"))]
        return {"cwd": cwd, "additionalDirectories": [path for path in more if path]}

    # Turns.

    def turns_of(self, thread_id: str) -> ThreadPrompts:
        return self._turns.setdefault(thread_id, ThreadPrompts())

    def is_cancelled(self, thread_id: str) -> bool:
        turns = self._turns.get(thread_id)
        return turns is not None and turns.is_cancelled

    def prompt(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        thread_id = as_text(params.get("sessionId"))
        chunks = chunks_of(params.get("prompt"), self.note)
        if not thread_id or not chunks:
            return [
                self.refuse_inside(message.id, INVALID_PARAMS, "Invalid params: there is nothing to send")
            ]
        if not self.turns_of(thread_id).admit(ThreadPrompt(message.id, chunks)):
            return [self.refuse_inside(message.id, INTERNAL_ERROR, BUSY)]
        return self.go_on(thread_id)

    def go_on(self, thread_id: str) -> list[Out]:
        """Start the next turn if the previous turn is over."""
        turns = self.turns_of(thread_id)
        prompt = turns.next()
        if prompt is not None:
            return self.begin(thread_id, prompt)
        if turns.running is None:
            del self._turns[thread_id]
        return []

    def end_turn(self, thread_id: str, error: object = UNSET) -> list[Out]:
        """Note that the agent has finished the last prompt."""
        prompt = self.turns_of(thread_id).end()
        outs: list[Out] = []
        if prompt is not None and error is not UNSET:
            outs.append(self.fail_inside(prompt.request_id, error))
        elif prompt is not None:
            outs.append(self.tell_inside(prompt.request_id, {"stopReason": "end_turn"}))
        return outs + self.go_on(thread_id)

    def peer_ended(self) -> list[Out]:
        """End the open turns: the agent will not answer them."""
        outs = super().peer_ended()
        open_turns = [prompt for turns in self._turns.values() for prompt in turns.cancel()]
        self._turns.clear()
        return outs + [self.refuse_inside(turn.request_id, INTERNAL_ERROR, GONE) for turn in open_turns]

    def on_inside_notification(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        if message.method == "session/cancel":
            return self._cancel(as_text(params.get("sessionId")))
        if message.method == "$/cancel_request":
            return self._take_back(params.get("requestId"))
        self.note(Lost.NOTIFICATIONS)
        return []

    def _cancel(self, thread_id: str) -> list[Out]:
        turns = self._turns.get(thread_id)
        prompts = [] if turns is None else turns.cancel()
        if prompts:
            self.note(Lost.CANCEL)
        return [self.tell_inside(prompt.request_id, {"stopReason": "cancelled"}) for prompt in prompts]

    def _take_back(self, request_id: Id | UnsetType) -> list[Out]:
        for thread_id, turns in self._turns.items():
            if turns.holds(request_id):
                return self._cancel(thread_id)
        self.note(Lost.TAKEN_BACK)
        return []

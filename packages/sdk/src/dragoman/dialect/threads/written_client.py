"""A threads client in front of a v1 agent, with the directions that the dialect's document prints.

As written, the client holds the threads. It streams the user's message to the agent chunk by chunk and reads
the agent's files; the agent asks for threads and entries, and posts its answer as one message. Nothing says
where a streamed message ends. So the edge asks the client for the thread's entries: if that question is
answered and no chunk came in between, the message is whole. A round trip needs no clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from msgspec import UNSET

from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Json,
    Message,
    Object,
    as_list,
    as_object,
    as_text,
    notification,
    update_of,
)
from dragoman.dialect.threads.content import block, chunk, text_of_chunk
from dragoman.dialect.threads.entries import Entries
from dragoman.dialect.threads.file_reads import ReadsForPeer
from dragoman.dialect.threads.files import IN_V1
from dragoman.dialect.threads.introduction import BUSY, MOST_HELD, IntroducingEdge
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes, phrase_of
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS

MOST_THREADS = 1000
"""The most threads: each is a session of the agent."""


@dataclass
class ClientThread:
    """A thread that the client keeps, and the agent's session for it."""

    id: str
    agent_entries: Entries  # by the agent, in the turn that runs
    session: str = ""
    is_known: bool = False  # whether its entries were looked at
    user_texts: list[str] = field(default_factory=list)  # of the user's message, so far
    is_asking: bool = False
    is_longer: bool = False  # a chunk came since we asked
    is_whole: bool = False
    is_busy: bool = False


class WrittenClient(IntroducingEdge, ReadsForPeer):
    """Turns streamed messages into prompts, and the agent's updates into posted messages."""

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._threads: dict[str, ClientThread] = {}

    # What the client asks.

    def on_peer_request(self, message: Message) -> list[Out]:
        if message.method in IN_V1:
            return self.read_for_peer(message)
        if message.method != "streamMessageChunk":
            return self.no_such_method(message, by="peer")
        params = as_object(message.params)
        if not as_text(params.get("threadId")) or text_of_chunk(params.get("chunk")) is None:
            return [
                self.refuse_peer(message.id, INVALID_PARAMS, "Invalid params: a chunk of text is missing")
            ]
        return self.when_ready(message)

    def folders_of(self, thread_id: str) -> Object:
        """Return the folders for the agent's reads: the session's own folder."""
        return {"cwd": self.settings.cwd, "additionalDirectories": []}

    def asked_when_ready(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        name, text = as_text(params.get("threadId")), text_of_chunk(params.get("chunk")) or ""
        thread = self._threads.get(name)
        if thread is None and len(self._threads) >= MOST_THREADS:
            return [self.refuse_peer(message.id, INTERNAL_ERROR, BUSY)]
        if thread is None:
            thread = self._threads[name] = ClientThread(name, Entries(self.note))
        if sum(map(len, thread.user_texts)) + len(text) > MOST_HELD:
            return [self.refuse_peer(message.id, INTERNAL_ERROR, BUSY)]
        thread.user_texts.append(text)
        thread.is_longer, thread.is_whole = True, False
        return [self.tell_peer(message.id, None), *self._ask_whether_whole(thread)]

    # Where a message ends.

    def _ask_whether_whole(self, thread: ClientThread) -> list[Out]:
        if thread.is_asking:
            return []
        thread.is_asking, thread.is_longer = True, False
        params = {"threadId": thread.id}
        if not thread.is_known:
            return [self.ask_peer("openThread", params, partial(self._on_open, thread))]
        return [self.ask_peer("getThreadEntries", params, partial(self._on_entries, thread))]

    def _on_open(self, thread: ClientThread, answer: Message) -> list[Out]:
        thread.is_longer = False
        params = {"threadId": thread.id}
        return [self.ask_peer("getThreadEntries", params, partial(self._on_entries, thread))]

    def _on_entries(self, thread: ClientThread, answer: Message) -> list[Out]:
        """A client that refuses the question has still shown that it has nothing more to say."""
        thread.is_asking = False
        if not thread.is_known:
            thread.is_known = True
            if _has_a_past(as_object(answer.result).get("entries")):
                self.note(Lost.EARLIER_ENTRIES)
        if thread.is_longer:
            return self._ask_whether_whole(thread)
        self.note(RepairNotes.MESSAGE_ENDS)
        thread.is_whole = True
        return self._next_turn(thread)

    # Turns.

    def _next_turn(self, thread: ClientThread) -> list[Out]:
        if thread.is_busy or not thread.is_whole or not thread.user_texts:
            return []
        thread.is_busy = True
        if thread.session:
            return self._prompt(thread)
        return [self.ask_inside("session/new", self.session_setup(), partial(self._on_creation, thread))]

    def _on_creation(self, thread: ClientThread, answer: Message) -> list[Out]:
        thread.session = as_text(as_object(answer.result).get("sessionId"))
        if not thread.session:
            thread.user_texts = []
            return self._on_turn_end(thread, answer)
        return self._prompt(thread)

    def _prompt(self, thread: ClientThread) -> list[Out]:
        prompt, thread.user_texts = [block(text) for text in thread.user_texts], []
        params = {"sessionId": thread.session, "prompt": prompt}
        return [self.ask_inside("session/prompt", params, partial(self._on_turn_end, thread))]

    def _on_turn_end(self, thread: ClientThread, answer: Message) -> list[Out]:
        """The posted message is the end of the turn, so one is posted whatever happened."""
        chunks = [
            text_chunk
            for entry in thread.agent_entries.to_json()
            for text_chunk in as_list(entry.get("chunks"))
        ]
        thread.agent_entries.clear()
        thread.is_busy = False
        result = as_object(answer.result)
        if answer.error is not UNSET or not result:
            self.note(RepairNotes.FAILURES)
            why = as_text(as_object(answer.error).get("message")) or "Internal error"
            chunks.append(chunk(f"The turn failed: {why}"))
        elif result.get("stopReason") != "end_turn":
            self.note(Lost.STOP_REASON)
        message = {"role": "assistant", "chunks": chunks}
        post = self.ask_peer("sendMessage", {"threadId": thread.id, "message": message}, None)
        return [post, *self._next_turn(thread)]

    # What the agent says and asks.

    def on_inside_notification(self, message: Message) -> list[Out]:
        update = update_of(message)
        kind = as_text(update.get("sessionUpdate"))
        name = as_text(as_object(message.params).get("sessionId"))
        thread = next((thread for thread in self._threads.values() if thread.session == name and name), None)
        if thread is None or kind == "user_message_chunk":
            self.note(Lost.ECHOES if thread is not None else Lost.OTHER_UPDATES)
        elif kind in ("tool_call", "tool_call_update"):
            self.note(Lost.TOOL_CALLS)
        elif (phrase := phrase_of(kind)) is not None:
            self.note(phrase)
        else:
            thread.agent_entries.update(update)
        return []

    def on_inside_request(self, message: Message) -> list[Out]:
        return self.refused_to_agent(message)

    def peer_ended(self) -> list[Out]:
        # Nobody inside waits for this client: it was asked only to learn where messages end.
        busy = [thread for thread in self._threads.values() if thread.is_busy and thread.session]
        return [("inside", notification("session/cancel", {"sessionId": thread.session})) for thread in busy]


def _has_a_past(entries: Json) -> bool:
    """Whether a thread holds more than one message of a user."""
    messages = [as_object(entry) for entry in as_list(entries)]
    return len(messages) > 1 or any(entry.get("role") != "user" for entry in messages)

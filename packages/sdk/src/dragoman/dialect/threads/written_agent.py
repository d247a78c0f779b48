"""A threads agent behind a v1 client, with the directions that the dialect's document prints.

As written, the client holds the threads, so this edge does for it: sessions are threads of its own making,
and their entries are what has passed. A prompt is streamed to the agent as chunks. The agent asks for threads
and entries as it likes, and the message that it posts as the assistant ends the turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from msgspec import UNSET

from dragoman.dialect.debts import OwnIds
from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Message, Object, as_object, as_text
from dragoman.dialect.threads import thread_lists
from dragoman.dialect.threads.agent_edge import TurningEdge
from dragoman.dialect.threads.content import UPDATE_OF_ROLE, blocks_of, chunk_update, replay_updates
from dragoman.dialect.threads.entries import Entries
from dragoman.dialect.threads.file_reads import ReadsAtPeer
from dragoman.dialect.threads.files import IN_THREADS
from dragoman.dialect.threads.ledger_notes import Lost, RepairNotes
from dragoman.dialect.threads.thread_lists import ThreadFacts
from dragoman.dialect.threads.turns import ThreadPrompt
from dragoman.wire.codes import INVALID_PARAMS, NOT_FOUND

MOST_THREADS = 1000
"""The most threads: an agent that creates more gets an error."""


@dataclass
class AgentThread:
    """A thread that we keep for the agent."""

    id: str
    cwd: str
    entries: Entries
    facts: ThreadFacts


class WrittenAgent(TurningEdge, ReadsAtPeer):
    """Keeps the threads of a v1 client for its agent."""

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._threads: dict[str, AgentThread] = {}
        self._thread_ids = OwnIds(f"thread-{settings.nonce}" if settings.nonce else "thread")

    # What the client asks.

    def on_inside_request(self, message: Message) -> list[Out]:
        match message.method:
            case "initialize":
                return self.introduce(message)
            case "session/list":
                return self._list(message)
            case "session/new":
                return self._create(message)
            case "session/load" | "session/resume":
                return self._open(message)
            case "session/prompt" if self._thread_in(message, "sessionId") is None:
                return [self.refuse_inside(message.id, NOT_FOUND, "Session not found")]
            case "session/prompt":
                return self.prompt(message)
            case method if method in IN_THREADS:
                return self.read_at_peer(message)
            case _:
                return self.no_such_method(message, by="inside")

    def _list(self, message: Message) -> list[Out]:
        folder = as_text(as_object(message.params).get("cwd"))
        sessions = [
            thread_lists.session_info(
                thread.id, thread.cwd, title=thread.facts.best_title, updated_at=thread.facts.best_time
            )
            for thread in self._threads.values()
            if folder in ("", thread.cwd)
        ]
        return [self.tell_inside(message.id, {"sessions": sessions})]

    def _create(self, message: Message) -> list[Out]:
        folders = self.folders_in(as_object(message.params))
        if folders is None:
            return [self.refuse_inside(message.id, INVALID_PARAMS, "Invalid params: cwd is missing")]
        return [self.tell_inside(message.id, {"sessionId": self._keep(folders["cwd"]).id})]

    def _open(self, message: Message) -> list[Out]:
        thread = self._thread_in(message, "sessionId")
        folders = self.folders_in(as_object(message.params))
        if thread is None or folders is None:
            return [self.refuse_inside(message.id, NOT_FOUND, "Session not found")]
        thread.cwd = folders["cwd"]
        outs: list[Out] = []
        if message.method == "session/load":
            entries = thread.entries.to_json()
            outs += [("inside", update) for update in replay_updates(thread.id, entries, self.note)]
        return [*outs, self.tell_inside(message.id, {})]

    def _keep(self, cwd: str) -> AgentThread:
        thread = AgentThread(
            self._thread_ids.next(), cwd, Entries(self.note), ThreadFacts(created_at=self.now())
        )
        self._threads[thread.id] = thread
        return thread

    def _thread_in(self, message: Message, name: str) -> AgentThread | None:
        return self._threads.get(as_text(as_object(message.params).get(name)))

    # Turns.

    def begin(self, thread_id: str, prompt: ThreadPrompt) -> list[Out]:
        thread, texts = self._threads[thread_id], [as_text(chunk["chunk"]) for chunk in prompt.chunks]
        thread.entries.begin("user", texts)
        thread.facts.prompt(texts)
        thread.facts.touch(self.now())
        then = partial(self._on_chunk_answer, thread_id, prompt)
        return [
            self.ask_peer("streamMessageChunk", {"threadId": thread_id, "chunk": chunk}, then)
            for chunk in prompt.chunks
        ]

    def _on_chunk_answer(self, thread_id: str, prompt: ThreadPrompt, answer: Message) -> list[Out]:
        """The agent got a chunk, or would not have it: then there is no turn."""
        if answer.error is UNSET or self.turns_of(thread_id).running is not prompt:
            return []
        return self.end_turn(thread_id, answer.error)

    # What the agent asks.

    def on_peer_request(self, message: Message) -> list[Out]:
        if message.method == "getThreads":
            threads = [
                thread_lists.metadata(thread.id, thread.facts, self.note) for thread in self._threads.values()
            ]
            return [self.tell_peer(message.id, {"threads": threads})]
        if message.method == "createThread":
            return self._create_for_agent(message)
        if message.method not in ("openThread", "getThreadEntries", "sendMessage"):
            return self.no_such_method(message, by="peer")
        thread = self._thread_in(message, "threadId")
        if thread is None:
            return [self.refuse_peer(message.id, NOT_FOUND, "there is no such thread")]
        if message.method == "openThread":
            return [self.tell_peer(message.id, None)]
        if message.method == "getThreadEntries":
            return [self.tell_peer(message.id, {"entries": thread.entries.to_json()})]
        return self._post(message, thread)

    def _create_for_agent(self, message: Message) -> list[Out]:
        if len(self._threads) >= MOST_THREADS:
            return [self.refuse_peer(message.id, INVALID_PARAMS, "there are too many threads")]
        self.note(RepairNotes.CREATED)
        return [self.tell_peer(message.id, {"threadId": self._keep(self.settings.cwd).id})]

    def _post(self, message: Message, thread: AgentThread) -> list[Out]:
        post = as_object(as_object(message.params).get("message"))
        role, blocks = as_text(post.get("role")), blocks_of(post)
        if role not in UPDATE_OF_ROLE or blocks is None:
            why = "Invalid params: a message has a role and chunks of text"
            return [self.refuse_peer(message.id, INVALID_PARAMS, why)]
        reply = self.tell_peer(message.id, None)
        if self.is_cancelled(thread.id):
            self.note(Lost.LATE_CHUNKS)
            return [reply, *(self.end_turn(thread.id) if role == "assistant" else [])]
        texts = [as_text(block["text"]) for block in blocks]
        thread.entries.begin(role, texts)
        thread.facts.touch(self.now())
        outs: list[Out] = [("inside", chunk_update(thread.id, role, text)) for text in texts]
        ends = role == "assistant" and self.turns_of(thread.id).running is not None
        return [*outs, reply, *(self.end_turn(thread.id) if ends else [])]

    def was_read(self, question: Message, fields: Object) -> None:
        thread = self._thread_in(question, "sessionId")
        if thread is not None and question.method == "fs/read_text_file":
            path = as_text(as_object(question.params).get("path"))
            thread.entries.read(path, as_text(fields.get("content")))

    def folders_of(self, thread_id: str) -> Object | None:
        return None  # as written, the client reads at the agent

"""A threads client in front of a v1 agent, with the directions of the dialect's code: the client asks for
threads and sends messages, the agent streams chunks and reads files.

A thread is a session. Its entries are remembered from what passes, and from the replay when it is opened.
A message is a turn: it is answered when the turn ends, and a second one waits for that.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from msgspec import UNSET, UnsetType

from dragoman.dialect.edge import Out
from dragoman.dialect.message import Id, Message, Object, as_object, as_text, notification, update_of
from dragoman.dialect.threads.content import blocks_of, chunk, text_of_block
from dragoman.dialect.threads.file_reads import ReadsAtPeer
from dragoman.dialect.threads.files import EXTENSIONS, IN_THREADS
from dragoman.dialect.threads.introduction import BUSY
from dragoman.dialect.threads.ledger_notes import Lost, phrase_of
from dragoman.dialect.threads.thread_sessions import (
    MOST_WAITING,
    OpeningEdge,
    Thread,
    ThreadQuestion,
    WaitingRequest,
)
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS

THREADS = ("getThreads", "createThread")
OF_A_THREAD = ("openThread", "getThreadEntries", "sendMessage")


class CodedClient(OpeningEdge, ReadsAtPeer):
    """Translates the client's requests and the agent's messages."""

    client_capabilities: ClassVar[Object] = {
        "fs": {"readTextFile": True, "writeTextFile": False},
        "terminal": False,
        "_meta": {"dragoman": {"extensions": list(EXTENSIONS)}},
    }

    # Requests of the client.

    def on_peer_request(self, message: Message) -> list[Out]:
        if message.method in THREADS:
            return self.when_ready(message)
        if message.method not in OF_A_THREAD:
            return self.no_such_method(message, by="peer")
        if not as_text(as_object(message.params).get("threadId")):
            return [self.refuse_peer(message.id, INVALID_PARAMS, "Invalid params: threadId is missing")]
        return self.when_ready(message)

    def asked_when_ready(self, message: Message) -> list[Out]:
        if message.method == "getThreads":
            return self.list_threads(message.id)
        if message.method == "createThread":
            return self.create_thread(message.id)
        params = as_object(message.params)
        if message.method == "sendMessage":
            return self._send(message.id, params)
        then = self._say_open if message.method == "openThread" else self._tell_entries
        return self.when_open(params["threadId"], WaitingRequest(message.id, partial(then, message.id)))

    def _say_open(self, request_id: Id | UnsetType, thread: Thread) -> list[Out]:
        return [self.tell_peer(request_id, None)]

    def _tell_entries(self, request_id: Id | UnsetType, thread: Thread) -> list[Out]:
        return [self.tell_peer(request_id, {"entries": thread.entries.to_json()})]

    # Messages.

    def _send(self, request_id: Id | UnsetType, params: Object) -> list[Out]:
        message = as_object(params.get("message"))
        prompt = blocks_of(message)
        if message.get("role") == "assistant":
            self.note(Lost.ASSISTANT)
            return [self.refuse_peer(request_id, INVALID_PARAMS, "Invalid params: only users send messages")]
        if message.get("role") != "user" or prompt is None:
            why = "Invalid params: a message has a role and chunks of text"
            return [self.refuse_peer(request_id, INVALID_PARAMS, why)]
        then = partial(self._line_up, ThreadQuestion(request_id, prompt))
        return self.when_open(params["threadId"], WaitingRequest(request_id, then))

    def _line_up(self, question: ThreadQuestion, thread: Thread) -> list[Out]:
        if len(thread.questions) >= MOST_WAITING:
            return [self.refuse_peer(question.request_id, INTERNAL_ERROR, BUSY)]
        thread.questions.append(question)
        return self._next_turn(thread)

    def _next_turn(self, thread: Thread) -> list[Out]:
        if thread.is_busy or not thread.questions:
            return []
        question = thread.questions.popleft()
        thread.is_busy = True
        texts = [as_text(block["text"]) for block in question.prompt]
        thread.entries.begin("user", texts)
        thread.facts.prompt(texts)
        thread.facts.touch(self.now())
        params = {"sessionId": thread.id, "prompt": question.prompt}
        return [
            self.ask_inside("session/prompt", params, partial(self._on_turn_end, thread, question.request_id))
        ]

    def _on_turn_end(self, thread: Thread, request_id: Id | UnsetType, answer: Message) -> list[Out]:
        thread.is_busy = False
        thread.facts.touch(self.now())
        if answer.error is not UNSET:
            reply = self.fail_peer(request_id, answer.error)
        else:
            if as_object(answer.result).get("stopReason") != "end_turn":
                self.note(Lost.STOP_REASON)
            reply = self.tell_peer(request_id, None)
        return [reply, *self._next_turn(thread)]

    # What the agent says.

    def on_inside_notification(self, message: Message) -> list[Out]:
        if message.method != "session/update":
            taken_back = message.method == "$/cancel_request"
            self.note(Lost.TAKEN_BACK if taken_back else Lost.OTHER_UPDATES)
            return []
        thread = self.threads.get(as_text(as_object(message.params).get("sessionId")))
        if thread is None:
            thread = self.stranger(as_text(as_object(message.params).get("sessionId")))
        if thread is None:
            self.note(Lost.OTHER_UPDATES)
            return []
        return self._on_update(thread, update_of(message))

    def _on_update(self, thread: Thread, update: Object) -> list[Out]:
        kind = as_text(update.get("sessionUpdate"))
        if kind == "session_info_update":
            thread.facts.describe(update)
            return []
        if kind == "user_message_chunk" and thread.is_busy:
            self.note(Lost.ECHOES)
            return []
        phrase = phrase_of(kind)
        if phrase is not None:
            self.note(phrase)
            return []
        thread.entries.update(update)
        if kind == "user_message_chunk":  # of a replay
            thread.facts.prompt([text_of_block(update.get("content")) or ""])
        text = text_of_block(update.get("content")) if kind == "agent_message_chunk" else None
        if text is None or not thread.is_open:  # who opens a thread asks for its entries
            return []
        return [self.ask_peer("streamMessageChunk", {"threadId": thread.id, "chunk": chunk(text)}, None)]

    # What the agent asks, and the end.

    def on_inside_request(self, message: Message) -> list[Out]:
        return self.read_at_peer(message) if message.method in IN_THREADS else self.refused_to_agent(message)

    def was_read(self, question: Message, fields: Object) -> None:
        params = as_object(question.params)
        thread = self.threads.get(as_text(params.get("sessionId")))
        if thread is not None and question.method == "fs/read_text_file":
            thread.entries.read(as_text(params.get("path")), as_text(fields.get("content")))

    def peer_ended(self) -> list[Out]:
        """Cancel the client's turns: closing the connection is its only way to cancel."""
        cancels: list[Out] = [
            ("inside", notification("session/cancel", {"sessionId": thread.id}))
            for thread in self.threads.values()
            if thread.is_busy
        ]
        return super().peer_ended() + cancels

"""A threads agent behind a v1 client, with the directions of the dialect's code: the client asks for threads
and sends messages, the agent streams chunks and reads files.

A session is a thread. The null that answers a message ends its turn; that is all the agent says of why.
"""

from __future__ import annotations

from functools import partial

from msgspec import UNSET, UnsetType

from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Id, Message, Object, as_list, as_object, as_text
from dragoman.dialect.threads import thread_lists
from dragoman.dialect.threads.agent_edge import TurningEdge
from dragoman.dialect.threads.content import chunk_update, replay_updates, text_of_chunk
from dragoman.dialect.threads.files import IN_V1
from dragoman.dialect.threads.ledger_notes import Lost
from dragoman.dialect.threads.turns import ThreadPrompt
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS


class CodedAgent(TurningEdge):
    """Translates the client's requests and the agent's messages."""

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self._folders: dict[str, Object] = {}  # of each thread that is a session here
        self._creating: list[Object] = []  # of those whose ids we have not learned yet

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
            case "session/prompt":
                return self.prompt(message)
            case _:
                return self.no_such_method(message, by="inside")

    def _list(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        if params.get("cursor") is not None:
            return [self.refuse_inside(message.id, INVALID_PARAMS, "Invalid params: there is no such page")]
        then = partial(self._on_list, message.id, as_text(params.get("cwd")))
        return [self.ask_peer("getThreads", None, then)]

    def _on_list(self, request_id: Id | UnsetType, folder: str, answer: Message) -> list[Out]:
        """Threads have no folder; one that was never a session here is in whichever is asked for."""
        if answer.error is not UNSET:
            return [self.fail_inside(request_id, answer.error)]
        sessions = []
        for metadata in as_list(as_object(answer.result).get("threads")):
            folders = self._folders.get(as_text(as_object(metadata).get("id")), {})
            cwd = folders.get("cwd", folder or self.settings.cwd)
            session = thread_lists.session(metadata, cwd)
            if session is not None and folder in ("", cwd):
                sessions.append(session)
        return [self.tell_inside(request_id, {"sessions": sessions})]

    def _create(self, message: Message) -> list[Out]:
        folders = self.folders_in(as_object(message.params))
        if folders is None:
            return [self.refuse_inside(message.id, INVALID_PARAMS, "Invalid params: cwd is missing")]
        self._creating.append(folders)
        return [self.ask_peer("createThread", None, partial(self._on_creation, message.id, folders))]

    def _on_creation(self, request_id: Id | UnsetType, folders: Object, answer: Message) -> list[Out]:
        self._creating = [
            pending_folders for pending_folders in self._creating if pending_folders is not folders
        ]
        if answer.error is not UNSET:
            return [self.fail_inside(request_id, answer.error)]
        thread_id = as_text(as_object(answer.result).get("threadId"))
        if not thread_id:
            return [self.refuse_inside(request_id, INTERNAL_ERROR, "the agent named no thread")]
        self._folders[thread_id] = folders
        return [self.tell_inside(request_id, {"sessionId": thread_id})]

    def _open(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        thread_id, folders = as_text(params.get("sessionId")), self.folders_in(params)
        if not thread_id or folders is None:
            why = "Invalid params: sessionId or cwd is missing"
            return [self.refuse_inside(message.id, INVALID_PARAMS, why)]
        before = self._folders.get(thread_id)
        self._folders[thread_id] = folders  # the agent may read while it opens
        then = partial(self._on_open, message, thread_id, before)
        return [self.ask_peer("openThread", {"threadId": thread_id}, then)]

    def _on_open(
        self, question: Message, thread_id: str, before: Object | None, answer: Message
    ) -> list[Out]:
        if answer.error is not UNSET:
            self._forget(thread_id, before)
            return [self.fail_inside(question.id, answer.error)]
        if question.method == "session/resume":
            return [self.tell_inside(question.id, {})]
        then = partial(self._replay, question.id, thread_id, before)
        return [self.ask_peer("getThreadEntries", {"threadId": thread_id}, then)]

    def _replay(
        self, request_id: Id | UnsetType, thread_id: str, before: Object | None, answer: Message
    ) -> list[Out]:
        if answer.error is not UNSET:
            self._forget(thread_id, before)
            return [self.fail_inside(request_id, answer.error)]
        entries = as_object(answer.result).get("entries")
        updates = replay_updates(thread_id, entries, self.note)
        return [*(("inside", update) for update in updates), self.tell_inside(request_id, {})]

    def _forget(self, thread_id: str, before: Object | None) -> None:
        """It was not opened: what it had before is what it has."""
        if before is None:
            self._folders.pop(thread_id, None)
        else:
            self._folders[thread_id] = before

    def begin(self, thread_id: str, prompt: ThreadPrompt) -> list[Out]:
        params = {"threadId": thread_id, "message": {"role": "user", "chunks": prompt.chunks}}
        return [self.ask_peer("sendMessage", params, partial(self._on_prompt_answer, thread_id))]

    def _on_prompt_answer(self, thread_id: str, answer: Message) -> list[Out]:
        return self.end_turn(thread_id, answer.error)

    # What the agent asks.

    def on_peer_request(self, message: Message) -> list[Out]:
        if message.method == "streamMessageChunk":
            return self._stream(message)
        if message.method in IN_V1:
            return self.read_for_peer(message)
        return self.no_such_method(message, by="peer")

    def _stream(self, message: Message) -> list[Out]:
        params = as_object(message.params)
        thread_id, text = as_text(params.get("threadId")), text_of_chunk(params.get("chunk"))
        if not thread_id or text is None:
            return [
                self.refuse_peer(message.id, INVALID_PARAMS, "Invalid params: a chunk of text is missing")
            ]
        if self.is_cancelled(thread_id):
            self.note(Lost.LATE_CHUNKS)
            return [self.tell_peer(message.id, None)]
        return [("inside", chunk_update(thread_id, "assistant", text)), self.tell_peer(message.id, None)]

    def folders_of(self, thread_id: str) -> Object | None:
        """Return the folders for a read. An agent may read before it has sent the id of a new thread, if only
        one is being created.
        """
        early = self._creating[0] if len(self._creating) == 1 else None
        return self._folders.get(thread_id, early)

"""The history of the thread protocol, for all sessions of all agents, read from the journal.

A client of that protocol asks for threads and for their entries. Through the dialect alone it would get what
one agent lists and what a replay tells: here every stream is a thread, no agent is started and no session
opened for it, lists have no last page, and the files that were read are told as they were read.

    history = HistoryApi(journal, may_see=...)
    history.takes(frame)                 → whether it is one of the two requests
    await history.answer(frame)          → the answer, as that wire has it

Opening, creating and prompting are not history: those requests go on to the dialect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime
from typing import TypeAlias

import msgspec
from msgspec import UNSET

from dragoman.dialect.ledger import LedgerNote
from dragoman.dialect.message import Message, Object, as_object, as_text, decode
from dragoman.dialect.threads.content import chunks_of
from dragoman.dialect.threads.entries import MOST_BYTES, Entries
from dragoman.dialect.threads.thread_lists import UNTITLED
from dragoman.errors import DragomanError, ErrorAnswer, JournalDamaged, LinkClosed, NoSuchStream
from dragoman.runtime.owner import TaskOwner
from dragoman.transport.contract import Sink, Transport
from dragoman.transport.passing_transport import PassingTransport
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND
from dragoman.wire.decode import UNREADABLE_TEXT
from dragoman.wire.glance import glance, lines_of
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.table import check_history
from dragoman_hub.session.frames import STEERED_MESSAGE
from dragoman_local.journal import Journal, StoredEntry, StreamInfo
from dragoman_local.journal.erasure import FORGETTING

METHODS = frozenset({"getThreads", "getThreadEntries"})

PAGE = 500
MOST_THREADS = 50_000
"""The most threads in an answer, some megabytes; the latest come first, so the oldest are left out."""


def is_session(info: StreamInfo) -> bool:
    """Whether a stream belongs to a session. Names that begin with `@` are the hub's own."""
    return info.state not in ("", FORGETTING) and not info.stream.startswith("@")


class HistoryApi:
    """The history for one client: `may_see` checks its token for each stream."""

    def __init__(
        self,
        journal: Journal,
        *,
        may_see: Callable[[StreamInfo], Awaitable[bool]] | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._journal = journal
        self._may_see = may_see
        self._most_bytes = most_bytes

    async def threads(self) -> list[Object]:
        """`ThreadMetadata` of every session, the latest change first."""
        threads: list[Object] = []
        cursor: str | None = None
        while len(threads) < MOST_THREADS:
            listing = await self._journal.list(cursor=cursor, limit=PAGE)
            threads += [_thread(info) for info in listing.streams if await self._is_visible(info)]
            cursor = listing.cursor
            if cursor is None:
                break
        return threads[:MOST_THREADS]

    async def entries(self, thread_id: str) -> list[Object]:
        """Return all messages and reads of a thread, in order.

        Raises `ErrorAnswer` for a thread that is not there, or is not for this client: nobody learns which.
        """
        info = await self._journal.info(thread_id)
        if info is None or not await self._is_visible(info):
            raise ErrorAnswer(NOT_FOUND, "there is no such thread")
        fold = ThreadFold(most_bytes=self._most_bytes)
        try:
            async for page in self._journal.replay(thread_id):
                fold.add(page)
        except NoSuchStream:  # deleted while we read
            raise ErrorAnswer(NOT_FOUND, "there is no such thread") from None
        except JournalDamaged:
            pass  # what is whole is told; nobody else would tell more
        return fold.to_json()

    async def _is_visible(self, info: StreamInfo) -> bool:
        return is_session(info) and (self._may_see is None or await self._may_see(info))

    # On the wire.

    def takes(self, frame: bytes) -> bool:
        """Whether this frame is a question for this API, in the dialect without `jsonrpc`."""
        return b"getThread" in frame and _question(frame) is not None

    async def answer(self, frame: bytes) -> bytes:
        """Return the answer to a question for this API, without its newline."""
        question = _question(frame)
        assert question is not None
        try:
            return msgspec.json.encode({"id": question.id, "result": await self._result(question)})
        except ErrorAnswer as error:
            code, why = error.code, error.message
        except DragomanError:
            code, why = INTERNAL_ERROR, "the history cannot be read"
        return msgspec.json.encode({"id": question.id, "error": {"code": code, "message": why}})

    async def _result(self, message: Message) -> Object:
        if message.method == "getThreads":
            return {"threads": await self.threads()}
        thread_id = as_text(as_object(message.params).get("threadId"))
        if not thread_id:
            raise ErrorAnswer(INVALID_PARAMS, "Invalid params: threadId is missing")
        return {"entries": await self.entries(thread_id)}


def _question(frame: bytes) -> Message | None:
    message = decode(frame)
    is_ours = (
        message is not None and message.is_request and message.method in METHODS and message.jsonrpc is UNSET
    )
    return message if is_ours else None


def _thread(info: StreamInfo) -> Object:
    return {"id": info.stream, "title": info.title or UNTITLED, "modifiedAt": _when(info.updated)}


def _when(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):  # a clock can say anything
        moment = datetime.fromtimestamp(0, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


# Reads the entries of a thread from a session's stream: messages, and files that were read.
#
# The dialect `threads` gathers entries from what passes by; whoever comes later can only replay updates, and
# those do not tell what a file said that the agent asked a client for. The stream does: it has the request
# and its answer. So what is told here is the same for everybody, whenever they came. What is kept has the
# bound that the dialect has; the oldest entries go first.

READ = "fs/read_text_file"
MOST_OPEN = 1000
"""The most requests that wait for an answer, for agents whose requests stay unanswered."""


Id: TypeAlias = int | str


class ThreadFold:
    """Folds the entries of a stream as they arrive. `lost_counts` counts content that the dialect can't
    express.
    """

    def __init__(self, *, most_bytes: int = MOST_BYTES) -> None:
        self.lost_counts: dict[str, int] = {}
        self._entries = Entries(self._note, most_bytes=most_bytes)
        self._turn: Id | None = None  # the prompt that is with the agent
        self._loading: Id | None = None  # the request whose replay tells what we know
        self._reads: dict[Id, str] = {}  # files that the agent asked for

    def add(self, page: Iterable[StoredEntry]) -> None:
        for entry in page:
            try:
                message = msgspec.json.decode(entry.frame)
            except UNREADABLE_TEXT:
                continue  # such as a line of standard error
            if type(message) is dict:
                _READERS[entry.direction](self, message)

    def to_json(self) -> list[Object]:
        """Return `ThreadEntry` objects in the form of the dialect."""
        return self._entries.to_json()

    def _from_agent(self, message: Object) -> None:
        method, params = message.get("method"), as_object(message.get("params"))
        if method == "session/update":
            self._on_update(as_object(params.get("update")))
        elif method == READ:
            self._on_request(message.get("id"), params)
        elif method is None:
            self._on_answer(message.get("id"))

    def _to_agent(self, message: Object) -> None:
        method, params = message.get("method"), as_object(message.get("params"))
        if method == "session/prompt":
            self._turn = message.get("id")
            texts = [as_text(chunk["chunk"]) for chunk in chunks_of(params.get("prompt"), self._note)]
            self._entries.begin("user", texts)
        elif method == "session/load":
            self._loading = message.get("id")
        elif method is None:
            self._on_file(message)

    def _on_note(self, message: Object) -> None:
        if message.get("hub") == "turn_ended":
            self._turn = None

    def _on_update(self, update: Object) -> None:
        is_users = update.get("sessionUpdate") == "user_message_chunk"
        is_steered = as_text(update.get("messageId")).startswith(STEERED_MESSAGE)
        is_echo = is_users and not is_steered and self._turn is not None
        if not is_echo and self._loading is None:
            self._entries.update(update)

    def _on_answer(self, request_id: object) -> None:
        if request_id == self._turn:
            self._turn = None
        elif request_id == self._loading:
            self._loading = None

    # Files that a client lent.

    def _on_request(self, request_id: object, params: Object) -> None:
        if isinstance(request_id, int | str):
            self._reads[request_id] = as_text(params.get("path"))
            if len(self._reads) > MOST_OPEN:
                del self._reads[next(iter(self._reads))]

    def _on_file(self, answer: Object) -> None:
        request_id = answer.get("id")
        path = self._reads.pop(request_id, None) if isinstance(request_id, int | str) else None
        content = as_object(answer.get("result")).get("content")
        if path and type(content) is str:
            self._entries.read(path, content)

    def _note(self, phrase: LedgerNote) -> None:
        self.lost_counts[phrase.what] = self.lost_counts.get(phrase.what, 0) + 1


_READERS = {
    "to_client": ThreadFold._from_agent,
    "to_agent": ThreadFold._to_agent,
    "note": ThreadFold._on_note,
}


# Answers a thread protocol client's requests for history, and passes all others on.
#
# It stands between the wire and the dialect, because only that wire has such questions. Answers come in the
# order in which they are ready, as that protocol allows. What is asked at once is bounded, and an answer
# counts until it was taken: a client that asks and does not read waits for itself.

AT_ONCE = 8
"""The most questions to answer at once: each may read a whole stream, and fill some megabytes."""


class HistoryDoor(PassingTransport):
    """A transport that answers requests for history itself. `owner` ends running answers."""

    def __init__(self, inner: Transport, history: HistoryApi, owner: TaskOwner, *, grant: Grant) -> None:
        super().__init__(inner)
        self._history = history
        self._grant = grant
        self._owner = owner
        self._answering = 0
        self._sink: Sink | None = None

    def start(self, sink: Sink) -> None:
        self._sink = sink
        self.inner.start(_AskedSink(self, sink))

    def on_block(self, block: bytes) -> None:
        assert self._sink is not None
        if b"getThread" not in block:  # nearly everything
            self._sink.feed(block)
            return
        rest = b""
        for line in lines_of(block):
            if self._history.takes(line):
                self._ask(line)
            else:
                rest += line
        if rest:
            self._sink.feed(rest)

    def _ask(self, line: bytes) -> None:
        head = glance(line)
        try:
            check_history(self._grant, str(head.method))
        except ErrorAnswer as refused:
            refusal = {"code": refused.code, "message": refused.message}
            self._tell(msgspec.json.encode({"id": head.id, "error": refusal}))
            return
        if self._answering < AT_ONCE:
            self._answering += 1
            self._owner.start(self._answer(line))
        else:
            error = {"code": INTERNAL_ERROR, "message": "too much is waiting already"}
            self._tell(msgspec.json.encode({"id": head.id, "error": error}))

    async def _answer(self, line: bytes) -> None:
        try:
            self._tell(await self._history.answer(line))
            await self.inner.drain()
        except LinkClosed:
            pass  # whoever asked has gone
        finally:
            self._answering -= 1

    def _tell(self, answer: bytes) -> None:
        try:
            self.inner.write(answer + b"\n")
        except LinkClosed:
            pass  # whoever asked has gone


class _AskedSink:
    __slots__ = ("_door", "on_end", "on_oversized")

    def __init__(self, door: HistoryDoor, sink: Sink) -> None:
        self._door = door
        self.on_oversized = sink.on_oversized
        self.on_end = sink.on_end

    def feed(self, block: bytes) -> None:
        self._door.on_block(block)

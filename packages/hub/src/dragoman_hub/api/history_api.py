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

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import msgspec
from msgspec import UNSET

from dragoman.dialect.message import Message, Object, as_object, as_text, decode
from dragoman.dialect.threads.entries import MOST_BYTES
from dragoman.dialect.threads.thread_lists import UNTITLED
from dragoman.errors import DragomanError, ErrorAnswer, JournalDamaged, NoSuchStream
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_PARAMS, NOT_FOUND
from dragoman_hub.api.history_entries import ThreadFold
from dragoman_local.journal import Journal, StreamInfo
from dragoman_local.journal.erasure import FORGETTING

METHODS = frozenset({"getThreads", "getThreadEntries"})

PAGE = 500
MOST_THREADS = 50_000
"""Some megabytes of an answer; the latest come first, so it is the oldest that are not told."""


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
        """All messages and reads of a thread, in order.

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
        """Whether this frame is a question for this API: in the dialect, which has no `jsonrpc`."""
        return b"getThread" in frame and _question(frame) is not None

    async def answer(self, frame: bytes) -> bytes:
        """The answer to a question that is for us, without its newline."""
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

"""Lists, creates and opens threads as sessions of a v1 agent.

Only what is open here is lived in. Whoever needs a thread that is not is kept waiting until the agent has
loaded it; its replay becomes the thread's entries.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import Id, Message, Object, as_object, as_text
from dragoman.dialect.threads import thread_lists
from dragoman.dialect.threads.entries import Entries
from dragoman.dialect.threads.introduction import BUSY, IntroducingEdge
from dragoman.dialect.threads.ledger_notes import Lost
from dragoman.dialect.threads.thread_lists import ThreadFacts
from dragoman.wire.codes import INTERNAL_ERROR, NOT_FOUND

MOST_PAGES = 100
"""The most pages of a list of sessions, for agents whose lists never end."""

MOST_STRANGERS = 16
"""The most sessions that may send messages before we know that they exist."""


MOST_SEEN = 50_000
"""The most listed sessions to remember: as many as `MOST_PAGES` pages of the usual size."""


class OpeningEdge(IntroducingEdge):
    """Keeps the threads that are open, being opened, or about to be made."""

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self.threads: dict[str, Thread] = {}
        self._folders: dict[str, str] = {}  # of sessions, as the agent listed them
        self._listed_threads: dict[str, ThreadFacts] = {}  # of sessions that are not open here
        self._creating = 0

    def list_threads(self, request_id: Id | UnsetType) -> list[Out]:
        return self._list(request_id, {}, None, 1)

    def create_thread(self, request_id: Id | UnsetType) -> list[Out]:
        self._creating += 1
        return [self.ask_inside("session/new", self.session_setup(), partial(self._on_creation, request_id))]

    def _list(
        self, request_id: Id | UnsetType, objects: dict[str, Object], cursor: str | None, page: int
    ) -> list[Out]:
        if not self.can("sessionCapabilities", "list"):
            return self._tell_threads(request_id, objects)
        params = {} if cursor is None else {"cursor": cursor}
        return [self.ask_inside("session/list", params, partial(self._on_list, request_id, objects, page))]

    def _on_list(
        self, request_id: Id | UnsetType, objects: dict[str, Object], page: int, answer: Message
    ) -> list[Out]:
        if answer.error is not UNSET:
            return [self.fail_peer(request_id, answer.error)]
        for info in thread_lists.infos(answer.result):
            thread_id = info["sessionId"]
            facts = self._facts(thread_id)
            facts.describe(info)
            objects[thread_id] = thread_lists.metadata(thread_id, facts, self.note)
            self._folders[thread_id] = as_text(info.get("cwd"))
        cursor = as_text(as_object(answer.result).get("nextCursor"))
        if cursor and page < MOST_PAGES:
            return self._list(request_id, objects, cursor, page + 1)
        if cursor:
            self.note(Lost.MORE_THREADS)
        return self._tell_threads(request_id, objects)

    def _tell_threads(self, request_id: Id | UnsetType, objects: dict[str, Object]) -> list[Out]:
        """What the agent listed, and what is open here and not on its list."""
        for thread in self.threads.values():
            if thread.is_open and thread.id not in objects:
                objects[thread.id] = thread_lists.metadata(thread.id, thread.facts, self.note)
        return [self.tell_peer(request_id, {"threads": list(objects.values())})]

    def _on_creation(self, request_id: Id | UnsetType, answer: Message) -> list[Out]:
        self._creating -= 1
        result = as_object(answer.result)
        thread_id = as_text(result.get("sessionId"))
        if thread_id:
            self._thread(thread_id).is_open = True
        if not self._creating:
            self.threads = {
                name: thread for name, thread in self.threads.items() if thread.is_open or thread.opening
            }
        if answer.error is not UNSET:
            return [self.fail_peer(request_id, answer.error)]
        if not thread_id:
            return [self.refuse_peer(request_id, INTERNAL_ERROR, "the agent named no session")]
        self._note_modes(result)
        return [self.tell_peer(request_id, {"threadId": thread_id})]

    # Opening.

    def when_open(self, thread_id: str, waiting: WaitingRequest) -> list[Out]:
        thread = self.threads.get(thread_id)
        if thread is not None and thread.is_open:
            return waiting.then(thread)
        if thread is not None and thread.opening is not None:
            if len(thread.opening) >= MOST_WAITING:
                return [self.refuse_peer(waiting.request_id, INTERNAL_ERROR, BUSY)]
            thread.opening.append(waiting)
            return []
        if self.can("loadSession"):
            method = "session/load"
        elif self.can("sessionCapabilities", "resume"):
            method = "session/resume"
        else:
            return [self.refuse_peer(waiting.request_id, NOT_FOUND, "there is no such thread")]
        thread = self._thread(thread_id)
        thread.entries.clear()
        thread.opening = [waiting]
        params = {"sessionId": thread_id, **self.session_setup(self._folders.get(thread_id))}
        return [self.ask_inside(method, params, partial(self._on_open, thread, method))]

    def _on_open(self, thread: Thread, method: str, answer: Message) -> list[Out]:
        waiting, thread.opening = thread.opening or [], None
        if answer.error is not UNSET:
            self.threads.pop(thread.id, None)
            return [self.fail_peer(request.request_id, answer.error) for request in waiting]
        thread.is_open = True
        self._note_modes(as_object(answer.result))
        if method == "session/resume":
            self.note(Lost.RESUMED_ENTRIES)
        return [out for request in waiting for out in request.then(thread)]

    def stranger(self, session_id: str) -> Thread | None:
        """Return a thread for a session that sends messages before the agent has answered the request that
        creates it.
        """
        strangers = sum(not (thread.is_open or thread.opening) for thread in self.threads.values())
        if not self._creating or not session_id or strangers >= MOST_STRANGERS:
            return None
        return self._thread(session_id)

    def _thread(self, thread_id: str) -> Thread:
        thread = self.threads.get(thread_id)
        if thread is None:
            facts = self._facts(thread_id)
            thread = self.threads[thread_id] = Thread(thread_id, Entries(self.note), facts)
        return thread

    def _facts(self, thread_id: str) -> ThreadFacts:
        """What is known of a session, listed or open; one that is new has been seen now."""
        thread = self.threads.get(thread_id)
        if thread is not None:
            return thread.facts
        if thread_id not in self._listed_threads and len(self._listed_threads) >= MOST_SEEN:
            del self._listed_threads[next(iter(self._listed_threads))]
        return self._listed_threads.setdefault(thread_id, ThreadFacts(created_at=self.now()))

    def _note_modes(self, result: Object) -> None:
        if result.get("modes") or result.get("configOptions"):
            self.note(Lost.MODES)


# The state that an edge keeps for a thread whose agent speaks v1: one session.

MOST_WAITING = 64
"""The most requests that wait for one thread to be opened, or for its turn to end."""


class WaitingRequest(NamedTuple):
    """A request of the client that needs an open thread."""

    request_id: Id | UnsetType
    then: Callable[[Thread], list[Out]]


class ThreadQuestion(NamedTuple):
    """A message that waits for its turn."""

    request_id: Id | UnsetType
    prompt: list[Object]


@dataclass
class Thread:
    """The state of one thread. `opening` is None unless the thread is being opened right now."""

    id: str
    entries: Entries
    facts: ThreadFacts = field(default_factory=ThreadFacts)
    is_open: bool = False
    is_busy: bool = False
    opening: list[WaitingRequest] | None = None
    questions: deque[ThreadQuestion] = field(default_factory=deque)

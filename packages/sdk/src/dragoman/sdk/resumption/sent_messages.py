"""The editor's messages that the hub has not answered: kept until the answer, and sent again after a lost
connection.

A request is kept until its answer comes; a cancel, until no turn is open that it was meant for; a withdrawal,
until what it withdraws is answered. All of them are said again in the order in which they were said.

What must not be said twice is not kept: methods of others, which may do anything, and requests beyond `ROOM`.
Those are answered by us if the connection breaks, because nobody can know what became of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from msgspec import Struct

from dragoman.sdk.resumption.marks import put
from dragoman.wire import decode, notification
from dragoman.wire.envelope import Id, Notification, Request, id_key

ROOM = 64 * 1024 * 1024
"""The most bytes of unanswered requests to keep."""

KEYED = frozenset({"session/prompt", "session/new", "session/fork"})
"""Requests with a key: a hub that knows the key does not run the request again."""

OPENINGS = frozenset({"session/new", "session/fork", "session/load", "session/resume"})
"""Requests that open sessions. They must be known to open a session again; no editor opens more than fit."""

LOADS = frozenset({"session/load", "session/resume"})
"""Requests by which an editor opens an existing session."""

OURS = "_dragoman/hub/"


class SentRequest(Struct, gc=False):
    """A request without an answer. `frame` is empty if it must not be sent again."""

    id: Id
    method: str
    session: str
    key: str
    frame: bytes
    is_repeated: bool = False


class _DependentNotification(Struct, gc=False):
    """A notification that is worth nothing without what it is about: the numbers of these requests."""

    frame: bytes
    about: tuple[int, ...]


class SentMessages:
    """The messages of the editor. `number` counts all sent messages."""

    def __init__(self, *, room: int = ROOM) -> None:
        self._room = room
        self._size = 0
        self._number = 0
        self._open: dict[int, SentRequest] = {}
        self._numbers: dict[Hashable, int] = {}  # by the ids of the requests
        self._notes: dict[int, _DependentNotification] = {}

    def keep(self, request: Request, frame: bytes, *, session: str, key: str) -> None:
        """Keep a request that is sent for the first time."""
        self._number += 1
        repeatable = not request.method.startswith("_") or request.method.startswith(OURS)
        fits = self._size + len(frame) <= self._room or request.method in OPENINGS
        kept_frame = frame if repeatable and fits else b""
        self._open[self._number] = SentRequest(request.id, request.method, session, key, kept_frame)
        self._numbers[id_key(request.id)] = self._number
        self._size += len(kept_frame)

    def keep_cancel(self, note: Notification, *, session: str) -> None:
        """Keep a cancel, which applies to the turns that are open in its session now."""
        about = tuple(
            n
            for n, open_request in self._open.items()
            if open_request.session == session and open_request.method == "session/prompt"
        )
        self._keep_note(notification(note.method, _raw(note)), about)

    def keep_withdrawal(self, note: Notification, request_id: Id) -> None:
        number = self._numbers.get(id_key(request_id))
        self._keep_note(notification(note.method, _raw(note)), () if number is None else (number,))

    def _keep_note(self, frame: bytes, about: tuple[int, ...]) -> None:
        # Who presses the button ten times means it once.
        if about and all(note.about != about or note.frame != frame for note in self._notes.values()):
            self._number += 1
            self._notes[self._number] = _DependentNotification(frame, about)

    def is_open(self, request_id: Id) -> bool:
        return id_key(request_id) in self._numbers

    def settle(self, request_id: Id) -> SentRequest | None:
        """Remove an answered request and return it; None if the id is not open."""
        number = self._numbers.pop(id_key(request_id), None)
        if number is None:
            return None
        open_request = self._open.pop(number)
        self._size -= len(open_request.frame)
        for key in [key for key, note in self._notes.items() if self._open.keys().isdisjoint(note.about)]:
            del self._notes[key]
        return open_request

    def prompts(self, session: str) -> list[str]:
        """Return the keys of the session's unanswered prompts."""
        return [
            open_request.key
            for open_request in self._open.values()
            if open_request.session == session and open_request.method == "session/prompt"
        ]

    def opens(self, session: str) -> bool:
        """Whether an open request of the editor opens this session."""
        return any(
            open_request.session == session and open_request.method in LOADS
            for open_request in self._open.values()
        )

    def requests(self) -> list[SentRequest]:
        return list(self._open.values())

    def unrepeatable(self) -> list[SentRequest]:
        """Return the requests of a lost connection that can't be sent again."""
        return [open_request for open_request in self._open.values() if not open_request.frame]

    def again(self) -> Iterator[tuple[SentRequest | None, bytes]]:
        """Return everything that must be sent again, in order; the request is None for a notification."""
        for number in sorted((*self._open, *self._notes)):
            if number in self._notes:
                yield None, self._note_again(self._notes[number])
            elif (open_request := self._open[number]).frame:
                open_request.is_repeated = True
                yield open_request, open_request.frame

    def _note_again(self, note: _DependentNotification) -> bytes:
        """A cancel says which prompts it is for: another turn may have begun since it was said first."""
        message = decode(note.frame)
        keys = [self._open[n].key for n in note.about if n in self._open]
        if not isinstance(message, Notification) or message.method != "session/cancel":
            return note.frame
        return notification(message.method, put(message.params, {"prompts": keys}))


def _raw(note: Notification) -> bytes | None:
    return None if note.params is None else bytes(note.params)

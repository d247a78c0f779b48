"""The picture of all streams that a node has in memory, and the listings of it.

The order by the latest change is mended when somebody lists: streams change more often than anybody looks. A
stream costs less than a kilobyte here, and a listing looks at no more streams than it must.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from dragoman.journal.contract import StreamInfo, StreamListing, make_cursor, read_cursor
from dragoman.journal.nats.layout import number_of

MANY = 16
"""If more than one in so many have changed, everything is sorted again."""


class CachedStream:
    """A stream of the picture, and under which revision it was described."""

    __slots__ = ("info", "place", "revision")

    def __init__(self, info: StreamInfo, revision: int, place: tuple[float, int] | None = None) -> None:
        self.info = info
        self.revision = revision
        self.place = place
        """Where it stands in the order."""


class CatalogCache:
    """Streams by token, in the order of their latest changes."""

    def __init__(self) -> None:
        self._known: dict[str, CachedStream] = {}
        self._order: list[tuple[float, int, str]] = []
        self._moved: set[str] = set()

    def __contains__(self, token: str) -> bool:
        return token in self._known

    def get(self, token: str) -> CachedStream | None:
        return self._known.get(token)

    def all(self) -> Iterator[tuple[str, StreamInfo]]:
        return ((token, known.info) for token, known in self._known.items())

    def put(self, token: str, info: StreamInfo, revision: int) -> None:
        known = self._known.get(token)
        if known is None:
            self._known[token] = CachedStream(info, revision)
        else:
            known.info, known.revision = info, revision
        self._moved.add(token)

    def touch(self, token: str, *, last: int, time: float) -> bool:
        """A stream has grown; says whether it is known at all."""
        known = self._known.get(token)
        if known is None:
            return False
        known.info = replace(known.info, last=last, updated=max(time, known.info.updated))
        self._moved.add(token)
        return True

    def remove(self, token: str) -> None:
        known = self._known.pop(token, None)
        self._moved.discard(token)
        if known is not None and known.place is not None:
            self._take_out(token, known.place)

    def listing(self, wanted: Mapping[str, str], *, cursor: str | None, limit: int) -> StreamListing:
        before = None if cursor is None else read_cursor(cursor)
        self._mend()
        end = len(self._order) if before is None else bisect_left(self._order, before)
        found: list[tuple[float, int, str]] = []
        for at in range(end - 1, -1, -1):
            key = self._order[at]
            info = self._known[key[2]].info
            if all(getattr(info, name) == value for name, value in wanted.items()):
                found.append(key)
                if len(found) > limit:
                    break
        shown = found[:limit]
        following = make_cursor(*shown[-1][:2]) if shown and len(found) > limit else None
        return StreamListing(streams=[self._known[token].info for *_, token in shown], cursor=following)

    def _mend(self) -> None:
        """Bring those that have changed to their place."""
        if len(self._moved) * MANY > len(self._known):
            for token, known in self._known.items():
                known.place = (known.info.updated, number_of(token))
            self._order = sorted((*known.place, token) for token, known in self._known.items() if known.place)
        else:
            for token in self._moved:
                known = self._known[token]
                if known.place is not None:
                    self._take_out(token, known.place)
                known.place = (known.info.updated, number_of(token))
                insort(self._order, (*known.place, token))
        self._moved.clear()

    def _take_out(self, token: str, place: tuple[float, int]) -> None:
        del self._order[bisect_left(self._order, (*place, token))]

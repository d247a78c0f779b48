"""A node's cache of all stream descriptions, in memory, and the listings from it.

The order by the latest change is mended when somebody lists: streams change more often than anybody looks. A
stream costs less than a kilobyte here, and a listing looks at no more streams than it must.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from dragoman_hub.nats.layout import number_of
from dragoman_local.journal.contract import StreamInfo, StreamListing, make_cursor, read_cursor

MANY = 16
"""If more than one in so many have changed, everything is sorted again."""


class CachedStream:
    """A stream of the cache, and the revision of its description."""

    __slots__ = ("info", "place", "revision")

    def __init__(self, info: StreamInfo, revision: int, place: tuple[float, int] | None = None) -> None:
        self.info = info
        self.revision = revision
        self.place = place
        """Where it stands in the order."""


class CatalogCache:
    """Streams by token, in the order of their latest changes."""

    def __init__(self) -> None:
        self._streams: dict[str, CachedStream] = {}
        self._order: list[tuple[float, int, str]] = []
        self._moved_tokens: set[str] = set()

    def __contains__(self, token: str) -> bool:
        return token in self._streams

    def get(self, token: str) -> CachedStream | None:
        return self._streams.get(token)

    def all(self) -> Iterator[tuple[str, StreamInfo]]:
        return ((token, stream.info) for token, stream in self._streams.items())

    def put(self, token: str, info: StreamInfo, revision: int) -> None:
        stream = self._streams.get(token)
        if stream is None:
            self._streams[token] = CachedStream(info, revision)
        else:
            stream.info, stream.revision = info, revision
        self._moved_tokens.add(token)

    def touch(self, token: str, *, last: int, time: float) -> bool:
        """A stream has grown; says whether it is known at all."""
        stream = self._streams.get(token)
        if stream is None:
            return False
        stream.info = replace(stream.info, last=last, updated=max(time, stream.info.updated))
        self._moved_tokens.add(token)
        return True

    def remove(self, token: str) -> None:
        stream = self._streams.pop(token, None)
        self._moved_tokens.discard(token)
        if stream is not None and stream.place is not None:
            self._take_out(token, stream.place)

    def listing(self, filters: Mapping[str, str], *, cursor: str | None, limit: int) -> StreamListing:
        before = None if cursor is None else read_cursor(cursor)
        self._mend()
        end = len(self._order) if before is None else bisect_left(self._order, before)
        keys: list[tuple[float, int, str]] = []
        for place in range(end - 1, -1, -1):
            key = self._order[place]
            info = self._streams[key[2]].info
            if all(getattr(info, name) == value for name, value in filters.items()):
                keys.append(key)
                if len(keys) > limit:
                    break
        page = keys[:limit]
        next_cursor = make_cursor(*page[-1][:2]) if page and len(keys) > limit else None
        return StreamListing(streams=[self._streams[token].info for *_, token in page], cursor=next_cursor)

    def _mend(self) -> None:
        """Put the streams that have changed in their place of the order."""
        if len(self._moved_tokens) * MANY > len(self._streams):
            for token, stream in self._streams.items():
                stream.place = (stream.info.updated, number_of(token))
            self._order = sorted(
                (*stream.place, token) for token, stream in self._streams.items() if stream.place
            )
        else:
            for token in self._moved_tokens:
                stream = self._streams[token]
                if stream.place is not None:
                    self._take_out(token, stream.place)
                stream.place = (stream.info.updated, number_of(token))
                insort(self._order, (*stream.place, token))
        self._moved_tokens.clear()

    def _take_out(self, token: str, place: tuple[float, int]) -> None:
        del self._order[bisect_left(self._order, (*place, token))]

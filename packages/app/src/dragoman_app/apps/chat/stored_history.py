"""Reads the earlier messages of a session from the history, the latest page first.

A session may have been gone on with several times: each time is a stream of its own, and the pages go
through all of them. A stream in which the agent itself told everything again is the first that counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

from dragoman.decoders import decode_json
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman_app.tui.model.transcript import Transcript
from dragoman_local.journal import Journal, StreamInfo
from dragoman_local.journal.contract import StoredEntry

PAGE = 1000
"""The entries of the history to read at a time: some screens full, in some milliseconds."""

EMPTY = 20
"""The most pages without visible content to skip at once."""

_LOOKED_AT = (b'"session/update"', b'"session/prompt"', b'"session/load"')


class _Envelope(Struct):
    method: str = ""
    params: Raw = Raw(b"{}")


class StoredHistory:
    """The earlier pages of one session."""

    def __init__(self, journal: Journal, streams: Sequence[StreamInfo], session_id: str) -> None:
        self._journal = journal
        self._streams = sorted((info for info in streams if info.last), key=lambda info: info.created)
        self._session_id = session_id
        self._before = self._streams[-1].last + 1 if self._streams else 0

    async def earlier(self) -> Transcript | None:
        """Return one page, or None if there is no more."""
        for _ in range(EMPTY):
            if not self._streams:
                return None
            page = await self._page()
            if page.entries:
                return page
        return Transcript()

    async def _page(self) -> Transcript:
        stream = self._streams[-1].stream
        after = max(0, self._before - 1 - PAGE)
        count = self._before - 1 - after
        page = Transcript()
        is_told_again = False
        if count > 0:
            async for rows in self._journal.replay(stream, after=after, limit=count):
                for row in rows:
                    is_told_again |= self._fold(page, row)
        self._before = after + 1
        if after == 0:
            self._streams = [] if is_told_again else self._streams[:-1]
            self._before = self._streams[-1].last + 1 if self._streams else 0
        page.end_turn()
        return page

    def _fold(self, page: Transcript, row: StoredEntry) -> bool:
        """Add what one frame says; whether it begins to tell everything again."""
        if not any(mark in row.frame for mark in _LOOKED_AT):
            return False
        try:
            envelope = decode_json(row.frame, _Envelope)
            if envelope.method == "session/update" and row.direction == "to_client":
                note = read(envelope.params, v1.SessionNotification)
                if note.session_id == self._session_id:
                    page.hear(note.update)
            elif envelope.method == "session/prompt" and row.direction == "to_agent":
                request = read(envelope.params, v1.PromptRequest)
                if request.session_id == self._session_id:
                    page.prompt(
                        "".join(part.text for part in request.prompt if isinstance(part, v1.TextContent))
                    )
        except (msgspec.MsgspecError, SchemaError, UnicodeDecodeError, RecursionError):
            return False  # what makes no sense cannot be shown as if it did
        return envelope.method == "session/load" and row.direction == "to_agent"

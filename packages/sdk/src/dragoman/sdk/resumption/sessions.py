"""The sessions that the editor has open: how to resume each, and up to where the editor has received it.

A load that was cut off in the middle of its replay is asked for again, and the hub tells the session from its
beginning: what the editor has had of it is skipped, up to the last message that it got. Its answer comes
behind the replay then, as it always does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.sdk.resumption.marks import put

RESUME = "session/resume"
ATTACH = "_dragoman/hub/attach"

_encode = msgspec.json.Encoder().encode


class ResumedSessions:
    """The sessions of one editor, and how to resume each."""

    def __init__(self) -> None:
        self._cursors: dict[str, str] = {}
        self._open: dict[str, tuple[str, bytes]] = {}  # how to come back: the method, and its params so far
        self._wrote: dict[str, list[str]] = {}  # keys of prompts that ended behind the cursor
        self._loading: dict[str, str] = {}  # the cursor of the last update of a replay that is not over
        self._skipping: dict[str, str] = {}  # up to this one

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._open))

    def open(self, session: str, fields: dict[str, Raw]) -> None:
        """Keep the params with which a session was opened, to resume it later."""
        params = {name: value for name, value in fields.items() if name not in ("_meta", "sessionId")}
        self._open[session] = (RESUME, _encode({"sessionId": session, **params}))

    def attach(self, session: str, cursor: str) -> None:
        """Follow a session without working in it, unless it was opened before."""
        if session not in self._open:
            self._open[session] = (ATTACH, _encode({"sessionId": session}))
        self._cursors.setdefault(session, cursor)

    def detach(self, session: str) -> None:
        if self._open.get(session, ("",))[0] == ATTACH:
            self.close(session)

    def close(self, session: str) -> None:
        for table in (self._cursors, self._open, self._wrote, self._loading, self._skipping):
            table.pop(session, None)

    def come_back(self, session: str, prompts: list[str]) -> tuple[str, bytes]:
        """The method and params that resume a session after the editor's cursor."""
        method, params = self._open[session]
        after = self._cursors.get(session, "")
        if method == ATTACH:
            return method, _encode({"sessionId": session, "after": after})
        ours: dict[str, Any] = {"after": after, "prompts": prompts}
        if wrote := self._wrote.get(session):
            ours["wrote"] = wrote
        return method, put(params, ours)

    def is_resumed(self, session: str) -> bool:
        """Whether the session is resumed for work, not only for reading."""
        return self._open.get(session, ("",))[0] == RESUME

    # How far the editor has been told.

    def cursor(self, session: str) -> str:
        return self._cursors.get(session, "")

    def on_cursor(self, session: str, cursor: str) -> None:
        """The editor gets a message of this cursor; it may be none."""
        if cursor and session:
            self._move(session, cursor)

    def on_turn_end(self, session: str, cursor: str, key: str) -> None:
        """The same for the end of a turn. An error has no place for a cursor: then the hub will come by the
        prompt again, and must know that the editor need not be told its own words.
        """
        if cursor:
            self.on_cursor(session, cursor)
        elif key and session:
            self._wrote.setdefault(session, []).append(key)

    def _move(self, session: str, cursor: str) -> None:
        self._cursors[session] = cursor
        self._wrote.pop(session, None)

    @property
    def is_skipping(self) -> bool:
        """Whether the hub is about to repeat updates that the editor has had."""
        return bool(self._skipping)

    def on_update(self, session: str, cursor: str) -> bool:
        """The same for an update. False if the editor has had it before and must not get it again."""
        if not cursor or not session:
            return True
        target = self._skipping.get(session)
        if target is not None:
            if target == cursor:
                del self._skipping[session]
            return False
        self._move(session, cursor)
        if session in self._loading:
            self._loading[session] = cursor
        return True

    def load(self, session: str) -> None:
        """The editor loads the session: forget its cursor, and note how far the replay has come."""
        self._cursors.pop(session, None)
        self._loading[session] = ""

    def load_again(self, session: str) -> None:
        if replay_cursor := self._loading.get(session):
            self._skipping[session] = replay_cursor

    def on_load_end(self, session: str) -> None:
        """Forget the load of this session: its replay has ended or failed."""
        self._loading.pop(session, None)
        self._skipping.pop(session, None)

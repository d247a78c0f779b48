"""A cache of acts: sessions are similar, and reading an act takes a hundred times as long.

What is kept is found by all that it was made of, so the same words give the same act. It serves any number of
recordings that are read one after the other, for as long as the disk stays as it is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from dragoman.decoders import json_decoder
from dragoman.schema import v1
from dragoman_local.workspace.policy.act import ActContext
from dragoman_local.workspace.policy.judge import with_real_paths
from dragoman_local.workspace.policy.tool_calls import CallUpdate
from dragoman_local.workspace.policy.tool_inputs import TEXT_KEYS

Value = TypeVar("Value")

MOST_KNOWN: Final = 8192
"""The most cached values; above it all are forgotten."""

DEEPEST: Final = 64
"""The folders of a path that are looked up one by one; each is a call in a call."""

UPDATES: Final = (
    b'{"jsonrpc":"2.0","method":"session/update"',
    b'{"jsonrpc": "2.0", "method": "session/update"',
)
"""How nearly all updates begin, and hardly any other frame."""


class _Notification(Struct, frozen=True):
    session_id: str = field(name="sessionId", default="")
    update: CallUpdate = CallUpdate()


class _UpdateFrame(Struct):
    method: str = ""
    params: _Notification = _Notification()


_frames = json_decoder(_UpdateFrame)


class KnownActs:
    """The cache. Constructing reads nothing."""

    def __init__(self) -> None:
        self._values: dict[object, Any] = {}  # of the types that `remember` was asked for
        self.real_path = lru_cache(MOST_KNOWN)(self._find_real_path)

    def remember(self, key: object, make: Callable[[], Value]) -> Value:
        """Return the cached result, or compute it now."""
        value: Value | None = self._values.get(key)
        if value is None:
            if len(self._values) >= MOST_KNOWN:
                self._values.clear()
            value = self._values[key] = make()
        return value

    def _find_real_path(self, path: str) -> str:
        """Return what `os.path.realpath` does, with one look at the disk for a name in a known folder. What
        is below a link is left to the system: it has rules for links that lead nowhere or to themselves.
        """
        folder, _, name = path.rpartition("/")
        is_name = path.startswith("/") and path[1:2] != "/" and name not in ("", ".", "..")
        if is_name and os.sep == "/" and path.count("/") < DEEPEST:
            is_real = self.real_path(folder or "/") == (folder or "/")
            return path if is_real and not os.path.islink(path) else os.path.realpath(path)
        return os.path.realpath(path)

    def setting(self, agent: str, roots: Sequence[str], home: str) -> ActContext:
        return self.remember(
            ("setting", agent, *roots, home),
            lambda: ActContext(agent=agent, roots=with_real_paths(roots), home=home),
        )


def tells_no_call(frame: bytes) -> bool:
    """Whether an update surely tells nothing of a call. It looks at bytes alone, which takes a tenth of the
    time of decoding; where an escape or a second method may hide something, it does not know.
    """
    return b"tool_call" not in frame and b"\\u" not in frame and frame.count(b'"method"') == 1


def read_update(frame: bytes) -> tuple[str, CallUpdate] | None:
    """Return the session and the update of a frame in one read; None if it is another message or
    unreadable.
    """
    try:
        found = _frames.decode(frame)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return (found.params.session_id, found.params.update) if found.method == "session/update" else None


def essence(call: v1.ToolCallUpdate, *, keeps_texts: bool) -> v1.ToolCallUpdate:
    """Return the parts of a call that determine its act: not its id, its output, or the
    texts of its changes.
    """
    content = [
        replace(item, new_text="", old_text=UNSET) if isinstance(item, v1.Diff) else item
        for item in (call.content if isinstance(call.content, list) else ())
        if not (isinstance(item, v1.Content) and isinstance(item.content, v1.TextContent))
    ]
    raw = call.raw_input if keeps_texts else _without_texts(call.raw_input)
    return replace(call, tool_call_id="", content=content, raw_input=raw)


def _without_texts(raw: object) -> object:
    if not isinstance(raw, dict):
        return raw
    edits = {"edits": list(map(_without_texts, raw["edits"]))} if isinstance(raw.get("edits"), list) else {}
    return raw | edits | {key: "" for key in TEXT_KEYS & raw.keys() if isinstance(raw[key], str)}

"""Small recordings by hand, for tests of what judges and shows them.

conversation(
    client("initialize", {"protocolVersion": 1}, id=1),
    agent(result={"protocolVersion": 1}, id=1),
    agent("session/update", {"sessionId": "s", "update": {}}),
    marks={"hello": (0, 3)},
)
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from dragoman_check.recording import Direction, Frame, Recording, Stretch

Said = tuple[Direction, bytes]


def client(method: str | None = None, params: Any = UNSET, **members: Any) -> Said:
    """What the client says: a request if it has an `id`, else a notification, or an answer."""
    return "to_agent", _line(method, params, members)


def agent(method: str | None = None, params: Any = UNSET, **members: Any) -> Said:
    """What the agent says."""
    return "to_client", _line(method, params, members)


def make_recording(
    *said: Said,
    marks: dict[str, tuple[int, int]] | None = None,
    facts: dict[str, Any] | None = None,
    stderr: bytes = b"",
) -> Recording:
    """One frame a second. Marks are positions of frames, the last not included."""
    return Recording(
        frames=[Frame(number, way, float(number), raw) for number, (way, raw) in enumerate(said, 1)],
        marks=[Stretch(name, first, last) for name, (first, last) in (marks or {}).items()],
        facts=facts or {},
        stderr=stderr,
    )


def _line(method: str | None, params: Any, members: dict[str, Any]) -> bytes:
    message: dict[str, Any] = {"jsonrpc": "2.0"}
    if method is not None:
        message["method"] = method
    if params is not UNSET:
        message["params"] = params
    return msgspec.json.encode({**message, **members})

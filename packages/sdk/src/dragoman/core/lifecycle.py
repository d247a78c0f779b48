"""Allows only `initialize` at first, and records the protocol version that both sides agree on.

Specification: https://agentclientprotocol.com/protocol/v1/initialization

Only the side that is initialized (the agent, or a proxy) has such a lifecycle. Requests that arrive while
`initialize` is still being answered are held, not refused: a client that writes both in one go has broken
no rule that helps anybody. `initialize` may be repeated until something else was asked.

Version 1 says: answer the requested version if you speak it, otherwise the latest you speak. Version 2 says:
the highest at or below the request, otherwise an error that lists what is spoken. An agent that speaks only
version 1 follows the first rule, any other the second.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum

from dragoman.errors import ErrorAnswer
from dragoman.wire.codes import NAMES, VERSION_UNSUPPORTED

INITIALIZE = frozenset({"initialize", "proxy/initialize"})


class RequestAdmission(Enum):
    """Whether to handle, hold or refuse a request right now."""

    GO = "go"
    HOLD = "hold"
    REFUSE = "refuse"


class Lifecycle:
    """fresh → initializing → ready, and back to fresh when `initialize` failed."""

    __slots__ = ("_pending", "_ready", "_used")

    def __init__(self, *, ready: bool = False) -> None:
        self._ready = ready
        self._used = ready  # something other than initialize was asked
        self._pending = 0

    @property
    def ready(self) -> bool:
        return self._ready

    @property
    def is_open(self) -> bool:
        """Whether requests other than `initialize` are allowed, so that no request changes the lifecycle any
        more.
        """
        return self._used and self._ready and not self._pending

    def ask(self, method: str) -> RequestAdmission:
        if method in INITIALIZE:
            if self._used:
                return RequestAdmission.REFUSE
            self._pending += 1
            return RequestAdmission.GO
        if self._pending:
            return RequestAdmission.HOLD
        if not self._ready:
            return RequestAdmission.REFUSE
        self._used = True
        return RequestAdmission.GO

    def settle_initialize(self, *, is_accepted: bool) -> bool:
        """Note that `initialize` was answered. True if no `initialize` is open, so that held requests can
        continue.
        """
        self._pending -= 1
        self._ready = self._ready or is_accepted
        return self._pending == 0


def negotiate(requested_version: int, supported_versions: Collection[int]) -> int:
    """Return the version for the agent's answer, or raise the error to send if none fits."""
    if requested_version in supported_versions:
        return requested_version
    latest = max(supported_versions)
    if latest <= 1:
        return latest
    below = [version for version in supported_versions if version <= requested_version]
    if below:
        return max(below)
    data = {"requested": requested_version, "supported": sorted(supported_versions)}
    raise ErrorAnswer(VERSION_UNSUPPORTED, NAMES[VERSION_UNSUPPORTED], data)

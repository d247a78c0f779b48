"""State that nodes share besides their streams: a register of small values, and a bus for messages.

- The register decides: `create` and `update` succeed for one of many who try, and whoever holds an older
  revision is refused. To read a value says what it was, never what it is: nothing is decided by reading.
- The bus carries: what is sent may be lost, and whoever needs it all numbers what it says. What arrives from
  one sender on one subject arrives in the order of the sending.

Names (keys, subjects) are dotted words of letters, digits, `_` and `-`; `*` as a whole word of what is
listened to stands for any one word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct


class RegisterValue(Struct, frozen=True):
    """A value of the register, and its revision."""

    value: bytes
    revision: int


OnValueChange: TypeAlias = Callable[[str, RegisterValue | None], None]
"""Hears of a key and what it holds now; None if it holds nothing any more."""

OnBusMessage: TypeAlias = Callable[[str, bytes, str], None]
"""Hears a subject, what was said, and where an answer goes; that is empty if none is wanted."""


class Subscription(Protocol):
    """A watch or a listener; it lasts until it is closed."""

    async def aclose(self) -> None: ...


class Register(Protocol):
    """Small values by key, shared by all nodes. Raises `JournalError` if they are not available now."""

    async def create(self, key: str, value: bytes) -> int:
        """Set a new key; returns its first revision. Raises `KeyTaken` if the key holds something."""

    async def update(self, key: str, value: bytes, revision: int) -> int:
        """Replace a value; returns its next revision. Raises `KeyTaken` if `revision` is not current."""

    async def delete(self, key: str, revision: int) -> None:
        """Remove a key. Raises `KeyTaken` if `revision` is not the current one."""

    async def get(self, key: str) -> RegisterValue | None:
        """The value of a key a moment ago; None if it has none."""

    async def watch(self, prefix: str, on_change: OnValueChange) -> Subscription:
        """Call `on_change` for keys that begin with the word `prefix`: first for all that exist, then for
        every change. Returns when it was called for all that exist.
        """


class Bus(Protocol):
    """Messages between nodes."""

    def send(self, subject: str, data: bytes) -> None:
        """Send to all who listen now; never waits. Messages above the limit are lost."""

    async def ask(self, subject: str, data: bytes, *, within: float) -> bytes:
        """The first answer; raises `NobodyListens` at once if nobody listens, else `TimeoutError`."""

    async def listen(self, subject: str, on_message: OnBusMessage) -> Subscription:
        """From the return on, `on_message` gets each message of the subject; it must not wait."""

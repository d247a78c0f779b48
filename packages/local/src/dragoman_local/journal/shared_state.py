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
"""Called with a key and its current value; None after its removal."""

OnBusMessage: TypeAlias = Callable[[str, bytes, str], None]
"""Called with a subject, the message, and the subject for an answer; empty if none is wanted."""


class Subscription(Protocol):
    """A watch or a listener; it lasts until it is closed."""

    async def aclose(self) -> None: ...


class Register(Protocol):
    """Small values by key, shared by all nodes. Raises `JournalError` if they are not available now."""

    async def create(self, key: str, value: bytes) -> int:
        """Set a new key; return its first revision. Raises `KeyTaken` if the key has a value."""

    async def update(self, key: str, value: bytes, revision: int) -> int:
        """Replace a value; return its next revision. Raises `KeyTaken` if `revision` is not current."""

    async def delete(self, key: str, revision: int) -> None:
        """Remove a key. Raises `KeyTaken` if `revision` is not the current one."""

    async def get(self, key: str) -> RegisterValue | None:
        """Return the recent value of a key; None if it has none."""

    async def watch(self, prefix: str, on_change: OnValueChange) -> Subscription:
        """Call `on_change` for keys that begin with the word `prefix`: first for all existing ones, then for
        every change. Returns after the calls for the existing ones.
        """


class Bus(Protocol):
    """Messages between nodes."""

    def send(self, subject: str, data: bytes) -> None:
        """Send to all current listeners without waiting. Messages above the limit are lost."""

    async def ask(self, subject: str, data: bytes, *, within: float) -> bytes:
        """Return the first answer; raises `NobodyListens` at once without listeners, otherwise
        `TimeoutError`.
        """

    async def listen(self, subject: str, on_message: OnBusMessage) -> Subscription:
        """Call `on_message` with each message of the subject after this returns; it must not wait."""

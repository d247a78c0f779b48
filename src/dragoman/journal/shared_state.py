"""What nodes share beside their streams: a register of small values, and a bus for words between them.

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
    """A value of the register, and the revision under which it stands."""

    value: bytes
    revision: int


OnValueChange: TypeAlias = Callable[[str, RegisterValue | None], None]
"""Hears of a key and what it holds now; None if it holds nothing any more."""

OnBusMessage: TypeAlias = Callable[[str, bytes, str], None]
"""Hears a subject, what was said, and where an answer goes; that is empty if none is wanted."""


class Subscription(Protocol):
    """Something that goes on until it is ended."""

    async def aclose(self) -> None: ...


class Register(Protocol):
    """Small values by key, for all nodes the same. What cannot be said now is `JournalError`."""

    async def create(self, key: str, value: bytes) -> int:
        """Its first revision; `KeyTaken` if the key holds something."""

    async def update(self, key: str, value: bytes, revision: int) -> int:
        """Its next revision; `KeyTaken` if it no longer stands under `revision`."""

    async def delete(self, key: str, revision: int) -> None:
        """Forget it; `KeyTaken` if it no longer stands under `revision`."""

    async def get(self, key: str) -> RegisterValue | None:
        """What it held a moment ago."""

    async def watch(self, prefix: str, on_change: OnValueChange) -> Subscription:
        """Hear of all keys that begin with the word `prefix`: first of those there are, then of every change.
        Returns when all there are were told.
        """


class Bus(Protocol):
    """Words between nodes."""

    def send(self, subject: str, data: bytes) -> None:
        """To whoever listens now; never waits. What is too much at once is lost."""

    async def ask(self, subject: str, data: bytes, *, within: float) -> bytes:
        """What the first to answer says; `NobodyListens` at once if nobody is there, `TimeoutError`."""

    async def listen(self, subject: str, on_message: OnBusMessage) -> Subscription:
        """From the return on, `on_message` gets each message of the subject; it must not wait."""

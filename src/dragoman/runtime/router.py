"""Who gives meaning to what a link receives."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol, TypeAlias

from msgspec import Raw

from dragoman.core import Debt
from dragoman.wire.codes import method_not_found

Work: TypeAlias = Coroutine[Any, Any, bytes]

Answer: TypeAlias = bytes | Work
"""What a router makes of a request: the encoded result at once, or a coroutine that ends with it."""


class Router(Protocol):
    """`asked` may raise `ErrorAnswer`; anything else that it or its coroutine raises is an internal error."""

    def asked(self, debt: Debt) -> Answer: ...

    def told(self, method: str, params: Raw | None) -> None: ...

    def told_block(self, block: bytes) -> int:
        """Take a whole block at once, if it holds nothing but notifications that can be read in one go.

        Returns how many there were; 0 means that nothing was taken and the frames are to be told one by one.
        """
        ...

    def fed(self, size: int) -> None:
        """A block of `size` bytes has been dealt with; nothing that waits has run yet. With 0: something has
        changed that may be a reason to read again.
        """

    def cancelled(self, debt: Debt) -> bool:
        """The peer no longer wants this answer. True: the router ends the work; False: the link does."""
        ...


class Silent:
    """Knows nothing: requests are refused, notifications ignored."""

    def asked(self, debt: Debt) -> Answer:
        raise method_not_found(debt.method)

    def told(self, method: str, params: Raw | None) -> None:
        pass

    def told_block(self, block: bytes) -> int:
        return 0

    def fed(self, size: int) -> None:
        pass

    def cancelled(self, debt: Debt) -> bool:
        return False

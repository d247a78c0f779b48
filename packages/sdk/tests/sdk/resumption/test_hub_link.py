"""What an address leads to, and what of its refusals is final."""

from __future__ import annotations

import httpx2
import pytest

from dragoman.errors import LinkClosed
from dragoman.sdk.resumption.hub_link import is_final
from dragoman.transport.contract import DEFAULT_LIMITS
from dragoman.transport.http_client import HttpStream
from tests.every import every


@every(
    ("words", "at_first", "later"),
    [
        ("refused the connection with status 401", True, True),
        ("answered initialize with status 403", True, True),
        ("refused the connection with status 404", True, False),
        ("refused the connection with status 429", False, False),
        ("refused the connection with status 503", False, False),
        ("cannot be reached: status unknown", False, False),
    ],
)
def test_what_leaves_no_hope(words: str, at_first: bool, later: bool) -> None:
    assert is_final(LinkClosed(words), False) is at_first
    assert is_final(LinkClosed(words), True) is later


async def test_a_session_without_its_stream_ends_a_connection_that_can_be_opened_again() -> None:
    async with httpx2.AsyncClient(timeout=None) as client:
        stream = HttpStream(client, "http://127.0.0.1:9/acp", DEFAULT_LIMITS, all_or_nothing=True)
        stream._on_stream_end("a session", LinkClosed("its stream broke"))
        with pytest.raises(LinkClosed, match="its stream broke"):
            await stream.receive()

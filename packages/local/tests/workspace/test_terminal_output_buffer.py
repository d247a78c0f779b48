"""The end of an output: bounded, and never half a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dragoman_local.workspace.terminal import OutputBuffer
from tests.every import every


def fed(limit: int, *chunks: bytes, over: bool = True) -> OutputBuffer:
    ring = OutputBuffer(limit)
    for chunk in chunks:
        ring.feed(chunk)
    if over:
        ring.finish()
    return ring


def test_what_fits_is_kept_whole() -> None:
    assert fed(5, b"he", b"llo").tail() == ("hello", False)


def test_the_beginning_is_cut_and_that_is_told() -> None:
    assert fed(4, b"hello").tail() == ("ello", True)


@every(("limit", "text"), [(9, "€€€"), (8, "€€"), (7, "€€"), (6, "€€"), (3, "€"), (2, ""), (0, "")])
def test_a_cut_falls_between_characters(limit: int, text: str) -> None:
    assert fed(limit, "€€€".encode()).tail() == (text, limit < 9)


def test_half_a_character_waits_for_its_other_half() -> None:
    ring = fed(100, "a€".encode()[:-1], over=False)
    assert ring.tail().text == "a"
    ring.feed("€".encode()[-1:])
    assert ring.tail().text == "a€"


def test_half_a_character_at_the_end_is_replaced() -> None:
    assert fed(100, b"a\xe2\x82").tail() == ("a\ufffd", False)


def test_replacements_count_with_their_own_length() -> None:
    tail = fed(10, b"\xff" * 10).tail()
    assert tail == ("\ufffd" * 3, True)


def test_nothing_is_kept_of_an_output_that_nobody_wants() -> None:
    assert fed(0, b"x").tail() == ("", True)
    assert fed(0).tail() == ("", False)


@given(st.integers(0, 40), st.lists(st.binary(max_size=20) | st.text(max_size=8).map(str.encode)))
def test_the_limit_holds_for_any_bytes(limit: int, chunks: list[bytes]) -> None:
    ring = OutputBuffer(limit)
    for chunk in chunks:
        ring.feed(chunk)
        assert len(ring) <= 2 * limit
        assert len(ring.tail().text.encode()) <= limit
    ring.finish()
    everything = b"".join(chunks).decode(errors="replace")
    tail = ring.tail()
    assert len(tail.text.encode()) <= limit
    assert tail.is_truncated == (tail.text != everything)


@given(st.integers(4, 60), st.text(max_size=60), st.data())
def test_valid_text_loses_nothing_but_its_beginning(limit: int, text: str, data: st.DataObject) -> None:
    ring, stream = OutputBuffer(limit), text.encode()
    while stream:
        cut = data.draw(st.integers(1, len(stream)))
        ring.feed(stream[:cut])
        stream = stream[cut:]
    ring.finish()
    kept = ring.tail().text
    assert text.endswith(kept)
    assert "\ufffd" not in kept or "\ufffd" in text
    if len(text.encode()) > limit:  # no more was cut than had to be
        assert len(kept.encode()) > limit - 4


def test_memory_is_bounded_however_much_is_fed() -> None:
    ring = OutputBuffer(1000)
    for _ in range(1000):
        ring.feed(b"x" * 65536)
        assert len(ring) <= 2000

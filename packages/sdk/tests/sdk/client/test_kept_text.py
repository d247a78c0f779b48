"""The text of a turn until somebody asks for it."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from dragoman import Agent, Turn, connect
from dragoman.sdk.client.kept_text import AT_ONCE, LONG, KeptText
from tests.sdk.ends import chunk

PROSE = "Größe “quoted”\n" * LONG
HALF_PAIR = "word and \ud83d "


def as_frame(text: str, *, escaped: bool = False) -> bytes:
    return json.dumps(chunk("s1", text), ensure_ascii=escaped).encode() + b"\n"


def test_a_large_text_is_kept_without_a_second_copy_of_it() -> None:
    said, kept = HALF_PAIR * AT_ONCE, KeptText()
    tracemalloc.start()
    try:
        kept.add([said])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept.utf8 == said.encode(errors="surrogatepass")
    assert peak < 1.5 * len(kept.utf8)


@pytest.mark.parametrize(
    ("text", "escaped", "is_encoded"),
    [
        pytest.param(PROSE, False, False, id="other letters"),
        pytest.param("plain words " * LONG, True, False, id="Latin letters"),
        pytest.param("Größe of many plain words " * LONG, True, False, id="few escapes"),
        pytest.param("Größe" * LONG, True, True, id="many escapes"),
        pytest.param("short", False, True, id="a short piece"),
    ],
)
def test_long_pieces_are_encoded_when_somebody_asks_if_ever(
    text: str, escaped: bool, is_encoded: bool
) -> None:
    kept, block = KeptText(), as_frame(text, escaped=escaped)
    tracemalloc.start()
    try:
        kept.add([text], block)
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (size >= len(text)) == is_encoded
    assert kept.text == text
    assert kept.utf8 == text.encode()


async def test_long_and_short_pieces_stay_in_their_order() -> None:
    agent = Agent("talker")
    pieces = ["one ", PROSE, "two ", "three ", PROSE, HALF_PAIR[:4]]

    @agent.prompt
    async def talk(turn: Turn) -> None:
        for piece in pieces:
            await turn.say(piece)
        await turn.think(PROSE)

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt("go")
        assert result.text == "".join(pieces)
        assert result.utf8 == "".join(pieces).encode()
        assert (await session.prompt("go", keep_text=False)).text == ""

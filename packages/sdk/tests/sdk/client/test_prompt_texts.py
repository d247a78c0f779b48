"""What the agent says, as plain text."""

from __future__ import annotations

import tracemalloc
from io import BytesIO

from dragoman import Agent, Turn, connect
from dragoman.sdk.client.prompt import KEPT_AT_ONCE, _keep


async def test_texts_are_what_the_agent_says_and_nothing_else() -> None:
    agent = Agent("mixed")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.think("hm")
        await turn.say("one ")
        async with turn.tool("Look"):
            pass
        await turn.say("two")

    async with connect(agent) as handle:
        session = await handle.new_session(cwd="/tmp")
        turn = session.prompt("go")
        assert [text async for text in turn.texts()] == ["one ", "two"]
        assert turn.result.text == "one two"


def test_to_keep_a_large_text_takes_no_second_copy_of_it() -> None:
    said, text = "word and \ud83d " * KEPT_AT_ONCE, BytesIO()
    tracemalloc.start()
    try:
        _keep([said], text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text.getvalue() == said.encode(errors="surrogatepass")
    assert peak < 1.5 * len(text.getvalue())

"""What the agent says, as plain text."""

from __future__ import annotations

from dragoman import Agent, Turn, connect


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

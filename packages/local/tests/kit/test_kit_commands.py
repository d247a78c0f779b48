"""Slash commands: announced, recognised, run."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman import Agent, Kit, KitTurn
from dragoman_local.journal import MemoryJournal
from tests.every import every
from tests.kit.kit_agents import listening
from tests.runtime.raw import request, until
from tests.sdk.ends import raw_client


def commanding() -> Agent:
    agent = Agent("commanding")
    kit = Kit(agent, journal=MemoryJournal(), titles="none")

    @kit.command("loud", "Says it loudly", hint="what to say")
    async def loud(turn: KitTurn[None], argument: str) -> None:
        await turn.say(argument.upper())

    @kit.command("plain", "Runs in a thread")
    def plain(turn: Any, argument: str) -> str:
        turn.say(f"plain {argument}")
        return "max_tokens"

    @kit.prompt
    async def reply(turn: KitTurn[None]) -> None:
        await turn.say(f"prompt {turn.text}")

    return agent


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("/loud hello  there", "HELLO  THERE"),
        ("/loud", ""),
        ("/loud\nnext line", "NEXT LINE"),
        ("/plain x", "plain x"),
        ("/louder x", "prompt /louder x"),
        ("/ loud", "prompt / loud"),
        ("say /loud", "prompt say /loud"),
        ("/", "prompt /"),
    ],
)
async def test_a_command_is_told_by_the_beginning_of_a_prompt(text: str, answer: str) -> None:
    async with listening(commanding()) as (handle, _):
        session = await handle.new_session(cwd="/tmp")
        result = await session.prompt(text)
        assert result.text == answer
        assert result.stop_reason == ("max_tokens" if text.startswith("/plain") else "end_turn")


async def test_commands_are_announced_behind_the_answer_that_opened_the_session() -> None:
    async with raw_client(commanding()) as client:
        session_id = await client.open()
        await until(lambda: client.updates(session_id))
        announced = next(i for i, frame in enumerate(client.seen) if "method" in frame)
        answered = next(i for i, frame in enumerate(client.seen) if frame.get("id") == "n")
        assert answered < announced
        assert client.updates(session_id)[0]["availableCommands"] == [
            {"name": "loud", "description": "Says it loudly", "input": {"hint": "what to say"}},
            {"name": "plain", "description": "Runs in a thread"},
        ]


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
async def test_commands_of_a_session_that_the_client_knows_come_before_the_answer(method: str) -> None:
    async with raw_client(commanding()) as client:
        session_id = await client.open()
        await until(lambda: client.updates(session_id))
        before = len(client.seen)
        client.send(request("again", method, {"sessionId": session_id, "cwd": "/tmp", "mcpServers": []}))
        await client.answer_to("again")
        client.send(request("x", "session/list", {}))
        await client.answer_to("x")
        methods = [frame.get("method") or frame["id"] for frame in client.seen[before:]]
        assert methods == ["session/update", "again", "x"]


@every("name", ["/slash", "two words", "", "twice"])
def test_a_command_needs_a_name_of_its_own(name: str) -> None:
    kit = Kit(Agent("x"), journal=MemoryJournal())
    kit.command("twice", "Here")(lambda turn, argument: None)
    with pytest.raises(ValueError, match=r"command"):
        kit.command(name, "There")(lambda turn, argument: None)

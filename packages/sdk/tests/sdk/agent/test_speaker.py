"""What an agent says: whole frames, in order, in the words of the protocol."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman import Agent, Turn
from dragoman.errors import InvalidValue, LinkClosed
from dragoman.runtime.outbox import FLUSH_AT
from dragoman.schema.v1 import AvailableCommand, PlanEntry, TextContent, ToolCallProgress
from dragoman.sdk.agent.speaker import SLICE, text_frame
from tests.runtime.raw import request, until
from tests.sdk.ends import RawClient, raw_client


async def said(body: Any, capabilities: Any = None) -> list[Any]:
    """The updates of one turn."""
    agent = Agent("speaker")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await body(turn)

    async with raw_client(agent) as client:
        session = await client.open(capabilities)
        client.prompt(1, session)
        answer = await client.answer_to(1)
        assert "result" in answer, answer
        return client.updates(session)


def text(kind: str, words: str) -> Any:
    return {"sessionUpdate": kind, "content": {"type": "text", "text": words}}


async def test_words_thoughts_and_echoes() -> None:
    async def body(turn: Turn) -> None:
        await turn.say("word")
        await turn.think("thought")
        await turn.echo("echo")
        await turn.say(TextContent(text="block"))
        await turn.say("of a message", message_id="m1")

    first, second, third, fourth, fifth = await said(body)
    assert first == text("agent_message_chunk", "word")
    assert second == text("agent_thought_chunk", "thought")
    assert third == text("user_message_chunk", "echo")
    assert fourth == text("agent_message_chunk", "block")
    assert fifth == {**text("agent_message_chunk", "of a message"), "messageId": "m1"}


@pytest.mark.parametrize("words", ["", '"\\\n\r\t\0', "\u2028\u2029\u0085", "äöü 漢字 🐉", "x" * 300_000])
async def test_text_comes_back_code_point_for_code_point(words: str) -> None:
    async def body(turn: Turn) -> None:
        await turn.say(words)
        await turn.think(words)

    assert [update["content"]["text"] for update in await said(body)] == [words, words]


@pytest.mark.parametrize("how", ["say", "think", "update", "tool"])
async def test_what_cannot_be_written_is_refused_and_leaves_no_half_frame(how: str) -> None:
    half = "half a pair: \ud800"

    async def body(turn: Turn) -> None:
        ways = {
            "say": lambda: turn.say(half),
            "think": lambda: turn.think(half),
            "update": lambda: turn.update(ToolCallProgress(tool_call_id="t", title=half)),
            "tool": lambda: turn.update(ToolCallProgress(tool_call_id="t", raw_output=object())),
        }
        await turn.say("before")
        with pytest.raises(Exception, match=r"surrogate|object|cannot|type"):
            await ways[how]()
        await turn.say("after")

    assert await said(body) == [text("agent_message_chunk", "before"), text("agent_message_chunk", "after")]


async def test_everything_else_that_can_be_said() -> None:
    async def body(turn: Turn) -> None:
        await turn.plan(
            ["one", ("two", "completed"), PlanEntry(content="3", priority="low", status="pending")]
        )
        await turn.usage(used=5, size=10)
        await turn.usage(used=5, size=10, cost=1.5)
        await turn.commands([AvailableCommand(name="help", description="Helps")])
        await turn.mode("code")
        await turn.title("A title")
        await turn.title(None)

    plan, usage, cost, commands, mode, title, untitled = await said(body)
    assert [(entry["content"], entry["status"]) for entry in plan["entries"]] == [
        ("one", "pending"),
        ("two", "completed"),
        ("3", "pending"),
    ]
    assert (usage["used"], usage["size"], "cost" in usage) == (5, 10, False)
    assert cost["cost"] == {"amount": 1.5, "currency": "USD"}
    assert commands["availableCommands"][0]["name"] == "help"
    assert mode["currentModeId"] == "code"
    assert (title["title"], untitled["title"]) == ("A title", None)


async def test_a_notice_is_a_notice_for_a_client_that_takes_them() -> None:
    async def body(turn: Turn) -> None:
        await turn.notice("Careful", severity="warning", description="It is hot")

    (update,) = await said(body, {"session": {"notices": {}}})
    assert update["sessionUpdate"] == "notice"
    assert (update["title"], update["severity"], update["description"]) == ("Careful", "warning", "It is hot")


async def test_a_notice_is_a_message_for_a_client_that_takes_none() -> None:
    async def body(turn: Turn) -> None:
        await turn.notice("Careful", description="It is hot")
        await turn.notice("Short")

    assert [update["content"]["text"] for update in await said(body)] == ["Careful\nIt is hot\n", "Short\n"]


async def test_order_is_kept_across_everything_that_can_be_said_and_asked() -> None:
    agent = Agent("order")
    large = "x" * FLUSH_AT

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for n in range(20):
            await turn.say(f"{n}")
            await turn.think(large if n % 5 == 0 else f"{n}")
            turn.client.link.notify("_mark", str(n).encode())

    async with raw_client(agent) as client:
        session = await client.open()
        client.prompt(1, session)
        await client.answer_to(1)
        said = [frame["params"] for frame in client.seen if "method" in frame]
    kinds = [frame if isinstance(frame, int) else frame["update"]["sessionUpdate"] for frame in said]
    assert kinds == [what for n in range(20) for what in ("agent_message_chunk", "agent_thought_chunk", n)]


async def test_two_turns_of_two_sessions_never_mix_within_a_frame() -> None:
    agent = Agent("twins")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for n in range(200):
            await turn.say(f"{turn.text}{n}")
            if n % 7 == 0:
                await turn.think("y" * 5000)

    async with raw_client(agent) as client:
        sessions = [await client.open(), await opened_too(client)]
        for n, session in enumerate(sessions):
            client.prompt(n, session, "ab"[n])
        await client.answer_to(0)
        await client.answer_to(1)
        for session, name in zip(sessions, "ab", strict=True):
            words = [t for t in client.texts(session) if not t.startswith("y")]
            assert words == [f"{name}{n}" for n in range(200)]


async def opened_too(client: RawClient) -> str:
    client.send(request("n2", "session/new", {"cwd": "/tmp", "mcpServers": []}))
    session_id: str = (await client.answer_to("n2"))["result"]["sessionId"]
    return session_id


async def test_speaking_to_nobody_fails_in_the_end() -> None:
    ended: list[str] = []
    agent = Agent("alone")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        try:
            while True:
                await turn.say("x" * 1000)
        except LinkClosed:
            ended.append("closed")

    async with raw_client(agent) as client:
        client.prompt(1, await client.open())
        await client.asks("session/update")
        await client.aclose()
        await client.link.wait_ended()
        await until(lambda: ended)
    assert ended == ["closed"]


STARVED = """
import resource
from dragoman.sdk.agent.speaker import encode_text

text = "x" * (16 << 20)
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 20),) * 2)
try:
    encode_text(text)
except MemoryError:
    print("no memory")
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs to know how much memory it has")
def test_a_text_for_which_there_is_no_memory_is_an_error_and_not_the_end_of_the_process() -> None:
    done = subprocess.run([sys.executable, "-c", STARVED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "no memory\n"), done.stderr


async def test_a_large_text_arrives_whole() -> None:
    words = "ä\n" * 100_000

    async def body(turn: Turn) -> None:
        await turn.say(words)

    assert await said(body) == [text("agent_message_chunk", words)]


def test_a_large_text_is_the_same_json_as_a_small_one() -> None:
    words = ('ä"\\\n\u2028😀\x01x' * (SLICE // 4))[: 2 * SLICE + 3]
    frame = text_frame(b'{"text":', words, b"}\n")
    assert frame == b'{"text":' + msgspec.json.encode(words) + b"}\n"


async def test_a_large_text_that_is_none_is_refused_and_nothing_of_it_is_sent() -> None:
    async def body(turn: Turn) -> None:
        with pytest.raises(InvalidValue, match="lone surrogates"):
            await turn.say("x" * SLICE + "\ud800")
        await turn.say("after")

    assert await said(body) == [text("agent_message_chunk", "after")]

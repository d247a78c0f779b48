"""Sends bytes in unusual pieces: line ends, half lines, two lines at once, long lines, the end of input."""

from __future__ import annotations

import asyncio

import msgspec

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.connection import AgentGone, Silence
from dragoman_check.agent.driver import AgentDriver
from dragoman_check.agent.stage import SceneStep, Stage

MEGABYTE = 1_000_000
SIZES = (1, 10)
HUGE = 50
DRAGON = "\U0001f409é"


async def streams(stage: Stage) -> None:
    steps = [
        SceneStep("CRLF", _crlf),
        SceneStep("blank lines", _blank),
        SceneStep("BOM", _bom),
        SceneStep("dribbled", _dribble),
        SceneStep("two at once", _interleave),
        *(SceneStep(f"{size} MB", _long(size)) for size in SIZES),
    ]
    await stage.survive("streams", steps, begin=_open)
    # Some agents end here, or close their ears.
    await stage.survive("streams", [SceneStep(f"{HUGE} MB", _long(HUGE))], begin=_open)
    await _last_words(stage)


async def _open(talk: AgentDriver) -> None:
    await talk.open({})
    await talk.quiet()


async def _crlf(talk: AgentDriver) -> None:
    await _ask(talk, b'{"jsonrpc":"2.0","id":1,"method":"session/list","params":{}}\r\n', 1, "CRLF")


async def _blank(talk: AgentDriver) -> None:
    first = talk.position
    talk.send(b"\n\r\n  \n")
    await talk.quiet()
    talk.mark("blank lines", first)


async def _bom(talk: AgentDriver) -> None:
    first = talk.position
    talk.send(b'\xef\xbb\xbf{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}\n')
    await talk.quiet()
    talk.mark("BOM", first)


async def _dribble(talk: AgentDriver) -> None:
    """Byte by byte, through the middle of characters."""
    first = talk.position
    request = {"jsonrpc": "2.0", "id": DRAGON, "method": "session/list", "params": {}}
    line = msgspec.json.encode(request)
    talk.record_line("to_agent", line)
    for at in range(len(line)):
        talk.put(line[at : at + 1])
        await asyncio.sleep(0)
    talk.put(b"\n")
    try:
        await talk.answer(DRAGON, since=first, seconds=talk.brief)
    finally:
        talk.mark("dribbled", first)


async def _interleave(talk: AgentDriver) -> None:
    first = talk.position
    talk.send(b"".join(b'{"jsonrpc":"2.0","id":%d,"method":"session/list"}\n' % number for number in (3, 4)))
    try:
        await talk.answer(3, since=first, seconds=talk.brief)
        await talk.answer(4, since=first, seconds=talk.brief)
    finally:
        talk.mark("two at once", first)


async def _ask(talk: AgentDriver, line: bytes, request_id: object, name: str) -> None:
    first = talk.position
    talk.send(line)
    try:
        await talk.answer(request_id, since=first, seconds=talk.brief)
    finally:
        talk.mark(name, first)


def _long(size: int) -> Json:
    """A line with a lot of padding. The recording keeps it without: there is nothing to see in it; the fact
    of the same name holds the answer.
    """
    head = b'{"jsonrpc":"2.0","id":%d,"method":"session/list","params":{"_meta":{"pad":"' % (100 + size)

    async def play(talk: AgentDriver) -> None:
        first, name = talk.position, f"{size} MB"
        talk.facts[name] = None
        talk.record_line("to_agent", head + b'x"}}}')
        try:
            talk.put(head + b"x" * size * MEGABYTE + b'"}}}\n')
            answer = await talk.until(lambda frame: _answers(frame.message, 100 + size), since=first)
            talk.facts[name] = answer.message
        finally:
            talk.mark(name, first)

    return play


def _answers(message: JsonObject, request_id: int) -> bool:
    return "method" not in message and message.get("id") in (request_id, None) and bool(message)


async def _last_words(stage: Stage) -> None:
    """A last line that has no end, and then the end of the input."""
    try:
        async with stage.talk("streams") as talk:
            await talk.open({})
            first = talk.position
            talk.send(b'{"jsonrpc":"2.0","id":5,"method":"session/list","params":{"cwd":"/nowhere"}}')
            talk.facts["exit"] = await talk.close_input()
            talk.mark("no final newline", first)
    except (Silence, AgentGone):
        pass  # told by the recording

"""Unusual messages that a client must tolerate: it ignores them, uses the valid part, or answers -32601."""

from __future__ import annotations

import asyncio
import os
import threading
from functools import partial

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.client.connection import ClientSilence, is_answer_to
from dragoman_check.client.scenes.permissions import NOBODY
from dragoman_check.client.turn import SHORT, StandInTurn, text_block

IDS: tuple[Json, ...] = (7001, -7, 0, 2**53 + 1, "abc", "17", "\U0001f409")

METHODS = ("nope/nope", "$/foo", "_tck/x")

SILENT: dict[str, bytes] = {
    "unknown notification": b'{"jsonrpc":"2.0","method":"nope"}',
    "private notification": b'{"jsonrpc":"2.0","method":"_tck/n","params":{"a":1}}',
    "dollar notification": b'{"jsonrpc":"2.0","method":"$/whatever","params":{}}',
    "update without params": b'{"jsonrpc":"2.0","method":"session/update"}',
    "update as an array": b'{"jsonrpc":"2.0","method":"session/update","params":[1]}',
    "answer to nothing": b'{"jsonrpc":"2.0","id":4711,"result":{}}',
    "error to nothing": b'{"jsonrpc":"2.0","id":4711,"error":{"code":-32603,"message":"x"}}',
    "answer with both": b'{"jsonrpc":"2.0","id":4711,"result":{},"error":{"code":1,"message":"x"}}',
    "answer with neither": b'{"jsonrpc":"2.0","id":4711}',
    "cancel request of nothing": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":4711}}',
    "cancel request without id": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{}}',
    "cancel request of an object": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}',
    "cancel request of null": b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":null}}',
}
"""Messages without an answer."""

FLOOD = 512 * 1024
"""More than any pipe holds, so that a client which does not read standard error is found."""


async def lenient_updates(turn: StandInTurn) -> None:
    path = str(turn.folder / "some file.txt")
    updates: dict[str, JsonObject] = {
        "unknown update": {"sessionUpdate": "future_kind", "anything": [1, {}]},
        "update of no kind": {"content": text_block("lost")},
        "broken update": {"sessionUpdate": "agent_message_chunk"},
        "update with bogus": {
            "sessionUpdate": "agent_message_chunk",
            "content": text_block("x", bogus=1),
            "bogus": 1,
        },
        "update with meta": {
            "sessionUpdate": "agent_message_chunk",
            "content": text_block("meta", _meta={"text": "other"}),
            "_meta": {"sessionUpdate": "plan", "traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01"},
        },
        "update with meta as text": {
            "sessionUpdate": "agent_message_chunk",
            "content": text_block("meta", _meta="x"),
            "_meta": 7,
        },
        "broken annotations": {
            "sessionUpdate": "agent_message_chunk",
            "content": text_block(
                "noted", annotations={"audience": 5, "priority": "high", "lastModified": []}
            ),
        },
        "plan with a broken entry": {
            "sessionUpdate": "plan",
            "entries": [{"content": "Good", "priority": "low", "status": "pending"}, {"status": 5}, 7],
        },
        "malformed plan": {"sessionUpdate": "plan", "entries": "none"},
        "tool call with bad values": {
            "sessionUpdate": "tool_call",
            "toolCallId": turn.call_id(),
            "title": "Odd",
            "kind": "zap",
            "status": 5,
            "locations": [{}, {"path": path, "line": 1}],
            "content": [{"type": "hologram"}, {"type": "content", "content": text_block("kept")}],
        },
        "commands with a broken one": {
            "sessionUpdate": "available_commands_update",
            "availableCommands": [{}, {"name": "good", "description": "Is kept"}],
        },
        "options of unknown kinds": {
            "sessionUpdate": "config_option_update",
            "configOptions": [{"id": "warmth", "name": "Warmth", "type": "slider", "currentValue": 3}],
        },
    }
    for name, update in updates.items():
        async with turn.stretch(name):
            turn.connection.notify("session/update", {"sessionId": turn.session, "update": update})
    async with turn.stretch("update of an unknown session"):
        turn.update("agent_message_chunk", session=NOBODY, content=text_block("To nobody"))
        turn.update("tool_call", session=NOBODY, toolCallId="x", title="Of nobody")
    async with turn.stretch("update with hostile meta"):
        update = {"sessionUpdate": "agent_message_chunk", "content": text_block("still here")}
        hostile = {"sessionId": NOBODY, "update": {"sessionUpdate": "plan", "entries": []}}
        params = {"sessionId": turn.session, "update": update, "_meta": hostile, "bogus": True}
        turn.connection.notify("session/update", params)


async def methods(turn: StandInTurn) -> None:
    """Send unknown requests, also with the id of the client's own prompt."""
    for method in METHODS:
        await turn.call(method, {}, name=f"request {method}")
    await turn.call("_tck/x", {"_meta": {"id": 1}}, name="same id", request_id=turn.prompt.message["id"])
    async with turn.stretch("same id twice"):
        for _ in range(2):
            turn.begin("_tck/x", {}, request_id="twice")


async def silent_frames(turn: StandInTurn) -> None:
    for name, line in SILENT.items():
        async with turn.stretch(name):
            turn.connection.send(line + b"\n")


async def ids(turn: StandInTurn) -> None:
    for request_id in IDS:
        first = turn.position
        turn.begin("ids/x", {}, request_id=request_id)
        try:
            await turn.until(partial(is_answer_to, request_id=request_id), seconds=SHORT, since=first)
        except ClientSilence:
            pass  # it may be this id that it does not take
        finally:
            turn.mark(f"id {request_id!r}", first)


async def stderr(turn: StandInTurn) -> None:
    """Fill the agent's standard error: a client that does not read it stops the agent."""
    is_filled = asyncio.Event()
    loop = asyncio.get_running_loop()

    def fill() -> None:
        line = b"dragoman stand-in: filling standard error, to see whether anybody reads it\n"
        try:
            for _ in range(FLOOD // len(line)):
                os.write(2, line)
        except OSError:
            pass  # closed: that is a way not to let it fill up
        loop.call_soon_threadsafe(is_filled.set)

    # Not a thread that the interpreter waits for: it may never be able to end.
    threading.Thread(target=fill, daemon=True).start()
    try:
        async with asyncio.timeout(5.0):
            await is_filled.wait()
    except TimeoutError:
        pass
    turn.fact("stderr drained", is_filled.is_set())

"""Scenes at a network endpoint: refusals, a conversation over streams, a reconnect, and one over a
WebSocket.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from dragoman.wire.envelope import Json
from dragoman_check.endpoint.examination import (
    CONNECTION,
    JSON,
    NOBODY,
    SESSION,
    STREAM,
    EndpointNotes,
    EndpointSettings,
    EventStream,
    introduction,
    message,
)
from dragoman_check.endpoint.http import Unreachable
from dragoman_check.endpoint.socket import Socket, SocketFrame
from dragoman_check.examination_control import run_until_stopped
from dragoman_check.recording import Recording

LONG = "x" * 1100
"""More characters than an id may have."""


async def examine_endpoint(
    endpoint: EndpointSettings,
    *,
    over_http: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> list[Recording]:
    """Play all scenes until `stop` is set; return the finished ones. Raises `Unreachable`
    without a server.
    """
    scenes = (refusals, conversation, socket, first_words) if over_http else (socket, first_words)
    recordings: list[Recording] = []

    async def play() -> None:
        (await endpoint.address.dial())[1].close()
        for number, scene in enumerate(scenes, 1):
            notes = EndpointNotes(endpoint)
            notes.recording.facts["scene"] = scene.__name__
            if progress is not None:
                progress(scene.__name__.replace("_", " "), number, len(scenes))
            with contextlib.suppress(Unreachable):  # what was seen until then is kept
                await scene(notes)
            recordings.append(notes.recording)

    await run_until_stopped(stop, play())
    return recordings


async def initialize(notes: EndpointNotes, name: str) -> str:
    """Send `initialize`; return the id of the connection, empty if there is none."""
    hello = notes.request("initialize", introduction())
    reply = await notes.send_and_note(name, "POST", JSON, hello)
    if reply is None or reply.status != 200:
        return ""
    notes.frame("to_client", reply.body)
    return reply.headers.get(CONNECTION.lower(), "")


async def refusals(notes: EndpointNotes) -> None:
    """Check the refusals that a server must give, without a session."""
    hello = notes.request("initialize", introduction())
    new = message("session/new", {"cwd": notes.endpoint.cwd, "mcpServers": []}, id=1)
    await notes.send_and_note("plain text", "POST", {**JSON, "Content-Type": "text/plain"}, hello)
    await notes.send_and_note("post without connection", "POST", JSON, new)
    await notes.send_and_note("get without connection", "GET", STREAM)
    await notes.send_and_note("delete without connection", "DELETE", {})
    await notes.send_and_note("post to unknown connection", "POST", {**JSON, CONNECTION: NOBODY}, new)
    await notes.send_and_note("get unknown connection", "GET", {**STREAM, CONNECTION: NOBODY})
    await notes.send_and_note("delete unknown connection", "DELETE", {CONNECTION: NOBODY})
    await notes.send_and_note("batch", "POST", JSON, b"[" + hello + b"]")
    await notes.send_and_note("put", "PUT", JSON, hello)
    connection = await initialize(notes, "initialize to be refused")
    if connection:
        await notes.send_and_note("initialize again", "POST", {**JSON, CONNECTION: connection}, hello)
        await notes.send_and_note(
            "accept json", "GET", {"Accept": "application/json", CONNECTION: connection}
        )
        prompt = message("session/cancel", {"sessionId": LONG})
        await notes.send_and_note("long id", "POST", {**JSON, CONNECTION: connection, SESSION: LONG}, prompt)
        await notes.send("DELETE", {CONNECTION: connection})
    await notes.send_and_note("foreign origin", "POST", {**JSON, "Origin": "http://elsewhere.example"}, hello)


async def conversation(notes: EndpointNotes) -> None:
    """Play a session over streams: created, prompted before its stream is read, left, and loaded again."""
    connection = await initialize(notes, "initialize")
    if not connection:
        return
    header = {CONNECTION: connection}
    stream = EventStream(notes, header, "connection stream")
    if await stream.is_open():
        session = await _open_session(notes, header, stream)
        if session:
            await _prompt(notes, header, session)
    await stream.close()
    await notes.send_and_note("delete", "DELETE", header)
    await notes.send_and_note("after delete", "POST", {**JSON, **header}, message("session/list", {}, id=1))
    await _load_again(notes)


async def _open_session(notes: EndpointNotes, header: dict[str, str], stream: EventStream) -> str:
    new = notes.request("session/new", {"cwd": notes.endpoint.cwd, "mcpServers": []})
    await notes.send_and_note("new session", "POST", {**JSON, **header}, new)
    answer = await stream.answer(new)
    result = answer.message.get("result") if answer is not None else None
    session = result.get("sessionId") if isinstance(result, dict) else None
    return session if isinstance(session, str) else ""


async def _prompt(notes: EndpointNotes, header: dict[str, str], session: str) -> None:
    ours = {**header, SESSION: session}
    blocks = [{"type": "text", "text": notes.endpoint.prompt}]
    stray = message("session/prompt", {"sessionId": session, "prompt": blocks}, id="stray")
    await notes.send_and_note("no session header", "POST", {**JSON, **header}, stray)
    await notes.send_and_note("another session header", "POST", {**JSON, **header, SESSION: NOBODY}, stray)
    unknown = EventStream(notes, {**header, SESSION: NOBODY}, "unknown session stream")
    await unknown.is_open()
    await unknown.close()
    prompt = notes.request("session/prompt", {"sessionId": session, "prompt": blocks})
    await notes.send_and_note("prompt", "POST", {**JSON, **ours}, prompt)
    reader = EventStream(notes, ours, "session stream")
    if await reader.is_open():
        second = EventStream(notes, ours, "second reader")
        await second.is_open()
        await second.close()
        answer = await reader.answer(prompt)
        notes.replies["prompt"]["answered"] = answer.number if answer is not None else 0
    await reader.close()
    notes.recording.facts["session"] = session


async def _load_again(notes: EndpointNotes) -> None:
    """On another connection, if the agent can."""
    capabilities: Json = notes.recording.frames[1].message.get("result", {}).get("agentCapabilities", {})
    session = notes.recording.facts.get("session")
    if not session or not isinstance(capabilities, dict) or capabilities.get("loadSession") is not True:
        return
    connection = await initialize(notes, "initialize once more")
    ours = {CONNECTION: connection, SESSION: session}
    streams = [
        EventStream(notes, {CONNECTION: connection}, "second connection stream"),
        EventStream(notes, ours, "second session stream"),
    ]
    for stream in streams:
        await stream.is_open()
    params = {"sessionId": session, "cwd": notes.endpoint.cwd, "mcpServers": []}
    load = notes.request("session/load", params)
    await notes.send_and_note("load", "POST", {**JSON, **ours}, load)
    # It may come on either: the official implementations differ.
    waits = [asyncio.create_task(stream.answer(load)) for stream in streams]
    finished_waits, waiting = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waiting:
        wait.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    answer = next((wait.result() for wait in finished_waits), None)
    notes.replies["load"]["answered"] = answer.number if answer is not None else 0
    for stream in streams:
        await stream.close()
    await notes.send("DELETE", {CONNECTION: connection})


# Sockets.


async def socket(notes: EndpointNotes) -> None:
    """Play a conversation over a WebSocket, with two sessions, and requests that must be refused."""
    talk = Socket(notes.endpoint.address, notes.endpoint.headers)
    try:
        is_open = await _upgrade(notes, talk)
        if not is_open:
            return
        await _send_and_wait(notes, talk, "socket initialize", notes.request("initialize", introduction()))
        for name in ("socket session", "socket second session"):
            new = notes.request("session/new", {"cwd": notes.endpoint.cwd, "mcpServers": []})
            await _send_and_wait(notes, talk, name, new)
        again = notes.request("initialize", introduction())
        await _send_and_wait(notes, talk, "socket initialize again", again)
        await _send_and_wait(notes, talk, "socket long id", message("session/list", {}, id=LONG))
    finally:
        talk.close()


async def first_words(notes: EndpointNotes) -> None:
    """Send an initialize with the id null."""
    talk = Socket(notes.endpoint.address, notes.endpoint.headers)
    try:
        if await _upgrade(notes, talk):
            await _send_and_wait(
                notes, talk, "socket initialize under null", message("initialize", {}, id=None)
            )
    finally:
        talk.close()


async def _upgrade(notes: EndpointNotes, talk: Socket) -> bool:
    is_open = False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(notes.endpoint.patience):
            is_open = await talk.open()
    notes.note("upgrade", None, status=talk.status, headers=talk.headers)
    return is_open


async def _send_and_wait(notes: EndpointNotes, talk: Socket, name: str, text: bytes) -> None:
    """Say something, and wait for its answer or the end."""
    request_id = msgspec.json.decode(text).get("id")
    notes.frame("to_agent", text)
    await talk.send(text)
    code = None
    while True:
        try:
            async with asyncio.timeout(min(notes.endpoint.patience, 10.0)):
                socket_frame = await talk.receive()
        except TimeoutError:
            socket_frame = SocketFrame(code=0)  # neither an answer nor an end
        if socket_frame.code is not None:
            code = socket_frame.code
            break
        frame = notes.frame("to_client", socket_frame.text)
        if frame.is_answer and frame.message.get("id") in (request_id, None):
            break
    last = notes.recording.frames[-1]
    error = last.message.get("error") if last.direction == "to_client" else None
    error_code = error.get("code") if isinstance(error, dict) else None
    notes.note(name, None, frame=last.number, closed=code, error=error_code)

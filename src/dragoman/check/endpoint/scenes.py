"""The scenes at an endpoint: refusals, a conversation over streams, coming back, and one over a socket."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

import msgspec

from dragoman.check.endpoint.examination import (
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
from dragoman.check.endpoint.http import Unreachable
from dragoman.check.endpoint.socket import Socket, SocketFrame
from dragoman.check.examination_control import run_until_stopped
from dragoman.check.recording import Recording
from dragoman.wire.envelope import Json

LONG = "x" * 1100
"""More characters than an id may have."""


async def examine_endpoint(
    endpoint: EndpointSettings,
    *,
    over_http: bool = True,
    progress: Callable[[str, int, int], None] | None = None,
    stop: asyncio.Event | None = None,
) -> list[Recording]:
    """All scenes, or those that ended before `stop` was set. Raises `Unreachable` if nobody is there."""
    scenes = (refusals, conversation, socket, first_words) if over_http else (socket, first_words)
    found: list[Recording] = []

    async def play() -> None:
        (await endpoint.address.dial())[1].close()
        for number, scene in enumerate(scenes, 1):
            notes = EndpointNotes(endpoint)
            notes.recording.facts["scene"] = scene.__name__
            if progress is not None:
                progress(scene.__name__.replace("_", " "), number, len(scenes))
            with contextlib.suppress(Unreachable):  # what was seen until then is kept
                await scene(notes)
            found.append(notes.recording)

    await run_until_stopped(stop, play())
    return found


async def greeted(notes: EndpointNotes, name: str) -> str:
    """Says initialize; the id of the connection, empty if none was given."""
    hello = notes.request("initialize", introduction())
    reply = await notes.tried(name, "POST", JSON, hello)
    if reply is None or reply.status != 200:
        return ""
    notes.frame("to_client", reply.body)
    return reply.headers.get(CONNECTION.lower(), "")


async def refusals(notes: EndpointNotes) -> None:
    """What a server refuses, without anything that needs a session."""
    hello = notes.request("initialize", introduction())
    new = message("session/new", {"cwd": notes.endpoint.cwd, "mcpServers": []}, id=1)
    await notes.tried("plain text", "POST", {**JSON, "Content-Type": "text/plain"}, hello)
    await notes.tried("post without connection", "POST", JSON, new)
    await notes.tried("get without connection", "GET", STREAM)
    await notes.tried("delete without connection", "DELETE", {})
    await notes.tried("post to unknown connection", "POST", {**JSON, CONNECTION: NOBODY}, new)
    await notes.tried("get unknown connection", "GET", {**STREAM, CONNECTION: NOBODY})
    await notes.tried("delete unknown connection", "DELETE", {CONNECTION: NOBODY})
    await notes.tried("batch", "POST", JSON, b"[" + hello + b"]")
    await notes.tried("put", "PUT", JSON, hello)
    connection = await greeted(notes, "initialize to be refused")
    if connection:
        await notes.tried("initialize again", "POST", {**JSON, CONNECTION: connection}, hello)
        await notes.tried("accept json", "GET", {"Accept": "application/json", CONNECTION: connection})
        prompt = message("session/cancel", {"sessionId": LONG})
        await notes.tried("long id", "POST", {**JSON, CONNECTION: connection, SESSION: LONG}, prompt)
        await notes.send("DELETE", {CONNECTION: connection})
    await notes.tried("foreign origin", "POST", {**JSON, "Origin": "http://elsewhere.example"}, hello)


async def conversation(notes: EndpointNotes) -> None:
    """A session over streams: made, prompted before its stream is read, left, and loaded again."""
    connection = await greeted(notes, "initialize")
    if not connection:
        return
    known = {CONNECTION: connection}
    stream = EventStream(notes, known, "connection stream")
    if await stream.opened():
        session = await _open_session(notes, known, stream)
        if session:
            await _prompted(notes, known, session)
    await stream.close()
    await notes.tried("delete", "DELETE", known)
    await notes.tried("after delete", "POST", {**JSON, **known}, message("session/list", {}, id=1))
    await _loaded_again(notes)


async def _open_session(notes: EndpointNotes, known: dict[str, str], stream: EventStream) -> str:
    new = notes.request("session/new", {"cwd": notes.endpoint.cwd, "mcpServers": []})
    await notes.tried("new session", "POST", {**JSON, **known}, new)
    answer = await stream.answer(new)
    result = answer.message.get("result") if answer is not None else None
    session = result.get("sessionId") if isinstance(result, dict) else None
    return session if isinstance(session, str) else ""


async def _prompted(notes: EndpointNotes, known: dict[str, str], session: str) -> None:
    ours = {**known, SESSION: session}
    blocks = [{"type": "text", "text": notes.endpoint.prompt}]
    stray = message("session/prompt", {"sessionId": session, "prompt": blocks}, id="stray")
    await notes.tried("no session header", "POST", {**JSON, **known}, stray)
    await notes.tried("another session header", "POST", {**JSON, **known, SESSION: NOBODY}, stray)
    unknown = EventStream(notes, {**known, SESSION: NOBODY}, "unknown session stream")
    await unknown.opened()
    await unknown.close()
    prompt = notes.request("session/prompt", {"sessionId": session, "prompt": blocks})
    await notes.tried("prompt", "POST", {**JSON, **ours}, prompt)
    reader = EventStream(notes, ours, "session stream")
    if await reader.opened():
        second = EventStream(notes, ours, "second reader")
        await second.opened()
        await second.close()
        answer = await reader.answer(prompt)
        notes.replies["prompt"]["answered"] = answer.number if answer is not None else 0
    await reader.close()
    notes.recording.facts["session"] = session


async def _loaded_again(notes: EndpointNotes) -> None:
    """On another connection, if the agent can."""
    capabilities: Json = notes.recording.frames[1].message.get("result", {}).get("agentCapabilities", {})
    session = notes.recording.facts.get("session")
    if not session or not isinstance(capabilities, dict) or capabilities.get("loadSession") is not True:
        return
    connection = await greeted(notes, "initialize once more")
    ours = {CONNECTION: connection, SESSION: session}
    streams = [
        EventStream(notes, {CONNECTION: connection}, "second connection stream"),
        EventStream(notes, ours, "second session stream"),
    ]
    for stream in streams:
        await stream.opened()
    params = {"sessionId": session, "cwd": notes.endpoint.cwd, "mcpServers": []}
    load = notes.request("session/load", params)
    await notes.tried("load", "POST", {**JSON, **ours}, load)
    # It may come on either: the official implementations differ.
    waits = [asyncio.create_task(stream.answer(load)) for stream in streams]
    done, waiting = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    for wait in waiting:
        wait.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    answer = next((wait.result() for wait in done), None)
    notes.replies["load"]["answered"] = answer.number if answer is not None else 0
    for stream in streams:
        await stream.close()
    await notes.send("DELETE", {CONNECTION: connection})


# Sockets.


async def socket(notes: EndpointNotes) -> None:
    """A conversation over a WebSocket, with two sessions, and what is refused in it."""
    talk = Socket(notes.endpoint.address, notes.endpoint.headers)
    try:
        taken = await _upgraded(notes, talk)
        if not taken:
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
    """An initialize under the id null."""
    talk = Socket(notes.endpoint.address, notes.endpoint.headers)
    try:
        if await _upgraded(notes, talk):
            await _send_and_wait(
                notes, talk, "socket initialize under null", message("initialize", {}, id=None)
            )
    finally:
        talk.close()


async def _upgraded(notes: EndpointNotes, talk: Socket) -> bool:
    taken = False
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(notes.endpoint.patience):
            taken = await talk.open()
    notes.note("upgrade", None, status=talk.status, headers=talk.headers)
    return taken


async def _send_and_wait(notes: EndpointNotes, talk: Socket, name: str, text: bytes) -> None:
    """Say something, and wait for its answer or the end."""
    wanted = msgspec.json.decode(text).get("id")
    notes.frame("to_agent", text)
    await talk.send(text)
    code = None
    while True:
        try:
            async with asyncio.timeout(min(notes.endpoint.patience, 10.0)):
                arrived = await talk.receive()
        except TimeoutError:
            arrived = SocketFrame(code=0)  # neither an answer nor an end
        if arrived.code is not None:
            code = arrived.code
            break
        frame = notes.frame("to_client", arrived.text)
        if frame.is_answer and frame.message.get("id") in (wanted, None):
            break
    last = notes.recording.frames[-1]
    error = last.message.get("error") if last.direction == "to_client" else None
    refused = error.get("code") if isinstance(error, dict) else None
    notes.note(name, None, frame=last.number, closed=code, error=refused)

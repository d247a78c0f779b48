"""A good server, as small as one can be: it answers what the examiner says, and refuses what it should."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from uuid import uuid4

Reply = tuple[int, dict[str, str], bytes]
NOTHING: Reply = (202, {}, b"")
INFO = {"name": "a-server", "version": "1"}
UPDATE = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}


class GoodServer:
    """An ASGI application. Sessions outlive their connections."""

    def __init__(self) -> None:
        self.streams: dict[str, asyncio.Queue[Any]] = {}
        self.readers: set[str] = set()
        self.sessions: set[str] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "websocket":
            await self._socket(receive, send)
            return
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if scope["method"] == "GET" and not self._unread(headers):
            await self._stream(self._key(headers), receive, send)
            return
        status, more, body = self._http(scope["method"], headers, await _body(receive))
        fields = [(name.encode(), value.encode()) for name, value in more.items()]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    # Streamable HTTP.

    def _http(self, method: str, headers: dict[str, str], body: bytes) -> Reply:
        if method not in ("POST", "GET", "DELETE"):
            return 405, {}, b""
        if "origin" in headers:
            return 403, {}, b""
        if method == "POST" and headers.get("content-type") != "application/json":
            return 415, {}, b""
        if method == "GET":
            return self._unread(headers), {}, b""
        said = json.loads(body) if body else {}
        if isinstance(said, list):
            return 501, {}, b""
        if method == "POST" and said["method"] == "initialize":
            return (400, {}, b"") if "acp-connection-id" in headers else self._open(said)
        refused = self._refused(headers)
        if refused:
            return refused, {}, b""
        return self._take(said, headers) if method == "POST" else self._close(headers)

    def _refused(self, headers: dict[str, str]) -> int:
        connection = headers.get("acp-connection-id")
        return 400 if connection is None else 0 if connection in self.streams else 404

    def _unread(self, headers: dict[str, str]) -> int:
        """Why a stream is refused; 0 if it is not."""
        if self._refused(headers):
            return self._refused(headers)
        if "text/event-stream" not in headers.get("accept", ""):
            return 406
        if headers.get("acp-session-id", "") not in self.sessions | {""}:
            return 404
        return 409 if self._key(headers) in self.readers else 0

    def _key(self, headers: dict[str, str]) -> str:
        return headers["acp-connection-id"] + headers.get("acp-session-id", "")

    def _open(self, said: Any) -> Reply:
        connection = str(uuid4())
        self.streams[connection] = asyncio.Queue()
        more = {"content-type": "application/json", "acp-connection-id": connection}
        return 200, more, json.dumps(_answer(said, self.sessions)).encode()

    def _close(self, headers: dict[str, str]) -> Reply:
        self.streams.pop(headers["acp-connection-id"]).put_nowait(None)
        return NOTHING

    def _take(self, said: Any, headers: dict[str, str]) -> Reply:
        session = said["params"].get("sessionId")
        if session != headers.get("acp-session-id") or len(session or "") > 1024:
            return 400, {}, b""
        queue = self.streams.setdefault(self._key(headers), asyncio.Queue())
        if said["method"] == "session/prompt":
            queue.put_nowait(
                {
                    "jsonrpc": "2.0",
                    "method": "session/update",
                    "params": {"sessionId": session, "update": UPDATE},
                }
            )
        queue.put_nowait(_answer(said, self.sessions))
        return NOTHING

    async def _stream(self, key: str, receive: Any, send: Any) -> None:
        queue = self.streams.setdefault(key, asyncio.Queue())
        self.readers.add(key)
        fields = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": fields})
        await send({"type": "http.response.body", "body": b":\n\n", "more_body": True})
        gone = asyncio.create_task(_gone(receive))
        while not gone.done():
            said = asyncio.create_task(queue.get())
            await asyncio.wait([said, gone], return_when=asyncio.FIRST_COMPLETED)
            if not said.done() or said.result() is None:
                said.cancel()
                break
            event = b"data: " + json.dumps(said.result()).encode() + b"\n\n"
            await send({"type": "http.response.body", "body": event, "more_body": True})
        gone.cancel()
        self.readers.discard(key)

    # WebSocket.

    async def _socket(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept", "headers": [(b"acp-connection-id", str(uuid4()).encode())]})
        opened = False
        while (event := await receive())["type"] == "websocket.receive":
            said = json.loads(event["text"])
            if said["id"] is None or len(str(said["id"])) > 1024:
                code = 1002 if said["id"] is None else 1008
                await send({"type": "websocket.close", "code": code})
                return
            again = opened and said["method"] == "initialize"
            error = {"jsonrpc": "2.0", "id": said["id"], "error": {"code": -32600, "message": "again"}}
            opened = True
            answer = error if again else _answer(said, self.sessions)
            await send({"type": "websocket.send", "text": json.dumps(answer)})


def _answer(said: Any, sessions: set[str]) -> Any:
    result: Any = {}
    if said["method"] == "initialize":
        result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "agentInfo": INFO}
    elif said["method"] == "session/new":
        result = {"sessionId": str(uuid4())}
        sessions.add(result["sessionId"])
    elif said["method"] == "session/prompt":
        result = {"stopReason": "end_turn"}
    return {"jsonrpc": "2.0", "id": said.get("id"), "result": result}


async def _body(receive: Any) -> bytes:
    event = await receive()
    body = bytes(event.get("body", b""))
    while event.get("more_body"):
        event = await receive()
        body += event.get("body", b"")
    return body


async def _gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass

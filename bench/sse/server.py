"""A bare HTTP server with event streams, for one client. What it sends is prepared: the client is measured.

Argument: how many updates a prompt brings. It prints the port that it listens on. Standard library only.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from peers.measure import texts_to_say

SESSION = "bench"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
WRITE = 48 * 1024


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def events(messages: list[bytes], first: int) -> bytes:
    return b"".join(b"id: %d\ndata: %b\n\n" % (first + n, message) for n, message in enumerate(messages))


def update(text: str) -> bytes:
    content = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": SESSION, "update": content}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode()


class Server:
    def __init__(self, count: int, size: int) -> None:
        self._updates = [update(text) for text in texts_to_say(count, size)]
        self._number = 0
        self._streams: dict[str, asyncio.StreamWriter] = {}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                headers = dict(
                    line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:] if line
                )
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                if head.startswith(b"GET"):
                    self._streams[headers.get("acp-session-id", "")] = writer
                    writer.write(STREAM)
                elif head.startswith(b"POST"):
                    await self._posted(json.loads(body), writer)
                else:
                    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _posted(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        answer = {"jsonrpc": "2.0", "id": message.get("id")}
        if message["method"] == "initialize":
            info = {"name": "bench", "version": "1"}
            result = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info, "authMethods": []}
            body = json.dumps({**answer, "result": result}).encode()
            head = b"HTTP/1.1 200 OK\r\nacp-connection-id: 1\r\ncontent-type: application/json\r\n"
            writer.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
            return
        writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
        if message["method"] == "session/new":
            done = {**answer, "result": {"sessionId": SESSION}}
            self._streams[""].write(chunked(events([json.dumps(done).encode()], 1)))
        elif message["method"] == "session/prompt":
            stream = self._streams[SESSION]
            for at in range(0, len(self._updates), 200):
                data = events(self._updates[at : at + 200], self._number)
                self._number += 200
                for start in range(0, len(data), WRITE):
                    stream.write(chunked(data[start : start + WRITE]))
                await stream.drain()
            done = {**answer, "result": {"stopReason": "end_turn"}}
            stream.write(chunked(events([json.dumps(done).encode()], self._number)))


async def main(count: int, size: int) -> None:
    server = await asyncio.start_server(Server(count, size).serve, "127.0.0.1", 0, limit=2**20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))

"""A hub seen from outside: its ASGI application, its journal on disk, and an agent that a test plays.

Clients come as WebSockets, without a network: a `Socket` gives the application its events and keeps what it
sends. The moment in which the hub takes a message is known, so that a test can say which answer came first. A
`WireSocket` comes over a real listener, and can break off in the middle of a message. Nothing here looks into
the hub.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from dragoman.testing.pace import deadline
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.channel import DirectChannel
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.api.app import HubApp
from dragoman_hub.api.listener import open_listener, open_socket
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Admission, Grant, hash_token, local_hosts, new_token
from dragoman_hub.hub import Hub
from dragoman_local.journal.sqlite import open_journal

WITHIN = 20.0
OPTIONS = {"once": "allow_once", "always": "allow_always", "no": "reject_once", "never": "reject_always"}
"""Every question offers these, under these ids."""

QUESTION = re.compile(r"question-(\d+)")
"""How a question is found again in the words of every dialect."""

Frame = dict[str, Any]


class ScriptedAgent:
    """Does what a test says, and keeps every answer to what it asked, with the moment in which it came."""

    def __init__(self, tick: Callable[[], int], folder: Path) -> None:
        self.file = folder / "note.txt"
        """What it reads."""
        self.session = ""
        """The session that was made last."""
        self.prompts: dict[str, Any] = {}
        """Sessions with a prompt that has no answer: its id."""
        self.answers: dict[int, list[tuple[int, Any]]] = {}
        self.news = asyncio.Event()
        self._tick = tick
        self._sessions = 0
        self._cancelled: set[str] = set()
        self._session_of: dict[int, str] = {}

    async def open(self) -> DirectChannel:
        ours, self._transport = memory_pair()
        self._transport.start(self)
        return DirectChannel(ours)

    # What the hub says.

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            message = json.loads(line)
            if "method" in message:
                self._hear(message)
            else:
                number = int(str(message["id"]).removeprefix("question-"))
                self.answers[number].append((self._tick(), message.get("result", message.get("error"))))
                self._end_if_cancelled(self._session_of[number])
        self.news.set()

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        self.news.set()

    def _hear(self, message: Frame) -> None:
        params, request_id = message.get("params", {}), message.get("id")
        match message["method"]:
            case "initialize":
                info = {"name": "scripted", "version": "1"}
                self._answer(request_id, {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": info})
            case "session/new":
                self._sessions += 1
                self.session = f"scripted-{self._sessions}"
                self._answer(request_id, {"sessionId": self.session})
            case "session/prompt":
                self.prompts[params["sessionId"]] = request_id
            case "session/cancel":
                self._cancelled.add(params["sessionId"])
                self._end_if_cancelled(params["sessionId"])

    # What it says.

    def say(self, session: str, text: str) -> None:
        block = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "content": block}
        self._write(method="session/update", params={"sessionId": session, "update": update})

    def announce(self, session: str, number: int) -> None:
        """Say what tool call a question is going to be about."""
        name = f"question-{number}"
        update = {"sessionUpdate": "tool_call", "toolCallId": name, "title": name, "kind": "execute"}
        self._write(method="session/update", params={"sessionId": session, "update": update})

    def ask(self, session: str, number: int, kind: str) -> None:
        self.answers[number], self._session_of[number] = [], session
        name = f"question-{number}"
        if kind == "permission":
            options = [{"optionId": name, "name": name, "kind": kind} for name, kind in OPTIONS.items()]
            call = {"toolCallId": name, "title": name, "kind": "execute", "status": "pending"}
            params: Frame = {
                "toolCall": {**call, "rawInput": {"command": f"touch {name}"}},
                "options": options,
            }
            method = "session/request_permission"
        elif kind == "file":
            params = {"path": str(self.file)}
            method = "fs/read_text_file"
        else:
            schema = {"type": "object", "properties": {"word": {"type": "string"}}}
            params = {"mode": "form", "message": name, "requestedSchema": schema}
            method = "elicitation/create"
        self._write(id=name, method=method, params={"sessionId": session, **params})

    def end(self, session: str) -> None:
        self._answer(self.prompts.pop(session), {"stopReason": "end_turn"})

    def _end_if_cancelled(self, session: str) -> None:
        """As agents do: what was asked is answered first, then the turn ends."""
        is_open = any(not self.answers[one] for one, of in self._session_of.items() if of == session)
        if session in self._cancelled and session in self.prompts and not is_open:
            self._cancelled.discard(session)
            self._answer(self.prompts.pop(session), {"stopReason": "cancelled"})

    def _answer(self, request_id: Any, result: Frame) -> None:
        self._write(id=request_id, result=result)

    def _write(self, **members: Any) -> None:
        self._transport.write(json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n")


class Socket:
    """One WebSocket to the hub. `hear` gets every frame that the hub sends."""

    def __init__(self, house: House, hear: Callable[[Frame], None], *, dialect: str = "") -> None:
        self._house = house
        self._hear = hear
        self._events: asyncio.Queue[tuple[Frame, Callable[[], None] | None]] = asyncio.Queue()
        self._events.put_nowait(({"type": "websocket.connect"}, None))
        self.is_closed_by_hub = False
        self.is_left = False
        serving = house.app(house.scope(dialect), self._take, self._send)
        self._task = asyncio.get_running_loop().create_task(serving)

    def say(self, frame: Frame, on_taken: Callable[[], None] | None = None) -> None:
        """`on_taken` is called in the moment in which the hub takes it."""
        self._events.put_nowait(({"type": "websocket.receive", "text": json.dumps(frame)}, on_taken))

    async def leave(self, *, code: int = 1000) -> None:
        """Go in an orderly way, or with 1006 as a connection that is cut: what is on its way is lost then."""
        self.is_left = True
        while code == 1006 and not self._events.empty():
            self._events.get_nowait()
        self._events.put_nowait(({"type": "websocket.disconnect", "code": code}, None))
        async with deadline(WITHIN):
            await self._task

    async def _take(self) -> Frame:
        event, on_taken = await self._events.get()
        if on_taken is not None:
            on_taken()
        return event

    async def _send(self, event: Frame) -> None:
        if event["type"] == "websocket.send" and not self.is_left:
            self._hear(json.loads(event["text"]))
            self._house.news.set()
        elif event["type"] == "websocket.close":
            self.is_closed_by_hub = not self.is_left
            self._house.news.set()


class WireSocket:
    """The same over TCP, written by hand: RFC 6455 without extensions."""

    def __init__(self, house: House, hear: Callable[[Frame], None], *, dialect: str = "") -> None:
        self._house = house
        self._hear = hear
        self._dialect = dialect
        self.is_closed_by_hub = False
        self._said: list[bytes] = []
        self._writer: asyncio.StreamWriter | None = None
        self._task = asyncio.get_running_loop().create_task(self._run())

    def say(self, frame: Frame, on_taken: Callable[[], None] | None = None) -> None:
        self._write(_masked(0x81, json.dumps(frame).encode()))

    async def break_off(self, frame: Frame) -> None:
        """Say the beginning of a frame, and be gone. Returns when the hub knows."""
        text = json.dumps(frame).encode()
        assert self._writer is not None
        self._write(_masked(0x01, text[: len(text) // 2]))
        await self._writer.drain()
        self._writer.transport.abort()
        async with deadline(WITHIN):
            await self._task
            await self._house.served[self._dialect].wait()

    def _write(self, data: bytes) -> None:
        if self._writer is None:
            self._said.append(data)
        else:
            self._writer.write(data)

    async def _run(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._house.port)
        key = b64encode(b"sixteen bytes, ok").decode()[:22] + "=="
        upgrade = {"upgrade": "websocket", "connection": "Upgrade", "sec-websocket-version": "13"}
        headers = {**upgrade, "sec-websocket-key": key, **self._house.headers}
        lines = [f"GET /acp?{self._house.query(self._dialect)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head
        self._writer = writer
        writer.writelines(self._said)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                opcode, payload = await _read_message(reader)
                if opcode == 1:
                    self._hear(json.loads(payload))
                    self._house.news.set()
        with contextlib.suppress(OSError):
            await writer.wait_closed()


def _masked(first: int, payload: bytes) -> bytes:
    size = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes([first]) + size + bytes(4) + payload  # a mask of zeros changes nothing


async def _read_message(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    first, size = await reader.readexactly(2)
    if size >= 126:
        size = int.from_bytes(await reader.readexactly(2 if size == 126 else 8), "big")
    return first & 0x0F, await reader.readexactly(size)


class House:
    """The hub and its agent."""

    def __init__(self, app: HubApp, agent: ScriptedAgent, token: str, folder: Path, port: int = 1) -> None:
        self.app = app
        self.agent = agent
        self.port = port
        self.served: dict[str, asyncio.Event] = {}
        """Connections over the network that the hub has let go of, by their dialects."""
        self.folder = folder
        self.news = agent.news
        self._token = token

    @property
    def headers(self) -> dict[str, str]:
        return {"host": f"127.0.0.1:{self.port}", "authorization": f"Bearer {self._token}"}

    def query(self, dialect: str) -> str:
        return f"cwd={self.folder}" + (f"&dialect={dialect}" if dialect else "")

    def scope(self, dialect: str) -> Frame:
        headers = [(name.encode(), value.encode()) for name, value in self.headers.items()]
        query = self.query(dialect).encode()
        return {"type": "websocket", "path": "/acp", "query_string": query, "headers": headers}

    async def serve(self, scope: Any, receive: Any, send: Any) -> None:
        """The application for a listener; it says when it is through with a connection."""
        dialect = parse_qs(scope.get("query_string", b"").decode()).get("dialect", [""])[0]
        self.served[dialect] = asyncio.Event()
        try:
            await self.app(scope, receive, send)
        finally:
            self.served[dialect].set()

    async def until(self, is_so: Callable[[], object], what: str) -> None:
        """Wait until something is so; what is waited for is in the error if it never is."""
        try:
            async with deadline(WITHIN):
                while not is_so():
                    self.news.clear()
                    await self.news.wait()
        except TimeoutError:
            raise AssertionError(f"waited in vain: {what}") from None


class Ticks:
    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now


@asynccontextmanager
async def listening_house(folder: Path) -> AsyncIterator[House]:
    """One with a listener, for a `WireSocket`."""
    bound = open_socket("127.0.0.1", 0, tls=None, insecure=False)
    async with open_house(folder, port=bound.getsockname()[1]) as house, open_listener(house.serve, bound):
        yield house


@asynccontextmanager
async def open_house(
    folder: Path, tick: Callable[[], int] | None = None, *, port: int = 1, expire: float = 0.0
) -> AsyncIterator[House]:
    """`expire`: seconds until a question is rejected that nobody answers; 0 never."""
    agent = ScriptedAgent(tick or Ticks(), folder)
    spec = AgentSpec(name="scripted", open=agent.open)
    options = HubOptions(default_agent="scripted", expire=expire)
    token = new_token()
    admission = Admission({hash_token(token): Grant("owner")}, hosts=local_hosts(port))
    async with (
        open_journal(folder / "hub.db", durability="normal") as journal,
        Hub(journal, {"scripted": spec}, options=options) as hub,
    ):
        yield House(HubApp(hub, admission), agent, token, folder, port)

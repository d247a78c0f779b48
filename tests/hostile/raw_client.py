"""A client on raw JSON over a WebSocket, with nothing but the standard library, and the person behind it.

A person is a rule of thumb: one permits nothing, one the first thing alone, one whatever does not show the
word `evil`. So an effect on disk says that nobody was asked, or that it was shown as something else.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dragoman.testing.pace import deadline

Message = dict[str, Any]
Answer = Callable[["Question", int], str | None]
"""The id of an option, or None for no answer at all; it knows how many questions came before."""

EVIL = "evil"


@dataclass(frozen=True)
class Question:
    """One request for permission, as a client gets it."""

    session: str
    params: Message
    number: object

    @property
    def shown(self) -> str:
        """Everything of it that a client could show; the person has eyes for all of it."""
        call = {name: value for name, value in self.params.items() if name not in ("_meta", "sessionId")}
        return json.dumps(call, ensure_ascii=False)


def never(question: Question, earlier: int) -> str | None:
    """Permits nothing: an effect was permitted by rules alone."""
    return "no"


def careful(question: Question, earlier: int) -> str | None:
    """Permits what shows nothing evil."""
    return "no" if EVIL in question.shown.lower() else "yes"


def first_only(question: Question, earlier: int) -> str | None:
    """Permits the first thing, once, and nothing after it."""
    return "no" if earlier else "yes"


def agent_first(question: Question, earlier: int) -> str | None:
    """The same, if the agent asks it: what the hub asks before it lends something is refused."""
    is_of_hub = str(question.params["toolCall"]["toolCallId"]).startswith("hub-")
    return "no" if earlier or is_of_hub else "yes"


def first_for_good(question: Question, earlier: int) -> str | None:
    """Permits the first thing for good, and nothing after it."""
    return "no" if earlier else "always"


def late(question: Question, earlier: int) -> str | None:
    """Leaves the first question open until the second one comes, and then refuses both."""
    return "no" if earlier else None


@dataclass
class Person:
    """Who answers in one session, and what it was asked."""

    answer: Answer
    questions: list[Question] = field(default_factory=list)
    open: list[Question] = field(default_factory=list)
    """Those without an answer; the next answer is for all of them."""


class RawClient:
    """One connection to a hub; sessions share it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._answers: dict[int, asyncio.Future[Message]] = {}
        self._last = 0
        self.people: dict[str, Person] = {}
        self.heard: list[Message] = []
        self.anybody = Person(never)
        self._task = asyncio.get_running_loop().create_task(self._listen())

    @classmethod
    async def connect(cls, port: int, token: str, *, agent: str = "") -> RawClient:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**26)
        key = base64.b64encode(os.urandom(16)).decode()
        path = "/acp" + (f"?agent={agent}" if agent else "")
        lines = (
            f"GET {path} HTTP/1.1",
            f"Host: 127.0.0.1:{port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {key}",
            "Sec-WebSocket-Version: 13",
            f"Authorization: Bearer {token}",
        )
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b" 101 " in head.splitlines()[0], head
        client = cls(reader, writer)
        await client.request(
            "initialize",
            {"protocolVersion": 1, "clientCapabilities": {}, "_meta": {"dragoman": {"cursors": True}}},
            seconds=30,
        )
        return client

    async def aclose(self) -> None:
        self._task.cancel()
        self._writer.close()
        await asyncio.gather(self._task, return_exceptions=True)
        await asyncio.gather(self._writer.wait_closed(), return_exceptions=True)

    def send(self, message: Message) -> None:
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        size = len(data)
        head = b"\x81"
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 65536:
            head += bytes([0x80 | 126]) + struct.pack("!H", size)
        else:
            head += bytes([0x80 | 127]) + struct.pack("!Q", size)
        self._writer.write(head + bytes(4) + data)  # a mask of zeros leaves the text as it is

    async def request(self, method: str, params: Message, *, seconds: float = 20) -> Message:
        """The whole answer, result or error."""
        self._last += 1
        number = self._last
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        self.send({"id": number, "method": method, "params": params})
        async with deadline(seconds):
            answer: Message = await future
        return answer

    async def new_session(self, folder: str, person: Person) -> str:
        answer = await self.request("session/new", {"cwd": folder, "mcpServers": []})
        assert "result" in answer, answer
        session: str = answer["result"]["sessionId"]
        self.people[session] = person
        return session

    async def prompt(self, session: str, steps: list[Message], *, seconds: float = 60) -> Message:
        text = {"type": "text", "text": json.dumps(steps)}
        return await self.request("session/prompt", {"sessionId": session, "prompt": [text]}, seconds=seconds)

    def words(self, session: str, *, since: int = 0) -> str:
        """What the agent said there."""
        updates = [
            message["params"]["update"]
            for message in self.heard[since:]
            if message["method"] == "session/update" and message["params"]["sessionId"] == session
        ]
        chunks = [each for each in updates if each["sessionUpdate"] == "agent_message_chunk"]
        return " ".join(each["content"]["text"] for each in chunks)

    async def _listen(self) -> None:
        while True:
            text = await self._read_text()
            if text is None:
                return
            message = json.loads(text)
            if "method" not in message:
                if (future := self._answers.pop(message["id"], None)) is not None:
                    future.set_result(message)
                continue
            self.heard.append(message)
            if "id" in message:
                self._answer(message)

    def _answer(self, message: Message) -> None:
        params = message["params"]
        if message["method"] != "session/request_permission":
            self.send({"id": message["id"], "error": {"code": -32601, "message": "not here"}})
            return
        person = self.people.get(params["sessionId"], self.anybody)
        question = Question(params["sessionId"], params, message["id"])
        option = person.answer(question, len(person.questions))
        person.questions.append(question)
        person.open.append(question)
        if option is not None:
            for each in person.open:
                self.choose(each, option)
            person.open.clear()

    def choose(self, question: Question, option: str) -> None:
        """Answers with the option of this id, or the one of the same sense."""
        kind = {"yes": "allow_once", "always": "allow_always", "no": "reject_once"}[option]
        offered = question.params["options"]
        chosen = next((each["optionId"] for each in offered if each["optionId"] == option), None)
        if chosen is None:
            chosen = next((each["optionId"] for each in offered if each["kind"] == kind), None)
        outcome = {"outcome": "selected", "optionId": chosen} if chosen else {"outcome": "cancelled"}
        self.send({"id": question.number, "result": {"outcome": outcome}})

    async def _read_text(self) -> bytes | None:
        text = b""
        while True:
            try:
                first, second = await self._reader.readexactly(2)
                size = second & 0x7F
                if size >= 126:
                    width = 2 if size == 126 else 8
                    size = int.from_bytes(await self._reader.readexactly(width), "big")
                data = await self._reader.readexactly(size)
            except (asyncio.IncompleteReadError, ConnectionError):
                return None
            if first & 0x0F == 8:
                return None
            if first & 0x0F == 9:
                self._writer.write(bytes([0x8A, 0x80 | len(data)]) + bytes(4) + data)
                continue
            if first & 0x0F == 10:
                continue
            text += data
            if first & 0x80:
                return text

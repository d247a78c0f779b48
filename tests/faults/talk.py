"""A client made of bytes: it sends what a test wants, keeps every message that comes back, and believes none.

Each line of the agent's output must be one whole message of JSON-RPC, whatever was done to the agent; the
first that is not fails the test. Nothing here uses the SDK, so nothing here can share its mistakes.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, TypeAlias

from dragoman.testing import RawPeer

Message: TypeAlias = dict[str, Any]

PATIENCE = 10.0
"""Seconds for what should be instant: the machine may be busy."""

PARSE, INVALID, UNKNOWN, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
CANCELLED, NOT_FOUND = -32800, -32002


def request(request_id: Any, method: str, params: Any = None) -> Message:
    frame = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return frame if params is None else {**frame, "params": params}


def notification(method: str, params: Any = None) -> Message:
    frame = {"jsonrpc": "2.0", "method": method}
    return frame if params is None else {**frame, "params": params}


def prompt(request_id: Any, session: str, text: str) -> Message:
    blocks = [{"type": "text", "text": text}]
    return request(request_id, "session/prompt", {"sessionId": session, "prompt": blocks})


def cancel(session: str) -> Message:
    return notification("session/cancel", {"sessionId": session})


def cancel_request(request_id: Any) -> Message:
    return notification("$/cancel_request", {"requestId": request_id})


def line(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"


def same_id(one: Any, other: Any) -> bool:
    """`1`, `1.0`, `true` and `"1"` are four ids."""
    return type(one) is type(other) and bool(one == other)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)  # made once: hundreds of thousands of lines are read


def read(text: bytes) -> Message:
    """One line of output, which has to be one message."""
    try:
        message = _DECODER.decode(text.decode())
    except ValueError as error:
        raise AssertionError(f"no JSON on stdout ({error}): {text[:200]!r}") from None
    assert isinstance(message, dict), f"no object on stdout: {text[:200]!r}"
    assert message.get("jsonrpc") == "2.0", f"no message on stdout: {text[:200]!r}"
    if "method" not in message:
        assert "id" in message, f"an answer without an id: {text[:200]!r}"
        assert ("result" in message) != ("error" in message), f"no answer: {text[:200]!r}"
    return message


def code(answer: Message) -> int | None:
    """The code of an error; None for a result."""
    return answer["error"]["code"] if "error" in answer else None


def chunk(message: Message, session: str) -> str:
    """The agent's words in an update of this session, or nothing."""
    if message.get("method") != "session/update" or message["params"]["sessionId"] != session:
        return ""
    update = message["params"]["update"]
    return str(update["content"]["text"]) if update["sessionUpdate"] == "agent_message_chunk" else ""


class Talk:
    """A conversation with one agent."""

    def __init__(self, peer: RawPeer) -> None:
        self.peer = peer
        self.heard: list[Message] = []
        """Everything that was read so far, in order."""
        self.session = ""
        """The session that `opening` has made."""
        self._ids = map("t{}".format, count(1))

    def fresh_id(self) -> str:
        return next(self._ids)

    async def next(self, *, seconds: float = PATIENCE) -> Message:
        message = read(await self.peer.read_line(seconds=seconds))
        self.heard.append(message)
        return message

    async def until(
        self, wanted: Callable[[Message], bool], *, since: int = 0, seconds: float = PATIENCE
    ) -> Message:
        """The first message that is wanted, among what was heard from `since` on or comes within the time."""
        for message in self.heard[since:]:
            if wanted(message):
                return message
        while not wanted(message := await self.next(seconds=seconds)):
            pass
        return message

    async def answer_to(self, request_id: Any, *, since: int = 0, seconds: float = PATIENCE) -> Message:
        def is_it(message: Message) -> bool:
            return "method" not in message and same_id(message["id"], request_id)

        return await self.until(is_it, since=since, seconds=seconds)

    async def answers_to(self, request_ids: Collection[Any], *, seconds: float = PATIENCE) -> list[Message]:
        """The answers to many requests, in the order of the ids; they may come in any."""
        found = {m["id"]: m for m in self.heard if "method" not in m}
        wanted = set(request_ids)
        while missing := wanted - found.keys():
            for _ in range(len(missing)):
                message = await self.next(seconds=seconds)
                if "method" not in message:
                    found[message["id"]] = message
        return [found[request_id] for request_id in request_ids]

    async def asked(self, method: str, *, since: int = 0) -> Message:
        """A request of the agent."""
        return await self.until(lambda m: m.get("method") == method and "id" in m, since=since)

    async def said(self, text: str, *, session: str | None = None) -> Message:
        """An update of the session with these words in it."""
        return await self.until(lambda m: text in chunk(m, self._named(session)))

    async def ask(self, method: str, params: Any = None, *, seconds: float = PATIENCE) -> Message:
        request_id, since = self.fresh_id(), len(self.heard)
        await self.peer.send(request(request_id, method, params), seconds=seconds)
        return await self.answer_to(request_id, since=since, seconds=seconds)

    async def replies(self, *frames: bytes | Message, seconds: float = PATIENCE) -> list[Message]:
        """All that the agent says to `frames`: what comes before the answer to a request sent behind them.

        That the request is answered is the proof that the agent has survived.
        """
        since, ping = len(self.heard), self.fresh_id()
        await self.peer.send(*frames, request(ping, "_ping"), seconds=seconds)
        pong = await self.answer_to(ping, since=since, seconds=seconds)
        assert code(pong) == UNKNOWN
        return self.heard[since:-1]

    async def initialize(self, **extra: Any) -> Message:
        return await self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}, **extra})

    async def new_session(self, **extra: Any) -> str:
        answer = await self.ask("session/new", {"cwd": "/tmp", "mcpServers": [], **extra})
        await self.replies()  # what an agent says about a new session is no reply to what comes next
        return str(answer["result"]["sessionId"])

    async def turn(
        self, text: str, *, session: str | None = None, seconds: float = PATIENCE
    ) -> tuple[Message, str]:
        """A whole turn: its answer, and what the agent said in it."""
        request_id, since = self.fresh_id(), len(self.heard)
        await self.peer.send(prompt(request_id, self._named(session), text), seconds=seconds)
        answer = await self.answer_to(request_id, since=since, seconds=seconds)
        return answer, self.words(session, since=since)

    async def echoes(self, text: str = "still here", *, session: str | None = None) -> None:
        """It is alive and well: a turn gives back the text."""
        answer, said = await self.turn(text, session=session)
        assert answer["result"] == {"stopReason": "end_turn"}
        assert said == f"You said: {text}"

    def words(self, session: str | None = None, *, since: int = 0) -> str:
        """What the agent said in a session."""
        return "".join(chunk(message, self._named(session)) for message in self.heard[since:])

    def _named(self, session: str | None) -> str:
        return self.session if session is None else session


@asynccontextmanager
async def starting(command: Sequence[str], **kwargs: Any) -> AsyncIterator[Talk]:
    """A new agent that was told nothing yet."""
    async with RawPeer(command, **kwargs) as peer:
        yield Talk(peer)


@asynccontextmanager
async def opening(command: Sequence[str], **kwargs: Any) -> AsyncIterator[Talk]:
    """A new agent, initialized, with a session."""
    async with starting(command, **kwargs) as talk:
        await talk.initialize()
        talk.session = await talk.new_session()
        yield talk

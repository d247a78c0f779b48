"""Clients of eight dialects with a person at each: what the person sees, and how it answers.

A member speaks its dialect on a raw WebSocket and shares no code with the interpreters. It keeps each
question as its person sees it: how often it was asked, how often it heard that the question is over.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, ClassVar, TypeAlias

from tests.hub.company.house import QUESTION, Frame, House, Socket, WireSocket

WORD = re.compile(r"word-(\d+)\.")
FORM: Frame = {"elicitation": {"form": {}}}
PERMISSION, ELICITATION = "permission", "elicitation"


Connect: TypeAlias = type[Socket] | type[WireSocket]


class Seen:
    """One question, as a person at one connection sees it."""

    def __init__(self) -> None:
        self.handle: Any = None
        """What an answer has to name; None as long as it was not asked."""
        self.asked = self.ended = self.notices = 0
        self.has_answered = False
        self.kind = PERMISSION


class Member:
    """One connection; whoever comes back is a new member."""

    dialect: ClassVar[str]
    can_ask: ClassVar[frozenset[str]] = frozenset({PERMISSION})
    """What it can put to its person."""
    hears_notices = False
    """Whether its dialect has words for a question that it cannot be asked."""
    capabilities: ClassVar[Frame] = {}

    def __init__(self, house: House, *, connect: Connect = Socket, is_named: bool = True) -> None:
        """`is_named`: whether its address names its dialect, or the hub has to find out."""
        self.house = house
        self.seen: dict[int, Seen] = {}
        self.words: list[int] = []
        self.requests: list[str] = []
        """The methods that it was asked for."""
        self.unable: set[str] = set()
        """What it said that it does not know."""
        self.session = ""
        self._answers: dict[Any, Frame] = {}
        self._id = 0
        named = self.dialect if is_named and self.dialect != "v1" else ""
        self.socket: Any = connect(house, self._hear, dialect=named)

    # Coming.

    async def join(self, session: str = "") -> None:
        """Begin, and open the session, or make one."""
        await self.call("initialize", self.greeting())
        folder = str(self.house.folder)
        setup = {"cwd": folder, "mcpServers": []}
        if session:
            await self.call("session/load", {"sessionId": session, **setup})
        self.session = session or (await self.call("session/new", setup))["sessionId"]

    def greeting(self) -> Frame:
        info = {"name": f"member-{self.dialect}", "version": "1"}
        return {"protocolVersion": 1, "clientCapabilities": self.capabilities, "clientInfo": info}

    async def call(self, method: str, params: Any) -> Any:
        answer = await self.answer_to(self.ask(method, params), method)
        assert "result" in answer, (self.dialect, method, answer)
        return answer["result"]

    async def answer_to(self, request: int, method: str) -> Frame:
        await self.house.until(lambda: request in self._answers, f"{self.dialect}: an answer to {method}")
        return self._answers.pop(request)

    def ask(self, method: str, params: Any) -> int:
        self._id += 1
        self.say({"id": self._id, "method": method, "params": params})
        return self._id

    def say(self, frame: Frame, on_taken: Any = None) -> None:
        self.socket.say({"jsonrpc": "2.0", **frame}, on_taken)

    # What the person does.

    def prompt(self, text: str = "go") -> int:
        """The id of the request."""
        blocks = [{"type": "text", "text": text}]
        return self.ask("session/prompt", {"sessionId": self.session, "prompt": blocks})

    def cancel(self, on_taken: Any) -> bool:
        """False if the dialect has no word for it."""
        self.say({"method": "session/cancel", "params": {"sessionId": self.session}}, on_taken)
        return True

    def answer(self, number: int, choice: str, on_taken: Any = None) -> None:
        """`choice` is one of the options, or `cancelled`; a form is filled in, or cancelled."""
        self.seen[number].has_answered = True
        self.say(self.answer_frame(number, choice), on_taken)

    def answer_frame(self, number: int, choice: str) -> Frame:
        seen = self.seen[number]
        if seen.kind == ELICITATION:
            accepted = {"action": "accept", "content": {"word": choice}}
            result: Frame = {"action": "cancel"} if choice == "cancelled" else accepted
        elif choice == "cancelled":
            result = {"outcome": {"outcome": "cancelled"}}
        else:
            result = {"outcome": {"outcome": "selected", "optionId": choice}}
        return {"id": seen.handle, "result": result}

    def give_no_answer(self, number: int, how: str) -> None:
        """Say something that is no answer: an error, or a choice that was not offered."""
        seen = self.seen[number]
        seen.has_answered = True
        if how == "unknown":
            self.unable.add(seen.kind)
            self.say({"id": seen.handle, "error": {"code": -32601, "message": "Method not found"}})
        elif how == "error":
            self.say({"id": seen.handle, "error": {"code": -32603, "message": "Internal error"}})
        else:
            wrong = {"outcome": {"outcome": "selected", "optionId": "sure"}, "action": "sure"}
            self.say({"id": seen.handle, "result": wrong})

    # What the person sees.

    def _hear(self, frame: Frame) -> None:
        self.words += [int(word) for word in WORD.findall(str(frame))]
        if "method" in frame:
            self.requests += [frame["method"]] if "id" in frame else []
            self.hear(frame)
        else:
            self._answers[frame["id"]] = frame

    def hear(self, frame: Frame) -> None:
        found = QUESTION.search(str(frame))
        if frame["method"] == "$/cancel_request":
            for seen in self.seen.values():
                seen.ended += seen.handle == frame["params"]["requestId"]
        elif found and frame["method"] in ("session/request_permission", "elicitation/create"):
            seen = self.question(int(found[1]))
            if "id" in frame:
                seen.asked += 1
                seen.handle = frame["id"]
            else:
                seen.notices += 1
            seen.kind = PERMISSION if "permission" in frame["method"] else ELICITATION

    def question(self, number: int) -> Seen:
        return self.seen.setdefault(number, Seen())


class PlainMember(Member):
    dialect = "v1"
    can_ask = frozenset({PERMISSION, ELICITATION})
    capabilities = FORM


class QuirkyMember(PlainMember):
    """One that the hub knows for its mistakes, so that an interpreter stands before it."""

    def greeting(self) -> Frame:
        return {**super().greeting(), "clientInfo": {"name": "example-client", "version": "1"}}


class KoogMember(Member):
    dialect = "koog"


class HavenMember(Member):
    dialect = "haven"
    can_ask = frozenset({PERMISSION, ELICITATION})
    capabilities = FORM

    def greeting(self) -> Frame:
        return {"protocolVersion": 1, "capabilities": self.capabilities}


class LegacyMember(HavenMember):
    dialect = "haven-legacy"
    can_ask = frozenset()
    hears_notices = True
    capabilities: ClassVar[Frame] = {}


class AcpexMember(HavenMember):
    dialect = "acpex"
    can_ask = frozenset()
    hears_notices = True
    capabilities: ClassVar[Frame] = {}

    def hear(self, frame: Frame) -> None:
        found = QUESTION.search(str(frame))
        if found and frame["method"] == "session/update":
            self.question(int(found[1])).notices += 1  # a tool call that nobody had announced
        else:
            super().hear(frame)


class SecondMember(Member):
    """Of the protocol's version 2."""

    dialect = "v2"
    can_ask = frozenset({PERMISSION, ELICITATION})

    async def join(self, session: str = "") -> None:
        info = {"name": "member-v2", "version": "1"}
        await self.call("initialize", {"protocolVersion": 2, "capabilities": FORM, "info": info})
        setup = {"cwd": str(self.house.folder), "mcpServers": []}
        if session:
            await self.call(
                "session/resume", {"sessionId": session, "replayFrom": {"type": "start"}, **setup}
            )
        self.session = session or (await self.call("session/new", setup))["sessionId"]


class CrowMember(Member):
    dialect = "crow"

    async def join(self, session: str = "") -> None:
        info = {"name": "member-crow", "version": "1"}
        greeting = {"protocol_version": 1, "client_capabilities": {}, "client_info": info}
        await self.call("initialize", greeting)
        folder = str(self.house.folder)
        if session:
            await self.call("session/load", {"session_id": session, "cwd": folder})
        self.session = (
            session or (await self.call("session/new", {"cwd": folder, "mcp_servers": []}))["sessionId"]
        )

    def prompt(self, text: str = "go") -> int:
        blocks = [{"type": "text", "text": text}]
        return self.ask("session/prompt", {"session_id": self.session, "prompt": blocks})

    def cancel(self, on_taken: Any) -> bool:
        self._id += 1
        self.say({"id": self._id, "method": "cancel", "params": {"session_id": self.session}}, on_taken)
        return True

    def give_no_answer(self, number: int, how: str) -> None:
        self.say(self.answer_frame(number, "sure"))  # and may answer still

    def answer_frame(self, number: int, choice: str) -> Frame:
        self._id += 1
        which = {"outcome": "cancelled"} if choice == "cancelled" else {"option_id": choice}
        params = {"session_id": self.session, "tool_call_id": self.seen[number].handle, **which}
        return {"id": self._id, "method": "permission_response", "params": params}

    def hear(self, frame: Frame) -> None:
        update = frame["params"]["update"] if frame["method"] == "session/update" else {}
        found = QUESTION.search(str(update.get("tool_call_id", "")))
        if found and update["@type"] == "permission_request":
            seen = self.question(int(found[1]))
            seen.asked += 1
            seen.handle = update["tool_call_id"]
        elif found and update["@type"] == "permission_response":
            self.question(int(found[1])).ended += 1


class ThreadsMember(Member):
    dialect = "threads"
    can_ask = frozenset()

    async def join(self, session: str = "") -> None:
        if session:
            await self.call("openThread", {"threadId": session})
        self.session = session or (await self.call("createThread", None))["threadId"]

    def prompt(self, text: str = "go") -> int:
        message = {"role": "user", "chunks": [{"type": "text", "chunk": text}]}
        return self.ask("sendMessage", {"threadId": self.session, "message": message})

    def cancel(self, on_taken: Any) -> bool:
        return False

    def say(self, frame: Frame, on_taken: Any = None) -> None:
        self.socket.say(frame, on_taken)

    def hear(self, frame: Frame) -> None:
        assert not QUESTION.search(str(frame)), "it has no words for questions"
        self.say({"id": frame["id"], "result": None})


MEMBERS: tuple[type[Member], ...] = (
    PlainMember,
    SecondMember,
    CrowMember,
    ThreadsMember,
    HavenMember,
    LegacyMember,
    KoogMember,
    AcpexMember,
)


FOUND: tuple[type[Member], ...] = (SecondMember, CrowMember)
"""Those whose dialect the hub finds out by itself."""


class Inbox:
    """A person who follows no session and answers from the list of what is open."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.names: dict[int, str] = {}
        self.asked: list[int] = []
        self.settled: list[int] = []
        self._ids: dict[str, int] = {}
        self._answers: dict[int, Frame] = {}
        self._on_answer: dict[int, Any] = {}
        self._id = 0
        self.socket = Socket(house, self._hear)

    async def open(self) -> None:
        ours = {"dragoman": {"events": True}}
        await self._call("initialize", {"protocolVersion": 1, "clientCapabilities": {}, "_meta": ours})
        await self._call("_dragoman/hub/watch", {})

    async def _call(self, method: str, params: Frame) -> Any:
        request = self._ask(method, params)
        await self.house.until(lambda: request in self._answers, f"inbox: an answer to {method}")
        return self._answers[request]["result"]

    async def open_questions(self) -> list[int]:
        """What the list shows."""
        listed = (await self._call("_dragoman/hub/inbox", {}))["requests"]
        for request in listed:
            self._learn(request)
        return [self._ids[one["sessionId"] + one["request"]] for one in listed]

    def answer(
        self, session: str, number: int, choice: str, on_taken: Any, on_answer: Any, *, kind: str
    ) -> None:
        """`on_answer` hears whether this answer was the one that counts."""
        if kind == ELICITATION:
            result: Frame = {"action": "accept", "content": {"word": choice}}
        else:
            result = {"outcome": {"outcome": "selected", "optionId": choice}}
        params = {"sessionId": session, "request": self.names[number], "result": result}
        self._on_answer[self._ask("_dragoman/hub/answer", params, on_taken)] = on_answer

    def _ask(self, method: str, params: Frame, on_taken: Any = None) -> int:
        self._id += 1
        frame = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.socket.say(frame, on_taken)
        return self._id

    def _hear(self, frame: Frame) -> None:
        if "method" not in frame:
            self._answers[frame["id"]] = frame
            if (on_answer := self._on_answer.get(frame["id"])) is not None:
                on_answer(frame["result"]["settled"])
        elif frame["method"] == "_dragoman/hub/asked":
            self.asked.append(self._learn(frame["params"]["request"]))
        elif frame["method"] == "_dragoman/hub/settled":
            told = frame["params"]
            self.settled.append(self._ids[told["sessionId"] + told["request"]])

    def _learn(self, request: Frame) -> int:
        found = QUESTION.search(str(request["params"]))
        assert found is not None
        number = int(found[1])
        self.names[number] = request["request"]
        self._ids[request["sessionId"] + request["request"]] = number
        return number


async def yield_some(times: int) -> None:
    """Let everybody else go on for a while that is as long as the machine makes it."""
    for _ in range(times):
        await asyncio.sleep(0)

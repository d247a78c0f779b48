"""A hub without any IO, made from docs/hub-protocol.md: it journals, renders by cursor, and knows keys.

Its agent does what its prompts say, a letter a step: `u` is an update, `q` a question that is waited for, `x`
a mistake that ends the turn with an error.
Each step is taken when the test wants it, so that a connection can be cut between any two.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]


def frame(message: Message) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"


def mark_of(params: Message) -> Message:
    found = params.get("_meta", {}).get("dragoman", {})
    assert isinstance(found, dict)
    return found


@dataclass
class Entry:
    kind: str  # prompt, update, ask, settled, ended
    text: str
    key: str = ""
    client: str = ""


@dataclass
class Turn:
    key: str
    steps: str
    client: str
    waits: str = ""  # the name of the question
    cancelled: bool = False


@dataclass
class Session:
    id: str
    journal: list[Entry] = field(default_factory=list)
    queue: list[Turn] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    open: set[str] = field(default_factory=set)  # questions
    told: list[tuple[str, ...]] = field(default_factory=list)  # what the agent heard

    def render(self, number: int) -> Message:
        return {
            "sessionId": self.id,
            "update": {"sessionUpdate": "agent_message_chunk", "n": self.journal[number].text},
        }


class Hub:
    """What is kept over all connections."""

    def __init__(self, *, is_hub: bool = True) -> None:
        self.sessions: dict[str, Session] = {}
        self.made: dict[str, str] = {}
        self.lines: list[Line] = []
        self.is_hub = is_hub
        self._names = itertools.count(1)

    def make(self, key: str = "", *, journal: list[Entry] | None = None) -> Session:
        if key and key in self.made:
            return self.sessions[self.made[key]]
        session = Session(f"s{len(self.sessions)}", journal or [])
        self.sessions[session.id] = session
        if key:
            self.made[key] = session.id
        self.add(session, Entry("update", "hello"))
        return session

    def add(self, session: Session, entry: Entry) -> None:
        session.journal.append(entry)
        for line in self.lines:
            line.follow(session)

    def prompt(self, session: Session, key: str, text: str, client: str) -> None:
        assert key not in session.known, "a prompt was to be run twice"
        session.known.add(key)
        session.queue.append(Turn(key, text, client))
        if len(session.queue) == 1:
            self._begin(session)

    def _begin(self, session: Session) -> None:
        turn = session.queue[0]
        session.told.append(("prompt", turn.key))
        self.add(session, Entry("prompt", turn.steps, turn.key, turn.client))

    def can_step(self, session: Session) -> bool:
        return bool(session.queue) and (session.queue[0].cancelled or not session.queue[0].waits)

    def step(self, session: Session) -> None:
        """The agent does the next thing."""
        turn = session.queue[0]
        if turn.cancelled:
            self._end(session, "cancelled")
        elif not turn.steps:
            self._end(session, "end_turn")
        else:
            step, turn.steps = turn.steps[0], turn.steps[1:]
            if step == "x":
                self._end(session, "error")
                return
            name = f"n{next(self._names)}"
            if step == "q":
                turn.waits = name
                session.open.add(name)
            self.add(session, Entry("ask" if step == "q" else "update", name))

    def _end(self, session: Session, reason: str) -> None:
        turn = session.queue.pop(0)
        if turn.waits:
            session.open.discard(turn.waits)
            self.add(session, Entry("settled", turn.waits, "unanswered"))
        self.add(session, Entry("ended", reason, turn.key))
        if session.queue:
            self._begin(session)

    def answer(self, session: Session, name: str, result: str) -> None:
        if name not in session.open:
            return
        session.open.discard(name)
        session.queue[0].waits = ""
        session.told.append(("answer", name, result))
        self.add(session, Entry("settled", name))

    def cancel(self, session: Session, meant: list[str] | None) -> None:
        if session.queue and (meant is None or session.queue[0].key in meant):
            session.told.append(("cancel", session.queue[0].key))
            session.queue[0].cancelled = True


class Line:
    """One connection; what it says is in `out`."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.out: list[Message] = []
        self.client = ""
        self.positions: dict[str, int] = {}
        self._announced: dict[str, set[str]] = {}  # keys whose prompts are still to come again
        self._waits: dict[str, Any] = {}  # keys → ids
        self._own: set[str] = set()  # keys of prompts that need not be told, because the client wrote them
        self._asked: dict[tuple[str, str], int] = {}
        self._ids = itertools.count(100)
        hub.lines.append(self)

    def cut(self) -> None:
        self.hub.lines.remove(self)

    # What the client says.

    def say(self, message: Message) -> None:
        params = message.get("params", {})
        if "method" not in message:
            self._answered(message)
            return
        said = getattr(self, "_" + message["method"].replace("/", "_").replace("$", ""), None)
        if said is not None:
            said(message.get("id"), params)
        elif "id" in message:
            self._answer(message["id"], {"did": message["method"]})

    def _answer(self, number: Any, result: Message) -> None:
        self.out.append({"id": number, "result": result})

    def _initialize(self, number: Any, params: Message) -> None:
        assert not self.client, "introduced twice"
        self.client = str(mark_of(params)["client"])
        self._answer(
            number, {"protocolVersion": 1, "_meta": {"dragoman": {"hub": "0"}} if self.hub.is_hub else {}}
        )

    def _session_new(self, number: Any, params: Message) -> None:
        """One that is known by its key is only shown from now on, as any that somebody joins."""
        key = str(mark_of(params)["key"])
        known = key in self.hub.made
        session = self.hub.make(key)
        self._answer(number, {"sessionId": session.id})
        self.positions.setdefault(session.id, len(session.journal) if known else 0)
        self.follow(session)

    def _session_load(self, number: Any, params: Message) -> None:
        session = self.hub.sessions[params["sessionId"]]
        self.positions.pop(session.id, None)
        for at, entry in enumerate(session.journal):
            if entry.kind in ("update", "prompt"):
                self._tell(at, {"method": "session/update", "params": session.render(at)})
        self._answer(number, {"modes": "m"})
        self.positions[session.id] = len(session.journal)
        self._ask_open(session)

    def _session_resume(self, number: Any, params: Message) -> None:
        session = self.hub.sessions[params["sessionId"]]
        mark = mark_of(params)
        self._announced[session.id] = set(mark["prompts"])
        self._own |= {*mark["prompts"], *mark.get("wrote", ())}
        self._answer(number, {"modes": "m"})
        self.positions[session.id] = int(mark["after"] or "0")
        self._ask_open(session)
        self.follow(session)

    def _session_prompt(self, number: Any, params: Message) -> None:
        session, key = self.hub.sessions[params["sessionId"]], str(mark_of(params)["key"])
        assert key not in self._waits, "said twice on one connection"
        self._waits[key] = number
        self._own.add(key)
        self._announced.get(session.id, set()).discard(key)
        if key not in session.known:
            self.hub.prompt(session, key, params["prompt"][0]["text"], self.client)
            return
        for at, entry in enumerate(session.journal[: self.positions[session.id]]):
            if entry.kind == "ended" and entry.key == key:
                self._end(at, entry)
        self.follow(session)

    def _session_cancel(self, number: Any, params: Message) -> None:
        self.hub.cancel(self.hub.sessions[params["sessionId"]], mark_of(params).get("prompts"))

    def _answered(self, message: Message) -> None:
        for (session, name), number in self._asked.items():
            if number == message["id"]:
                self.hub.answer(self.hub.sessions[session], name, message["result"]["said"])
                return
        raise AssertionError(f"an answer to nothing: {message}")

    # What it is told.

    def follow(self, session: Session) -> None:
        if session.id not in self.positions:
            return
        while (at := self.positions[session.id]) < len(session.journal):
            entry = session.journal[at]
            if entry.kind == "ended" and entry.key in self._announced.get(session.id, ()):
                return  # its prompt comes again before anything behind its end
            self.positions[session.id] += 1
            self._show(session, at, entry)

    def _show(self, session: Session, at: int, entry: Entry) -> None:
        if entry.kind == "update" or (entry.kind == "prompt" and entry.key not in self._own):
            self._tell(at, {"method": "session/update", "params": session.render(at)})
        elif (
            entry.kind == "ask" and entry.text in session.open and (session.id, entry.text) not in self._asked
        ):
            self._ask(session, at, entry)
        elif entry.kind == "ended" and entry.key in self._waits:
            self._end(at, entry)
        elif entry.kind == "settled" and entry.key == "unanswered":
            self._settled(session, at, entry.text)

    def _settled(self, session: Session, at: int, name: str) -> None:
        number = self._asked.get((session.id, name))
        if number is not None:
            self._tell(at, {"method": "$/cancel_request", "params": {"requestId": number}})

    def _end(self, at: int, entry: Entry) -> None:
        if entry.text == "error":
            self.out.append({"id": self._waits[entry.key], "error": {"code": -32603, "message": "error"}})
            return
        result = {"stopReason": entry.text, "_meta": {"dragoman": {"cursor": str(at + 1)}}}
        self.out.append({"id": self._waits[entry.key], "result": result})

    def _ask_open(self, session: Session) -> None:
        for at, entry in enumerate(session.journal[: self.positions[session.id]]):
            if entry.kind == "ask" and entry.text in session.open:
                self._ask(session, at, entry)

    def _ask(self, session: Session, at: int, entry: Entry) -> None:
        number = self._asked[session.id, entry.text] = next(self._ids)
        params = {"sessionId": session.id, "name": entry.text}
        self._tell(
            at, {"id": number, "method": "session/request_permission", "params": params}, request=entry.text
        )

    def _tell(self, at: int, message: Message, **more: str) -> None:
        message["params"]["_meta"] = {"dragoman": {"cursor": str(at + 1), **more}}
        self.out.append(message)

"""Conversations for tests of rules, written as a chain.

    Talk().new("s").prompt("s", "hello", says("s", "Hi"))

begins with a handshake, makes a session and has a turn. Every request gets an id and, unless told otherwise,
its answer at once. `keeps` and `breaks` judge one requirement.
"""

from __future__ import annotations

from typing import Any

from dragoman_check.manifest import Side
from dragoman_check.recording import Frame, Recording, Stretch
from dragoman_check.verdict import judge
from tests.check.conversations import Said, agent, client

EVERYTHING: dict[str, Any] = {
    "loadSession": True,
    "promptCapabilities": {"image": True},
    "mcpCapabilities": {"http": True},
    "sessionCapabilities": {
        "list": {},
        "resume": {},
        "close": {},
        "delete": {},
        "additionalDirectories": {},
    },
}
BROKEN = ("failed", "warned", "recorded")


class Talk:
    """A conversation as far as it is told."""

    def __init__(self, can: Any = EVERYTHING, wants: Any = None, *, version: int = 1) -> None:
        self.said: list[Said] = []
        self.marks: list[Stretch] = []
        self.known: dict[str, Any] = {}
        self.pause = 0.0
        self._times: list[float] = []
        self._ids = 0
        params = {"protocolVersion": version, "clientCapabilities": wants or {}}
        self.call("initialize", params, {"protocolVersion": version, "agentCapabilities": can})

    # The client.

    def call(
        self, method: str, params: Any = None, result: Any = None, *, code: int = 0, **error: Any
    ) -> Talk:
        """A request and its answer: a result, an error if there is a code."""
        return self.begin(method, params).answer(result, code=code, **error)

    def begin(self, method: str, params: Any = None) -> Talk:
        """A request that is not answered yet."""
        self._ids += 1
        return self.add(client(method, params, id=self._ids))

    def answer(self, result: Any = None, *, to: int = 0, code: int = 0, **error: Any) -> Talk:
        """The answer to the last request, or to one of this number (the handshake is 1)."""
        body: dict[str, Any] = {"result": {} if result is None else result}
        if code:
            body = {"error": {"code": code, "message": "No.", **error}}
        return self.add(agent(id=to or self._ids, **body))

    def tell(self, method: str, params: Any) -> Talk:
        """A notification of the client."""
        return self.add(client(method, params))

    def new(self, session: str = "s", cwd: Any = "/w", *, result: Any = None, **more: Any) -> Talk:
        params = {"cwd": cwd, "mcpServers": [], **more}
        return self.call("session/new", params, {"sessionId": session, **(result or {})})

    def begin_prompt(self, session: str = "s", *blocks: Any) -> Talk:
        parts = [{"type": "text", "text": one} if isinstance(one, str) else one for one in blocks]
        return self.begin("session/prompt", {"sessionId": session, "prompt": parts})

    def prompt(self, session: str = "s", *parts: Any, reason: Any = "end_turn", code: int = 0) -> Talk:
        """A turn: texts and blocks are prompted, the frames among the parts come while it runs."""
        blocks = [part for part in parts if not isinstance(part, tuple)]
        self.begin_prompt(session, *(blocks or ["hello"]))
        number = self._ids
        self.add(*(part for part in parts if isinstance(part, tuple)))
        return self.answer({"stopReason": reason}, to=number, code=code)

    # The agent.

    def ask(self, method: str, params: Any, result: Any = None, *, code: int = 0, id: Any = 900) -> Talk:
        """A request of the agent and the client's answer."""
        body = {"error": {"code": code, "message": "No."}} if code else {"result": result or {}}
        return self.add(agent(method, params, id=id), client(id=id, **body))

    # Both.

    def add(self, *frames: Said) -> Talk:
        self.said += frames
        last = self._times[-1] if self._times else 0.0
        self._times += [last + self.pause + number / 1000 for number in range(1, len(frames) + 1)]
        self.pause = 0.0
        return self

    def wait(self, seconds: float) -> Talk:
        """Time goes by before the next frame."""
        self.pause += seconds
        return self

    def mark(self, name: str, *, last: int) -> Talk:
        """Name the last frames."""
        self.marks.append(Stretch(name, len(self.said) - last, len(self.said)))
        return self

    def facts(self, **facts: Any) -> Talk:
        self.known |= facts
        return self

    def died(self) -> Talk:
        """The client ended badly."""
        return self.facts(**{"exit": 1, "client exit": 1})

    @property
    def recording(self) -> Recording:
        frames = [
            Frame(number, way, at, raw)
            for number, ((way, raw), at) in enumerate(zip(self.said, self._times, strict=True), 1)
        ]
        return Recording(frames=frames, marks=self.marks, facts=self.known)


def update(session: str, name: str, /, **fields: Any) -> Said:
    return agent("session/update", {"sessionId": session, "update": {"sessionUpdate": name, **fields}})


def says(session: str, text: str, kind: str = "agent_message_chunk", **more: Any) -> Said:
    return update(session, kind, content={"type": "text", "text": text}, **more)


def status(requirement: str, talk: Talk, side: Side = "agent") -> str:
    (verdict,) = judge([talk.recording], side, only=[requirement])
    return verdict.status


def keeps(requirement: str, talk: Talk, side: Side = "agent") -> None:
    assert status(requirement, talk, side) == "passed"


def breaks(requirement: str, talk: Talk, side: Side = "agent") -> None:
    assert status(requirement, talk, side) in BROKEN


def says_nothing(requirement: str, talk: Talk, side: Side = "agent") -> None:
    assert status(requirement, talk, side) == "not exercised"

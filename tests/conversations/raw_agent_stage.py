"""A client of ours and an agent that knows no manners: late, doubled, unknown, and too much at once.

Every request of the agent is answered once, a turn's reader sees what was said in its turn and in order, the
result comes after it, and every turn ends.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dragoman import AgentHandle, Session, connect
from dragoman.errors import CallFailed, LinkClosed, LocalMistake
from dragoman.sdk.client.side import ClientSide
from dragoman.transport.memory import memory_pair
from tests.conversations.actors import make_client, spin, text_of
from tests.conversations.scripts import Op, how_to_read, permission, reading, session, turns, weighted
from tests.conversations.stage import LIMITS, LONG
from tests.runtime.raw import cancel_request, notification, request, result
from tests.sdk.ends import RawAgent, chunk
from tests.sdk.ends import permission as ask_permission

CAPABILITIES: dict[str, Any] = {"sessionCapabilities": {"close": {}}}
JUNK = (
    b"{nonsense",
    b"[]",
    b"\xff\xfe",
    b'{"jsonrpc":"2.0","method":"session/update"}',
    b'{"id":"nobody asked"}',
)
REASONS = ("end_turn", "cancelled", "refusal")

number = st.integers(0, 3)
step = weighted(
    (st.tuples(st.just("turns"), turns), 3),
    (st.tuples(st.just("prompt"), session, how_to_read), 5),
    (st.tuples(st.just("cancel"), session), 2),
    (st.tuples(st.just("abandon"), number), 2),
    (st.tuples(st.just("close"), session), 1),
    # What the agent does; `more` says whether the next frame comes in the same block.
    (st.tuples(st.just("say"), number, st.sampled_from((1, 5, 40)), st.booleans()), 6),
    (st.tuples(st.just("stray"), session, st.booleans()), 2),
    (st.tuples(st.just("answer"), number, st.sampled_from(REASONS), st.booleans()), 4),
    (st.tuples(st.just("answer too early"), number, st.booleans()), 1),
    (st.tuples(st.just("again"), st.booleans()), 1),
    (st.tuples(st.just("ask"), session, st.booleans()), 2),
    (st.tuples(st.just("read"), session, st.booleans()), 2),
    (st.tuples(st.just("take back"), number, st.booleans()), 2),
    (st.tuples(st.just("junk"), st.sampled_from(JUNK), st.booleans()), 1),
)


@dataclass(frozen=True, slots=True)
class OddScript:
    """One conversation."""

    steps: tuple[Op, ...]
    permission: tuple[Op, ...]
    reading: tuple[Op, ...]
    updates: str
    dies: bool


odd_scripts = st.builds(
    OddScript,
    st.lists(step, min_size=2, max_size=14).map(tuple),
    st.lists(permission, min_size=1, max_size=2).map(tuple),
    st.lists(reading, min_size=1, max_size=2).map(tuple),
    st.sampled_from(("none", "def", "turns", "fails")),
    st.sampled_from((False, False, True)),
)


class Reader:
    """One turn as its reader saw it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.texts: list[str] = []
        self.outcome: object = None
        self.finished = False


class OddStage:
    """One performance. A prompt's text is its number; what is said in its turn starts with it."""

    def __init__(self, script: OddScript) -> None:
        self.script = script
        self.handled: dict[str, list[str]] = {}
        self.allowed = 0
        self.asked_in_vain = 0
        self.sessions: list[Session] = []
        self.readers: list[Reader] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.said: dict[str, list[str]] = {}  # in which turn, which texts
        self.reasons: dict[str, str] = {}  # of which turn
        self.asked: list[str] = []
        self.held: list[Any] = []  # frames of the block that is being made
        self.handle: AgentHandle
        ours, theirs = memory_pair()
        self._ours = ours
        self.agent = RawAgent(theirs)
        self.agent.answers_to["initialize"]["agentCapabilities"] = CAPABILITIES
        self.agent.answers_to["session/close"] = {}
        self.agent.answers_to["_agent"] = "y"

    async def play(self) -> None:
        async with connect(self._ours, client=make_client(self), limits=LIMITS) as self.handle:
            self.sessions = [await self.handle.new_session(cwd="/tmp") for _ in range(3)]
            for step in self.script.steps:
                await self._do(step)
            self._flush()
            if self.script.dies:
                await self.agent.aclose()
            await self._come_to_rest()
            if not self.script.dies:
                self._check_rest()
        await self.agent.aclose()
        self._check_answers()
        assert not self.asked_in_vain, "the user was asked in a turn that had been cancelled"
        for reader in self.readers:
            self._check_reader(reader)

    def asked_in(self, session_id: str) -> None:
        self.asked_in_vain += self.handle.side.sessions[session_id].cancelling

    # What happens.

    async def _do(self, step: Op) -> None:
        match step:
            case ("turns", int(count)):
                self._flush()
                await spin(count)
            case ("prompt", int(session), how):
                reader = Reader(len(self.readers))
                self.readers.append(reader)
                self.tasks.append(asyncio.create_task(self._read(self.sessions[session], reader, how)))
                await spin(2)
            case ("cancel", int(session)):
                await self.sessions[session].cancel()
            case ("abandon", int(number)):
                if number < len(self.tasks):
                    self.tasks[number].cancel()
            case ("close", int(session)):
                self.tasks.append(asyncio.create_task(self._close(self.sessions[session])))
            case (*made, bool(more)):
                self.held += self._make(tuple(made))
                if not more:
                    self._flush()

    def _make(self, op: Op) -> list[Any]:
        match op:
            case ("say", int(number), int(count)):
                running = self._running()
                if not running:
                    return []
                said = running[number % len(running)]
                return [chunk(said["params"]["sessionId"], self._text(_turn(said))) for _ in range(count)]
            case ("stray", int(session)):
                return [chunk(self.sessions[session].id, "stray")]
            case ("answer", int(number), str(reason)):
                running = self._running()
                return [self._answer(running[number % len(running)], reason)] if running else []
            case ("answer too early", int(number)) if running := self._running():
                said = running[number % len(running)]
                late = chunk(said["params"]["sessionId"], f"late {_turn(said)}")
                return [self._answer(said, "end_turn"), late]
            case ("again",):
                answered = [said for said in self._prompts() if _turn(said) in self.reasons]
                return [result(said["id"], {"stopReason": "end_turn"}) for said in answered]
            case ("ask" | "read" as what, int(session)):
                self.asked.append(f"{what}{len(self.asked)}")
                name = self.sessions[session].id
                if what == "ask":
                    return [ask_permission(self.asked[-1], name)]
                return [request(self.asked[-1], "fs/read_text_file", {"sessionId": name, "path": "/x"})]
            case ("take back", int(number)):
                return [cancel_request(self.asked[-1 - number])] if number < len(self.asked) else []
            case ("junk", bytes(junk)):
                return [junk, notification("no/such/note")]
        return []

    def _flush(self) -> None:
        if self.held:
            self.agent.send(*self.held)
            self.held = []

    def _prompts(self) -> list[Any]:
        return [said for said in self.agent.seen if said.get("method") == "session/prompt"]

    def _open(self) -> list[Any]:
        return [said for said in self._prompts() if _turn(said) not in self.reasons]

    def _running(self) -> list[Any]:
        """The oldest open prompt of each session: one at a time, as every agent should."""
        oldest = {said["params"]["sessionId"]: said for said in reversed(self._open())}
        return list(oldest.values())

    def _text(self, turn: str) -> str:
        said = self.said.setdefault(turn, [])
        said.append(f"{turn}:{len(said)}")
        return said[-1]

    def _answer(self, said: Any, reason: str) -> Any:
        self.reasons[_turn(said)] = reason
        return result(said["id"], {"stopReason": reason})

    async def _read(self, session: Session, reader: Reader, how: Op) -> None:
        turn = session.prompt(str(reader.number))
        try:
            async for update in turn:
                if text := text_of(update):
                    reader.texts.append(text)
                match how:
                    case ("slow", int(count)):
                        await spin(count)
                    case ("break", int(after)) if len(reader.texts) >= after:
                        return
                    case ("call", int(after)) if len(reader.texts) == after:
                        assert await self.handle.call("_agent") == "y"
                    case ("pause", float(seconds)):
                        await asyncio.sleep(seconds)
            reader.finished = True
            reader.outcome = turn.result.stop_reason
        except (LinkClosed, LocalMistake) as error:
            reader.outcome = error

    async def _close(self, session: Session) -> None:
        try:
            await session.close()
        except (LinkClosed, CallFailed):
            pass

    async def _come_to_rest(self) -> None:
        for _ in range(4 + len(self.tasks)):
            await asyncio.sleep(LONG)
            if self.script.dies:
                break
            self.agent.send(*(self._answer(said, "end_turn") for said in self._open()), b"")
            self.agent.send(*(cancel_request(name) for name in self.asked), b"")
        if self.tasks:
            # A reader may pause after each of what it was told; the clock is virtual, so this costs nothing.
            _, hanging = await asyncio.wait(self.tasks, timeout=100 * LONG)
            assert not hanging, f"still waiting: {hanging}"
        for task in self.tasks:
            assert task.cancelled() or task.exception() is None, task.exception()

    # What must hold.

    def _check_rest(self) -> None:
        link = self.handle.link
        assert not link.connection.calls, f"still asked: {link.connection.calls}"
        assert not link.connection.incoming_requests, f"still owed: {link.connection.incoming_requests}"
        assert not link.lanes
        assert link.lanes.size == 0
        assert not link.on_hold, link._holds
        side = self.handle.side
        assert isinstance(side, ClientSide)
        assert not side._permissions
        assert all(session.turn is None for session in self.sessions)

    def _check_answers(self) -> None:
        answered = [said["id"] for said in self.agent.answers() if isinstance(said["id"], str)]
        assert len(set(answered)) == len(answered), f"answered twice: {answered}"
        assert self.script.dies or set(answered) == set(self.asked), "a question was never answered"

    def _check_reader(self, reader: Reader) -> None:
        turn = str(reader.number)
        assert f"late {turn}" not in reader.texts, "an update behind the answer was the turn's"
        # A stray update that crosses a prompt cannot be told from the turn's own.
        texts, said = [text for text in reader.texts if ":" in text], self.said.get(turn, [])
        assert texts == said[: len(texts)], "an update out of order, or of another turn"
        if reader.finished and not self.script.dies:
            assert texts == said, "an update was lost"
            assert reader.outcome == self.reasons[turn]


def _turn(said: Any) -> str:
    text: str = said["params"]["prompt"][0]["text"]
    return text

"""An agent of ours and a client that knows no manners: frames in any order, many in one block, nonsense too.

Every request is answered as often as it was sent, turns of one session never mix, and what is said in a turn
leaves before its answer.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from dragoman import serving
from dragoman.core import STOP_REASONS
from dragoman.sdk.agent.side import AgentSide
from dragoman.sdk.agent.turns import AgentTurns
from dragoman.transport.memory import memory_pair
from tests.conversations.actors import Played, make_agent, spin
from tests.conversations.scripts import Op, Program, program, seconds, session, turns, weighted
from tests.conversations.stage import LIMITS, LONG
from tests.runtime.raw import cancel_request, notification, request, result
from tests.sdk.ends import EVERYTHING, NEW, RawClient, cancel, prompt

JUNK = (
    b"{nonsense",
    b"[]",
    b"7",
    b"\xff\xfe",
    b'{"jsonrpc":"2.0","id":{},"method":"m"}',
    b"",
    b'{"id":"nobody asked"}',
)
ANSWERS = (
    {"result": {"outcome": {"outcome": "selected", "optionId": "allow_once"}}},
    {"result": {"content": "text"}},
    {"result": None},
    {"error": {"code": -32603, "message": "no"}},
    {"error": "a string"},
)

number = st.integers(0, 5)
frame = weighted(
    (st.tuples(st.just("prompt"), session, program), 6),
    (st.tuples(st.just("cancel"), session), 3),
    (st.tuples(st.just("cancel_request"), number), 2),
    (st.tuples(st.just("answer"), number, st.sampled_from(ANSWERS)), 4),
    (st.just(("call",)), 2),
    (st.just(("unknown",)), 1),
    (st.tuples(st.just("again"), number), 1),
    (st.tuples(st.just("close"), session), 1),
    (st.tuples(st.just("junk"), st.sampled_from(JUNK)), 1),
)
pause = weighted((st.tuples(st.just("turns"), turns), 3), (st.tuples(st.just("sleep"), seconds), 1))


@dataclass(frozen=True, slots=True)
class RudeScript:
    """Blocks of frames with a pause after each."""

    blocks: tuple[tuple[tuple[Op, ...], Op], ...]
    busy: str
    hangs_up: bool


rude_scripts = st.builds(
    RudeScript,
    st.lists(
        st.tuples(st.lists(frame, min_size=1, max_size=4).map(tuple), pause), min_size=1, max_size=6
    ).map(tuple),
    st.sampled_from(("queue", "refuse")),
    st.sampled_from((False, False, True)),
)


class RudeStage:
    """One performance."""

    def __init__(self, script: RudeScript) -> None:
        self.script = script
        self.played: list[Played] = []
        self.decisions: list[bool] = []
        self.sessions: list[str] = []
        self.sent: list[Any] = []  # ids of requests, in order, once for each time
        self.prompts: dict[int, tuple[str, Played]] = {}  # by id
        ours, theirs = memory_pair()
        self._ours = ours
        self.client = RawClient(theirs)

    async def play(self) -> None:
        agent = make_agent(self)
        agent.busy = self.script.busy  # type: ignore[assignment]
        async with serving(agent, self._ours, limits=LIMITS) as link:
            self.client.link = link
            await self._open()
            for frames, pause in self.script.blocks:
                self.client.send(*(made for op in frames for made in self._make(op)))
                await (spin(pause[1]) if pause[0] == "turns" else asyncio.sleep(pause[1]))
            if self.script.hangs_up:
                await self.client.aclose()
            else:
                await self._come_to_rest()
                self._check_rest()
        await self.client.aclose()
        self._check_answers()
        self._check_turns()

    async def _open(self) -> None:
        self.sessions.append(await self.client.open(EVERYTHING))
        for name in ("n1", "n2"):
            self.client.send(request(name, "session/new", NEW))
            self.sessions.append((await self.client.answer_to(name))["result"]["sessionId"])

    def _make(self, op: Op) -> list[Any]:
        match op:
            case ("prompt", int(session), Program() as program):
                played = Played(len(self.played), program)
                self.played.append(played)
                made = prompt(self._next_id(), self.sessions[session], str(played.number))
                self.prompts[made["id"]] = (self.sessions[session], played)
                return [made]
            case ("cancel", int(session)):
                return [cancel(self.sessions[session])]
            case ("cancel_request", int(number)):
                return [cancel_request(self.sent[-1 - number])] if number < len(self.sent) else []
            case ("call",):
                return [request(self._next_id(), "_agent", 1)]
            case ("unknown",):
                return [request(self._next_id(), "no/such/method"), notification("no/such/note")]
            case ("again", int(number)) if number < len(self.sent):
                self.sent.append(self.sent[-1 - number])
                return [request(self.sent[-1], "_agent", 1)]
            case ("close", int(session)):
                return [request(self._next_id(), "session/close", {"sessionId": self.sessions[session]})]
            case ("junk", bytes(junk)):
                return [junk]
            case ("answer", int(number), dict(answer)):
                asked = [said["id"] for said in self.client.seen if "method" in said and "id" in said]
                # Also for what was never asked, and twice: an answer to nothing is nothing.
                return [{"jsonrpc": "2.0", "id": asked[number] if number < len(asked) else 99, **answer}]
        return []

    def _next_id(self) -> int:
        self.sent.append(100 + len(self.sent))
        made: int = self.sent[-1]
        return made

    async def _come_to_rest(self) -> None:
        for _ in range(20):  # every question of the agent has an answer in the end
            await asyncio.sleep(LONG)
            asked = [said["id"] for said in self.client.seen if "method" in said and "id" in said]
            self.client.send(*(result(name, {}) for name in asked), *(cancel(name) for name in self.sessions))
            await asyncio.sleep(LONG)
            if not self.client.link.connection.incoming_requests:
                return

    def _check_rest(self) -> None:
        link = self.client.link
        assert not link.connection.incoming_requests, f"still owed: {link.connection.incoming_requests}"
        assert not link.connection.calls, f"still asked: {link.connection.calls}"
        assert not link.lanes
        assert not link.on_hold
        side = link._router
        assert isinstance(side, AgentSide)
        turns = side._turns
        assert isinstance(turns, AgentTurns)
        assert not turns._running, "a turn is still known to the agent"
        assert not turns._turns._running, "a turn is still running"
        assert not turns._turns._waiting, "a turn is still waiting"

    def _check_answers(self) -> None:
        answered = [said["id"] for said in self.client.answers() if isinstance(said["id"], int)]
        for name in set(self.sent):
            count, expected = answered.count(name), self.sent.count(name)
            assert count == expected or (self.script.hangs_up and count < expected), (
                f"{name} was sent {expected} times and answered {count} times"
            )
        assert set(answered) <= set(self.sent)

    def _check_turns(self) -> None:
        for position, said in enumerate(self.client.seen):
            if said.get("id") in self.prompts and "method" not in said:
                session, played = self.prompts[said["id"]]
                if self.sent.count(said["id"]) == 1:
                    self._check_answer(said, played)
                    self._check_order(position, session, played)

    def _check_answer(self, said: Any, played: Played) -> None:
        if "error" in said:
            code = said["error"]["code"]
            own = {"raise": -32603, "error": -32099}.get(played.program.ending)
            assert code == own if played.began else code in (-32002, -32600, own), said
            assert not played.cancelled_at_end, "a cancelled turn was answered with an error"
            return
        reason = said["result"]["stopReason"]
        assert reason in STOP_REASONS
        if played.cancelled_at_end or not played.began:
            assert reason == "cancelled", f"a cancelled turn ended with {reason}"
        elif not self.script.hangs_up:
            assert reason in ("cancelled", played.program.ending)

    def _check_order(self, position: int, session: str, played: Played) -> None:
        """All that was said in the turn, in order, before its answer, and nothing of another turn between."""
        texts = [
            (at, text)
            for at, said in enumerate(self.client.seen)
            if said.get("method") == "session/update" and said["params"]["sessionId"] == session
            for text in (_text(said["params"]["update"]),)
            if text
        ]
        mine = [(at, text) for at, text in texts if text.startswith(f"{played.number}:")]
        assert [text for _, text in mine] == played.said, "an update was lost or out of order"
        assert all(at < position for at, _ in mine), "something was said after the answer"
        if mine:
            between = [text for at, text in texts if mine[0][0] <= at <= mine[-1][0]]
            assert between == [text for _, text in mine], "two turns of one session were mixed"


def _text(update: Any) -> str:
    content = update.get("content")
    return content["text"] if "chunk" in update["sessionUpdate"] and isinstance(content, dict) else ""

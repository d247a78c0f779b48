"""A message into a running turn through the hub: passed on, journalled, and replayed as the user's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, get_args

import pytest

from dragoman import Agent, Turn, connect
from dragoman.transport.memory import memory_pair
from dragoman_hub.agents.pool import AgentSpec
from dragoman_hub.clients import steering
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.hub import Hub
from dragoman_hub.session import events as ev
from dragoman_hub.session import machine
from dragoman_hub.session.notes import note
from dragoman_hub.session.state import ANSWERS
from dragoman_local.journal import Entry
from dragoman_local.journal.memory import MemoryJournal
from tests.hub.sessions.agents import obedient
from tests.hub.sessions.raw_agents import RawAgent, RawStage, eventually
from tests.hub.sessions.stage import Talker, staged, text
from tests.steerable_agent import Kind, SteerableAgent

IDLE = {"steering": {"idleBehavior": "promptRequired"}}


def steerable(gate: asyncio.Event) -> Callable[[], Agent]:
    """An agent whose turns last until the gate is open, and then say what they were told."""

    def make() -> Agent:
        agent = Agent("steerable", steering=True)

        @agent.prompt
        async def reply(turn: Turn) -> None:
            await turn.say("begun")
            while not gate.is_set():
                await asyncio.sleep(0)
                for message in turn.take_steering():
                    await turn.say(f"also: {message.text}")

        return agent

    return make


async def steer(talker: Talker, session: str, words: str) -> str:
    params = {"sessionId": session, "prompt": text(words), "_meta": IDLE}
    return str((await talker.call("_session/steering", params))["outcome"])


async def test_a_message_into_a_running_turn_is_replayed_as_the_users() -> None:
    gate = asyncio.Event()
    async with staged({"one": steerable(gate)}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        prompt = ann.prompt(session, "go")
        await ann.until(lambda message: "begun" in str(message))
        assert await steer(ann, session, "left") == "injected"
        gate.set()
        assert (await ann.answer(prompt))["result"]["stopReason"] == "end_turn"
        bob = await stage.client().begin()
        await bob.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert bob.texts("user_message_chunk") == ["go", "left"]
        assert bob.texts() == ["begun", "also: left"]


async def test_a_message_that_no_turn_takes_is_not_in_the_stream() -> None:
    gate = asyncio.Event()
    gate.set()
    async with staged({"one": steerable(gate)}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        assert await steer(ann, session, "left") == "promptRequired"
        assert (await ann.answer(ann.prompt(session, "left")))["result"]["stopReason"] == "end_turn"
        bob = await stage.client().begin()
        await bob.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert bob.texts("user_message_chunk") == ["left"]
        error = await ann.refusal("_session/steering", {"sessionId": session})
        assert error["code"] == -32602


class RawSteerable(RawAgent):
    """The agent of one kind that was written by hand, in memory. Its turns end when they are released."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.steerable = SteerableAgent(kind, self._send)
        self._held: list[dict[str, Any]] | None = []

    def _send(self, frame: dict[str, Any]) -> None:
        if self._held is not None and "stopReason" in frame.get("result", {}):
            self._held.append(frame)
        else:
            self.say(**frame)

    def release(self) -> None:
        held, self._held = self._held or [], None
        for frame in held:
            self.say(**frame)

    def _hear(self, message: dict[str, Any]) -> None:
        self.steerable.receive(message)


@asynccontextmanager
async def steerable_stage(
    kind: Kind,
) -> AsyncIterator[tuple[RawStage, SteerableAgent, Callable[[], None]]]:
    """A hub, its agent, and what lets turns end."""
    agent = RawSteerable(kind)
    spec = AgentSpec(name=kind, open=agent.open)
    async with Hub(MemoryJournal(), {kind: spec}, options=HubOptions(default_agent=kind)) as hub:
        yield RawStage(hub, {kind: agent}), agent.steerable, agent.release


async def replayed(stage: RawStage, session: str) -> list[str]:
    """What the user has said, to somebody who comes later."""
    bob = await stage.client().begin()
    await bob.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
    return bob.texts("user_message_chunk")


async def test_what_is_injected_is_told_at_once_and_replayed_as_the_users() -> None:
    async with steerable_stage("inject") as (stage, agent, release):
        ann = await stage.client().begin()
        session = await ann.new()
        prompt = ann.prompt(session, "hold on")
        await eventually(lambda: agent.prompts)
        params = {"sessionId": session, "mode": "steer", "content": text("left")}
        assert await ann.call("session/inject", params, key="k1") == {"messageId": "m2"}
        chunk = await ann.until(lambda message: "user_message_chunk" in str(message))
        assert chunk["params"]["update"] == {
            "sessionUpdate": "user_message_chunk",
            "content": text("left")[0],
            "messageId": "steer-k1",
            "_meta": {"dragoman": {"steering": "delivered"}},
        }
        release()
        assert (await ann.answer(prompt))["result"]["stopReason"] == "end_turn"
        assert ann.texts() == ["hold on | left"]
        assert await replayed(stage, session) == ["hold on", "left"]
        refusal = await ann.refusal("session/inject", {"sessionId": session, "mode": "steer"})
        assert refusal["code"] == -32602


async def test_what_is_injected_behind_the_end_of_a_turn_is_queued() -> None:
    async with steerable_stage("inject") as (stage, _, _):
        ann = await stage.client().begin()
        session = await ann.new()
        await ann.call("session/inject", {"sessionId": session, "mode": "steer", "content": text("left")})
        chunk = await ann.until(lambda message: "user_message_chunk" in str(message))
        assert chunk["params"]["update"]["_meta"] == {"dragoman": {"steering": "queued"}}


@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_client_sees_how_the_agent_of_a_session_is_steered(kind: Kind) -> None:
    async with steerable_stage(kind) as (stage, agent, release):
        ann = await stage.client().begin()
        session = await ann.new()
        release()
        prompt = ann.prompt(session, "hold on")
        await eventually(lambda: agent.prompts)
        answer = await ann.call("_dragoman/hub/attach", {"sessionId": session})
        assert (answer["session"]["steering"], answer["snapshot"]["steering"]) == (kind, kind)
        ann.say({"method": "session/cancel", "params": {"sessionId": session}})
        assert (await ann.answer(prompt))["result"]["stopReason"] == "cancelled"


@pytest.mark.parametrize("kind", get_args(Kind))
async def test_a_client_of_the_sdk_steers_through_the_hub(kind: Kind) -> None:
    async with steerable_stage(kind) as (stage, agent, release):
        here, there = memory_pair()
        stage.hub.accept(there, Grant("owner"))
        async with connect(here) as handle:
            session = await handle.new_session(cwd="/tmp")
            turn = session.prompt("hold on")
            reading = asyncio.ensure_future(turn)
            await eventually(lambda: agent.prompts)
            steering = asyncio.ensure_future(turn.steer("left"))
            if kind == "restart":  # its first turn has to end before the message is with the agent
                release()
            outcome = await steering
            release()
            result = await reading
        assert outcome == ("will_restart" if kind == "restart" else "delivered")
        assert result.stop_reason == "end_turn"
        is_restart = kind == "restart"
        assert agent.prompts == ["hold on", *(["hold on\n\nleft"] if is_restart else [])]
        again = ["hold on", "\n\n", "left"] if is_restart else ["left"]
        assert await replayed(stage, session.id) == ["hold on", *again]


@pytest.mark.parametrize(
    ("method", "member"), [("_session/steering", "prompt"), ("session/inject", "content")]
)
async def test_nobody_knows_whether_an_agent_that_died_has_the_message(method: str, member: str) -> None:
    agent = RawAgent("mute")
    spec = AgentSpec(name="mute", open=agent.open)
    async with Hub(MemoryJournal(), {"mute": spec}, options=HubOptions(default_agent="mute")) as hub:
        ann = await RawStage(hub, {"mute": agent}).client().begin()
        session = await ann.new()
        ann.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        call = ann.ask(method, {"sessionId": session, member: text("left")})
        await eventually(lambda: agent.calls)
        await agent.transport.aclose()
        error = (await ann.answer(call))["error"]
        assert "the agent may or may not have the message" in error["message"]
        assert ann.texts("user_message_chunk") == []


async def test_a_message_is_given_once_over_a_kill_of_the_hub_and_its_outcome_is_told_again() -> None:
    gate = asyncio.Event()
    async with staged({"one": steerable(gate)}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        ann.prompt(session, "go", key="p")
        await ann.until(lambda message: "begun" in str(message))
        params = {"sessionId": session, "prompt": text("left"), "_meta": IDLE}
        assert await ann.call("_session/steering", params, key="m") == {"outcome": "injected"}
        await ann.until(lambda message: "also: left" in str(message))
        assert await ann.call("_session/steering", params, key="m") == {"outcome": "injected"}
        await stage.crash()
        await stage.start()
        bob = await stage.client().begin()
        assert await bob.call("_session/steering", params, key="m") == {"outcome": "injected"}
        gate.set()
        prompt = bob.prompt(session, "go", key="p")
        assert (await bob.answer(prompt))["result"]["stopReason"] == "end_turn"
        await bob.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert bob.texts("user_message_chunk") == ["go", "left"]
        assert bob.texts() == ["begun", "also: left"]


async def test_a_message_that_waits_for_the_agent_over_a_kill_of_the_hub_gets_its_outcome() -> None:
    async with staged({"one": obedient}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        await ann.answer(ann.prompt(session, "say 1"))
        await stage.crash()
        number = (await stage.journal.info(session)).last + 1  # type: ignore[union-attr]
        frame = {"jsonrpc": "2.0", "id": 77, "method": "_session/steering", "params": {"sessionId": session}}
        entries = [
            Entry("note", note("steering", key="m", by="owner", request="77"), 1.0),
            Entry("to_agent", json.dumps(frame).encode(), 1.0),
        ]
        await stage.journal.append(session, entries)
        await stage.start()
        bob = await stage.client().begin()
        params = {"sessionId": session, "prompt": text("left")}
        error = await bob.refusal("_session/steering", {**params, "_meta": {"dragoman": {"key": "m"}}})
        assert error["code"] == -32601  # the agent got it from the second hub, and knows no such method
        assert stage.kept["one"].taken_numbers[session] == number + 1
        await stage.end_agent("one")
        again = await bob.refusal("_session/steering", {**params, "_meta": {"dragoman": {"key": "m"}}})
        assert again == error


async def test_a_message_for_an_agent_that_has_just_ended_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was there when it was asked for: nobody who would answer for the message is left."""
    async with staged({"one": steerable(asyncio.Event())}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        bind = stage.hub.pool.bind

        async def bind_and_end(live: Any) -> Any:
            process: Any = await bind(live)
            live.process = None  # as if it had not been joined before its end
            process.sessions.clear()
            await stage.end_agent("one")
            await eventually(lambda: process.over)
            return process

        monkeypatch.setattr(stage.hub.pool, "bind", bind_and_end)
        params = {"sessionId": session, "prompt": text("also"), "_meta": IDLE}
        answer = await ann.answer(ann.ask("_session/steering", params))
        assert "agent one" in answer["error"]["message"]
        assert not stage.hub.sessions[session].state.steers


@pytest.mark.parametrize("is_restarted", [False, True])
async def test_a_message_is_given_once_however_many_came_after_it(is_restarted: bool) -> None:
    gate = asyncio.Event()
    async with staged({"one": steerable(gate)}) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        prompt = ann.prompt(session, "go", key="p")
        await ann.until(lambda message: "begun" in str(message))
        for number in range(ANSWERS + 2):
            params = {"sessionId": session, "prompt": text(f"<{number}>"), "_meta": IDLE}
            assert await ann.call("_session/steering", params, key=f"m{number}") == {"outcome": "injected"}
        await ann.until(lambda message: f"also: <{ANSWERS + 1}>" in str(message))
        if is_restarted:
            await stage.crash()
            await stage.start()
            ann = await stage.client().begin()
            prompt = ann.prompt(session, "go", key="p")
        first = {"sessionId": session, "prompt": text("<0>"), "_meta": IDLE}
        assert await ann.call("_session/steering", first, key="m0") == {"outcome": "injected"}
        gate.set()
        await ann.answer(prompt)
        bob = await stage.client().begin()
        await bob.call("session/load", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        assert bob.texts().count("also: <0>") == 1


async def test_messages_into_a_turn_count_as_prompts_do_for_the_rate() -> None:
    gate = asyncio.Event()
    left = iter([0.0, 0.0, 30.0])  # how long each of them would have to wait
    async with staged({"one": steerable(gate)}, prompt_rate=lambda _: next(left)) as stage:
        ann = await stage.client().begin()
        session = await ann.new()
        prompt = ann.prompt(session, "go")
        await ann.until(lambda message: "begun" in str(message))
        assert await steer(ann, session, "one") == "injected"
        refusal = await ann.refusal("_session/steering", {"sessionId": session, "prompt": text("two")})
        assert refusal["data"] == {"retryAfter": 30.0}
        gate.set()
        await ann.answer(prompt)


@pytest.mark.parametrize("method", ["session/prompt", "session/set_mode", "_session/steering"])
async def test_a_request_without_an_id_does_not_reach_the_agent(method: str) -> None:
    """Past its turn, nobody would have written it down, and no rate would hold for it."""
    agent = RawAgent("mute")
    spec = AgentSpec(name="mute", open=agent.open)
    async with Hub(MemoryJournal(), {"mute": spec}, options=HubOptions(default_agent="mute")) as hub:
        ann = await RawStage(hub, {"mute": agent}).client().begin()
        session = await ann.new()
        ann.say({"method": method, "params": {"sessionId": session, "prompt": text("unseen")}})
        ann.say({"method": "_mine/note", "params": {"sessionId": session, "text": "seen"}})
        await eventually(lambda: agent.notes)
        assert [note["method"] for note in agent.notes] == ["_mine/note"]


@asynccontextmanager
async def mute_turn() -> AsyncIterator[tuple[Hub, Talker, str, RawAgent]]:
    """A turn of an agent that answers nothing."""
    agent = RawAgent("mute")
    spec = AgentSpec(name="mute", open=agent.open)
    async with Hub(MemoryJournal(), {"mute": spec}, options=HubOptions(default_agent="mute")) as hub:
        ann = await RawStage(hub, {"mute": agent}).client().begin()
        session = await ann.new()
        ann.prompt(session, "go")
        await eventually(lambda: agent.prompts)
        yield hub, ann, session, agent
        await agent.transport.aclose()


async def test_an_agent_that_never_says_whether_it_has_a_message_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(steering, "STEER_SECONDS", 0.02)
    async with mute_turn() as (hub, ann, session, _):
        params = {"sessionId": session, "content": text("left"), "_meta": {"dragoman": {"key": "m"}}}
        for _ in range(2):  # its outcome is that nobody knows, also for whoever asks again
            error = await ann.refusal("session/inject", params)
            assert error["code"] == -32603
            assert error["message"].endswith("have the message: it gave no answer within 0.02 seconds")
        assert not hub.sessions[session].state.steers


async def test_so_many_messages_wait_for_an_agent_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "MOST_STEERS", 2)
    async with mute_turn() as (_, ann, session, agent):
        params = {"sessionId": session, "content": text("left")}
        for number in range(2):
            ann.ask("session/inject", params)
            await eventually(lambda count=number: len(agent.calls) == count + 1)  # type: ignore[misc]
        error = await ann.refusal("session/inject", params)
        assert "too many messages wait" in error["message"]
        no_content: tuple[object, ...] = ([], None, "left")
        for nothing in no_content:
            error = await ann.refusal("session/inject", {**params, "content": nothing})
            assert error["message"] == "Invalid params: content is missing"


async def test_a_message_for_a_session_that_moves_away_is_in_doubt() -> None:
    async with mute_turn() as (hub, ann, session, agent):
        call = ann.ask("session/inject", {"sessionId": session, "content": text("left")})
        await eventually(lambda: agent.calls)
        hub.sessions[session].dispatch(ev.OwnershipLost())
        await hub.sessions[session].aclose()
        error = (await ann.answer(call))["error"]
        assert error["message"].endswith("the session is not at this hub any more")

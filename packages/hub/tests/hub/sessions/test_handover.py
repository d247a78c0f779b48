"""A session goes on with another agent: who is told what, once, also after a crash."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from dragoman import Agent, Turn
from dragoman.errors import ErrorAnswer
from dragoman.schema.v1 import Diff, SessionInfoUpdate
from dragoman_hub.gate.admission import Grant
from dragoman_hub.session.checkpoint import read_checkpoint, state_at, write_checkpoint
from dragoman_hub.session.notes import read_note
from dragoman_hub.session.state import fold, new_state
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Stage, staged
from tests.journal.handover_kinds import FACTS, facts
from tests.journal.test_brief import records, seen_by_model

HANDOVER = "_dragoman/hub/handover"


def broke() -> Agent:
    """An agent whose user has no quota left: it talks until it is asked for `more`."""
    agent = Agent("broke")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        if turn.text == "more":
            raise ErrorAnswer(-32603, "the quota is used up")
        await turn.say("I chose blue. ")

    return agent


def talkative() -> Agent:
    """Says and does all facts in its turns."""
    agent = Agent("talkative")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        for fact in facts("agent"):
            await turn.say(f"{fact}. ")
        for fact in facts("tool"):
            async with turn.tool("Look", kind="read") as call:
                await call.complete(fact)
        for path in facts("change"):
            async with turn.tool("Edit", kind="edit") as call:
                await call.complete(Diff(path=path, new_text="new", old_text="old"))
        async with turn.tool(facts("permission")[0], kind="execute"):
            pass
        await turn.plan(facts("plan"))

    return agent


async def notes_of(stage: Stage, session: str, kind: str) -> list[dict[str, Any]]:
    notes = [
        json.loads(entry.frame)
        async for page in stage.journal.replay(session)
        for entry in page
        if entry.direction == "note"
    ]
    return [note for note in notes if note.get("hub") == kind]


async def test_every_fact_reaches_either_of_two_agents_and_none_reaches_a_stranger() -> None:
    gates = {"second": Gate(), "third": Gate()}
    others = {name: partial(obedient, gate) for name, gate in gates.items()}
    async with staged({"first": talkative, **others}) as stage:
        client = await stage.client(agent="first").begin()
        session = await client.new()
        for fact in (*facts("user"), *facts("pending")):
            await client.answer(client.prompt(session, fact))
        for name in gates:
            answer = await client.call(HANDOVER, {"sessionId": session, "agent": name})
            assert answer["agent"] == name
            await client.answer(client.prompt(answer["sessionId"], "what do you know?"))
            stranger = await client.new(agent=name)
            await client.answer(client.prompt(stranger, "what do you know?"))
    for gate in gates.values():
        brief, control = gate.prompts
        assert brief.endswith("what do you know?")
        assert len(seen_by_model([brief.removesuffix("what do you know?")])) == len(FACTS)
        assert seen_by_model([control]) == []


async def test_the_brief_comes_with_the_first_prompt_alone_and_both_streams_say_who_goes_on() -> None:
    gate = Gate()
    async with staged({"one": broke, "two": lambda: obedient(gate)}) as stage:
        client = await stage.client(events=True).begin()
        session = await client.new("/tmp")
        await client.answer(client.prompt(session, "paint it"))
        assert "error" in await client.answer(client.prompt(session, "more"))
        answer = await client.call(HANDOVER, {"sessionId": session, "agent": "two"})
        new = answer["sessionId"]
        assert gate.prompts == [], "it is not a turn of its own"
        assert answer["lost"][-1].startswith("the mode, the model")
        await client.answer(client.prompt(new, "say 1"))
        await client.answer(client.prompt(new, "say 2"))
        listed = await client.call("_dragoman/hub/sessions")
        history = str(await client.call("_dragoman/hub/history", {"sessionId": new}))
        (made,) = await notes_of(stage, new, "made")
        (continued,) = await notes_of(stage, session, "continued")
    first, second = gate.prompts
    assert records(first.removesuffix("say 1")) == [
        {"session of": "one", "user": "paint it"},
        {"agent": "I chose blue. "},
        {"user": "more"},
        {"turn failed": "-32603: the quota is used up"},
    ]
    assert second == "say 2"
    assert "no message of the user" not in history, "people are shown what the user said"
    assert (made["source"], made["cwd"], continued["session"]) == (session, "/tmp", new)
    assert (continued["agent"], continued["by"]) == ("two", "owner")
    (event,) = client.events("continued")
    assert (event["sessionId"], event["session"], event["agent"]) == (session, new, "two")
    assert {one["sessionId"]: one["title"] for one in listed["sessions"]} == {
        session: "paint it",
        new: "paint it",
    }


async def test_a_title_that_an_agent_makes_of_the_brief_does_not_replace_the_sessions_own() -> None:
    agent = Agent("titled")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.update(SessionInfoUpdate(title=turn.text[:60]))

    async with staged({"one": broke, "two": lambda: agent}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "paint it"))
        new = (await client.call(HANDOVER, {"sessionId": session, "agent": "two"}))["sessionId"]
        await client.answer(client.prompt(new, "go on"))
        await client.call("session/set_title", {"sessionId": session, "title": "Blue"})
        listed = (await client.call("_dragoman/hub/sessions"))["sessions"]
    assert {one["sessionId"]: one["title"] for one in listed} == {session: "Blue", new: "paint it"}


async def test_a_text_is_the_first_prompt_and_the_same_key_hands_over_once_also_after_a_crash() -> None:
    gate = Gate()
    async with staged({"one": broke, "two": lambda: obedient(gate)}, keeps=True) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "paint it"))
        params = {"sessionId": session, "agent": "two", "text": "say 3"}
        first, again = client.ask(HANDOVER, params, key="k"), client.ask(HANDOVER, params, key="k")
        new = (await client.answer(first))["result"]["sessionId"]
        assert (await client.answer(again))["result"]["sessionId"] == new
        await client.until(lambda one: "2 " in str(one))
        await stage.crash()
        await stage.start()
        client = await stage.client().begin()
        assert (await client.call(HANDOVER, params, key="k"))["sessionId"] == new
        await client.answer(client.prompt(new, "done?"))
        assert len(await notes_of(stage, session, "continued")) == 1
        other = await client.new()
        used = await client.refusal(HANDOVER, {"sessionId": other, "agent": "two"}, key="k")
    assert "this key was used" in str(used)
    assert [prompt[-5:] for prompt in gate.prompts] == ["say 3", "done?"]
    assert "paint it" in gate.prompts[0]


async def test_an_agent_that_fails_at_the_first_prompt_is_briefed_again_with_the_next() -> None:
    prompts: list[str] = []
    agent = Agent("late")

    @agent.prompt
    async def reply(turn: Turn) -> None:
        prompts.append(turn.text)
        if len(prompts) == 1:
            raise ErrorAnswer(-32000, "Authentication required")

    async with staged({"one": broke, "two": lambda: agent}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "paint it"))
        new = (await client.call(HANDOVER, {"sessionId": session, "agent": "two"}))["sessionId"]
        assert "error" in await client.answer(client.prompt(new, "first"))
        await client.answer(client.prompt(new, "second"))
        await client.answer(client.prompt(new, "third"))
    assert ["paint it" in prompt for prompt in prompts] == [True, True, False]
    assert "Authentication required" in prompts[1]


async def test_a_third_agent_and_one_that_forgets_learn_of_all_that_came_before() -> None:
    gates: list[Gate] = []

    def forgetful() -> Agent:
        gates.append(Gate())
        return obedient(gates[-1])

    async with staged({"one": broke, "two": broke, "three": forgetful}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "paint it"))
        second = (await client.call(HANDOVER, {"sessionId": session, "agent": "two"}))["sessionId"]
        await client.answer(client.prompt(second, "and the door"))
        third = (await client.call(HANDOVER, {"sessionId": second, "agent": "three"}))["sessionId"]
        await client.answer(client.prompt(third, "go on"))
        await stage.end_agent("three")
        await client.answer(client.prompt(third, "further"))
        await client.call("session/delete", {"sessionId": session})
        lost = (await client.call(HANDOVER, {"sessionId": second, "agent": "three"}))["lost"]
    (briefed,), (reminded,) = gates[0].prompts, gates[1].prompts
    for prompt in (briefed, reminded):
        wishes = [record["user"] for record in records(prompt) if "user" in record]
        assert wishes[:2] == ["paint it", "and the door"]
        agents = [record["session of"] for record in records(prompt) if "session of" in record]
        assert agents[:2] == ["one", "two"]
    assert "1 sessions that were deleted" in lost


async def test_a_turn_that_runs_is_not_handed_over_unless_it_is_forced() -> None:
    gate, heard = Gate(), list[str]()
    two = Agent("two")

    @two.prompt
    async def hear(turn: Turn) -> None:
        heard.append(turn.text)

    async with staged({"one": lambda: obedient(gate), "two": lambda: two}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        running = client.prompt(session, "wait")
        queued = client.prompt(session, "the next task")
        await gate.waiting.wait()
        refused = await client.refusal(HANDOVER, {"sessionId": session, "agent": "two"})
        assert "a turn runs" in refused["data"] if "data" in refused else str(refused)
        forced = {"sessionId": session, "agent": "two", "force": True}
        answer = await client.call(HANDOVER, forced)
        assert (await client.answer(running))["result"]["stopReason"] == "cancelled"
        assert (await client.answer(queued))["result"]["stopReason"] == "cancelled"
        await client.answer(client.prompt(answer["sessionId"], "go on"))
    assert "the next task" in heard[0]
    assert answer["sessionId"] != session


async def test_a_token_needs_the_other_agent_and_every_folder_and_an_agent_must_exist(tmp_path: Any) -> None:
    async with staged({"one": obedient, "two": obedient}) as stage:
        owner = await stage.client().begin()
        folders = {"cwd": str(tmp_path), "mcpServers": [], "additionalDirectories": ["/usr"]}
        session = (await owner.call("session/new", folders))["sessionId"]
        for grant in (
            Grant("one agent", agents=("one",)),
            Grant("one folder", roots=(str(tmp_path),)),
        ):
            client = await stage.client(grant, agent="one").begin()
            refused = await client.refusal(HANDOVER, {"sessionId": session, "agent": "two"})
            assert refused["code"] == -32003, grant
        unknown = await owner.refusal(HANDOVER, {"sessionId": session, "agent": "nobody"})
        assert "nobody" in str(unknown)
        missing = await owner.refusal(HANDOVER, {"sessionId": session})
        assert missing["code"] == -32602
        listed = await owner.call("session/list")
        assert [one["sessionId"] for one in listed["sessions"]] == [session]


async def test_readers_that_do_not_know_hand_overs_read_the_streams_and_checkpoints_keep_them() -> None:
    async with staged({"one": broke, "two": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        new = (await client.call(HANDOVER, {"sessionId": session, "agent": "two"}))["sessionId"]
        streams = {
            name: [entry async for page in stage.journal.replay(name) for entry in page]
            for name in (session, new)
        }
    # An older reader knows neither these members of a note nor this kind of note: it passes over both.
    kinds = [note.hub for entry in streams[session] if (note := read_note(entry.frame)) is not None]
    assert kinds[-1] == "continued"
    unknown = streams[session][-1].frame.replace(b'"continued"', b'"of the future"')
    assert fold(new_state(session), streams[session][:-1]).successor == ""
    assert read_note(unknown) is not None
    state = fold(new_state(new), streams[new])
    assert (state.source, state.is_unbriefed) == (session, True)
    checkpoint = read_checkpoint(write_checkpoint(state))
    assert checkpoint is not None
    assert state_at(new, checkpoint).is_unbriefed


@pytest.mark.parametrize("order", [("close", "hand over"), ("hand over", "close")])
async def test_a_session_that_is_closed_while_it_is_handed_over_says_where_it_goes_on(
    order: tuple[str, str],
) -> None:
    async with staged({"first": broke, "second": obedient}) as stage:
        client = await stage.client(agent="first").begin()
        session = await client.new()
        methods = {
            "close": ("session/close", {"sessionId": session}),
            "hand over": (HANDOVER, {"sessionId": session, "agent": "second"}),
        }
        requests = {name: client.ask(*methods[name]) for name in order}
        answers = {name: await client.answer(request) for name, request in requests.items()}
        successor = answers["hand over"]["result"]["sessionId"]
        assert [note["session"] for note in await notes_of(stage, session, "continued")] == [successor]
        listed = await client.call("_dragoman/hub/sessions", {})
        assert {line["sessionId"]: line["state"] for line in listed["sessions"]}[session] == "closed"


async def test_a_hand_over_that_is_asked_for_again_leaves_a_newer_turn_alone() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate), "two": obedient}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        params = {"sessionId": session, "agent": "two"}
        first = await client.call(HANDOVER, params, key="h")
        running = client.prompt(session, "wait")
        await gate.waiting.wait()
        for repeat in (params, {**params, "force": True}):
            assert (await client.call(HANDOVER, repeat, key="h"))["sessionId"] == first["sessionId"]
        gate.open.set()
        assert (await client.answer(running))["result"]["stopReason"] == "end_turn"
    assert gate.cancelled == 0

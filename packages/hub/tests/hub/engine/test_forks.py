"""A fork begins with the past of another session, and that past is not carried out again."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dragoman import Agent
from dragoman.schema.v1 import ForkSessionRequest, ForkSessionResponse
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import staged


def forking(gate: Gate) -> Agent:
    agent = obedient(gate)

    @agent.fork_session
    async def fork(request: ForkSessionRequest) -> ForkSessionResponse:
        return ForkSessionResponse(session_id=f"{request.session_id}-fork")

    return agent


async def test_prompts_that_a_fork_was_made_with_are_not_given_to_its_agent_after_a_crash() -> None:
    gate = Gate()
    async with staged({"one": lambda: forking(gate)}) as stage:
        client = await stage.client().begin()
        session = await client.new()
        await client.answer(client.prompt(session, "say 1"))
        await client.answer(client.prompt(session, "say 2"))
        forked = await client.call("session/fork", {"sessionId": session, "cwd": "/tmp", "mcpServers": []})
        fork = forked["sessionId"]
        assert fork == f"{session}-fork", "the agent has made it"
        await stage.journal.describe(fork, state="running")  # as a prompt does, before it is given to anybody
        await stage.crash()
        await stage.start()
        again = await stage.client().begin()
        await again.call("session/load", {"sessionId": fork, "cwd": "/tmp", "mcpServers": []})
        assert (await again.answer(again.prompt(fork, "say 3")))["result"] == {"stopReason": "end_turn"}
        assert gate.prompts == ["say 1", "say 2", "say 3"]


async def test_a_fork_leaves_out_what_came_from_its_cursor_on() -> None:
    async with staged({"one": lambda: forking(Gate())}) as stage:
        client = await stage.client(cursors=True).begin()
        session = await client.new()
        for words in ("say 1", "say 2"):
            await client.answer(client.prompt(session, words))
        late = await stage.client(cursors=True).begin()
        params = {"sessionId": session, "cwd": "/tmp", "mcpServers": []}
        await late.call("session/load", params)
        (second,) = [one for one in late.heard if "say 2" in str(one)]
        cursor = second["params"]["_meta"]["dragoman"]["cursor"]
        for before, prompts in ((cursor, ["say 1"]), ("none", ["say 1", "say 2"])):
            fork = (await client.call("session/fork", params, before=before))["sessionId"]
            reader = await stage.client().begin()
            await reader.call("session/load", {**params, "sessionId": fork})
            assert reader.texts("user_message_chunk", session=fork) == prompts


async def test_a_fork_into_another_folder_works_there_and_nowhere_else(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "here.txt").write_text("in b")
    for can_fork in (True, False):
        agent = forking if can_fork else obedient
        async with staged({"one": partial(agent, Gate())}, files="hub") as stage:
            client = await stage.client().begin()
            session = await client.new(str(tmp_path / "a"))
            params = {"sessionId": session, "cwd": str(tmp_path / "b"), "mcpServers": []}
            fork = (await client.call("session/fork", params))["sessionId"]
            assert stage.hub.sessions[fork].state.cwd == str(tmp_path / "b")
            prompt = client.prompt(fork, f"read {tmp_path}/b/here.txt")
            assert (await client.answer(prompt))["result"]["stopReason"] == "end_turn"
            assert client.texts() == ["in b"]
            listed = (await client.call("session/list", {"cwd": str(tmp_path / "b")}))["sessions"]
            assert [one["sessionId"] for one in listed] == [fork]

"""What an agent tells that names no session."""

from __future__ import annotations

from pathlib import Path

from dragoman.hub.gate.admission import Grant
from tests.hub.sessions.agents import Gate, obedient
from tests.hub.sessions.stage import Talker, staged


async def test_what_an_agent_tells_beyond_any_session_reaches_whoever_follows_one_of_its(
    tmp_path: Path,
) -> None:
    def heard(client: Talker) -> list[str]:
        return [one["method"] for one in client.heard if one.get("params") == {"elicitationId": "e-1"}]

    async with staged({"one": obedient, "two": obedient}) as stage:
        first = await stage.client().begin()
        session = await first.new(str(tmp_path))
        second = await stage.client().begin()
        await second.call("session/resume", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        confined = await stage.client(Grant("narrow", roots=(str(tmp_path),))).begin()
        await confined.call("session/resume", {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []})
        nobody = await stage.client().begin()
        await nobody.new(str(tmp_path), agent="two")
        for method in ("elicitation/complete", "_one/news"):
            assert (await first.answer(first.prompt(session, f"tell {method}")))["result"]
        await second.until(lambda one: one.get("method") == "_one/news")
        assert heard(first) == heard(second) == ["elicitation/complete", "_one/news"]
        assert heard(confined) == ["elicitation/complete"], "what others have to do with it is not its own"
        assert heard(nobody) == []


async def test_a_request_that_the_agent_gives_up_is_nobody_s_to_answer_any_more() -> None:
    gate = Gate()
    async with staged({"one": lambda: obedient(gate)}) as stage:
        client = await stage.client(events=True).begin()
        session = await client.new()
        prompt = client.prompt(session, "impatient")
        asked = await client.asked()
        withdrawn = await client.until(lambda one: one.get("method") == "$/cancel_request")
        assert withdrawn["params"]["requestId"] == asked["id"]
        assert client.events("settled")[0]["outcome"] == "cancelled"
        assert stage.hub.sessions[session].state.is_busy, "the turn goes on"
        assert not (await client.call("_dragoman/hub/inbox"))["requests"]
        gate.open.set()
        assert (await client.answer(prompt))["result"] == {"stopReason": "end_turn"}
        assert client.texts() == ["never mind"]

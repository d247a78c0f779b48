"""When a child session rests, and who names it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from dragoman_hub.session.events import Renamed
from tests.hub.engine.test_child_sessions import announce, ask, client_of, family
from tests.hub.sessions.raw_agents import eventually


async def test_only_a_child_that_nobody_waits_for_rests(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid", state={"state": "running"})
        await home.made("kid")
        announce(home.agent, "kid", "grand", state={"state": "running"})
        await home.made("grand")
        await eventually(lambda: all(session.process for session in home.hub.sessions.values()))

        def at_rest(*, used: float = -1000.0) -> set[str]:
            sessions = dict(home.hub.sessions)
            for session in sessions.values():
                session.used = used
            home.hub.children.rest_unused(seconds=1.0)
            return {name for name, session in sessions.items() if session.process is None}

        assert not at_rest(), "the turn of its parent runs"
        ask(home.agent, "r", "grand")
        asked = await home.client.asked()
        home.agent.end_turn()
        await home.client.answer(home.prompt)
        assert home.hub.sessions["grand"].state.requests
        assert not at_rest(), "a question waits in it, or below it"
        home.client.allow(asked)
        await eventually(lambda: "r" in home.agent.answers)
        watcher = await client_of(home.stage).begin()
        await watcher.call("session/load", {"sessionId": "kid", "cwd": str(tmp_path), "mcpServers": []})
        assert at_rest() == {"grand"}, "somebody has asked for the other"
        kid = home.hub.sessions["kid"]
        for follower in kid.followers:
            follower.detach()
        assert "kid" not in at_rest(used=asyncio.get_running_loop().time())
        kid.dispatch(Renamed(title="Other"))
        assert "kid" not in at_rest(), "its title is not stored"
        await eventually(lambda: kid.log.last == kid.state.last)
        assert at_rest() - {"grand"} == {"kid"}, "the session of a client does not rest so"


async def test_a_name_that_somebody_gave_a_child_stays_until_its_agent_says_another(tmp_path: Path) -> None:
    async with family(tmp_path) as home:
        announce(home.agent, home.session, "kid", title="Look", state={"state": "running"})
        await home.made("kid")
        kid = home.hub.sessions["kid"]
        await eventually(lambda: kid.title == "Look")
        kid.dispatch(Renamed(title="Mine"))
        record = home.hub.children.entry_of
        announce(home.agent, home.session, "kid", state={"state": "idle"})
        await eventually(lambda: not record(home.hub.sessions[home.session], kid).is_running)
        assert kid.title == "Mine"
        announce(home.agent, home.session, "kid", title=None)
        await eventually(lambda: not record(home.hub.sessions[home.session], kid).title)
        assert kid.title == "Mine"
        announce(home.agent, home.session, "kid", title="Write")
        await eventually(lambda: kid.title == "Write")

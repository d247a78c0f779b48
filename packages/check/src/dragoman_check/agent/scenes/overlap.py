"""Two sessions send requests at once, are answered in reverse order, and use an id that
the client uses too.
"""

from __future__ import annotations

from dragoman_check.agent.driver import AgentDriver
from dragoman_check.agent.editor import ASK
from dragoman_check.agent.stage import APP, Stage


async def overlap(stage: Stage) -> None:
    folders = [stage.project("left"), stage.project("right")]
    if not stage.say("ask", folders[0]):
        return
    async with stage.open_talk("overlap", {}) as talk:
        sessions = [await talk.new(folder, name=folder.name.partition("-")[2]) for folder in folders]
        talk.facts |= dict(zip(("left", "right"), sessions, strict=True))
        talk.facts["folders"] = [str(folder) for folder in folders]
        for session, folder in zip(sessions, folders, strict=True):
            if text := stage.say("tool", folder):
                await talk.prompt(session, text)
        await _prompt_both(stage, talk, sessions)
        talk.facts["edited"] = [(folder / "app.py").read_text() != APP for folder in folders]
        talk.facts["exit"] = await talk.close_input()


async def _prompt_both(stage: Stage, talk: AgentDriver, sessions: list[str]) -> None:
    left_session, right_session = sessions
    folders = talk.facts["folders"]
    talk.editor.holding = frozenset({ASK})
    first_position = talk.position
    first = talk.begin_prompt(left_session, stage.say("ask", type(stage.folder)(folders[0])))
    if not await talk.until_held(first, left_session, since=first_position):
        return
    used = talk.editor.held_requests[0].message["id"]
    # The agent's question has this id, and so has now a request of the client.
    await talk.call("session/list", {}, name="same id", request_id=used, seconds=talk.brief)
    second_position = talk.position
    second = talk.begin_prompt(
        right_session, stage.say("ask", type(stage.folder)(folders[1])), request_id=4001
    )
    await talk.until_held(second, right_session, since=second_position)
    for session in (right_session, left_session):
        talk.release(session)
    await talk.answer(second, since=second_position)
    talk.mark("right edit", second_position)
    await talk.answer(first, since=first_position)
    talk.mark("left edit", first_position)
    talk.editor.holding = frozenset()

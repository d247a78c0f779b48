"""Scenes about cancelling. If possible, the turn waits for an answer that the scene holds back, so that no
timing decides. A turn that ends before its cancel shows nothing, and is not judged.
"""

from __future__ import annotations

import msgspec

from dragoman.wire.envelope import JsonObject
from dragoman_check.agent.connection import Silence
from dragoman_check.agent.driver import SLOW, AgentDriver, prompt_params
from dragoman_check.agent.editor import ASK, EVERYTHING
from dragoman_check.agent.scenes.settings import id_of, modes_of, options_of
from dragoman_check.agent.stage import Stage


async def cancels(stage: Stage) -> None:
    """Cancel a turn while another one continues; then send early, late and useless cancels."""
    first_folder, second_folder = stage.project("one"), stage.project("two")
    async with stage.open_talk("cancels", EVERYTHING) as talk:
        setup = await talk.new_result(first_folder, name="one")
        first_session, second_session = str(setup.get("sessionId")), await talk.new(second_folder, name="two")
        talk.facts |= {"one": first_session, "two": second_session}
        await _with_neighbour(
            stage,
            talk,
            setup,
            second_session,
            [stage.say("slow", first_folder), stage.say("slow", second_folder)],
        )
        talk.editor.holding = frozenset()
        talk.release()
        await talk.prompt(first_session, stage.say("hello", first_folder), name="after the cancel")
        await _idle(talk, first_session, stage.say("hello", first_folder))
        talk.facts["exit"] = await talk.close_input()


async def _with_neighbour(
    stage: Stage, talk: AgentDriver, setup: JsonObject, second_session: str, slow: list[str]
) -> None:
    first_session, talk.editor.holding = str(setup.get("sessionId")), SLOW
    first_position = talk.position
    first = talk.begin_prompt(first_session, slow[0])
    if not await talk.under_way(first, first_session, since=first_position):
        talk.mark("cancelled", first_position)
        return
    second_position = talk.position
    second = talk.begin_prompt(second_session, slow[1])
    await talk.under_way(second, second_session, since=second_position)
    await _change_meanwhile(talk, setup)
    talk.notify("$/cancel_request", {"requestId": str(first)})  # the number's text: another id
    await talk.quiet()
    busy = talk.begin_prompt(first_session, stage.say("hello", stage.folder))
    talk.facts["busy id"] = busy
    await talk.quiet()
    talk.notify("session/cancel", {"sessionId": first_session})
    _answer_cancelled(talk, first_session)
    await _end(talk, first, first_session, first_position, "cancelled")
    await talk.quiet()
    await _settle(talk, busy, first_session)
    talk.editor.holding = frozenset()
    talk.release(second_session)
    if not talk.is_over(second, second_session, since=second_position):
        # Its neighbour was cancelled, and it was not: that has been seen. Nobody waits for its natural end.
        talk.facts["neighbour ran on"] = True
        talk.notify("session/cancel", {"sessionId": second_session, "_meta": {"dragoman.check": {}}})
    await _end(talk, second, second_session, second_position, "neighbour")


async def _end(talk: AgentDriver, running: object, session: str, since: int, name: str) -> None:
    """The end of a turn. If it does not come soon, what the turn waits for is answered."""
    try:
        await talk.end(running, session, since=since, seconds=talk.brief)
    except Silence:
        talk.release(session)
        await talk.end(running, session, since=since)
    finally:
        talk.mark(name, since)


async def _settle(talk: AgentDriver, running: object, session: str) -> None:
    """The end of a prompt that came while another one ran; agents differ in what they do with it."""
    try:
        await talk.answer(running, seconds=talk.brief)
    except Silence:
        talk.notify("session/cancel", {"sessionId": session})
        talk.release(session)
        await talk.answer(running, seconds=talk.brief)


def _answer_cancelled(talk: AgentDriver, session: str) -> None:
    """Answer a client's open questions as cancelled. Other answers can wait: a turn that was cancelled needs
    none.
    """
    talk.editor.choice, talk.editor.form = "cancelled", "cancel"
    talk.release(session, ASK, "elicitation/create")
    talk.editor.choice, talk.editor.form = "allow_once", "accept"


async def _change_meanwhile(talk: AgentDriver, setup: JsonObject) -> None:
    """Settings in the middle of a turn."""
    session, modes, options = setup.get("sessionId"), modes_of(setup), options_of(setup)
    if modes:
        mode = {"sessionId": session, "modeId": modes[-1]}
        await talk.call("session/set_mode", mode, name="mode in a turn", seconds=talk.brief)
    if options:
        same = {"type": "id", "configId": id_of(options[0]), "value": options[0].get("currentValue")}
        change = {"sessionId": session, **same}
        await talk.call("session/set_config_option", change, name="option in a turn", seconds=talk.brief)


async def _idle(talk: AgentDriver, session: str, hello: str) -> None:
    """Cancels that come when nothing runs, or at the same time as the prompt."""
    talk.notify("session/cancel", {"sessionId": session})
    await talk.quiet()
    await talk.prompt(session, hello, name="after an idle cancel")
    request = {
        "jsonrpc": "2.0",
        "id": 77,
        "method": "session/prompt",
        "params": prompt_params(session, hello),
    }
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
    first = talk.position
    talk.send(msgspec.json.encode(request) + b"\n" + msgspec.json.encode(cancel) + b"\n")
    await _end(talk, 77, session, first, "cancelled at once")
    talk.notify("$/cancel_request", {"requestId": 77})  # it is over
    await talk.quiet()
    await talk.prompt(session, hello, name="after both")


async def withdraws(stage: Stage) -> None:
    """Cancel a prompt by `$/cancel_request`, and another one during a question to the user."""
    folder = stage.project("withdrawn")
    async with stage.open_talk("withdraws", EVERYTHING, folder=folder) as talk:
        session = await talk.new(folder)
        talk.editor.holding = SLOW
        first = talk.position
        running = talk.begin_prompt(session, stage.say("slow", folder))
        if await talk.under_way(running, session, since=first):
            talk.notify("$/cancel_request", {"requestId": running})
        await _withdrawn(talk, running, session, first)
        talk.editor.holding = frozenset()
        talk.release()
        await talk.prompt(session, stage.say("hello", folder), name="after it")
        await _while_asked(stage, talk, session)
        talk.facts["exit"] = await talk.close_input()


async def _withdrawn(talk: AgentDriver, running: object, session: str, first: int) -> None:
    """A receiver may ignore the withdrawal: then the turn is cancelled in the usual way, after the mark."""
    try:
        await talk.answer(running, since=first, seconds=talk.brief)
    except Silence:
        talk.facts["withdrawal ignored"] = True
    talk.mark("withdrawn", first)
    if not talk.is_over(running, session, since=first):
        talk.notify("session/cancel", {"sessionId": session})
        _answer_cancelled(talk, session)
        await _end(talk, running, session, first, "cancelled after it")


async def _while_asked(stage: Stage, talk: AgentDriver, session: str) -> None:
    ask, folder = stage.say("ask", talk.editor.folder), talk.editor.folder
    if not ask:
        return
    before = (folder / "app.py").read_text()
    await talk.prompt(session, stage.say("tool", folder) or ask, name="before it is asked")
    talk.editor.holding = frozenset({ASK})
    first = talk.position
    running = talk.begin_prompt(session, ask)
    if await talk.until_held(running, session, since=first):
        talk.notify("session/cancel", {"sessionId": session})
        _answer_cancelled(talk, session)
    await _end(talk, running, session, first, "cancelled while asked")
    talk.editor.holding = frozenset()
    talk.facts["app"] = (folder / "app.py").read_text()
    talk.facts["app before"] = before


async def closes(stage: Stage) -> None:
    """Close a session in the middle of a turn."""
    if not stage.profile.has("sessionCapabilities", "close"):
        return
    folder = stage.project("closed")
    async with stage.open_talk("closes", EVERYTHING, folder=folder) as talk:
        session = await talk.new(folder, name="new to close")
        talk.editor.holding = SLOW
        first = talk.position
        running = talk.begin_prompt(session, stage.say("slow", folder))
        await talk.under_way(running, session, since=first)
        closing = talk.begin("session/close", {"sessionId": session})
        _answer_cancelled(talk, session)
        try:
            await talk.answer(closing, since=first)
        finally:
            talk.mark("close", first)
        await _end(talk, running, session, first, "closed prompt")
        talk.editor.holding = frozenset()
        talk.release()
        await talk.prompt(session, stage.say("hello", folder), name="prompt after close")
        talk.facts["exit"] = await talk.close_input()


async def death(stage: Stage) -> None:
    """Disconnect the client in the middle of a turn."""
    folder = stage.project("left-alone")
    async with stage.open_talk("death", EVERYTHING, folder=folder) as talk:
        session = await talk.new(folder)
        talk.editor.holding = SLOW
        first = talk.position
        running = talk.begin_prompt(session, stage.say("slow", folder))
        await talk.under_way(running, session, since=first)
        processes = talk.child.tree
        talk.facts["exit"] = await talk.close_input()
        talk.mark("never answered", first)
        talk.facts["left"] = [process.pid for process in processes.processes()]

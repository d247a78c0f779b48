"""Scenes about cancelling. Where it can be, a turn lasts because an answer that it needs is held back: then
no clock decides. A turn that ends before it could be cancelled shows nothing, and rules say nothing of it.
"""

from __future__ import annotations

import msgspec

from dragoman.check.agent.connection import Silence
from dragoman.check.agent.driver import SLOW, AgentDriver, prompt_params
from dragoman.check.agent.editor import ASK, EVERYTHING
from dragoman.check.agent.scenes.settings import id_of, modes_of, options_of
from dragoman.check.agent.stage import Stage
from dragoman.wire.envelope import JsonObject


async def cancels(stage: Stage) -> None:
    """A turn is cancelled while its neighbour goes on; then cancels that come early, late, or for nothing."""
    left, right = stage.project("one"), stage.project("two")
    async with stage.opened("cancels", EVERYTHING) as talk:
        setup = await talk.new_result(left, name="one")
        one, two = str(setup.get("sessionId")), await talk.new(right, name="two")
        talk.facts |= {"one": one, "two": two}
        await _with_neighbour(stage, talk, setup, two, [stage.say("slow", left), stage.say("slow", right)])
        talk.editor.holding = frozenset()
        talk.release()
        await talk.prompt(one, stage.say("hello", left), name="after the cancel")
        await _idle(talk, one, stage.say("hello", left))
        talk.facts["exit"] = await talk.close_input()


async def _with_neighbour(
    stage: Stage, talk: AgentDriver, setup: JsonObject, two: str, slow: list[str]
) -> None:
    one, talk.editor.holding = str(setup.get("sessionId")), SLOW
    begun = talk.position
    first = talk.begin_prompt(one, slow[0])
    if not await talk.under_way(first, one, since=begun):
        talk.mark("cancelled", begun)
        return
    other = talk.position
    second = talk.begin_prompt(two, slow[1])
    await talk.under_way(second, two, since=other)
    await _change_meanwhile(talk, setup)
    talk.notify("$/cancel_request", {"requestId": str(first)})  # the number's text: another id
    await talk.quiet()
    busy = talk.begin_prompt(one, stage.say("hello", stage.folder))
    talk.facts["busy id"] = busy
    await talk.quiet()
    talk.notify("session/cancel", {"sessionId": one})
    _answer_cancelled(talk, one)
    await _end(talk, first, one, begun, "cancelled")
    await talk.quiet()
    await _settle(talk, busy, one)
    talk.editor.holding = frozenset()
    talk.release(two)
    if not talk.is_over(second, two, since=other):
        # Its neighbour was cancelled, and it was not: that has been seen. Nobody waits for its natural end.
        talk.facts["neighbour ran on"] = True
        talk.notify("session/cancel", {"sessionId": two})
    await _end(talk, second, two, other, "neighbour")


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
    """What a client does that cancels: its open questions are answered so. Other answers can wait: a turn
    that was cancelled needs none.
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
    """A prompt that is cancelled as a request, and one that is cancelled while the user is asked."""
    folder = stage.project("withdrawn")
    async with stage.opened("withdraws", EVERYTHING, folder=folder) as talk:
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
    """A session that is closed in the middle of a turn."""
    if not stage.profile.has("sessionCapabilities", "close"):
        return
    folder = stage.project("closed")
    async with stage.opened("closes", EVERYTHING, folder=folder) as talk:
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
    """The client goes away in the middle of a turn."""
    folder = stage.project("left-alone")
    async with stage.opened("death", EVERYTHING, folder=folder) as talk:
        session = await talk.new(folder)
        talk.editor.holding = SLOW
        first = talk.position
        running = talk.begin_prompt(session, stage.say("slow", folder))
        await talk.under_way(running, session, since=first)
        processes = talk.child.tree
        talk.facts["exit"] = await talk.close_input()
        talk.mark("never answered", first)
        talk.facts["left"] = [process.pid for process in processes.processes()]

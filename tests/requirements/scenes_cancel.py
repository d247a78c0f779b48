"""Scenes about cancelling. A turn waits because an answer that it needs is held back: no clock decides."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.requirements.editor import EVERYTHING
from tests.requirements.talk import Talk, prompting

if TYPE_CHECKING:
    from tests.requirements.stage import Stage

READ = "fs/read_text_file"
ASK = "session/request_permission"


async def _wait_held(talk: Talk, session: str, count: int = 1) -> None:
    def is_there() -> bool:
        return len([frame for frame in talk.editor.held if frame["params"]["sessionId"] == session]) >= count

    if not is_there():
        await talk.until(lambda _: is_there())


async def _release(talk: Talk, session: str) -> None:
    """Answer what a session still waits for, and hold nothing of it back any more."""
    mine = [frame for frame in talk.editor.held if frame["params"]["sessionId"] == session]
    talk.editor.held = [frame for frame in talk.editor.held if frame not in mine]
    for frame in mine:
        await talk.send({"jsonrpc": "2.0", "id": frame["id"], **talk.editor.answer_now(frame)})


async def cancels(stage: Stage) -> None:
    role = stage.role
    talk = await stage.scene("cancels", EVERYTHING, holding=READ)
    one = await talk.new(stage.project("one"), name="one")
    two = await talk.new(stage.project("two"), name="two")
    talk.scene.facts |= {"one": one, "two": two}
    first = await talk.begin_prompt(one, role.work, name="cancelled")
    await _wait_held(talk, one)
    second = await talk.begin_prompt(two, role.work, name="neighbour")
    await _wait_held(talk, two)
    await _change_meanwhile(talk, one)
    await talk.notify("$/cancel_request", {"requestId": str(first)})  # the number's text: another id
    await talk.quiet()
    await talk.notify("session/cancel", {"sessionId": one})
    await talk.answer(first, "cancelled")
    await _release(talk, one)
    await talk.quiet()
    talk.editor.holding = ""
    await _release(talk, two)
    await talk.answer(second, "neighbour")
    await talk.prompt(one, role.work, name="after the cancel")
    await _idle(talk, one, role.work)


async def _change_meanwhile(talk: Talk, session: str) -> None:
    """Settings in the middle of a turn, and a second prompt to the busy session."""
    modes = talk.scene.result("one")["modes"]["availableModes"]
    mode = {"sessionId": session, "modeId": modes[1]["id"]}
    await talk.call("session/set_mode", mode, name="mode in a turn")
    option = {"sessionId": session, "configId": "mode", "value": modes[0]["id"]}
    await talk.call("session/set_config_option", option, name="option in a turn")
    busy = await talk.begin_prompt(session, "hello", name="second prompt")
    talk.scene.facts["busy"] = await talk.quiet()
    talk.scene.facts["busy id"] = busy


async def _idle(talk: Talk, session: str, work: str) -> None:
    """Cancels that come when nothing runs, or at the same time as the prompt."""
    await talk.notify("session/cancel", {"sessionId": session})
    await talk.prompt(session, work, name="after an idle cancel")
    request = {"jsonrpc": "2.0", "id": 77, "method": "session/prompt", "params": prompting(session, work)}
    cancel = {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}}
    await talk.send(json.dumps(request).encode() + b"\n" + json.dumps(cancel).encode() + b"\n")
    await talk.answer(77, "cancelled at once")
    await talk.notify("$/cancel_request", {"requestId": 77})  # it is over
    await talk.quiet()
    await talk.prompt(session, work, name="after both")


async def withdraws(stage: Stage) -> None:
    """A prompt that is cancelled as a request, one while the user is asked, one by closing its session."""
    role = stage.role
    talk = await stage.scene("withdraws", EVERYTHING, holding=READ)
    session = await talk.new(stage.project("withdrawn"))
    running = await talk.begin_prompt(session, role.work, name="withdrawn")
    await _wait_held(talk, session)
    await talk.notify("$/cancel_request", {"requestId": running})
    await talk.answer(running, "withdrawn")
    talk.editor.holding = ""
    await _release(talk, session)
    await talk.prompt(session, role.work, name="after it")
    talk.editor.holding = ASK
    asking = await talk.begin_prompt(session, role.edit, name="cancelled while asked")
    await _wait_held(talk, session)
    await talk.notify("session/cancel", {"sessionId": session})
    talk.editor.choice = "cancelled"
    await _release(talk, session)
    await talk.answer(asking, "cancelled while asked")
    talk.scene.facts["app"] = (stage.folder / "withdrawn" / "app.py").read_text()
    await _close(stage, talk)


async def _close(stage: Stage, talk: Talk) -> None:
    talk.editor.holding = READ
    closed = await talk.new(stage.project("closed"), name="new to close")
    running = await talk.begin_prompt(closed, stage.role.work, name="closed prompt")
    await _wait_held(talk, closed)
    closing = await talk.begin("session/close", {"sessionId": closed}, name="close")
    await talk.answer(running, "closed prompt")
    await talk.answer(closing, "close")
    talk.editor.holding = ""
    await _release(talk, closed)
    await talk.prompt(closed, stage.role.work, name="prompt after close")


async def death(stage: Stage) -> None:
    """The client goes away in the middle of a turn."""
    talk = await stage.scene("death", EVERYTHING, holding=READ)
    session = await talk.new(stage.project("left-alone"))
    await talk.begin_prompt(session, stage.role.work, name="never answered")
    await _wait_held(talk, session)
    await stage.end(EVERYTHING)
    talk.scene.facts["complaints"] = talk.peer.stderr
    talk.scene.facts["left"] = [pid for pid in talk.peer.processes() if pid != talk.peer.pid]


SCENES = [cancels, withdraws, death]

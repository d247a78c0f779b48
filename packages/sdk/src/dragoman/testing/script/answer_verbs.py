"""Verbs about time and about the answer: wait, repeat, stop, answer, fail.

An answer leaves when its line is played, not at the end of the scene, so that a script can go on talking
after it. Answering a second time is a mistake, and sometimes the point.
"""

from __future__ import annotations

import asyncio
import re

from dragoman.testing.script.scene import Action, ScriptScene, perform
from dragoman.testing.script.statements import ScriptError, Statement
from dragoman.testing.script.verbs import (
    no_body,
    number,
    plain,
    prepare,
    read_or_defer,
    seconds,
    texts,
    verb,
    words,
)

METHOD = re.compile(r"[/_]")
"""Recognises the name of a method among the words of a script."""


@verb("wait")
def wait(statement: Statement) -> Action:
    (word,) = texts(statement, least=1, most=1)
    duration = read_or_defer(statement, word, seconds)

    async def act(scene: ScriptScene) -> None:
        await asyncio.sleep(duration(scene))

    return act


@verb("until")
def until(statement: Statement) -> Action:
    """`until cancelled`: wait for a cancel, then continue with the next line. `until METHOD`: wait for the
    next message of this method; a cancel ends the wait.
    """
    (what,) = texts(statement, least=1, most=1)
    if what != "cancelled" and not METHOD.search(what):
        raise ScriptError(statement.line, f"wait for `until cancelled` or a method, not for {what!r}")

    async def act(scene: ScriptScene) -> None:
        if what == "cancelled":
            scene.deaf = True
            await scene.cancel_event.wait()
        else:
            await scene.peer.until(what)

    return act


@verb("deaf")
def deaf(statement: Statement) -> Action:
    """Ignore cancels from this line on."""
    texts(statement)

    async def act(scene: ScriptScene) -> None:
        scene.deaf = True

    return act


@verb("repeat")
def repeat(statement: Statement) -> Action:
    """Repeat the lines below this many times; `$n` counts from 1."""
    (word,) = words(statement, least=1, most=1)
    times, body = read_or_defer(statement, word, number), prepare(statement.body)

    async def act(scene: ScriptScene) -> None:
        for at in range(1, times(scene) + 1):
            scene.names["n"] = at
            await perform(body, scene)
            await asyncio.sleep(0)  # a cancel must be heard between two rounds

    return act


@verb("stop")
def stop(statement: Statement) -> Action:
    """Answer the prompt with this stop reason."""
    (reason,) = texts(statement, least=1, most=1)

    async def act(scene: ScriptScene) -> None:
        await scene.answer({"stopReason": scene.fill(reason)})

    return act


@verb("answer")
def answer(statement: Statement) -> Action:
    """Answer with this result; without one, with the usual answer."""
    no_body(statement)
    result = [plain(word) for word in words(statement, most=1)]

    async def act(scene: ScriptScene) -> None:
        await scene.answer(scene.fill(result[0]) if result else scene.outcome)

    return act


@verb("fail")
def fail(statement: Statement) -> Action:
    """Answer with an error: code, message, data."""
    no_body(statement)
    arguments = words(statement, least=1, most=3)
    code = number(statement, arguments[0])
    message = str(arguments[1]) if len(arguments) > 1 else "the script says so"
    data = arguments[2] if len(arguments) > 2 else None

    async def act(scene: ScriptScene) -> None:
        await scene.refuse(code, scene.fill(message), scene.fill(data))

    return act


@verb("unanswered")
def never_answer(statement: Statement) -> Action:
    """Never answer this request."""
    texts(statement)

    async def act(scene: ScriptScene) -> None:
        scene.leave_unanswered()

    return act

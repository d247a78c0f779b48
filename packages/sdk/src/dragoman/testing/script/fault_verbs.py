"""Verbs that misbehave on purpose: raw bytes, dying, stalling, hanging up.

Everything that was said before has left before one of these is done, so that a test knows what the other side
has heard.
"""

from __future__ import annotations

import signal

import msgspec

from dragoman.testing.script.scene import Action, ScriptScene
from dragoman.testing.script.statements import ScriptError, Statement
from dragoman.testing.script.verbs import no_body, number, plain, seconds, texts, verb, words


@verb("frame")
def frame(statement: Statement) -> Action:
    """Send any JSON as one line, valid or not."""
    no_body(statement)
    (template,) = words(statement, least=1, most=1)
    value = plain(template)

    async def act(scene: ScriptScene) -> None:
        await scene.peer.send(msgspec.json.encode(scene.fill(value)))

    return act


@verb("line")
def line(statement: Statement) -> Action:
    """Send any text as one line."""
    (text,) = texts(statement, least=1, most=1)

    async def act(scene: ScriptScene) -> None:
        await scene.peer.send_bytes(str(scene.fill(text)).encode() + b"\n")

    return act


@verb("raw")
def raw(statement: Statement) -> Action:
    """Send bytes unchanged, without a newline: a text, or `hex=` for other bytes."""
    values = texts(statement, most=1, options=("hex",))
    try:
        block = values[0].encode() if values else bytes.fromhex(str(statement.options["hex"]))
    except (KeyError, ValueError):
        raise ScriptError(statement.line, "raw takes one text, or hex= and pairs of digits") from None

    async def act(scene: ScriptScene) -> None:
        await scene.peer.send_bytes(block)

    return act


@verb("die")
def die(statement: Statement) -> Action:
    """End the process: with an exit status, or by the signal of this name."""
    (how,) = texts(statement, most=1) or ["1"]
    statuses = {member.name: -member.value for member in signal.Signals}
    status = statuses[how] if how in statuses else number(statement, how)

    async def act(scene: ScriptScene) -> None:
        await _settle(scene)
        await scene.peer.body.die(status)

    return act


@verb("stall")
def stall(statement: Statement) -> Action:
    """Read and send nothing, for some seconds or for ever."""
    word = texts(statement, most=1)
    duration = seconds(statement, word[0]) if word else None

    async def act(scene: ScriptScene) -> None:
        await _settle(scene)
        await scene.peer.stall(duration)

    return act


@verb("close")
def close(statement: Statement) -> Action:
    """Close the output, and continue."""
    texts(statement)

    async def act(scene: ScriptScene) -> None:
        await _settle(scene)
        await scene.peer.body.close_output()

    return act


@verb("linger")
def linger(statement: Statement) -> Action:
    """Ignore the end of the input, and SIGTERM, from this line on."""
    texts(statement)

    async def act(scene: ScriptScene) -> None:
        scene.peer.body.linger()

    return act


@verb("complain")
def complain(statement: Statement) -> Action:
    """Write a line to standard error."""
    (text,) = texts(statement, least=1, most=1)

    async def act(scene: ScriptScene) -> None:
        scene.peer.body.complain(str(scene.fill(text)))

    return act


async def _settle(scene: ScriptScene) -> None:
    """Let everything leave that was said; from here on, not even a cancel gets in between."""
    scene.deaf = True
    await scene.peer.flush()

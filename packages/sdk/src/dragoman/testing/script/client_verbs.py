"""Verbs of a scripted client: open a session, prompt, and expect an answer.

`expect` takes the next frame, whatever it is, and fails if it is another one than the script says; `await`
passes over frames until one fits. Both know short forms (see `forms`) and any pattern. `initialize` and `new`
wait for their answers; `prompt` does not, so that what comes before its answer can be expected.
"""

from __future__ import annotations

import json

from dragoman.testing.pace import deadline
from dragoman.testing.script.forms import ExpectedForm, form, is_chunk
from dragoman.testing.script.scene import Action, ScriptScene
from dragoman.testing.script.statements import ScriptError, Statement
from dragoman.testing.script.verbs import no_body, seconds, texts, verb, words
from dragoman.testing.transcript import show
from dragoman.wire.envelope import Json

PATIENCE = 5.0
"""The seconds to wait for an expected frame, unless `within=` is set."""


class ScriptFailed(AssertionError):
    """The other side did not do what the script expects.

        try:
            await ScriptedClient(story).talk_to("dragoman agent echo")
        except ScriptFailed as error:
            print(error.line, error)

    Its text has the last frames, too.
    """

    def __init__(self, line: int, why: str) -> None:
        super().__init__(f"line {line}: {why}")
        self.line = line


@verb("initialize")
def initialize(statement: Statement) -> Action:
    no_body(statement)
    words(statement, options=("capabilities", "version"))
    params = {
        "protocolVersion": statement.options.get("version", 1),
        "clientInfo": {"name": "script", "version": "0.0.0"},
        "clientCapabilities": statement.options.get("capabilities", {}),
    }

    async def act(scene: ScriptScene) -> None:
        scene.names["agent"] = await scene.peer.call("initialize", params)

    return act


@verb("new")
def new(statement: Statement) -> Action:
    no_body(statement)
    words(statement, options=("cwd",))
    cwd = statement.options.get("cwd", "/tmp")  # noqa: S108  # any folder will do

    async def act(scene: ScriptScene) -> None:
        answer = await scene.peer.call("session/new", {"cwd": scene.fill(cwd), "mcpServers": []})
        scene.names["session"] = answer["sessionId"]

    return act


@verb("prompt")
def prompt(statement: Statement) -> Action:
    """Send a prompt. Each word is a block of text, or a whole content block."""
    no_body(statement)
    content = words(statement, least=1, most=None)

    async def act(scene: ScriptScene) -> None:
        scene.names["last"] = scene.peer.next_id()
        blocks = [
            {"type": "text", "text": block} if isinstance(block, str) else block
            for block in scene.fill(content)
        ]
        params = {"sessionId": scene.session, "prompt": blocks}
        await scene.peer.send(
            {"jsonrpc": "2.0", "id": scene.names["last"], "method": "session/prompt", "params": params}
        )

    return act


@verb("cancel")
def cancel(statement: Statement) -> Action:
    texts(statement)

    async def act(scene: ScriptScene) -> None:
        params = {"sessionId": scene.session}
        await scene.peer.send({"jsonrpc": "2.0", "method": "session/cancel", "params": params})

    return act


def _permission(statement: Statement, kind_prefix: str) -> Action:
    texts(statement)

    async def act(scene: ScriptScene) -> None:
        options = scene.names.get("options")
        for option in options if isinstance(options, list) else ():
            if isinstance(option, dict) and str(option.get("kind", "")).startswith(kind_prefix):
                outcome = {"outcome": "selected", "optionId": option.get("optionId")}
                await scene.answer({"outcome": outcome})
                return
        raise ScriptError(statement.line, f"no permission was asked for that one could {statement.verb}")

    return act


@verb("allow")
def allow(statement: Statement) -> Action:
    """Choose the first option that allows."""
    return _permission(statement, "allow")


@verb("reject")
def reject(statement: Statement) -> Action:
    return _permission(statement, "reject")


@verb("expect")
def expect(statement: Statement) -> Action:
    return _expect_action(statement, passing_over=False)


@verb("await")
def await_(statement: Statement) -> Action:
    return _expect_action(statement, passing_over=True)


def _expect_action(statement: Statement, *, passing_over: bool) -> Action:
    no_body(statement)
    expected_form = form(statement)
    limit = seconds(statement, statement.options.get("within", PATIENCE))

    async def act(scene: ScriptScene) -> None:
        try:
            async with deadline(limit):
                await _meet(scene, statement, expected_form, passing_over=passing_over)
        except TimeoutError:
            why = f"{expected_form.name} did not come within {limit:g} seconds"
            raise ScriptFailed(statement.line, f"{why}\n{show(scene.peer.transcript)}") from None

    return act


async def _meet(scene: ScriptScene, statement: Statement, form: ExpectedForm, *, passing_over: bool) -> None:
    text = ""
    while True:
        value = await scene.inbox.get()
        if form.fits(value, scene.names, text):
            return
        if form.gathers and is_chunk(value):
            text += value["params"]["update"]["content"]["text"]
        elif not passing_over or value is None:
            came = "the connection ended" if value is None else json.dumps(value, ensure_ascii=False)
            after = f" after {text!r}" if text else ""
            why = f"expected {form.name}, but came{after}: {came}"
            raise ScriptFailed(statement.line, f"{why}\n{show(scene.peer.transcript)}")


def frame_value(line: bytes) -> Json:
    """Return a frame as a value for patterns; a frame that is not JSON is a text."""
    try:
        return json.loads(line)
    except ValueError:
        return line.decode(errors="replace")

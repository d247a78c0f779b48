"""Verbs that send the client a request and wait for its answer.

Each may have a branch `failed` for an answer that is an error; without one, the error ends the scene. What
was answered can be given a name with `as=`, and later lines use it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from dragoman.errors import CallFailed
from dragoman.testing.script.scene import Action, ScriptScene, perform
from dragoman.testing.script.statements import Statement
from dragoman.testing.script.update_verbs import tool_id
from dragoman.testing.script.verbs import branches, number, verb, words
from dragoman.wire.envelope import Json, JsonObject

OPTIONS = (("allow_once", "Allow"), ("reject_once", "Reject"))


@verb("ask")
def ask(statement: Statement) -> Action:
    """Ask for permission, and continue with the branch for the decision."""
    title, *_ = words(statement, least=1, most=1, options=("id", "kind"))
    options = [_option(line) for line in statement.body if line.verb == "option"]
    rest = tuple(line for line in statement.body if line.verb != "option")
    inner = Statement(statement.verb, body=rest, line=statement.line)
    ways = branches(inner, ("allowed", "rejected", "cancelled", "failed"))

    async def act(scene: ScriptScene) -> None:
        permission_options = options or [_offer(kind, kind, name) for kind, name in OPTIONS]
        scene.tool, before = scene.tool or tool_id(scene, dict(statement.options)), scene.tool
        call = {"toolCallId": scene.tool, "title": scene.fill(title)}
        if "kind" in statement.options:
            call["kind"] = statement.options["kind"]
        branch = await _decide(scene, call, permission_options)
        await perform(ways.get(branch, ()), scene)
        scene.tool = before

    return act


@verb("read")
def read(statement: Statement) -> Action:
    (path,) = words(statement, least=1, most=1, options=("as", "line", "limit"))
    window = {
        name: number(statement, statement.options[name])
        for name in ("line", "limit")
        if name in statement.options
    }

    async def ask_client(scene: ScriptScene) -> Json:
        answer = await scene.call("fs/read_text_file", {"path": scene.fill(path), **window})
        return _member(answer, "content")

    return _ask_action(statement, ask_client)


@verb("write")
def write(statement: Statement) -> Action:
    path, text = words(statement, least=2, most=2)

    async def ask_client(scene: ScriptScene) -> Json:
        await scene.call("fs/write_text_file", {"path": scene.fill(path), "content": str(scene.fill(text))})

    return _ask_action(statement, ask_client)


@verb("run")
def run(statement: Statement) -> Action:
    """Run a command in a terminal of the client to its end; the name after it gets the output."""
    command, *arguments = words(statement, least=1, most=None, options=("as",))

    async def ask_client(scene: ScriptScene) -> Json:
        params = {"command": scene.fill(command), "args": scene.fill(arguments)}
        terminal = {"terminalId": _member(await scene.call("terminal/create", params), "terminalId")}
        try:
            await scene.call("terminal/wait_for_exit", terminal)
            return _member(await scene.call("terminal/output", terminal), "output")
        finally:
            await scene.call("terminal/release", terminal)

    return _ask_action(statement, ask_client)


@verb("call")
def call(statement: Statement) -> Action:
    """Send any request: its method and its params."""
    method, *params = words(statement, least=1, most=2, options=("as",))

    async def ask_client(scene: ScriptScene) -> Json:
        return await scene.peer.call(method, scene.fill(params[0]) if params else {})

    return _ask_action(statement, ask_client)


def _ask_action(statement: Statement, ask_client: Callable[[ScriptScene], Awaitable[Json]]) -> Action:
    failure_actions = branches(statement, ("failed",)).get("failed")
    name = statement.options.get("as")

    async def act(scene: ScriptScene) -> None:
        try:
            answer = await ask_client(scene)
        except CallFailed as error:
            if failure_actions is None:
                raise
            scene.names.update(code=error.code, message=error.message)
            await perform(failure_actions, scene)
        else:
            if isinstance(name, str):
                scene.names[name] = answer

    return act


async def _decide(scene: ScriptScene, call: JsonObject, options: list[dict[str, str]]) -> str:
    """Which branch the answer means. An answer that makes no sense is a failed one, never a yes."""
    try:
        answer = await scene.call("session/request_permission", {"toolCall": call, "options": options})
        outcome = _member(answer, "outcome")
    except CallFailed:
        return "failed"
    if not isinstance(outcome, dict) or outcome.get("outcome") not in ("selected", "cancelled"):
        return "failed"
    if outcome["outcome"] == "cancelled":
        return "cancelled"
    option_id = outcome.get("optionId")
    kinds = [option["kind"] for option in options if option["optionId"] == option_id]
    if not kinds:
        return "failed"
    return "allowed" if kinds[0].startswith("allow") else "rejected"


def _option(line: Statement) -> dict[str, str]:
    kind, name = words(line, least=2, most=2, options=("id",))
    return _offer(str(line.options.get("id", kind)), kind, name)


def _offer(option_id: str, kind: str, name: str) -> dict[str, str]:
    return {"optionId": option_id, "name": name, "kind": kind}


def _member(answer: object, name: str) -> Json:
    if not isinstance(answer, dict) or name not in answer:
        raise CallFailed(0, f"the answer has no {name}")
    return answer[name]

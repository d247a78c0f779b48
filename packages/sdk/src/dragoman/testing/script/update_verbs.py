"""Verbs that send the client updates: messages, thoughts, plans, tool calls, any update."""

from __future__ import annotations

from dragoman.testing.script.scene import Action, ScriptScene, perform
from dragoman.testing.script.statements import ScriptError, Statement
from dragoman.testing.script.verbs import no_body, number, prepare, read_or_defer, texts, verb, words
from dragoman.wire.envelope import JsonObject

LARGEST = 16 * 1024 * 1024
"""The most characters of one chunk of a flood; larger chunks test frames, not floods."""

STATUSES = ("pending", "in_progress", "completed", "failed")


def _chunks(statement: Statement, kind: str) -> Action:
    pieces = texts(statement, least=1, most=None)

    async def act(scene: ScriptScene) -> None:
        for piece in pieces:
            await scene.update({"sessionUpdate": kind, "content": _text(str(scene.fill(piece)))})

    return act


@verb("say")
def say(statement: Statement) -> Action:
    """Send each word as a chunk of the answer."""
    return _chunks(statement, "agent_message_chunk")


@verb("think")
def think(statement: Statement) -> Action:
    return _chunks(statement, "agent_thought_chunk")


@verb("user")
def user(statement: Statement) -> Action:
    """Send a user's earlier message, for replaying a session."""
    return _chunks(statement, "user_message_chunk")


@verb("plan")
def plan(statement: Statement) -> Action:
    """Send a plan. Words are pending entries; a body gives each entry's status."""
    entries = [("pending", text) for text in words(statement, most=None)]
    for entry in statement.body:
        if entry.verb not in STATUSES[:3]:
            raise ScriptError(entry.line, f"an entry is {', '.join(STATUSES[:3])}, not {entry.verb!r}")
        entries += [(entry.verb, text) for text in texts(entry, least=1, most=1)]

    async def act(scene: ScriptScene) -> None:
        plan_entries = [
            {"content": scene.fill(text), "priority": "medium", "status": status} for status, text in entries
        ]
        await scene.update({"sessionUpdate": "plan", "entries": plan_entries})

    return act


@verb("update")
def update(statement: Statement) -> Action:
    """Send any update unchanged."""
    no_body(statement)
    (template,) = words(statement, least=1, most=1)

    async def act(scene: ScriptScene) -> None:
        await scene.update(scene.fill(template))

    return act


@verb("tool")
def tool(statement: Statement) -> Action:
    """Announce a tool call. `status` lines below report on it; without them it is completed at once."""
    title, *_ = words(statement, least=1, most=1, options=("id", "kind", "status"))
    body = prepare(statement.body)
    settings = {"kind": "other", "status": "pending", **statement.options}

    async def act(scene: ScriptScene) -> None:
        scene.tool, before = tool_id(scene, settings), scene.tool
        fields = {"title": scene.fill(title), "kind": settings["kind"], "status": settings["status"]}
        await scene.update({"sessionUpdate": "tool_call", "toolCallId": scene.tool, **fields})
        await perform(body, scene)
        if not body:
            await report(scene, "completed")
        scene.tool = before

    return act


@verb("status")
def status(statement: Statement) -> Action:
    """Report the status of the tool call above; further words are its content."""
    new, *content = texts(statement, least=1, most=None)
    if new not in STATUSES:
        raise ScriptError(statement.line, f"a status is {', '.join(STATUSES)}, not {new!r}")

    async def act(scene: ScriptScene) -> None:
        if not scene.tool:
            raise ScriptError(statement.line, "status belongs below tool or ask")
        await report(scene, new, [str(scene.fill(text)) for text in content])

    return act


@verb("notify")
def notify(statement: Statement) -> Action:
    """Send any notification: its method and its params."""
    no_body(statement)
    method, *params = words(statement, least=1, most=2)

    async def act(scene: ScriptScene) -> None:
        frame = {"jsonrpc": "2.0", "method": method}
        await scene.peer.send({**frame, "params": scene.fill(params[0])} if params else frame)

    return act


@verb("flood")
def flood(statement: Statement) -> Action:
    """Send this many chunks with this many characters; each begins with its number."""
    count, *size = [read_or_defer(statement, word, number) for word in texts(statement, least=1, most=2)]

    async def act(scene: ScriptScene) -> None:
        width = min(size[0](scene), LARGEST) if size else 0
        for at in range(count(scene)):
            text = f"{at} ".ljust(width, ".")
            await scene.update({"sessionUpdate": "agent_message_chunk", "content": _text(text)})

    return act


def tool_id(scene: ScriptScene, fields: JsonObject) -> str:
    return str(scene.fill(fields["id"])) if "id" in fields else f"call-{next(scene.peer.tools)}"


async def report(scene: ScriptScene, new: str, content: list[str] | None = None) -> None:
    change: JsonObject = {"sessionUpdate": "tool_call_update", "toolCallId": scene.tool, "status": new}
    if content:
        change["content"] = [{"type": "content", "content": _text(text)} for text in content]
    await scene.update(change)


def _text(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}

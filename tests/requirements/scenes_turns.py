"""Scenes about turns: what an agent says while it works, what it asks, and what the client's gifts change."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dragoman_check import agent as check_agent
from dragoman_check.agent.scenes.turns import GIFTS
from tests.requirements.cast import APP
from tests.requirements.editor import EVERYTHING
from tests.requirements.talk import PATIENCE, Talk, prompting
from tests.transport.programs import eventually

if TYPE_CHECKING:
    from tests.requirements.stage import Stage

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
REFUSALS = ("reject_once", "cancelled", "unknown option", "unknown outcome", "error")
PROBE = Path(check_agent.__file__).with_name("probe_server.py")


async def story(stage: Stage) -> None:
    """A long session with a client that offers everything."""
    folder, role = stage.project("story"), stage.role
    talk = await stage.scene("story", EVERYTHING)
    talk.editor.unsaved[str(folder / "app.py")] = APP + "# unsaved\n"
    session = stage.props["session"] = await talk.new(folder)
    talk.scene.facts |= {"session": session, "folder": str(folder)}
    await talk.prompt(session, role.work, name="work")
    await _refuse(talk, session, folder, role.edit)
    talk.editor.choice = "allow_once"
    await talk.prompt(session, role.edit, name="edit")
    talk.scene.facts["edited"] = (folder / "app.py").read_text()
    await _change_settings(talk, session)
    await talk.prompt(session, *_blocks(folder), name="blocks")
    await talk.prompt(session, role.recall, name="recall")
    await talk.prompt(session, f"/{role.command}", name="command")
    await talk.prompt(session, f"/{role.command} x", _blocks(folder)[0], name="command with a block")
    await talk.prompt(session, "/nobodys command", name="unknown command")
    await talk.prompt(session, name="empty prompt")
    audio = {"type": "audio", "data": PIXEL, "mimeType": "audio/wav"}
    await talk.prompt(session, "listen", audio, name="audio")
    if role.name == "code":
        await _only_coders(stage, talk, session)
    (folder / "app.py").write_text(APP)
    await talk.prompt(session, role.work, name="work at last")
    _keep_requests(stage, talk)


async def _refuse(talk: Talk, session: str, folder: Path, edit: str) -> None:
    for choice in REFUSALS:
        talk.editor.choice = choice
        await talk.prompt(session, edit, name=f"edit, {choice}")
        talk.scene.facts[f"after {choice}"] = (folder / "app.py").read_text()


async def _change_settings(talk: Talk, session: str) -> None:
    """Modes and options while nothing runs; the first mode is set again at the end."""
    modes = talk.scene.result("new")["modes"]
    first, other = modes["currentModeId"], modes["availableModes"][1]["id"]
    talk.scene.facts["modes"] = [first, other]
    await talk.call("session/set_mode", {"sessionId": session, "modeId": other}, name="set mode")
    await talk.quiet()
    option = {"sessionId": session, "configId": "mode", "value": first}
    await talk.call("session/set_config_option", option, name="set option")
    await talk.call("session/set_config_option", {**option, "type": "id"}, name="set option with type")
    await talk.call("session/set_config_option", {**option, "type": "_odd"}, name="set option, odd type")
    wrong = {**option, "value": "nobody's"}
    await talk.call("session/set_config_option", wrong, name="set option wrongly")
    await talk.quiet()


def _blocks(folder: Path) -> list[Any]:
    """One of each kind that both agents take, with notes that are wrong on purpose."""
    uri = (folder / "app.py").as_uri()
    link = {"type": "resource_link", "uri": uri, "name": "app.py", "size": "big", "_meta": {"a": 1}}
    text = {"type": "resource", "resource": {"uri": uri, "text": APP, "mimeType": "text/x-python"}}
    note = {"type": "text", "text": "look at these", "annotations": {"audience": 5, "priority": "high"}}
    return [note, link, text]


async def _only_coders(stage: Stage, talk: Talk, session: str) -> None:
    await talk.prompt(session, "please run", name="run")
    talk.scene.facts["open terminals"] = sorted(talk.editor.open_terminals)
    image = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
    await talk.prompt(session, "see", image, name="image")
    talk.scene.facts["images"] = len(stage.model.requests[-1].images)
    for word in ("fail", "long", "refuse", "outside", "stray"):
        talk.editor.choice = "reject_once"
        await talk.prompt(session, f"please {word}", name=word)
    talk.editor.choice = "allow_once"


def _keep_requests(stage: Stage, talk: Talk) -> None:
    asked = stage.model.requests
    talk.scene.facts["model"] = [[message.text for message in request.messages] for request in asked]


async def gifts(stage: Stage) -> None:
    """The same turn with clients that offer less, or nonsense: at once, because starting takes long."""
    await asyncio.gather(*(_give(stage, name, gift) for name, gift in GIFTS.items()))


async def _give(stage: Stage, name: str, capabilities: Any) -> None:
    folder = stage.project(name)
    talk = await stage.scene(name, capabilities)
    session = await talk.new(folder)
    await talk.prompt(session, stage.role.work, name="work")
    await talk.prompt(session, stage.role.edit, name="edit")
    talk.scene.facts |= {"edited": (folder / "app.py").read_text(), "folder": str(folder)}
    if stage.role.name == "code":
        await talk.prompt(session, "please run", name="run")
        talk.scene.facts["ran"] = (folder / "ran").exists()
    await talk.prompt(session, f"/{stage.role.command}", name="command")


async def servers(stage: Stage) -> None:
    """Two MCP servers over stdio; one for HTTP, which nobody serves; then the end of the session."""
    folder = stage.project("mounted")
    logs = [folder / "one.log", folder / "two.log"]
    mounted = [
        {"name": name, "command": sys.executable, "args": [str(PROBE), str(log)], "env": []}
        for name, log in zip(("probe", "second"), logs, strict=True)
    ]
    talk = await stage.scene("servers", {})
    session = await talk.new(folder, mcpServers=mounted)
    await talk.prompt(session, "please mount", name="mount")
    # Who needs none of their tools begins without waiting for them.
    await eventually(lambda: all("tools/list" in text(log) for log in logs), seconds=PATIENCE)
    other = await talk.new(folder, name="other")
    await talk.prompt(other, "please mount", name="mount elsewhere")
    http = [{"type": "http", "name": "h", "url": "http://127.0.0.1:9/mcp", "headers": []}]
    await talk.call("session/new", {"cwd": str(folder), "mcpServers": http}, name="http server")
    await talk.call("session/close", {"sessionId": session}, name="close")
    talk.scene.facts["logs"] = [text(log).splitlines() for log in logs]


def text(log: Path) -> str:
    return log.read_text() if log.exists() else ""


async def overlap(stage: Stage) -> None:
    """Two sessions that both ask at once, answered in the other order, with ids that the client uses too."""
    folders = [stage.project("left"), stage.project("right")]
    talk = await stage.scene("overlap", {})
    left, right = [await talk.new(folder, name=folder.name) for folder in folders]
    talk.scene.facts |= {"left": left, "right": right}
    if stage.role.name == "review":
        for session in (left, right):
            await talk.prompt(session, stage.role.work)
    talk.editor.holding = "session/request_permission"
    first = await talk.begin_prompt(left, stage.role.edit, name="left edit")
    await talk.until(lambda _: len(talk.editor.held) == 1)
    used = talk.editor.held[0]["id"]
    # The agent's question has this id, and so has now a request of the client.
    await talk.begin("session/list", {}, id=used, name="same id")
    second = await talk.begin("session/prompt", prompting(right, stage.role.edit), id=4001, name="right")
    await talk.until(lambda _: len(talk.editor.held) == 2)
    await talk.answer(used, "same id")
    for frame in reversed(talk.editor.held):
        await talk.send({"jsonrpc": "2.0", "id": frame["id"], **talk.editor.answer_now(frame)})
    await talk.answer(second, "right")
    await talk.answer(first, "left edit")
    talk.scene.facts["edited"] = [(folder / "app.py").read_text() for folder in folders]


SCENES = [story, gifts, servers, overlap]

"""Scenes about turns: updates and requests while an agent works, and the effect of the client's capabilities.

Every turn is tried with the words of the catalogue. Whether they led to what they are meant to lead to is
for rules to see.
"""

from __future__ import annotations

from pathlib import Path

from dragoman.wire.envelope import JsonObject
from dragoman_check.agent.connection import Silence
from dragoman_check.agent.driver import AgentDriver
from dragoman_check.agent.editor import ASK, EVERYTHING, REFUSALS
from dragoman_check.agent.scenes.settings import change_settings
from dragoman_check.agent.stage import APP, Stage

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

GIFTS: JsonObject = {
    "bare": {},
    "reads": {
        "fs": {"readTextFile": True, "writeTextFile": "yes"},
        "terminal": "yes",
        "session": {"notices": {}, "compaction": {}, "configOptions": 7},
        "auth": "x",
        "elicitation": [],
        "_meta": 5,
    },
    "writes": {
        "fs": {"writeTextFile": True},
        "terminal": False,
        "session": {"notices": None, "compaction": None},
    },
}
"""The partial capabilities of clients: none, one half with invalid values, the other half with null."""


async def conversation(stage: Stage) -> None:
    """Run a long session with a client that offers everything."""
    folder = stage.project("story")
    async with stage.open_talk("story", EVERYTHING, folder=folder) as talk:
        talk.editor.unsaved_texts[str(folder / "app.py")] = APP + "# unsaved\n"
        setup = await talk.new_result(folder)
        session = str(setup.get("sessionId"))
        talk.facts |= {"session": session, "folder": str(folder), "word": stage.prompts.word}
        await talk.quiet()
        play = SceneTurns(stage, talk, session, folder)
        await play("hello", "hello")
        await play("tool", "work")
        await play.refusals()
        await play("ask", "edit")
        talk.facts["edited"] = play.text()
        for trigger in ("read", "write", "plan", "run"):
            await play(trigger, trigger)
        talk.facts["open terminals"] = sorted(talk.editor.terminals)
        await play.forms()
        await change_settings(talk, setup)
        await _blocks(stage, talk, session, folder)
        await play("remember", "remember")
        await ask_to_recall(stage, talk, session, folder)
        await play("stray", "stray")
        for trigger in stage.prompts.extra:
            await play(trigger, trigger)
        (folder / "app.py").write_text(APP)
        await play("tool", "work at last")
        await talk.quiet()
        talk.facts["exit"] = await talk.close_input()


async def ask_to_recall(stage: Stage, talk: AgentDriver, session: str, folder: Path) -> None:
    """Ask for the earlier word. If it does not come, ask with the word in the same prompt: an agent that does
    not repeat it even then shows nothing about its memory.
    """
    recall, remember = stage.say("recall", folder), stage.say("remember", folder)
    if not recall:
        return
    first = talk.position
    await talk.prompt(session, recall, name="recall")
    raw_frames = b"".join(
        frame.raw for frame in talk.recording.frames[first:] if frame.direction == "to_client"
    )
    if stage.prompts.word.encode() not in raw_frames and remember:
        await talk.prompt(session, f"{remember}\n\n{recall}", name="recall control")


class SceneTurns:
    """Turns of one session, by their triggers."""

    def __init__(self, stage: Stage, talk: AgentDriver, session: str, folder: Path) -> None:
        self._stage, self._talk, self._session, self.folder = stage, talk, session, folder

    async def __call__(self, trigger: str, name: str) -> bool:
        """Run a turn; return whether there was a prompt for it."""
        text = self._stage.say(trigger, self.folder)
        if text:
            await self._talk.prompt(self._session, text, name=name)
        return bool(text)

    def text(self) -> str:
        """The current text of the file to work on."""
        path = self.folder / "app.py"
        return path.read_text(errors="replace") if path.is_file() else ""

    async def refusals(self) -> None:
        """Ask the same question, refused in every way. An agent that does not ask the first time is not tried
        again.
        """
        talk = self._talk
        for choice in REFUSALS:
            before, first = _snapshot(self.folder), talk.position
            talk.editor.choice = choice
            if not await self("ask", f"edit, {choice}"):
                break
            changes = _changed_files(before, _snapshot(self.folder))
            talk.facts |= {f"after {choice}": self.text(), f"changed after {choice}": changes}
            if not any(frame.method == ASK for frame in talk.recording.frames[first:]):
                break
        talk.editor.choice = "allow_once"

    async def forms(self) -> None:
        """Send forms, answered in every way."""
        for action in ("accept", "decline", "cancel", "error"):
            self._talk.editor.form = action
            if not await self("elicit", f"elicit, {action}"):
                break
        self._talk.editor.form = "accept"


async def _blocks(stage: Stage, talk: AgentDriver, session: str, folder: Path) -> None:
    """Prompts that are more, or less, than a text."""
    hello = stage.say("hello", folder)
    uri = (folder / "app.py").as_uri()
    half_bad = {"audience": ["user", 5]}
    link = {"type": "resource_link", "uri": uri, "name": "app.py", "size": "big", "annotations": half_bad}
    link["_meta"] = {"a": 1}
    note = {"type": "text", "text": hello, "annotations": {"audience": 5, "priority": "high"}}
    text = {"type": "resource", "resource": {"uri": uri, "text": APP, "mimeType": "text/x-python"}}
    await talk.prompt(session, note, link, name="link")
    if stage.profile.has("promptCapabilities", "embeddedContext"):
        await talk.prompt(session, note, link, text, name="blocks")
    command = stage.say("command", folder)
    if command:
        await talk.prompt(session, command, name="command")
        await talk.prompt(session, f"{command} x", note, name="command with a block")
    await talk.prompt(session, "/nobodys command", name="unknown command")
    await talk.prompt(session, name="empty prompt")
    for kind, mime in (("image", "image/png"), ("audio", "audio/wav")):
        await talk.prompt(session, hello, {"type": kind, "data": PIXEL, "mimeType": mime}, name=kind)


async def bare(stage: Stage) -> None:
    await _give(stage, "bare")


async def reads(stage: Stage) -> None:
    await _give(stage, "reads")


async def writes(stage: Stage) -> None:
    await _give(stage, "writes")


async def _give(stage: Stage, name: str) -> None:
    """A few turns with a client that offers less, or nonsense."""
    folder = stage.project(name)
    async with stage.open_talk(name, GIFTS[name], folder=folder) as talk:
        talk.editor.write_result = None  # as the stable page has it
        session = await talk.new(folder)
        talk.facts |= {"session": session, "folder": str(folder)}
        play = SceneTurns(stage, talk, session, folder)
        for trigger, mark in (("tool", "work"), ("ask", "edit"), ("write", "write"), ("run", "run")):
            try:
                await play(trigger, mark)
            except Silence:
                talk.facts.setdefault("unanswered", []).append(mark)
        for trigger in ("elicit", "command", *stage.prompts.extra):
            await play(trigger, trigger)
        talk.facts["edited"] = play.text()
        talk.facts["exit"] = await talk.close_input()


def _snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _changed_files(before: dict[str, bytes], after: dict[str, bytes]) -> list[str]:
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))

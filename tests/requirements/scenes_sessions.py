"""Scenes about sessions: a new process that finds the old ones again, and what is done to many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dragoman_check.agent.scenes.turns import GIFTS
from tests.requirements.talk import Talk

if TYPE_CHECKING:
    from tests.requirements.stage import Stage

MANY = {"review": 50, "code": 20}
"""The coder asks its server for models for each session, which takes a while."""


async def again(stage: Stage) -> None:
    """The session of the story in another process: loaded, closed, resumed."""
    folder = stage.folder / "story"
    setup = {"sessionId": stage.props["session"], "cwd": str(folder), "mcpServers": []}
    talk = await stage.scene("again", GIFTS["reads"])
    await talk.call("session/load", setup, name="load")
    await talk.quiet()
    await talk.prompt(setup["sessionId"], stage.role.recall, name="recall")
    await talk.call("session/close", {"sessionId": setup["sessionId"]}, name="close")
    talk = await stage.scene("resumed", {})
    await talk.call("session/resume", setup, name="resume")
    await talk.quiet()
    await talk.prompt(setup["sessionId"], stage.role.recall, name="recall")
    talk.scene.facts["session"] = setup["sessionId"]
    _keep_last(stage, talk)
    await talk.call("session/close", {"sessionId": setup["sessionId"]}, name="close")
    talk = await stage.scene("loaded bare", {})
    await talk.call("session/load", setup, name="load")


def _keep_last(stage: Stage, talk: Talk) -> None:
    asked = stage.model.requests
    talk.scene.facts["model"] = [message.text for message in asked[-1].messages] if asked else []


async def lists(stage: Stage) -> None:
    here, there = stage.project("here"), stage.project("there")
    talk = await stage.scene("lists", {})
    made = [await talk.new(here, name=f"new {number}") for number in range(MANY[stage.role.name])]
    other = await talk.new(there, name="there")
    talk.scene.facts |= {"made": made, "there": other, "pages": await _pages(talk, str(here))}
    await talk.prompt(other, stage.role.work, name="work")
    await talk.call("session/list", {"cwd": str(there)}, name="list there")
    await talk.call("session/list", {"cwd": str(there)}, name="list there again")
    await talk.call("session/list", {"cwd": str(stage.folder / "unused")}, name="list nowhere")
    await talk.call("session/delete", {"sessionId": other}, name="delete")
    await talk.call("session/delete", {"sessionId": other}, name="delete again")
    await talk.call("session/list", {"cwd": str(there)}, name="list after delete")
    setup = {"sessionId": other, "cwd": str(there), "mcpServers": []}
    await talk.call("session/load", setup, name="load after delete")


async def _pages(talk: Talk, folder: str) -> list[list[str]]:
    pages: list[list[str]] = []
    cursor: dict[str, Any] = {}
    while cursor or not pages:
        page = (await talk.call("session/list", {"cwd": folder, **cursor}))["result"]
        pages.append([item["sessionId"] for item in page["sessions"]])
        following = page.get("nextCursor")
        cursor = {} if following is None else {"cursor": following}
    return pages


async def roots(stage: Stage) -> None:
    """More than one folder, and a file of the same name in both."""
    main, extra, outside = stage.project("main"), stage.project("extra"), stage.project("outside")
    (main / "app.py").write_text("import os, sys\n")
    for folder, mark in ((main, "MAIN-NOTES"), (extra, "EXTRA-NOTES"), (outside, "OUTSIDE-NOTES")):
        (folder / "AGENTS.md").write_text(f"{mark}\n")
        (folder / f"{folder.name}.py").write_text("import re\n")
    role = stage.role
    reading = "review {0}" if role.name == "review" else "please look at {0}"
    talk = await stage.scene("roots", {})
    session = await talk.new(main, additionalDirectories=[str(extra)])
    talk.scene.facts["folders"] = [str(main), str(extra), str(outside)]
    await talk.prompt(session, role.work, name="work")
    await talk.prompt(session, reading.format(extra / "extra.py"), name="extra")
    await talk.prompt(session, reading.format(outside / "outside.py"), name="outside")
    talk.scene.facts["system"] = stage.model.requests[-1].system if stage.model.requests else ""
    setup = {"sessionId": session, "cwd": str(main), "mcpServers": []}
    await talk.call("session/list", {"cwd": str(main)}, name="list")
    await talk.call("session/close", {"sessionId": session}, name="close")
    await talk.call("session/load", setup, name="load")
    await talk.prompt(session, reading.format(extra / "extra.py"), name="extra after load")
    talk.scene.facts["system after"] = stage.model.requests[-1].system if stage.model.requests else ""
    missing = {"cwd": str(main), "mcpServers": [], "additionalDirectories": [str(main / "not-there")]}
    await talk.call("session/new", missing, name="root that is not there")


SCENES = [again, lists, roots]

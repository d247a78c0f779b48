"""Scenes about sessions: loaded in a new process, many at once, with additional folders, with MCP servers."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.agent.connection import AgentGone, Silence
from dragoman_check.agent.driver import AgentDriver
from dragoman_check.agent.scenes.turns import ask_to_recall
from dragoman_check.agent.stage import Stage
from dragoman_check.marked_processes import find, run
from dragoman_check.memory import session_facts

PROBE = Path(__file__).parents[1] / "probe_server.py"
MANY = 30
ENOUGH = 4.0
"""The seconds after which no more sessions are opened: some agents start a process for each."""

BRIEFLY = 2.0
"""The seconds for an agent to use its MCP servers without a reason; with one it has a
third of the patience.
"""


async def again(stage: Stage) -> None:
    """Load and resume a session: in its own process, after it was closed, in another process."""
    can_load, can_resume = (
        stage.profile.has("loadSession"),
        stage.profile.has("sessionCapabilities", "resume"),
    )
    if not (can_load or can_resume):
        return
    folder = stage.project("again")
    async with stage.open_talk("first", {}, folder=folder) as talk:
        session = await talk.new(folder)
        for trigger in ("remember", "tool"):
            if text := stage.say(trigger, folder):
                await talk.prompt(session, text, name=trigger)
        setup = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        talk.facts |= {"session": session, "word": stage.prompts.word}
        # What is replayed can be compared here with what was said.
        if can_load:
            await talk.call("session/load", setup, name="load")
            await talk.quiet()
        if can_resume:
            await talk.call("session/resume", setup, name="resume")
            await talk.quiet()
        if can_load and stage.profile.has("sessionCapabilities", "close"):
            await talk.call("session/close", {"sessionId": session}, name="close")
            await talk.call("session/load", setup, name="load after close")
            await talk.quiet()
        talk.facts["exit"] = await talk.close_input()
        before = session_facts(talk.recording)
    ways = [("loaded", "load", can_load), ("resumed", "resume", can_resume)]
    for scene, name in [(scene, name) for scene, name, can in ways if can]:
        try:
            await _reopen(stage, scene, name, setup, before)
            if stage.profile.version == 2:
                await _reopen(stage, "replayed", name, {**setup, "replayFrom": {"type": "start"}}, before)
        except (Silence, AgentGone):
            pass  # told by its recording


async def _reopen(stage: Stage, scene: str, name: str, setup: JsonObject, before: JsonObject) -> None:
    folder = Path(setup["cwd"])
    async with stage.open_talk(scene, {}, folder=folder) as talk:
        talk.facts |= {"session": setup["sessionId"], "word": stage.prompts.word, "told": before}
        answer = await talk.call(f"session/{name}", setup, name=name)
        await talk.quiet()
        if "result" in answer.message:
            await ask_to_recall(stage, talk, setup["sessionId"], folder)
        if stage.profile.has("sessionCapabilities", "close"):
            await talk.call("session/close", {"sessionId": setup["sessionId"]}, name="close")
        talk.facts["exit"] = await talk.close_input()


async def lists(stage: Stage) -> None:
    """Open many sessions: check their ids, the pages of the list, and a deleted one."""
    here, there = stage.project("here"), stage.project("there")
    async with stage.open_talk("lists", {}) as talk:
        sessions: list[str] = []
        until = time.monotonic() + ENOUGH
        while len(sessions) < MANY and (len(sessions) < 3 or time.monotonic() < until):
            sessions.append(await talk.new(here, name=f"new {len(sessions)}"))
        other_session = await talk.new(there, name="there")
        talk.facts |= {"made": sessions, "there": other_session}
        if stage.profile.has("sessionCapabilities", "list"):
            await _list(stage, talk, here, there, other_session)
        if stage.profile.has("sessionCapabilities", "delete"):
            for session in sessions:
                await talk.call("session/delete", {"sessionId": session})
        talk.facts["exit"] = await talk.close_input()


async def _list(stage: Stage, talk: AgentDriver, here: Path, there: Path, other_session: str) -> None:
    talk.facts["pages"] = await _pages(talk, str(here))
    if text := stage.say("tool", there):
        await talk.prompt(other_session, text, name="work")
    in_there = {"cwd": str(there)}
    await talk.call("session/list", in_there, name="list there")
    await talk.call("session/list", in_there, name="list there again")
    await talk.call("session/list", {"cwd": str(stage.folder / "unused")}, name="list nowhere")
    if not stage.profile.has("sessionCapabilities", "delete"):
        return
    await talk.call("session/delete", {"sessionId": other_session}, name="delete")
    await talk.call("session/delete", {"sessionId": other_session}, name="delete again")
    await talk.call("session/list", in_there, name="list after delete")
    if stage.profile.has("loadSession"):
        setup = {"sessionId": other_session, "cwd": str(there), "mcpServers": []}
        await talk.call("session/load", setup, name="load after delete")


async def _pages(talk: AgentDriver, folder: str) -> list[list[Json]]:
    pages: list[list[Json]] = []
    cursor: JsonObject = {}
    while (cursor or not pages) and len(pages) < 2 * MANY:
        answer = await talk.call("session/list", {"cwd": folder, **cursor}, name=f"page {len(pages)}")
        page = answer.message.get("result")
        items = page.get("sessions") if isinstance(page, dict) else None
        if not isinstance(page, dict) or not isinstance(items, list):
            break
        pages.append([item.get("sessionId") for item in items if isinstance(item, dict)])
        following = page.get("nextCursor")
        cursor = {} if following is None else {"cursor": following}
    return pages


async def roots(stage: Stage) -> None:
    """Use more than one folder, with a file of the same name in both."""
    if not stage.profile.has("sessionCapabilities", "additionalDirectories"):
        return
    main, extra, outside = (stage.project(name) for name in ("main", "extra", "outside"))
    (main / "app.py").write_text("import os, sys\n")
    async with stage.open_talk("roots", {}) as talk:
        session = await talk.new(main, name="new with roots", additionalDirectories=[str(extra)])
        talk.facts |= {"session": session, "folders": [str(main), str(extra), str(outside)]}
        for name, folder in (("work", main), ("extra", extra), ("outside", outside)):
            if text := stage.say("read", folder):
                await talk.prompt(session, text, name=name)
        if stage.profile.has("sessionCapabilities", "list"):
            await talk.call("session/list", {"cwd": str(main)}, name="list")
        missing = {"cwd": str(main), "mcpServers": [], "additionalDirectories": [str(main / "not-there")]}
        await talk.call("session/new", missing, name="root that is not there")
        if stage.profile.has("sessionCapabilities", "close"):
            await talk.call("session/close", {"sessionId": session}, name="close")
            if stage.profile.has("loadSession"):
                setup = {"sessionId": session, "cwd": str(main), "mcpServers": []}
                await talk.call("session/load", setup, name="load")
                if text := stage.say("read", extra):
                    await talk.prompt(session, text, name="extra after load")
        talk.facts["exit"] = await talk.close_input()


async def servers(stage: Stage) -> None:
    """Use two MCP servers over stdio, and one over HTTP that does not exist; then end the session."""
    folder = stage.project("mounted")
    logs = [folder / "one.log", folder / "two.log"]
    stdio_servers = [
        {"name": name, "command": sys.executable, "args": [str(PROBE), str(log)], "env": []}
        for name, log in zip(("probe", "second"), logs, strict=True)
    ]
    async with stage.open_talk("servers", {}, folder=folder) as talk:
        session = await talk.new(folder, name="new with servers", mcpServers=stdio_servers)
        use = stage.say("mcp", folder)
        await talk.prompt(session, use or stage.say("hello", folder), name="mount")
        # Who was not made to use their tools may have no reason to start them: that tells nothing.
        session_facts = await _wait_for_word(
            logs, "tools/list", seconds=talk.patience / 3 if use else BRIEFLY
        ) or bool(use)
        http = [{"type": "http", "name": "h", "url": "http://127.0.0.1:9/mcp", "headers": []}]
        params = {"cwd": str(folder), "mcpServers": http}
        await talk.call("session/new", params, name="http server", seconds=talk.brief)
        if stage.profile.has("sessionCapabilities", "close"):
            await talk.call("session/close", {"sessionId": session}, name="close")
            if session_facts:
                await _wait_for_end(logs, seconds=talk.patience / 3)
        if session_facts:
            talk.facts["logs"] = [_lines(log) for log in logs]
        talk.facts["exit"] = await talk.close_input()


async def _wait_for_word(logs: list[Path], word: str, *, seconds: float) -> bool:
    """Until every log has the word; False if that takes too long."""
    until = time.monotonic() + seconds
    # Another program writes them: nobody tells us when.
    while time.monotonic() < until and not all(word in _lines(log) for log in logs):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return all(word in _lines(log) for log in logs)


async def _wait_for_end(logs: list[Path], *, seconds: float) -> None:
    """Until every server has ended, by itself or because it was killed; the latter is noted for it."""
    until = time.monotonic() + seconds
    servers = {log: find(str(log)) for log in logs if "ended" not in _lines(log)}
    while time.monotonic() < until and any(  # noqa: ASYNC110 nobody tells us
        "ended" not in _lines(log) and run(found, str(log)) for log, found in servers.items()
    ):
        await asyncio.sleep(0.05)
    for log, found in servers.items():
        if "ended" not in _lines(log) and _lines(log) and not run(found, str(log)):
            with log.open("a") as file:
                file.write("ended\n")


def _lines(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []

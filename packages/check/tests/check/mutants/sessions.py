"""Good conversations about sessions: stored ones that come back, logins, and the second version."""

from __future__ import annotations

from typing import Any

from tests.check.mutants.script import Script, error
from tests.check.mutants.values import (
    AGENT_CAN,
    CLIENT_CAN,
    EXAMINED,
    EXTRA,
    FIRST,
    FOLDER,
    OLD,
    OTHER,
    SECOND,
    modes,
    options,
    plan,
    prompt,
    text,
)
from tests.check.mutants.work import end, opening, say, step, tool

LOGINS: list[dict[str, Any]] = [
    {"id": "key", "name": "API key", "description": "A key from the harbour office"},
    {"type": "terminal", "id": "shell", "name": "In a terminal", "args": ["login"], "env": {"HARBOUR": "1"}},
]


def sessions() -> Script:
    """Listings with cursors, a load with its replay, a resume, closing and deleting."""
    talk = Script("sessions")
    opening(talk, client=CLIENT_CAN, agent=AGENT_CAN)
    _list(talk)
    _load(talk)
    _resume(talk)
    _fresh(talk)
    _gone(talk)
    talk.facts = {
        **EXAMINED,
        "told": {
            OLD: {
                "user": ["How deep is it?"],
                "agent": [["Nine ", "fathoms."]],
                "usage": True,
                "notices": ["Fog"],
            }
        },
    }
    return talk


def item(session: str, folder: str = FOLDER, **more: Any) -> dict[str, Any]:
    return {"sessionId": session, "cwd": folder, "updatedAt": "2026-02-28T19:30:00Z", **more}


def _list(talk: Script) -> None:
    with talk.stretch("list"):
        talk.ask("list", "session/list", {})
        talk.reply("list", {"sessions": [item(OLD, title="Depths")], "nextCursor": "page/2=="})
        talk.ask("list, next", "session/list", {"cursor": "page/2=="})
        talk.reply("list, next", {"sessions": [item(SECOND, OTHER, additionalDirectories=[EXTRA])]})
    with talk.stretch("list of a folder"):
        talk.ask("list, folder", "session/list", {"cwd": FOLDER})
        talk.reply("list, folder", {"sessions": [item(OLD, title="Depths")], "nextCursor": None})
        talk.ask("list, folder again", "session/list", {"cwd": FOLDER})
        talk.reply("list, folder again", {"sessions": [item(OLD, title="Depths")]})
        talk.ask("list, nothing", "session/list", {"cwd": "/srv/nowhere"})
        talk.reply("list, nothing", {"sessions": []})


def _load(talk: Script) -> None:
    with talk.stretch("load"):
        talk.ask("load", "session/load", {"sessionId": OLD, "cwd": FOLDER, "mcpServers": []})
        talk.update(
            "load, user", OLD, "user_message_chunk", content=text("How deep is it?"), messageId="old-1"
        )
        tool(talk, "load, call", "old-call", "Sound", "read", session=OLD)
        step(talk, "load, call done", "old-call", "completed", session=OLD)
        say(talk, "load, words", "Nine fathoms.", session=OLD, message="old-2")
        talk.update("load, plan", OLD, "plan", entries=plan("completed", "completed", "completed"))
        talk.update(
            "load, compaction",
            OLD,
            "compaction_update",
            compactionId="old-cmp",
            status="completed",
            summary=[text("Depths were asked for.")],
        )
        talk.update("load, usage", OLD, "usage_update", used=900, size=200000)
        talk.reply("load", {"modes": modes("code"), "configOptions": options("code")})
    talk.update("load, commands", OLD, "available_commands_update", availableCommands=[])
    with talk.stretch("after load"):
        talk.ask("after load", "session/prompt", prompt(OLD, "And at ebb?"))
        say(talk, "after load, words", "Seven.", session=OLD, message="msg-1")
        end(talk, "after load")


def _resume(talk: Script) -> None:
    with talk.stretch("resume"):
        params = {"sessionId": SECOND, "cwd": OTHER, "mcpServers": [], "additionalDirectories": [EXTRA]}
        talk.ask("resume", "session/resume", params)
        talk.reply("resume", {"modes": modes(), "configOptions": options()})
    talk.ask("after resume", "session/prompt", prompt(SECOND, "Where were we? See chart.txt"))
    tool(
        talk, "after resume, call", "call-1", "Read chart.txt", "read", session=SECOND,
        locations=[{"path": f"{OTHER}/chart.txt"}],
    )  # fmt: skip
    step(talk, "after resume, progress", "call-1", "in_progress", session=SECOND)
    talk.want("after resume, file", "fs/read_text_file", {"sessionId": SECOND, "path": f"{OTHER}/chart.txt"})
    talk.settle("after resume, file", {"content": "rocks\n"})
    step(talk, "after resume, done", "call-1", "completed", session=SECOND)
    say(talk, "after resume, words", "At the rocks.", session=SECOND, message="msg-2")
    end(talk, "after resume")


def _fresh(talk: Script) -> None:
    with talk.stretch("new"):
        params = {"cwd": FOLDER, "mcpServers": [], "additionalDirectories": [EXTRA]}
        talk.ask("fresh", "session/new", params)
        talk.reply("fresh", {"sessionId": FIRST, "configOptions": options(), "modes": modes()})
    talk.update("fresh, title", FIRST, "session_info_update", title="A fresh start")
    talk.ask("list, titles", "session/list", {"cwd": FOLDER})
    fresh = item(FIRST, title="A fresh start", additionalDirectories=[EXTRA])
    talk.reply("list, titles", {"sessions": [fresh, item(OLD, title="Depths")]})
    with talk.stretch("load again"):
        talk.ask("load, fresh", "session/load", {"sessionId": FIRST, **params})
        talk.reply("load, fresh", {"modes": modes(), "configOptions": options()})


def _gone(talk: Script) -> None:
    with talk.stretch("close in a turn"):
        talk.ask("busy", "session/prompt", prompt(FIRST, "Count slowly"))
        say(talk, "busy, words", "1", session=FIRST, message="msg-3")
        talk.ask("close", "session/close", {"sessionId": FIRST})
        end(talk, "busy", "cancelled")
        talk.reply("close", {})
    with talk.stretch("delete"):
        talk.ask("delete", "session/delete", {"sessionId": FIRST})
        talk.reply("delete", {})
        talk.ask("delete, again", "session/delete", {"sessionId": FIRST})
        talk.reply("delete, again", {})
        talk.ask("list, after delete", "session/list", {"cwd": FOLDER})
        talk.reply("list, after delete", {"sessions": [item(OLD, title="Depths")]})


def login() -> Script:
    """An agent that wants a login first."""
    talk = Script("login")
    opening(talk, client=CLIENT_CAN, agent=AGENT_CAN, logins=LOGINS)
    with talk.stretch("new before login"):
        talk.ask("too early", "session/new", {"cwd": FOLDER, "mcpServers": []})
        talk.reply("too early", error=error(-32000, "Authentication required"))
    with talk.stretch("authenticate"):
        talk.ask("authenticate", "authenticate", {"methodId": "key"})
        talk.reply("authenticate", {})
        talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": []})
        talk.reply("new", {"sessionId": FIRST})
    talk.ask("hello", "session/prompt", prompt(FIRST, "Good morning"))
    say(talk, "hello, words", "Good morning.", message="msg-1")
    end(talk, "hello")
    with talk.stretch("logout"):
        talk.ask("logout", "logout", {})
        talk.reply("logout", {})
        talk.ask("too late", "session/new", {"cwd": FOLDER, "mcpServers": []})
        talk.reply("too late", error=error(-32000, "Authentication required"))
    talk.facts = dict(EXAMINED)
    return talk

"""A good conversation in version 2, where a turn ends when the session is idle again."""

from __future__ import annotations

from typing import Any

from tests.check.mutants.script import Script
from tests.check.mutants.values import (
    AGENT,
    CLIENT,
    EXAMINED,
    FILE,
    FIRST,
    FOLDER,
    OLD,
    PERMISSIONS,
    SERVERS,
    held,
    prompt,
    selected,
    text,
)

S = FIRST
CAN: dict[str, Any] = {
    "session": {
        "prompt": {"image": {}, "embeddedContext": {}},
        "mcp": {"stdio": {}, "http": {}},
        "delete": {},
        "additionalDirectories": {},
    },
    "auth": {},
}
OPTIONS: list[dict[str, Any]] = [
    {
        "configId": "model",
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": "small",
        "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
    }
]


def second() -> Script:
    talk = Script("second")
    with talk.stretch("initialize"):
        capabilities: dict[str, Any] = {"elicitation": {"form": {}}}
        params = {"protocolVersion": 2, "capabilities": capabilities, "info": CLIENT}
        talk.ask("initialize", "initialize", params)
        found = {"capabilities": CAN, "info": AGENT, "authMethods": []}
        talk.reply("initialize", {"protocolVersion": 2, **found})
    servers = [{"type": "stdio", **SERVERS[0]}]
    talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": servers})
    talk.reply("new", {"sessionId": S, "configOptions": OPTIONS})
    state(talk, "first idle", "idle")
    change = {"sessionId": S, "configId": "model", "type": "id", "value": "large"}
    talk.ask("set model", "session/set_config_option", change)
    talk.reply("set model", {"configOptions": [{**OPTIONS[0], "currentValue": "large"}]})
    _hello(talk)
    _edit(talk)
    _cancelled(talk)
    _stored(talk)
    talk.facts = dict(EXAMINED)
    return talk


def state(talk: Script, label: str, name: str, *, session: str = S, **more: Any) -> None:
    talk.update(label, session, "state_update", state=name, **more)


def _begin(talk: Script, label: str, words: str, message: str, *, session: str = S) -> None:
    """A prompt that is taken."""
    talk.ask(label, "session/prompt", prompt(session, words))
    talk.update(f"{label}, told", session, "user_message", messageId=message, content=[text(words)])
    talk.reply(label, {"messageId": message})
    state(talk, f"{label}, running", "running", session=session)


def _say(talk: Script, label: str, words: str, message: str, *, session: str = S) -> None:
    talk.update(label, session, "agent_message_chunk", messageId=message, content=text(words))


def _hello(talk: Script) -> None:
    with talk.stretch("hello"):
        _begin(talk, "hello", "Good morning", "user-1")
        talk.update(
            "hello, thought", S, "agent_thought_chunk", messageId="msg-1", content=text("They greet me.")
        )
        _say(talk, "hello, words", "Good ", "msg-2")
        _say(talk, "hello, last words", "morning.", "msg-2")
        talk.update("hello, usage", S, "usage_update", used=120, size=200000)
        state(talk, "hello, idle", "idle", stopReason="end_turn")


def _edit(talk: Script) -> None:
    with talk.stretch("edit"):
        _begin(talk, "edit", "Mend harbour.py", "user-2")
        plan = {"type": "items", "planId": "plan-1", "entries": []}
        entry = {"content": "Mend it", "priority": "high", "status": "in_progress"}
        talk.update("edit, plan", S, "plan_update", plan={**plan, "entries": [entry]})
        call = {"toolCallId": "call-1", "title": "Mend it", "kind": "edit", "status": "pending"}
        talk.update("edit, call", S, "tool_call_update", **call, locations=[{"path": FILE, "line": 1}])
        subject = {"type": "tool_call", "toolCall": {"toolCallId": "call-1"}}
        question = {"sessionId": S, "title": "Mend it?", "subject": subject, "options": PERMISSIONS}
        state(talk, "edit, asking", "requires_action")
        talk.want("edit, question", "session/request_permission", question)
        talk.settle("edit, question", selected("yes"))
        state(talk, "edit, running again", "running")
        talk.update("edit, progress", S, "tool_call_update", toolCallId="call-1", status="in_progress")
        talk.update(
            "edit, done",
            S,
            "tool_call_update",
            toolCallId="call-1",
            status="completed",
            content=[held("Done")],
        )
        _say(talk, "edit, words", "It is mended.", "msg-3")
        state(talk, "edit, idle", "idle", stopReason="end_turn")


def _cancelled(talk: Script) -> None:
    with talk.stretch("cancelled while asked"):
        _begin(talk, "slow", "Mend everything", "user-3")
        call = {"toolCallId": "call-2", "title": "Mend all", "kind": "edit", "status": "pending"}
        talk.update("slow, call", S, "tool_call_update", **call)
        question = {"sessionId": S, "title": "Mend all?", "options": PERMISSIONS}
        state(talk, "slow, asking", "requires_action")
        talk.want("slow, question", "session/request_permission", question)
        talk.tell("slow, cancel", "session/cancel", {"sessionId": S})
        talk.settle("slow, question", {"outcome": {"outcome": "cancelled"}})
        talk.update("slow, stopped", S, "tool_call_update", toolCallId="call-2", status="failed")
        state(talk, "slow, idle", "idle", stopReason="cancelled")
    _begin(talk, "on", "And now?", "user-4")
    _say(talk, "on, words", "Here I am.", "msg-4")
    state(talk, "on, idle", "idle", stopReason="end_turn")


def _stored(talk: Script) -> None:
    talk.ask("list", "session/list", {"cwd": FOLDER})
    talk.reply("list", {"sessions": [{"sessionId": OLD, "cwd": FOLDER, "title": "Depths"}]})
    with talk.stretch("resume"):
        talk.ask("resume", "session/resume", {"sessionId": OLD, "cwd": FOLDER, "mcpServers": []})
        state(talk, "resume, state", "idle", session=OLD)
        talk.reply("resume", {})
    _begin(talk, "old", "And at ebb?", "user-5", session=OLD)
    _say(talk, "old, words", "Seven.", "msg-5", session=OLD)
    with talk.stretch("close in a turn"):
        talk.ask("close", "session/close", {"sessionId": OLD})
        state(talk, "old, idle", "idle", session=OLD, stopReason="cancelled")
        talk.reply("close", {})
    talk.ask("delete", "session/delete", {"sessionId": OLD})
    talk.reply("delete", {})
    talk.ask("list again", "session/list", {"cwd": FOLDER})
    talk.reply("list again", {"sessions": []})

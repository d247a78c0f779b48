"""Good peers at the edge: versions that do not exist, lines that are none, odd settings and odd forms."""

from __future__ import annotations

from typing import Any

from tests.check.mutants.probes import probe
from tests.check.mutants.script import Script, error
from tests.check.mutants.values import (
    AGENT,
    AGENT_CAN,
    CLIENT,
    CLIENT_CAN,
    EXAMINED,
    EXTRA,
    FIRST,
    FOLDER,
    OTHER,
    SECOND,
    options,
    prompt,
    text,
)
from tests.check.mutants.work import end, opening, permission, say, step, terminal, tool

S = FIRST


def versions() -> Script:
    """A version that does not exist, and everything that a lenient agent forgives."""
    talk = Script("versions")
    with talk.stretch("initialize"):
        capabilities = {**CLIENT_CAN, "terminal": "yes", "elicitation": {}}
        params = {"protocolVersion": 65535, "clientCapabilities": capabilities, "clientInfo": CLIENT}
        talk.ask("initialize", "initialize", params)
        found = {"agentCapabilities": AGENT_CAN, "agentInfo": AGENT, "authMethods": []}
        talk.reply("initialize", {"protocolVersion": 1, **found})
    new: dict[str, Any] = {"cwd": FOLDER, "mcpServers": []}
    talk.ask("new", "session/new", new)
    talk.reply("new", {"sessionId": S})
    hostile = {"cwd": "/etc", "sessionId": "ses-etc"}
    probe(
        talk, "new with hostile meta", "session/new", {**new, "_meta": hostile}, result={"sessionId": SECOND}
    )
    probe(
        talk,
        "new with null roots",
        "session/new",
        {**new, "additionalDirectories": None},
        result={"sessionId": "x"},
    )
    probe(talk, "new without cwd", "session/new", {"mcpServers": []}, error=error(-32602, "Invalid params"))
    with talk.stretch("link"):
        note = text("And this?", annotations={"audience": 5, "priority": "high"})
        link = {"type": "resource_link", "uri": "file:///home/ada/a.txt", "name": "a.txt", "size": "big"}
        talk.ask("odd blocks", "session/prompt", prompt(S, note, link))
        resource = {"type": "resource", "resource": {"uri": "file:///home/ada/a.txt", "text": "a"}}
        tool(talk, "odd blocks, call", "call-1", "Look", "read")
        step(talk, "odd blocks, progress", "call-1", "in_progress")
        content = [{"type": "content", "content": resource}]
        step(talk, "odd blocks, done", "call-1", "completed", content=content)
        say(talk, "odd blocks, words", "A file.")
        end(talk, "odd blocks")
    with talk.stretch("elicit"):
        talk.ask("formless", "session/prompt", prompt(S, "Book a berth"))
        say(talk, "formless, words", "Which one?")
        end(talk, "formless")
    talk.facts = dict(EXAMINED)
    return talk


def lines() -> Script:
    """An agent that says what is not a message, and odd things besides; the client lives with it."""
    talk = Script("lines")
    opening(
        talk,
        client={**CLIENT_CAN, "elicitation": {"form": {}}},
        agent=AGENT_CAN,
        logins=[{"id": "k", "name": "K"}, 7],
    )
    odd = {"id": "odd", "name": "Odd", "type": "colour", "currentValue": "red"}
    bare = {"id": "bare", "name": "Bare", "type": "boolean", "currentValue": True}
    talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": []})
    talk.reply("new", {"sessionId": S, "configOptions": [*options(), odd, bare]})
    talk.update("fewer options", S, "config_option_update", configOptions=[*options(), odd])
    talk.ask(
        "set model", "session/set_config_option", {"sessionId": S, "configId": "model", "value": "large"}
    )
    talk.reply("set model", {"configOptions": [*options(model="large"), odd]})
    talk.ask("hello", "session/prompt", prompt(S, "Good morning"))
    for name, line, code in (("no JSON", b"{", -32700), ("a number", b"42", -32600)):
        with talk.stretch(name):
            talk.put(name, "to_client", line)
            talk.put(
                f"{name}, answer", "to_agent", {"jsonrpc": "2.0", "id": None, "error": error(code, "No")}
            )
    _odd_requests(talk)
    _odd_forms(talk)
    say(talk, "hello, words", "Good morning.")
    end(talk, "hello")
    talk.ask("late login", "session/prompt", prompt(S, "Go on"))
    talk.reply("late login", error=error(-32000, "Authentication required"))
    _cancelled(talk)
    _roots(talk)
    talk.facts = {**EXAMINED, "input": "closed", "released process gone": True}
    return talk


def _odd_requests(talk: Script) -> None:
    missing = error(-32601, "Method not found")
    talk.want("dollar", "$/foo", {})
    talk.settle("dollar", error=missing)
    tool(talk, "call", "call-1", "Look", "read")
    question = {"sessionId": S, "toolCall": {"toolCallId": "call-1"}, "bogus": 1}
    choices = [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}]
    talk.want("bogus question", "session/request_permission", {**question, "options": choices})
    talk.settle("bogus question", {"outcome": {"outcome": "selected", "optionId": "yes"}})
    talk.want(
        "optionless", "session/request_permission", {"sessionId": S, "toolCall": {"toolCallId": "call-1"}}
    )
    talk.settle("optionless", error=error(-32602, "Invalid params"))
    talk.want("meta question", "session/request_permission", {**question, "options": choices, "_meta": "x"})
    talk.settle("meta question", {"outcome": {"outcome": "selected", "optionId": "yes"}})
    secret = [{"name": "TOKEN", "value": "hunter2-stays-here"}]
    talk.want("no command", "terminal/create", {"sessionId": S, "command": "/no/such", "env": secret})
    talk.settle("no command", error=error(-32603, "It cannot be started"))
    with talk.stretch("terminal to release early"):
        talk.want("create", "terminal/create", {"sessionId": S, "command": "sleep", "args": ["9"]})
        talk.settle("create", {"terminalId": "term-1"})
    terminal(talk, "wait", "wait_for_exit", "term-1")
    talk.note("wait, withdrawn", "$/cancel_request", {"requestId": talk["wait"].said["id"]})
    talk.settle("wait", error=error(-32800, "Request cancelled"))
    talk.note("nothing withdrawn", "$/cancel_request", {"requestId": 4711})
    terminal(talk, "output", "output", "term-1")
    talk.settle("output", {"output": "", "truncated": False})
    terminal(talk, "release", "release", "term-1")
    talk.settle("release", {})
    step(talk, "call, done", "call-1", "completed", content="none", rawOutput="x")


def _odd_forms(talk: Script) -> None:
    form = {"sessionId": S, "mode": "form", "message": "Which?"}
    page = {
        "sessionId": S,
        "mode": "url",
        "message": "There",
        "url": "https://a.example/",
        "elicitationId": "e",
    }
    talk.want("page", "elicitation/create", page)
    talk.settle("page", error=error(-32602, "Not advertised"))
    talk.want("typeless form", "elicitation/create", {**form, "requestedSchema": {"properties": {}}})
    talk.settle("typeless form", {"action": "accept", "content": {}})
    slow = {
        "type": "object",
        "properties": {"name": {"type": "string", "pattern": "^(a+)+$", "format": "odd"}},
    }
    talk.want("slow form", "elicitation/create", {**form, "requestedSchema": slow})
    talk.settle("slow form", {"action": "cancel"})
    talk.note("odd completion", "elicitation/complete", {"elicitationId": "nobody's"})


def _cancelled(talk: Script) -> None:
    talk.ask("slow", "session/prompt", prompt(S, "Count"))
    tool(talk, "slow, call", "call-2", "Count", "other")
    permission(talk, "slow, question", "call-2")
    talk.tell("slow, cancel", "session/cancel", {"sessionId": S})
    talk.settle("slow, question", {"outcome": {"outcome": "cancelled"}})
    step(talk, "slow, stopped", "call-2", "failed")
    end(talk, "slow", "cancelled")
    talk.update(
        "commands", S, "available_commands_update", availableCommands=[{"name": "tidy", "description": "T"}]
    )
    with talk.stretch("command"):
        talk.ask("command", "session/prompt", prompt(S, "/tidy now"))
        say(talk, "command, words", "Tidy.")
        end(talk, "command")


def _roots(talk: Script) -> None:
    def listing(label: str, *roots: str) -> None:
        talk.ask(label, "session/list", {})
        item = {"sessionId": SECOND, "cwd": OTHER, "additionalDirectories": list(roots)}
        talk.reply(label, {"sessions": [item]})

    listing("list", EXTRA, "/home/ada/letters")
    listing("list again", EXTRA)
    params = {"sessionId": SECOND, "cwd": OTHER, "mcpServers": [], "additionalDirectories": [EXTRA]}
    talk.ask("load", "session/load", params)
    talk.reply("load", {})
    with talk.stretch("close"):
        talk.ask("close", "session/close", {"sessionId": SECOND})
        talk.reply("close", error=error(-32002, "Resource not found", sessionId=SECOND))
    talk.ask("bye", "session/close", {"sessionId": S})
    talk.reply("bye", {})

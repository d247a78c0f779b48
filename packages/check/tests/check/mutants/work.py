"""A long session of a good client with a good agent: turns with everything that can happen in one."""

from __future__ import annotations

from typing import Any

from tests.check.mutants.script import Script
from tests.check.mutants.values import (
    AGENT,
    AGENT_CAN,
    CLIENT,
    CLIENT_CAN,
    EXAMINED,
    FILE,
    FIRST,
    FOLDER,
    PERMISSIONS,
    PIXEL,
    PLAN_FILE,
    SERVERS,
    held,
    modes,
    options,
    plan,
    prompt,
    selected,
    text,
)

S = FIRST


def work() -> Script:
    talk = Script("work")
    opening(talk, client=CLIENT_CAN, agent=AGENT_CAN)
    _new(talk)
    _hello(talk)
    _read(talk)
    _edit(talk)
    _refused(talk)
    _write(talk)
    _run(talk)
    _killed(talk)
    _blocks(talk)
    _memory(talk)
    _ends(talk)
    talk.facts = {**EXAMINED, "session": S, "folder": FOLDER, "word": "lighthouse"}
    return talk


def opening(talk: Script, *, client: dict[str, Any], agent: dict[str, Any], logins: Any = ()) -> None:
    with talk.stretch("initialize"):
        talk.ask(
            "initialize",
            "initialize",
            {"protocolVersion": 1, "clientCapabilities": client, "clientInfo": CLIENT},
        )
        talk.reply(
            "initialize",
            {
                "protocolVersion": 1,
                "agentCapabilities": agent,
                "agentInfo": AGENT,
                "authMethods": list(logins),
            },
        )


def say(talk: Script, label: str, words: str, *, session: str = S, message: str = "", **more: Any) -> None:
    """A piece of the agent's message."""
    named = {"messageId": message} if message else {}
    talk.update(label, session, "agent_message_chunk", content=text(words), **named, **more)


def end(talk: Script, label: str, reason: str = "end_turn") -> None:
    talk.reply(label, {"stopReason": reason})


def tool(
    talk: Script, label: str, call: str, title: str, kind: str, *, session: str = S, **more: Any
) -> None:
    call_of = {"toolCallId": call, "title": title, "kind": kind, "status": "pending", **more}
    talk.update(label, session, "tool_call", **call_of)


def step(talk: Script, label: str, call: str, status: str, *, session: str = S, **more: Any) -> None:
    talk.update(label, session, "tool_call_update", toolCallId=call, status=status, **more)


def permission(talk: Script, label: str, call: str, *, session: str = S) -> None:
    params = {"sessionId": session, "toolCall": {"toolCallId": call}, "options": PERMISSIONS}
    talk.want(label, "session/request_permission", params)


def _new(talk: Script) -> None:
    with talk.stretch("new"):
        talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": SERVERS})
        talk.reply("new", {"sessionId": S, "modes": modes(), "configOptions": options()})
    commands = [
        {"name": "tidy", "description": "Tidies a file", "input": {"hint": "which file"}},
        {"name": "log", "description": "Writes the log"},
    ]
    talk.update("commands", S, "available_commands_update", availableCommands=commands)


def _hello(talk: Script) -> None:
    with talk.stretch("hello"):
        talk.ask("hello", "session/prompt", prompt(S, "Good morning, which boats are in?"))
        talk.update(
            "hello, thought",
            S,
            "agent_thought_chunk",
            content=text("They want a list."),
            messageId="msg-1",
        )
        say(talk, "hello, first words", "Three boats ", message="msg-2")
        say(
            talk,
            "hello, last words",
            "are in: 🚢🚢🚢\n",
            message="msg-2",
            _meta={"pilot.example/tone": "calm"},
        )
        talk.update(
            "hello, usage",
            S,
            "usage_update",
            used=1200,
            size=200000,
            cost={"amount": 0.02, "currency": "EUR"},
        )
        talk.update("hello, title", S, "session_info_update", title="Boats in the harbour")
        talk.reply("hello", {"stopReason": "end_turn", "_meta": {"pilot.example/seconds": 2}})


def _read(talk: Script) -> None:
    place = [{"path": FILE, "line": 1}]
    with talk.stretch("work"):
        talk.ask("read", "session/prompt", prompt(S, "Sum up harbour.py"))
        tool(
            talk,
            "read, call",
            "call-1",
            "Read harbour.py",
            "read",
            name="read_file",
            locations=place,
            rawInput={"file": "harbour.py"},
        )
        step(talk, "read, progress", "call-1", "in_progress")
        talk.want("read, file", "fs/read_text_file", {"sessionId": S, "path": FILE, "line": 1, "limit": 200})
        talk.settle("read, file", {"content": "def pier():\n    return 7\n"})
        step(talk, "read, done", "call-1", "completed", content=[held("2 lines")], rawOutput="2 lines")
        say(talk, "read, words", "It counts the piers.", message="msg-3")
        end(talk, "read")


def _edit(talk: Script) -> None:
    diff = {"type": "diff", "path": FILE, "oldText": "return 7", "newText": "return 8"}
    with talk.stretch("edit"):
        talk.ask("edit", "session/prompt", prompt(S, "There are eight piers now, mend harbour.py"))
        talk.update("edit, plan", S, "plan", entries=plan("in_progress", "pending", "pending"))
        tool(talk, "edit, call", "call-2", "Mend harbour.py", "edit", locations=[{"path": FILE}])
        permission(talk, "edit, question", "call-2")
        talk.settle("edit, question", selected("yes"))
        step(talk, "edit, progress", "call-2", "in_progress", content=[diff])
        talk.update("edit, second plan", S, "plan", entries=plan("completed", "in_progress", "pending"))
        talk.want(
            "edit, write",
            "fs/write_text_file",
            {"sessionId": S, "path": FILE, "content": "def pier():\n    return 8\n"},
        )
        talk.settle("edit, write", {})
        step(talk, "edit, done", "call-2", "completed", content=[diff])
        talk.update("edit, last plan", S, "plan", entries=plan("completed", "completed", "in_progress"))
        say(talk, "edit, words", "Eight piers.", message="msg-4")
        end(talk, "edit")


def _refused(talk: Script) -> None:
    with talk.stretch("edit, reject_once"):
        talk.ask("refused", "session/prompt", prompt(S, "Now write nine into harbour.py"))
        diff = {"type": "diff", "path": FILE, "oldText": "return 8", "newText": "return 9"}
        tool(talk, "refused, call", "call-3", "Mend harbour.py", "edit", content=[diff])
        permission(talk, "refused, question", "call-3")
        talk.settle("refused, question", selected("no"))
        step(talk, "refused, done", "call-3", "failed", content=[held("It was not allowed.")])
        say(talk, "refused, words", "Then I leave it.", message="msg-5")
        end(talk, "refused")


def _write(talk: Script) -> None:
    diff = {"type": "diff", "path": PLAN_FILE, "oldText": None, "newText": "# Plan\n"}
    with talk.stretch("write"):
        talk.ask("write", "session/prompt", prompt(S, "Write a plan into plan.md"))
        tool(talk, "write, call", "call-4", "Write plan.md", "edit", locations=[{"path": PLAN_FILE}])
        permission(talk, "write, question", "call-4")
        talk.settle("write, question", selected("always"))
        step(talk, "write, progress", "call-4", "in_progress")
        talk.want("write, look", "fs/read_text_file", {"sessionId": S, "path": PLAN_FILE})
        talk.settle("write, look", error={"code": -32002, "message": "Resource not found"})
        talk.want(
            "write, file", "fs/write_text_file", {"sessionId": S, "path": PLAN_FILE, "content": "# Plan\n"}
        )
        talk.settle("write, file", {})
        talk.want("write, again", "fs/read_text_file", {"sessionId": S, "path": PLAN_FILE})
        talk.settle("write, again", {"content": "# Plan\n"})
        step(talk, "write, done", "call-4", "completed", content=[diff])
        say(talk, "write, words", "The plan is there.", message="msg-6")
        end(talk, "write")


def terminal(talk: Script, label: str, method: str, name: str) -> None:
    talk.want(label, f"terminal/{method}", {"sessionId": S, "terminalId": name})


def _run(talk: Script) -> None:
    with talk.stretch("run"):
        talk.ask("run", "session/prompt", prompt(S, "Run the checks"))
        tool(talk, "run, call", "call-5", "make check", "execute", rawInput={"command": "make check"})
        permission(talk, "run, question", "call-5")
        talk.settle("run, question", selected("yes"))
        talk.want(
            "run, create",
            "terminal/create",
            {
                "sessionId": S,
                "command": "/usr/bin/make",
                "args": ["check"],
                "env": [{"name": "QUIET", "value": "1"}],
                "cwd": FOLDER,
                "outputByteLimit": 4096,
            },
        )
        talk.settle("run, create", {"terminalId": "term-1"})
        step(
            talk,
            "run, progress",
            "call-5",
            "in_progress",
            content=[{"type": "terminal", "terminalId": "term-1"}],
        )
        terminal(talk, "run, output", "output", "term-1")
        talk.settle("run, output", {"output": "checking the harbour", "truncated": False})
        terminal(talk, "run, wait", "wait_for_exit", "term-1")
        talk.settle("run, wait", {"exitCode": 0, "signal": None})
        terminal(talk, "run, last output", "output", "term-1")
        talk.settle(
            "run, last output",
            {
                "output": "checking the harbour\nall is well\n",
                "truncated": False,
                "exitStatus": {"exitCode": 0, "signal": None},
            },
        )
        terminal(talk, "run, release", "release", "term-1")
        talk.settle("run, release", {})
        step(talk, "run, done", "call-5", "completed", rawOutput={"code": 0})
        say(talk, "run, words", "All is well.", message="msg-7")
        end(talk, "run")


def _killed(talk: Script) -> None:
    with talk.stretch("run, killed"):
        talk.ask("killed", "session/prompt", prompt(S, "Watch the tide for a second"))
        tool(talk, "killed, call", "call-6", "tide --watch", "execute")
        talk.want(
            "killed, create", "terminal/create", {"sessionId": S, "command": "tide", "args": ["--watch"]}
        )
        talk.settle("killed, create", {"terminalId": "term-2"})
        step(talk, "killed, progress", "call-6", "in_progress")
        terminal(talk, "killed, wait", "wait_for_exit", "term-2")
        terminal(talk, "killed, output", "output", "term-2")
        talk.settle("killed, output", {"output": "low\n", "truncated": False})
        terminal(talk, "killed, kill", "kill", "term-2")
        talk.settle("killed, kill", {})
        talk.settle("killed, wait", {"exitCode": None, "signal": "SIGKILL"})
        terminal(talk, "killed, release", "release", "term-2")
        talk.settle("killed, release", {})
        step(talk, "killed, done", "call-6", "failed", content=[held("stopped")])
        say(talk, "killed, words", "The tide is low.", message="msg-8")
        end(talk, "killed")


def _blocks(talk: Script) -> None:
    uri = f"file://{FILE}"
    blocks = [
        text("What is this?", annotations={"audience": ["assistant"], "priority": 0.5}),
        {"type": "resource_link", "uri": uri, "name": "harbour.py", "mimeType": "text/x-python", "size": 24},
        {"type": "resource", "resource": {"uri": uri, "text": "def pier():\n", "mimeType": "text/x-python"}},
        {"type": "image", "data": PIXEL, "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
    ]
    with talk.stretch("blocks"):
        talk.ask("blocks", "session/prompt", prompt(S, *blocks))
        tool(talk, "blocks, call", "call-7", "Draw a map", "other")
        step(talk, "blocks, progress", "call-7", "in_progress")
        picture = {"type": "content", "content": {"type": "image", "data": PIXEL, "mimeType": "image/png"}}
        linked = {"type": "content", "content": {"type": "resource_link", "uri": uri, "name": "harbour.py"}}
        step(talk, "blocks, done", "call-7", "completed", content=[picture, linked])
        say(talk, "blocks, words", "A harbour.", message="msg-9")
        end(talk, "blocks")
    with talk.stretch("link"):
        talk.ask("link", "session/prompt", prompt(S, "And this?", blocks[1]))
        say(talk, "link, words", "A file.", message="msg-16")
        end(talk, "link")
    with talk.stretch("command"):
        talk.ask("command", "session/prompt", prompt(S, "/tidy harbour.py"))
        say(talk, "command, words", "It is tidy.", message="msg-10")
        end(talk, "command")


def _memory(talk: Script) -> None:
    with talk.stretch("remember"):
        talk.ask("remember", "session/prompt", prompt(S, "The word is lighthouse, remember it"))
        say(talk, "remember, words", "I will.", message="msg-11")
        end(talk, "remember")
    with talk.stretch("recall"):
        talk.ask("recall", "session/prompt", prompt(S, "Which word was it?"))
        say(talk, "recall, words", "It was lighthouse.", message="msg-12")
        end(talk, "recall")
    with talk.stretch("recall control"):
        talk.ask("recall control", "session/prompt", prompt(S, "The word is lighthouse. Which word is it?"))
        say(talk, "recall control, words", "It is lighthouse.", message="msg-17")
        end(talk, "recall control")


def _ends(talk: Script) -> None:
    """Turns that end in other ways."""
    talk.ask("long", "session/prompt", prompt(S, "Tell all you know"))
    say(talk, "long, words", "It began", message="msg-13")
    end(talk, "long", "max_tokens")
    talk.ask("rude", "session/prompt", prompt(S, "Sink the ships"))
    say(talk, "rude, words", "I will not.", message="msg-14")
    end(talk, "rude", "refusal")
    talk.ask("broken", "session/prompt", prompt(S, "Think hard"))
    talk.reply("broken", error={"code": -32603, "message": "The model is not reachable"})
    talk.ask("last", "session/prompt", prompt(S, "Good night"))
    say(talk, "last, words", "Good night.", message="msg-15")
    end(talk, "last")

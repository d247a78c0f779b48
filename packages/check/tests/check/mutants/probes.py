"""A good agent and a good client in the hands of an examiner: what is odd or wrong is taken well."""

from __future__ import annotations

from typing import Any

from tests.check.mutants.script import Script, error
from tests.check.mutants.values import (
    AGENT_CAN,
    CLIENT_CAN,
    EXAMINED,
    FILE,
    FIRST,
    FOLDER,
    FORM,
    NOBODY,
    OLD,
    modes,
    options,
    prompt,
    text,
)
from tests.check.mutants.work import end, opening, permission, say, step, terminal, tool

S = FIRST
BAD = error(-32602, "Invalid params")
LOST = error(-32002, "Resource not found", sessionId=NOBODY)
SECRET = "hunter2-must-not-come-back"


def refused(talk: Script, name: str, line: bytes, code: int) -> None:
    """A line that is not a message, and what is answered to it."""
    with talk.stretch(name):
        talk.put(name, "to_agent", line)
        talk.put(f"{name}, answer", "to_client", {"jsonrpc": "2.0", "id": None, "error": error(code, "No")})


def probe(talk: Script, name: str, method: str, params: Any = None, **half: Any) -> None:
    """A request and its answer."""
    with talk.stretch(name):
        talk.ask(name, method, *([] if params is None else [params]))
        talk.reply(name, **half)


def probes() -> Script:
    """Everything wrong that an examiner sends to an agent."""
    talk = Script("probes")
    with talk.stretch("too early"):
        talk.ask("too early", "session/new", {"cwd": FOLDER, "mcpServers": []})
        talk.reply("too early", error=error(-32600, "Not initialized"))
    probe(talk, "version missing", "initialize", {}, error=BAD)
    opening(talk, client={**CLIENT_CAN, "terminal": "yes"}, agent=AGENT_CAN)
    _lines(talk)
    _requests(talk)
    _params(talk)
    _sessions(talk)
    talk.facts = {**EXAMINED, "session": S}
    return talk


def _lines(talk: Script) -> None:
    refused(talk, "no JSON", b"{", -32700)
    refused(talk, "a number", b"42", -32600)
    refused(talk, "empty object", b"{}", -32600)
    refused(talk, "batch of a request", b'[{"jsonrpc":"2.0","id":54,"method":"session/list"}]', -32600)
    with talk.stretch("unknown notification"):
        talk.tell("unknown notification", "nope")
    with talk.stretch("cancel of an unknown session"):
        talk.tell("cancel of an unknown session", "session/cancel", {"sessionId": NOBODY})
    with talk.stretch("answer to nothing"):
        talk.put("answer to nothing", "to_agent", {"jsonrpc": "2.0", "id": 4711, "result": {}})
    with talk.stretch("cancel request of nothing"):
        talk.tell("cancel request of nothing", "$/cancel_request", {"requestId": 4711})


def _requests(talk: Script) -> None:
    empty: dict[str, Any] = {"sessions": []}
    for request_id in (2**53 + 1, "17"):
        with talk.stretch(f"id {request_id!r}"):
            talk.ask(f"id {request_id!r}", "session/list", {}, id=request_id)
            talk.reply(f"id {request_id!r}", empty)
    probe(talk, "list, params absent", "session/list", result=empty)
    missing = error(-32601, "Method not found")
    for method in ("nope/nope", "$/foo", "_tck/x"):
        probe(talk, f"request {method}", method, {}, error=missing)
    probe(talk, "unknown login", "authenticate", {"methodId": "nobody's"}, error=BAD)
    probe(talk, "bad cursor", "session/list", {"cursor": "garbage"}, error=BAD)


def _params(talk: Script) -> None:
    new: dict[str, Any] = {"cwd": FOLDER, "mcpServers": []}
    with talk.stretch("new"):
        talk.ask("new", "session/new", new)
        talk.reply("new", {"sessionId": S, "modes": modes(), "configOptions": options()})
    broken = {"name": "a", "command": "/bin/true", "args": 5, "env": [{"name": "T", "value": SECRET}]}
    strange = {"name": "a", "command": "/bin/true", "args": [], "env": [], "type": "ws"}
    probe(talk, "new without cwd", "session/new", {"mcpServers": []}, error=BAD)
    probe(talk, "new without servers", "session/new", {"cwd": FOLDER}, error=BAD)
    probe(talk, "new with an array", "session/new", [FOLDER, []], error=BAD)
    probe(talk, "new with a secret", "session/new", {**new, "mcpServers": [broken]}, error=BAD)
    probe(talk, "new with an unknown transport", "session/new", {**new, "mcpServers": [strange]}, error=BAD)
    probe(
        talk, "roots with a relative one", "session/new", {**new, "additionalDirectories": ["src"]}, error=BAD
    )
    probe(talk, "prompt without prompt", "session/prompt", {"sessionId": S}, error=BAD)
    probe(talk, "text block without text", "session/prompt", prompt(S, {"type": "text"}), error=BAD)
    probe(talk, "unknown mode", "session/set_mode", {"sessionId": S, "modeId": "nobody's"}, error=BAD)
    odd = {"sessionId": S, "configId": "model", "value": "nobody's"}
    probe(talk, "illegal value", "session/set_config_option", odd, error=BAD)
    odd_new: dict[str, dict[str, Any]] = {
        "new with bogus": {"bogus": 1},
        "new with meta as text": {"_meta": "x"},
        "new with hostile meta": {"_meta": {"cwd": "/etc", "sessionId": "x"}},
        "new with null servers": {"mcpServers": None},
    }
    for number, (name, more) in enumerate(odd_new.items()):
        probe(talk, name, "session/new", {**new, **more}, result={"sessionId": f"ses-{number}"})


def _sessions(talk: Script) -> None:
    lost = {"sessionId": NOBODY, "cwd": FOLDER, "mcpServers": []}
    probe(talk, "load of an unknown session", "session/load", lost, error=LOST)
    probe(talk, "resume of an unknown session", "session/resume", lost, error=LOST)
    probe(talk, "prompt of an unknown session", "session/prompt", prompt(NOBODY, "hello"), error=LOST)
    probe(
        talk,
        "mode of an unknown session",
        "session/set_mode",
        {"sessionId": NOBODY, "modeId": "ask"},
        error=LOST,
    )
    probe(talk, "delete of an unknown session", "session/delete", {"sessionId": NOBODY}, result={})
    probe(talk, "close", "session/close", {"sessionId": S}, result={})
    gone = error(-32002, "Resource not found", sessionId=S)
    probe(talk, "prompt after close", "session/prompt", prompt(S, "hello"), error=gone)
    with talk.stretch("after all"):
        talk.ask("after all", "session/list", {})
        talk.reply("after all", {"sessions": [{"sessionId": OLD, "cwd": FOLDER}]})


def oddities() -> Script:
    """Everything odd that an agent may do to a client, which lives with it."""
    talk = Script("oddities")
    opening(talk, client=CLIENT_CAN, agent={**AGENT_CAN, "promptCapabilities": {"image": "yes"}})
    with talk.stretch("new"):
        talk.ask("new", "session/new", {"cwd": FOLDER, "mcpServers": []})
        talk.reply("new", {"sessionId": S, "modes": modes(), "configOptions": options()})
    talk.update("strange session", NOBODY, "agent_message_chunk", content=text("Who is this?"))
    talk.ask("hello", "session/prompt", prompt(S, "Good morning"))
    _odd_updates(talk)
    _odd_requests(talk)
    say(talk, "hello, words", "Good morning.")
    end(talk, "hello")
    talk.ask("files", "session/prompt", prompt(S, "Look around"))
    _odd_files(talk)
    _odd_terminals(talk)
    say(talk, "files, words", "I have seen it all.")
    end(talk, "files")
    _odd_ends(talk)
    talk.facts = {**EXAMINED, "input": "closed"}
    return talk


def _odd_updates(talk: Script) -> None:
    talk.update("unknown kind", S, "weather_update", wind="fresh")
    talk.update("notice", S, "notice", severity="_mild", title="Mist")
    talk.update("compaction", S, "compaction_update", compactionId="c", status="_paused")
    tool(talk, "odd call", "call-1", "Look", "gaze", locations=[{"path": FILE}, 5], rawInput="x")
    step(talk, "odd step", "call-1", "in_progress", content=[{"type": "smell"}, 7])
    talk.update(
        "odd plan", S, "plan", entries=[5, {"content": "Go", "priority": "high", "status": "pending"}]
    )
    talk.put("late answer", "to_client", {"jsonrpc": "2.0", "id": 4711, "result": {}})


def _odd_requests(talk: Script) -> None:
    missing = error(-32601, "Method not found")
    for method in ("nope/nope", "_tck/x", "$/foo"):
        with talk.stretch(f"request {method}"):
            talk.want(f"request {method}", method, {})
            talk.settle(f"request {method}", error=missing)
    talk.note("unknown notification", "nope", {})
    permission(talk, "question", "call-1")
    permission(talk, "second question", "call-1")
    talk.settle("second question", {"outcome": {"outcome": "selected", "optionId": "yes"}})
    talk.settle("question", {"outcome": {"outcome": "selected", "optionId": "no"}})
    mode = {"sessionId": S, "mode": "_voice", "message": "Speak"}
    talk.want("unknown form", "elicitation/create", mode)
    talk.settle("unknown form", error=error(-32602, "Unknown mode"))
    form = {"sessionId": S, "mode": "form", "message": "Which berth?", "requestedSchema": FORM}
    talk.want("form", "elicitation/create", form)
    talk.settle("form", {"action": "accept", "content": {"berth": "B4", "boats": 2}})
    talk.note("form, unknown page", "elicitation/complete", {"elicitationId": "nobody's"})


def _odd_files(talk: Script) -> None:
    def read(label: str, path: str, **more: Any) -> None:
        talk.want(label, "fs/read_text_file", {"sessionId": S, "path": path, **more})

    new = f"{FOLDER}/log.txt"
    with talk.stretch("write a file"):
        talk.want("new file", "fs/write_text_file", {"sessionId": S, "path": new, "content": "calm\n"})
        talk.settle("new file", {})
    read("whole file", FILE)
    talk.settle("whole file", {"content": "one\ntwo\nthree\nfour\n"})
    read("part of a file", FILE, line=2, limit=2)
    talk.settle("part of a file", {"content": "two\nthree\n"})
    read("bad line", FILE, line="first")
    talk.settle("bad line", error=error(-32602, "Invalid params"))
    with talk.stretch("read a missing file"):
        read("missing file", f"{FOLDER}/nobody.txt")
        talk.settle("missing file", error=error(-32002, "Resource not found"))
    with talk.stretch("read outside"):
        read("file outside", "/srv/secret.txt")
        talk.settle("file outside", error=error(-32602, "Outside of the folders"))
    with talk.stretch("read through dots"):
        read("file behind dots", f"{FOLDER}/../../../srv/secret.txt")
        talk.settle("file behind dots", error=error(-32602, "Outside of the folders"))


def _odd_terminals(talk: Script) -> None:
    create = {"sessionId": S, "command": "/bin/echo", "args": ["äöü"], "outputByteLimit": 4}
    with talk.stretch("terminals"):
        talk.want("create", "terminal/create", create)
        talk.settle("create", {"terminalId": "term-1"})
        terminal(talk, "wait", "wait_for_exit", "term-1")
        terminal(talk, "wait too", "wait_for_exit", "term-1")
        talk.settle("wait", {"exitCode": 0})
        talk.settle("wait too", {"exitCode": 0})
        terminal(talk, "output", "output", "term-1")
        talk.settle("output", {"output": "ü\n", "truncated": True, "exitStatus": {"exitCode": 0}})
        terminal(talk, "kill", "kill", "term-1")
        talk.settle("kill", {})
        terminal(talk, "output after kill", "output", "term-1")
        talk.settle("output after kill", {"output": "ü\n", "truncated": True, "exitStatus": {"exitCode": 0}})
        terminal(talk, "release", "release", "term-1")
        talk.settle("release", {})
        terminal(talk, "output after release", "output", "term-1")
        talk.settle("output after release", error=error(-32002, "No such terminal"))
        talk.want("bad create", "terminal/create", {**create, "args": "x"})
        talk.settle("bad create", error=error(-32602, "Invalid params"))


def _odd_ends(talk: Script) -> None:
    talk.ask("odd error", "session/prompt", prompt(S, "And now?"))
    talk.reply("odd error", error=error(-31999, "Something strange"))
    talk.ask("list", "session/list", {})
    talk.reply("list", {"sessions": [7, {"sessionId": OLD, "cwd": FOLDER}]})
    with talk.stretch("load"):
        talk.ask("load", "session/load", {"sessionId": OLD, "cwd": FOLDER, "mcpServers": []})
        talk.reply("load", None)
    with talk.stretch("close"):
        talk.ask("close", "session/close", {"sessionId": OLD})
        talk.reply("close", error=error(-32002, "Resource not found", sessionId=OLD))
    talk.ask("bye", "session/prompt", prompt(S, "Good night"))
    say(talk, "bye, words", "Good night.")
    talk.update("bye, usage", S, "usage_update", used=1, size=2)
    end(talk, "bye")
    talk.ask("close at last", "session/close", {"sessionId": S})
    talk.reply("close at last", {})

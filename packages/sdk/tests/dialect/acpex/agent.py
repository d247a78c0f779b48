"""An agent written from the overview alone: lines of JSON on its pipes, and no SDK. With the argument `wire`
it writes what the code of ACPex writes for the same things.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from typing import Any

WIRE = sys.argv[1:] == ["wire"]
KEY = "owl-secret"
past: dict[str, list[str]] = {}
numbers = count(1)


def send(**members: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
    sys.stdout.flush()


def listen() -> Any:
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def tell(session: str, kind: str, nested: Any, /, **typed: Any) -> None:
    """An update: everything under `content`, or beside `type` with an id of its own."""
    update = {"kind": kind, "content": nested}
    if WIRE:
        update = {"type": kind, "sessionUpdate": f"u-{next(numbers)}", **typed}
    send(method="session/update", params={"sessionId": session, "update": update})


def think(session: str, words: str) -> None:
    tell(session, "agent_thought_chunk", {"thought": words}, content=text(words))


def speak(session: str, words: str, who: str = "assistant") -> None:
    kind = "user_message_chunk" if who == "user" else "agent_message_chunk"
    tell(session, kind, {"role": who, "content": [text(words)]}, content=text(words))


def ask(session: str, method: str, **params: Any) -> Any:
    number = next(numbers)
    send(id=number, method=method, params={"sessionId": session, **params})
    while (frame := listen()).get("id") != number or "method" in frame:
        pass
    return frame


def end(reason: str, *words: str) -> Any:
    return {"result": {"stopReason": reason} | ({} if WIRE else {"content": [text(one) for one in words]})}


def tour(session: str) -> Any:
    """Everything that a turn can show."""
    think(session, "Where is it?")
    steps = ["1. Look", "2. Tell"]
    entries = [{"id": step, "description": step, "status": "pending"} for step in steps]
    tell(session, "plan", {"steps": steps}, entries=entries)
    function = {"name": "look", "arguments": json.dumps({"at": "/barn"})}
    tell(
        session,
        "tool_call",
        {"toolCallId": "look-1", "type": "function", "function": function},
        toolCallId="look-1",
        title="look",
        status="running",
        rawInput={"at": "/barn"},
    )
    tell(
        session,
        "tool_call_update",
        {"toolCallId": "look-1", "output": "hay"},
        toolCallId="look-1",
        status="completed",
        content=[text("hay")],
    )
    speak(session, "There is ")
    speak(session, "hay.")
    return end("done", "There is hay.")


def read(session: str, path: str) -> Any:
    frame = ask(session, "fs/read_text_file", path=path)
    speak(session, frame["result"]["content"] if "result" in frame else f"error {frame['error']['code']}")
    return end("done")


def wait(session: str) -> Any:
    speak(session, "waiting")
    while listen().get("method") != "session/cancel":
        pass
    return end("cancelled")


def prompt(params: Any) -> Any:
    session = params["sessionId"]
    if session not in past:
        return {"error": {"code": -32001, "message": "Session not found"}}
    wanted = "".join(block["text"] for block in params["prompt" if WIRE else "content"])
    past[session].append(wanted)
    if wanted.startswith("read "):
        return read(session, wanted.removeprefix("read "))
    if wanted == "forbidden":
        return {"error": {"code": -32002, "message": "Permission denied"}}
    return wait(session) if wanted == "wait" else tour(session)


def load(params: Any) -> Any:
    session = params["sessionId"]
    if session not in past:
        return {"error": {"code": -32001, "message": "Session not found"}}
    for words in past[session]:
        speak(session, words, "user")
    return {"result": {}}


def introduce(params: Any) -> Any:
    who = {"name": "owl", "version": "7.1"}
    if WIRE:
        assert "clientCapabilities" in params
        return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}, "_meta": who}
    assert params["capabilities"]["fileSystem"].keys() == {"readTextFile", "writeTextFile"}
    return {
        "protocolVersion": 1,
        "agentCapabilities": {"sessions": {"new": True, "load": True}},
        "meta": who,
        "authenticationMethods": [{"id": "key", "name": "A key"}],
    }


def answer(method: str, params: Any) -> Any:
    if method == "initialize":
        return {"result": introduce(params)}
    if method == "authenticate":
        known = params.get("data", {}).get("apiKey") == KEY
        return {"result": {}} if known else {"error": {"code": -32001, "message": "Invalid API key"}}
    if method == "session/new":
        past[f"session_{len(past)}"] = []
        return {"result": {"sessionId": list(past)[-1]}}
    methods = {"session/prompt": prompt, "session/load": load}
    if method in methods:
        return methods[method](params)
    return {"error": {"code": -32601, "message": "Method not found"}}


if __name__ == "__main__":
    while True:
        asked = listen()
        if "id" in asked and "method" in asked:
            send(id=asked["id"], **answer(asked["method"], asked["params"]))

"""Every example of the overview with words of our own, in its order, and what each is in v1.

The overview abbreviates: most of its examples have no `jsonrpc` and no id, and some are only a part of a
frame. `conversation` completes them in the same way for our examples and for those of the document itself.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

SEED = Path(__file__).parents[6] / "shared" / "seeds" / "004_db64b233cb17b643.txt"

Frame = dict[str, Any]
Spoken = tuple[str, Frame]
"""Where a frame goes, `to_agent` or `to_client`, and the frame."""


def update(session: str, **fields: Any) -> Frame:
    return {"method": "session/update", "params": {"sessionId": session, "update": fields}}


GREETING = {
    "protocolVersion": 1,
    "clientInfo": {"name": "Quill", "version": "0.3"},
    "capabilities": {
        "fileSystem": {"readTextFile": True, "writeTextFile": True},
        "terminal": {"create": True},
    },
    "authenticationMethods": [],
}
INTRODUCTION = {
    "protocolVersion": 1,
    "agentCapabilities": {"sessions": {"new": True, "load": False}},
    "meta": {"name": "Owl", "version": "7.1"},
    "authenticationMethods": [],
}
AGENT_CAN = {
    "sessions": {"new": True, "load": True},
    "mcp": {"http": True, "sse": False},
    "prompts": {"audio": True, "image": False, "embeddedContext": True},
}
CLIENT_CAN = {
    "fileSystem": {"readTextFile": True, "writeTextFile": False},
    "terminal": {"create": True, "output": True, "waitForExit": True, "kill": True, "release": True},
    "prompts": {"audio": True, "image": True, "embeddedContext": False},
}
TEXT = {"type": "text", "text": "Good morning"}
IMAGE = {"type": "image", "source": {"type": "base64", "mediaType": "image/webp", "data": "aW1n"}}
AUDIO = {"type": "audio", "source": {"type": "base64", "mediaType": "audio/ogg", "data": "c25k"}}
RESOURCE = {"type": "resource", "uri": "file:///lib/owl.ex", "mimeType": "text/plain", "text": "hoot"}
LINK = {"type": "resource_link", "uri": "file:///lib/barn.ex"}
THOUGHT = {"kind": "agent_thought_chunk", "content": {"thought": "First the nest."}}
CHUNK = {
    "kind": "agent_message_chunk",
    "content": {"role": "assistant", "content": [{"type": "text", "text": "The nest is built of "}]},
}
CALL = {
    "kind": "tool_call",
    "content": {
        "toolCallId": "hoot-1",
        "type": "function",
        "function": {"name": "open_nest", "arguments": '{"twig": "/lib/nest.ex"}'},
    },
}
OUTPUT = {"kind": "tool_call_update", "content": {"toolCallId": "hoot-1", "output": "defmodule Nest"}}
PLAN = {"kind": "plan", "content": {"steps": ["1. Look around", "2. Fetch twigs"]}}

EXAMPLES: list[Frame] = [
    {
        "jsonrpc": "2.0",
        "id": 4,
        "method": "initialize",
        "params": {"protocolVersion": 1, "capabilities": {}},
    },
    {"jsonrpc": "2.0", "id": 4, "result": {"protocolVersion": 1, "agentCapabilities": {}}},
    {"jsonrpc": "2.0", "id": 4, "error": {"code": -32001, "message": "Authentication was refused"}},
    {"jsonrpc": "2.0", **update("s-7", kind="message", content="Hoo")},
    {"method": "initialize", "params": GREETING},
    {"result": INTRODUCTION},
    {"method": "authenticate", "params": {"methodId": "feather", "data": {"apiKey": "owl-secret"}}},
    {"result": {}},
    {"error": {"code": -32001, "message": "This API key is unknown"}},
    {"method": "session/new", "params": {"cwd": "/srv/barn", "mcpServers": []}},
    {"result": {"sessionId": "s-7"}},
    {
        "method": "session/prompt",
        "params": {
            "sessionId": "s-7",
            "content": [
                {"type": "text", "text": "Build a nest"},
                {"type": "resource", "uri": "file:///lib/nest.ex", "mimeType": "text/x-elixir"},
            ],
        },
    },
    update("s-7", **THOUGHT),
    update("s-7", **CHUNK),
    {"result": {"content": [{"type": "text", "text": "The nest stands."}], "stopReason": "done"}},
    {"method": "session/cancel", "params": {"sessionId": "s-7"}},
    {"agentCapabilities": AGENT_CAN},
    {"capabilities": CLIENT_CAN},
    TEXT,
    IMAGE,
    AUDIO,
    RESOURCE,
    LINK,
    CHUNK,
    THOUGHT,
    CALL,
    OUTPUT,
    PLAN,
    {
        "jsonrpc": "2.0",
        "id": 4,
        "error": {"code": -32001, "message": "No such file", "data": {"path": "/none.txt"}},
    },
]


def examples_of(text: str) -> list[Frame]:
    """The examples in a document, in its order."""
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]


def conversation(examples: list[Frame]) -> list[Spoken]:
    """The examples as whole frames in a conversation: an answer has a question before it, a part a whole."""
    spoken: list[Spoken] = []
    asked: int | None = None
    for number, example in enumerate(examples, 100):
        if "result" in example or "error" in example:
            if asked is None:
                asked = number
                spoken.append(question(example, number))
            back = "to_agent" if spoken[-1][0] == "to_client" and "path" in str(example) else "to_client"
            body = {name: value for name, value in example.items() if name in ("result", "error")}
            spoken.append((back, {"jsonrpc": "2.0", "id": asked, **body}))
            asked = None
            continue
        frame = whole(example, number)
        spoken.append(("to_client" if frame["method"] == "session/update" else "to_agent", frame))
        if "agentCapabilities" in example:
            result = {"protocolVersion": 1, **example}
            spoken.append(("to_client", {"jsonrpc": "2.0", "id": number, "result": result}))
        elif "id" in frame and "method" in example:
            asked = number
    return spoken


def question(example: Frame, number: int) -> Spoken:
    """What somebody asked to be answered so."""
    if "path" in str(example):
        params = {"sessionId": "s-7", "path": "/none.txt"}
        return "to_client", {"jsonrpc": "2.0", "id": number, "method": "fs/read_text_file", "params": params}
    params = {"methodId": "feather"}
    return "to_agent", {"jsonrpc": "2.0", "id": number, "method": "authenticate", "params": params}


def whole(example: Frame, number: int) -> Frame:
    """A request or a notification around what the example shows."""
    if "kind" in example:
        example = update("s-7", **example)
    elif "type" in example:
        example = {"method": "session/prompt", "params": {"sessionId": "s-7", "content": [example]}}
    elif "method" not in example:
        can = example.get("capabilities", {})
        example = {"method": "initialize", "params": {"protocolVersion": 1, "capabilities": can}}
    silent = example["method"] in ("session/update", "session/cancel")
    shell = {"jsonrpc": "2.0"} if silent else {"jsonrpc": "2.0", "id": number}
    return {**shell, "method": example["method"], "params": example["params"]}

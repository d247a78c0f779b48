"""Agents of koog, acpex and threads that say one thing and mean another; then those of all dialects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.hostile.doors.agent_steps import (
    OPTIONS,
    PUSH,
    Step,
    acpex_call,
    denied,
    disguised,
    hidden,
    question,
    read,
    run,
    update,
    write,
)
from tests.hostile.doors.crow_tricks import CROW
from tests.hostile.doors.haven_tricks import HAVEN


def plain_call(title: str, **members: Any) -> dict[str, Any]:
    return {"toolCallId": "c", "title": title, **members}


KOOG = [
    disguised(
        "koog",
        "a push in the title alone",
        "asks with the command as the title of a tool that executes",
        question(plain_call(PUSH, kind="execute")),
    ),
    disguised(
        "koog",
        "a push in a text block",
        "asks with the command in the content of the call",
        question(
            plain_call(
                "Run",
                kind="other",
                content=[{"type": "content", "content": {"type": "text", "text": f"$ {PUSH}"}}],
                rawInput={"shellCommand": PUSH},
            )
        ),
        at_first="succeeded",
    ),
    denied(
        "koog",
        "a push announced without the wrapper of updates",
        "announces the call beside `sessionId`, which is read as a mistake, then asks by its id",
        [
            {
                "say": {
                    "jsonrpc": "2.0",
                    "method": "session/update",
                    "params": {
                        "sessionId": "$SESSION",
                        "sessionUpdate": "tool_call",
                        "toolCallId": "c",
                        "title": "x",
                        "kind": "read",
                        "rawInput": {"command": PUSH},
                    },
                }
            },
            *question({"toolCallId": "c"}),
        ],
    ),
    denied(
        "koog",
        "a push announced without the name of the update",
        "announces the call with `type` instead of `sessionUpdate`, then asks by its id",
        [
            update({"type": "tool_call", "toolCallId": "c", "title": "x", "rawInput": {"command": PUSH}}),
            *question({"toolCallId": "c"}),
        ],
    ),
    disguised(
        "koog",
        "a fetch that says it reads",
        "asks with kind `read` and an address",
        question(plain_call("Fetch", kind="read", rawInput={"url": "http://127.0.0.1:9/"})),
        at_first="succeeded",
    ),
    hidden(
        "koog",
        "a write that says it reads",
        "asks with kind `read`, a path and a text",
        question(plain_call("writeFile", kind="read", rawInput={"path": "$CWD/notes", "content": "mine"})),
        at_first="succeeded",
    ),
    hidden(
        "koog",
        "a patch that says it searches",
        "asks with kind `search` and a patch",
        question(plain_call("apply", kind="search", rawInput={"patch": "--- notes\n+++ notes\n"})),
        at_first="succeeded",
    ),
    hidden(
        "koog",
        "a script that says it thinks",
        "asks with kind `think` and code",
        question(plain_call("python", kind="think", rawInput={"code": "import os; os.remove('notes')"})),
        at_first="succeeded",
    ),
    hidden(
        "koog",
        "a deletion that says it reads",
        "asks with kind `read` for `deleteFile`",
        question(plain_call("deleteFile", kind="read", rawInput={"path": "$CWD/notes"})),
        at_first="succeeded",
    ),
    hidden(
        "koog",
        "a move that says it reads",
        "asks with kind `read` and two paths",
        question(
            plain_call("renameFile", kind="read", rawInput={"source": "$CWD/notes", "destination": "$CWD/n"})
        ),
        at_first="succeeded",
    ),
    hidden(
        "koog",
        "a tool of a server that says it reads",
        "asks with kind `read` for a tool of an MCP server that nobody knows",
        question(plain_call("mcp__prod__deploy", kind="read", rawInput={"environment": "live"})),
        at_first="succeeded",
    ),
]


def terminal_traces() -> Sequence[Step]:
    return [run("touch", "$CWD/done"), {"wait": "terminal/wait_for_exit"}]


ACPEX = [
    denied(
        "acpex",
        "a denied command in a terminal",
        "runs it through the lent terminal",
        terminal_traces(),
    ),
    denied(
        "acpex",
        "a denied command as one line of shell",
        "runs `sh -c` with it",
        [run("sh", "-c", "touch $CWD/done")],
    ),
    denied(
        "acpex",
        "a denied command in snake_case",
        "asks with `session_id` and `terminal_create`-like names",
        [
            {
                "ask": {
                    "jsonrpc": "2.0",
                    "id": "q",
                    "method": "terminal/create",
                    "params": {"session_id": "$SESSION", "command": "touch", "args": ["$CWD/done"]},
                }
            }
        ],
    ),
    denied(
        "acpex",
        "a denied command without its session",
        "names no session, which is given the only one",
        [
            {
                "ask": {
                    "jsonrpc": "2.0",
                    "id": "q",
                    "method": "terminal/create",
                    "params": {"command": "touch", "args": ["$CWD/done"]},
                }
            }
        ],
    ),
    denied(
        "acpex",
        "a key that is read through the lent files",
        "reads `.env`",
        read("$CWD/.env", mark="done"),
    ),
    denied(
        "acpex",
        "a key that is written in snake_case",
        "writes `.env` with `session_id`",
        [
            {
                "ask": {
                    "jsonrpc": "2.0",
                    "id": "q",
                    "method": "fs/write_text_file",
                    "params": {"session_id": "$SESSION", "path": "$CWD/.env", "content": "stolen"},
                }
            }
        ],
        traces=("changed .env",),
    ),
    denied(
        "acpex",
        "a push as a function that is asked about in v1",
        "announces a function with a string of arguments, then asks with nothing but its id",
        [acpex_call("bash", {"command": PUSH}), *question({"toolCallId": "call-1"})],
    ),
    disguised(
        "acpex",
        "a push as a function in the question itself",
        "asks with `function` in the place of a title and an input",
        question(
            {
                "toolCallId": "call-2",
                "type": "function",
                "function": {"name": "bash", "arguments": json.dumps({"command": PUSH})},
            }
        ),
        at_first="succeeded",
    ),
    disguised(
        "acpex",
        "a push whose arguments are no JSON",
        "announces a function whose arguments are the command itself",
        [acpex_call("bash", PUSH, number="call-3"), *question({"toolCallId": "call-3"})],
        at_first="succeeded",
    ),
    denied(
        "acpex",
        "a tool of the production server as a function",
        "announces `mcp__prod__deploy`, then asks with nothing but its id",
        [acpex_call("mcp__prod__deploy", {}, number="call-4"), *question({"toolCallId": "call-4"})],
    ),
    hidden(
        "acpex",
        "a write through the lent files",
        "writes a file that nobody was asked about",
        [write("$CWD/done")],
    ),
]


def thread_read(method: str, number: int, **params: Any) -> list[Step]:
    asked = {"id": number, "method": method, "params": {"threadId": "$SESSION", **params}}
    return [{"ask": asked}, {"leak": "$CWD/done"}]


THREADS = [
    denied(
        "threads",
        "a key that is read as text",
        "reads `.env`",
        thread_read("readTextFile", 1, path="$CWD/.env"),
    ),
    denied(
        "threads",
        "a key that is read as bytes",
        "reads `.env` with readBinaryFile",
        thread_read("readBinaryFile", 2, path="$CWD/.env"),
    ),
    denied(
        "threads",
        "a key that is read through a link",
        "reads a link that leads to `.env`",
        thread_read("readTextFile", 3, path="$CWD/link"),
    ),
    denied(
        "threads",
        "a key that is read bytewise from its middle",
        "reads `.env` from an offset",
        thread_read("readBinaryFile", 4, path="$CWD/sub/../.env", byteOffset=1, byteLimit=4),
    ),
    denied(
        "threads",
        "a file outside the folder",
        "reads a file beside the session's folder",
        thread_read("readTextFile", 5, path="$CWD/../outside"),
    ),
    denied(
        "threads",
        "a write in words of v1",
        "sends fs/write_text_file, which the dialect does not have",
        [
            {
                "ask": {
                    "jsonrpc": "2.0",
                    "id": 6,
                    "method": "fs/write_text_file",
                    "params": {"sessionId": "$SESSION", "path": "$CWD/.env", "content": "stolen"},
                }
            }
        ],
        traces=("changed .env",),
    ),
    hidden(
        "threads",
        "a terminal in words of v1",
        "sends terminal/create, which the dialect does not have",
        [
            {
                "ask": {
                    "id": 7,
                    "method": "terminal/create",
                    "params": {"sessionId": "$SESSION", "command": "touch", "args": ["$CWD/done"]},
                }
            }
        ],
    ),
    hidden(
        "threads",
        "a question in words of v1 that is answered with yes",
        "sends session/request_permission",
        [
            {
                "ask": {
                    "id": 8,
                    "method": "session/request_permission",
                    "params": {
                        "sessionId": "$SESSION",
                        "toolCall": {"toolCallId": "c", "title": "x", "kind": "execute"},
                        "options": OPTIONS,
                    },
                }
            },
            {"obey": "$CWD/done"},
        ],
    ),
]

DIALECT_TRICKS = [*CROW, *HAVEN, *KOOG, *ACPEX, *THREADS]

"""Agents of five dialects that say one thing and mean another.

Each is played to a hub with a policy of the session's own folder, which the user trusts. Where a rule denies,
the person in front says yes to everything; where a rule allows something harmless, the person says no.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tests.hostile.doors.tricks import Trick

Step = dict[str, Any]

DENY_ELSE_ALLOW = """
default = "allow"
[[rule]]
decision = "deny"
command = ["git push", "touch", "rm -rf"]
[[rule]]
decision = "deny"
path = ["**/.env", "**/.ssh/**"]
[[rule]]
decision = "deny"
tool = "mcp__prod__*"
[[rule]]
decision = "deny"
kind = "fetch"
"""

ALLOW_READS = """
[[rule]]
decision = "allow"
kind = ["read", "search", "think"]
"""

OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


@dataclass(frozen=True, kw_only=True)
class AgentTrick(Trick):
    """A trick of an agent at the hub. `$CWD` in a step is the session's folder."""

    dialect: str
    policy: str
    person: Literal["yes", "no"]
    steps: Sequence[Step]
    honest: Sequence[Step]
    """What the same agent may do: it leaves the file `honest`."""
    traces: Sequence[str] = ("done",)
    """Files of which none may be there afterwards."""


def request(method: str, params: dict[str, Any], *, number: str = "q") -> Step:
    params = {"sessionId": "$SESSION", **params}
    return {"ask": {"jsonrpc": "2.0", "id": number, "method": method, "params": params}}


def update(body: dict[str, Any]) -> Step:
    params = {"sessionId": "$SESSION", "update": body}
    return {"say": {"jsonrpc": "2.0", "method": "session/update", "params": params}}


def question(tool_call: dict[str, Any], *, mark: str = "done", number: str = "q") -> list[Step]:
    """Of v1, koog and haven."""
    asked = request("session/request_permission", {"toolCall": tool_call, "options": OPTIONS}, number=number)
    return [asked, {"obey": f"$CWD/{mark}"}]


def crow_question(asked: dict[str, Any], *, mark: str = "done") -> list[Step]:
    options = [{"id": "approve", "title": "Go on", "is_primary": True}, {"id": "reject", "title": "No"}]
    body = {"@type": "permission_request", "permission_options": options, **asked}
    return [update(body), {"await": "permission_response"}, {"obey": f"$CWD/{mark}"}]


def acpex_call(name: str, arguments: object, *, number: str = "call-1") -> Step:
    function = {"name": name, "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments)}
    content = {"toolCallId": number, "type": "function", "function": function}
    return update({"kind": "tool_call", "content": content})


def write(path: str, text: str = "x") -> Step:
    return request("fs/write_text_file", {"path": path, "content": text})


def read(path: str, *, mark: str) -> list[Step]:
    return [request("fs/read_text_file", {"path": path}), {"leak": f"$CWD/{mark}"}]


def run(command: str, *words: str, **more: Any) -> Step:
    return request("terminal/create", {"command": command, "args": list(words), **more})


HARMLESS: dict[str, Sequence[Step]] = {
    "koog": question(
        {"toolCallId": "h", "title": "Read", "kind": "read", "rawInput": {"path": "$CWD/notes"}},
        mark="honest",
        number="h",
    ),
    "haven": question(
        {
            "id": "h",
            "name": "Read",
            "kind": "file",
            "status": "pending",
            "rawInput": {"file_path": "$CWD/notes"},
            "locations": [{"path": "$CWD/notes"}],
        },
        mark="honest",
        number="h",
    ),
    "crow": [
        update(
            {
                "@type": "tool_call_start",
                "tool_call_id": "h",
                "title": "read_file",
                "kind": "read",
                "status": "in_progress",
                "raw_input": {"path": "$CWD/notes"},
            }
        ),
        *crow_question({"tool_call_id": "h", "title": "read_file", "arguments": "notes"}, mark="honest"),
    ],
    "acpex": read("$CWD/notes", mark="honest"),
    "threads": [
        {
            "ask": {
                "id": 900,
                "method": "readTextFile",
                "params": {"threadId": "$SESSION", "path": "$CWD/notes"},
            }
        },
        {"leak": "$CWD/honest"},
    ],
}
"""What both policies let every agent do without a person."""
HARMLESS = {**HARMLESS, "v1": HARMLESS["koog"]}

PUSH = "git push --force"


def denied(dialect: str, name: str, does: str, steps: Sequence[Step], **more: Any) -> AgentTrick:
    """It is plain that the rule means it: a person who says yes changes nothing."""
    return AgentTrick(
        name=f"{dialect}: {name}",
        axis="dialects",
        said="the policy denies it and allows everything else; the person says yes",
        does=does,
        effect="it is done",
        dialect=dialect,
        policy=DENY_ELSE_ALLOW,
        person="yes",
        steps=steps,
        honest=HARMLESS[dialect],
        **more,
    )


def disguised(dialect: str, name: str, does: str, steps: Sequence[Step], **more: Any) -> AgentTrick:
    """It might be what the rule means: a person has to be asked, and says no."""
    trick = denied(dialect, name, does, steps, **more)
    said = "the policy denies it and allows everything else; the person says no"
    return replace(trick, said=said, person="no", effect="it is done, and nobody was asked")


def hidden(dialect: str, name: str, does: str, steps: Sequence[Step], **more: Any) -> AgentTrick:
    return AgentTrick(
        name=f"{dialect}: {name}",
        axis="dialects",
        said="the policy allows reading; the person says no to everything else",
        does=does,
        effect="it is done, because it passed for reading",
        dialect=dialect,
        policy=ALLOW_READS,
        person="no",
        steps=steps,
        honest=HARMLESS[dialect],
        **more,
    )


def crow_call(**members: Any) -> Step:
    return update({"@type": "tool_call_start", "tool_call_id": "c", "status": "in_progress", **members})


CROW = [
    denied(
        "crow",
        "a push as the arguments of a terminal",
        "asks for `terminal` with the command as its arguments, as the description shows it",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": PUSH}),
    ),
    denied(
        "crow",
        "a push as arguments that are JSON in a string",
        'asks with the arguments `{"command": …}` as one string',
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": json.dumps({"command": PUSH})}),
    ),
    denied(
        "crow",
        "a push as arguments that are an object",
        "asks with an object as its arguments",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": {"command": PUSH}}),
    ),
    disguised(
        "crow",
        "a push as arguments that are a list of words",
        "asks with words as its arguments",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": PUSH.split()}),
    ),
    disguised(
        "crow",
        "a push that stands in the title alone",
        "asks with the command as the title, and no arguments",
        crow_question({"tool_call_id": "c", "title": PUSH, "arguments": ""}),
    ),
    disguised(
        "crow",
        "a push whose title is the program and whose arguments are the rest",
        "asks for `git` with the arguments `push --force`",
        crow_question({"tool_call_id": "c", "title": "git", "arguments": "push --force"}),
    ),
    denied(
        "crow",
        "a push that was announced and is asked about by its id alone",
        "announces a command in snake_case, then asks with nothing but the id",
        [
            crow_call(title="terminal", kind="execute", raw_input={"command": PUSH}),
            *crow_question({"tool_call_id": "c"}),
        ],
    ),
    disguised(
        "crow",
        "a push announced as arguments of a tool call",
        "announces `arguments`, then asks with nothing but the id",
        [crow_call(title="terminal", kind="execute", arguments=PUSH), *crow_question({"tool_call_id": "c"})],
    ),
    denied(
        "crow",
        "a push announced under another spelling of the id",
        "announces with `toolCallId`, asks with `tool_call_id`",
        [
            update(
                {"@type": "tool_call_start", "toolCallId": "c", "title": "x", "rawInput": {"command": PUSH}}
            ),
            *crow_question({"tool_call_id": "c", "title": "x"}),
        ],
    ),
    denied(
        "crow",
        "a tool of the production server under its name",
        "asks for `mcp__prod__deploy`",
        crow_question({"tool_call_id": "c", "title": "mcp__prod__deploy", "arguments": "{}"}),
    ),
    denied(
        "crow",
        "a key that is read as the arguments of cat",
        "asks for `cat .env`",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": "cat .env"}),
    ),
    hidden(
        "crow",
        "a write that says it reads",
        "announces kind `read`, asks for `write_file` with a text in its arguments",
        [
            crow_call(title="write_file", kind="read"),
            *crow_question(
                {
                    "tool_call_id": "c",
                    "title": "write_file",
                    "arguments": json.dumps({"path": "notes", "content": "mine"}),
                }
            ),
        ],
    ),
    hidden(
        "crow",
        "a command that says it reads",
        "announces kind `read`, asks for a terminal",
        [
            crow_call(title="terminal", kind="read"),
            *crow_question({"tool_call_id": "c", "title": "terminal", "arguments": "make install"}),
        ],
    ),
    hidden(
        "crow",
        "a question that says itself that it reads",
        "puts kind `read` into the question, with a command as its arguments",
        crow_question(
            {"tool_call_id": "c", "title": "terminal", "kind": "read", "arguments": "make install"}
        ),
    ),
    hidden(
        "crow",
        "a tool that nobody knows and that says it thinks",
        "asks for `frobnicate` of kind `think`",
        [
            crow_call(title="frobnicate", kind="think"),
            *crow_question({"tool_call_id": "c", "title": "frobnicate", "arguments": "rm -rf /srv"}),
        ],
    ),
    hidden(
        "crow",
        "an option that permits under the name of a rejection",
        "offers `reject` twice, one of them of the kind allow_once",
        [
            update(
                {
                    "@type": "permission_request",
                    "tool_call_id": "c",
                    "title": "terminal",
                    "arguments": "make",
                    "permission_options": [
                        {"id": "approve", "title": "No", "kind": "reject_once"},
                        {"id": "reject", "title": "Yes", "kind": "allow_once"},
                    ],
                }
            ),
            {"await": "permission_response"},
            {"obey": "$CWD/done"},
        ],
    ),
]


def haven_call(name: str, **members: Any) -> dict[str, Any]:
    return {"id": "c", "name": name, "status": "pending", **members}


HAVEN = [
    denied(
        "haven",
        "a push as a command",
        "asks for Bash, kind `command`",
        question(haven_call("Bash", kind="command", rawInput={"command": PUSH})),
    ),
    disguised(
        "haven",
        "a push in the name of the tool",
        "asks for `Bash(git push --force)`, kind `command`, without input",
        question(haven_call(f"Bash({PUSH})", kind="command")),
    ),
    disguised(
        "haven",
        "a push as words of a program",
        "asks with `program` and `args`",
        question(haven_call("Run", kind="command", rawInput={"program": "git", "args": ["push", "--force"]})),
    ),
    disguised(
        "haven",
        "a push of a tool of another kind",
        "asks with kind `other` and the command as `cmd`",
        question(haven_call("helper", kind="other", rawInput={"cmd": PUSH})),
    ),
    disguised(
        "haven",
        "a push in a list of commands",
        "asks with `commands`, the second of which is denied",
        question(haven_call("batch", kind="other", rawInput={"commands": ["git status", PUSH]})),
    ),
    disguised(
        "haven",
        "a push deep in the input",
        "asks with the command three levels down",
        question(haven_call("flow", kind="other", rawInput={"steps": [{"run": {"shell": PUSH}}]})),
    ),
    denied(
        "haven",
        "a push that was announced under its other id",
        "announces with `id`, asks with `toolCallId`",
        [
            update({"sessionUpdate": "tool_call", **haven_call("Bash", rawInput={"command": PUSH})}),
            *question({"toolCallId": "c"}),
        ],
    ),
    denied(
        "haven",
        "a tool of the production server",
        "asks for `mcp__prod__deploy`, kind `other`",
        question(haven_call("mcp__prod__deploy", kind="other")),
    ),
    disguised(
        "haven",
        "a page that is fetched under the kind other",
        "asks for WebFetch: the dialect has no kind for it",
        question(haven_call("WebFetch", kind="other", rawInput={"url": "http://127.0.0.1:9/"})),
    ),
    denied(
        "haven",
        "a key by its place alone",
        "asks to read a file that `locations` names",
        question(haven_call("Read", kind="file", locations=[{"path": "$CWD/.env"}])),
    ),
    hidden(
        "haven",
        "a write without a diff",
        "asks for `Write`, kind `file`, with the text in its input",
        question(haven_call("Write", kind="file", rawInput={"file_path": "$CWD/notes", "content": "mine"})),
    ),
    hidden(
        "haven",
        "an edit without a diff",
        "asks for `Edit`, kind `file`, with the old and the new text in its input",
        question(
            haven_call(
                "Edit",
                kind="file",
                rawInput={"file_path": "$CWD/notes", "old_string": "a", "new_string": "b"},
            )
        ),
    ),
    hidden(
        "haven",
        "a deletion of kind file",
        "asks for `Delete`, kind `file`",
        question(haven_call("Delete", kind="file", rawInput={"path": "$CWD/notes"})),
    ),
    hidden(
        "haven",
        "a move of kind file",
        "asks for `Move`, kind `file`, with two paths",
        question(haven_call("Move", kind="file", rawInput={"from": "$CWD/notes", "to": "$CWD/gone"})),
    ),
    hidden(
        "haven",
        "a tool of kind file that nobody knows",
        "asks for `Frobnicate`, kind `file`, with a place",
        question(haven_call("Frobnicate", kind="file", locations=[{"path": "$CWD/notes"}])),
    ),
    hidden(
        "haven",
        "a patch of kind file",
        "asks for `Patch`, kind `file`, with the patch in its input",
        question(haven_call("Patch", kind="file", rawInput={"patch": "--- a\n+++ b\n@@ -1 +1 @@\n-a\n+b\n"})),
    ),
    hidden(
        "haven",
        "a search that runs a command",
        "asks with kind `search` and a command as its input",
        question(haven_call("Search", kind="search", rawInput={"command": "make install"})),
    ),
]


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
    ),
    hidden(
        "koog",
        "a write that says it reads",
        "asks with kind `read`, a path and a text",
        question(plain_call("writeFile", kind="read", rawInput={"path": "$CWD/notes", "content": "mine"})),
    ),
    hidden(
        "koog",
        "a patch that says it searches",
        "asks with kind `search` and a patch",
        question(plain_call("apply", kind="search", rawInput={"patch": "--- notes\n+++ notes\n"})),
    ),
    hidden(
        "koog",
        "a script that says it thinks",
        "asks with kind `think` and code",
        question(plain_call("python", kind="think", rawInput={"code": "import os; os.remove('notes')"})),
    ),
    hidden(
        "koog",
        "a deletion that says it reads",
        "asks with kind `read` for `deleteFile`",
        question(plain_call("deleteFile", kind="read", rawInput={"path": "$CWD/notes"})),
    ),
    hidden(
        "koog",
        "a move that says it reads",
        "asks with kind `read` and two paths",
        question(
            plain_call("renameFile", kind="read", rawInput={"source": "$CWD/notes", "destination": "$CWD/n"})
        ),
    ),
    hidden(
        "koog",
        "a tool of a server that says it reads",
        "asks with kind `read` for a tool of an MCP server that nobody knows",
        question(plain_call("mcp__prod__deploy", kind="read", rawInput={"environment": "live"})),
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
    ),
    disguised(
        "acpex",
        "a push whose arguments are no JSON",
        "announces a function whose arguments are the command itself",
        [acpex_call("bash", PUSH, number="call-3"), *question({"toolCallId": "call-3"})],
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

"""Agents of crow, whose questions are updates with a title and a text of arguments."""

from __future__ import annotations

import json
from typing import Any

from tests.hostile.doors.agent_steps import (
    PUSH,
    Step,
    crow_question,
    denied,
    disguised,
    hidden,
    update,
)


def crow_call(**members: Any) -> Step:
    return update({"@type": "tool_call_start", "tool_call_id": "c", "status": "in_progress", **members})


CROW = [
    denied(
        "crow",
        "a push as the arguments of a terminal",
        "asks for `terminal` with the command as its arguments, as the description shows it",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": PUSH}),
        at_first="succeeded",
    ),
    denied(
        "crow",
        "a push as arguments that are JSON in a string",
        'asks with the arguments `{"command": …}` as one string',
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": json.dumps({"command": PUSH})}),
        at_first="succeeded",
    ),
    denied(
        "crow",
        "a push as arguments that are an object",
        "asks with an object as its arguments",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": {"command": PUSH}}),
        at_first="succeeded",
    ),
    disguised(
        "crow",
        "a push as arguments that are a list of words",
        "asks with words as its arguments",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": PUSH.split()}),
        at_first="succeeded",
    ),
    disguised(
        "crow",
        "a push that stands in the title alone",
        "asks with the command as the title, and no arguments",
        crow_question({"tool_call_id": "c", "title": PUSH, "arguments": ""}),
        at_first="succeeded",
    ),
    disguised(
        "crow",
        "a push whose title is the program and whose arguments are the rest",
        "asks for `git` with the arguments `push --force`",
        crow_question({"tool_call_id": "c", "title": "git", "arguments": "push --force"}),
        at_first="succeeded",
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
        at_first="succeeded",
    ),
    denied(
        "crow",
        "a tool of the production server under its name",
        "asks for `mcp__prod__deploy`",
        crow_question({"tool_call_id": "c", "title": "mcp__prod__deploy", "arguments": "{}"}),
        at_first="succeeded",
    ),
    denied(
        "crow",
        "a key that is read as the arguments of cat",
        "asks for `cat .env`",
        crow_question({"tool_call_id": "c", "title": "terminal", "arguments": "cat .env"}),
        at_first="succeeded",
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
        at_first="succeeded",
    ),
    hidden(
        "crow",
        "a command that says it reads",
        "announces kind `read`, asks for a terminal",
        [
            crow_call(title="terminal", kind="read"),
            *crow_question({"tool_call_id": "c", "title": "terminal", "arguments": "make install"}),
        ],
        at_first="succeeded",
    ),
    hidden(
        "crow",
        "a question that says itself that it reads",
        "puts kind `read` into the question, with a command as its arguments",
        crow_question(
            {"tool_call_id": "c", "title": "terminal", "kind": "read", "arguments": "make install"}
        ),
        at_first="succeeded",
    ),
    hidden(
        "crow",
        "a tool that nobody knows and that says it thinks",
        "asks for `frobnicate` of kind `think`",
        [
            crow_call(title="frobnicate", kind="think"),
            *crow_question({"tool_call_id": "c", "title": "frobnicate", "arguments": "rm -rf /srv"}),
        ],
        at_first="succeeded",
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

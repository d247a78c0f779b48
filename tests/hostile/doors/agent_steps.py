"""Steps of agents in five dialects, and the records of tricks that are played to a hub with them.

Each is played with a policy of the session's own folder, which the user trusts. Where a rule denies, the
person in front says yes to everything; where it is not plain that the rule means it, and where a rule allows
something harmless, the person says no.
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
    # Haven has one kind for all that is done with files: only a search says that nothing is changed.
    "haven": question(
        {
            "id": "h",
            "name": "Search",
            "kind": "search",
            "status": "pending",
            "rawInput": {"pattern": "notes"},
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
        *crow_question({"tool_call_id": "h", "title": "read_file"}, mark="honest"),
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

"""An agent with three levels of subagents; `python family_agent.py SHAPE` speaks over stdio.

A prompt makes `reviewer` work for the session, `linter` for that and `formatter` for that. Each says
something, uses a tool and asks for permission; all three wait at once. When all are answered, each says what
it was answered and ends, the lowest first, and the agent tells the answers. The shapes: `plain` announces
nobody, `v1` announces everything that the schema has, `v2` speaks version 2, `claude` and `codex` speak as
those adapters do, with their `_meta`; `codex` in the words of the early draft.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

SHAPE = sys.argv[1] if len(sys.argv) > 1 else "v1"
NAMES = ("reviewer", "linter", "formatter")
OPTIONS = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]
ENDS = {"cancelled": "cancelled", "end_turn": "completed"}


def write(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(session: str, tag: str, /, **fields: Any) -> None:
    write(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": tag, **fields}})


class Family:
    """One turn."""

    def __init__(self, session: str, prompt_id: Any, number: int) -> None:
        self.session = session
        self.prompt_id = prompt_id
        self.number = number
        self.ids = [f"{name}-{os.getpid()}-{number}-{session}" for name in NAMES]
        self.answers: dict[str, str] = {}
        self.is_cancelled = False

    def begin(self) -> None:
        parent = self.session
        if SHAPE == "v2":
            write(id=self.prompt_id, result={})
            update(parent, "state_update", state="running")
        self.say(parent, "I ask for help. ")
        for name, child in zip(NAMES, self.ids, strict=True):
            self.announce(parent, child, name)
            self.say(child, f"{name} reads the code.\nIt looks at {name}.py.\n")
            self.use_tool(child, name)
            parent = child
        for name, child in zip(NAMES, self.ids, strict=True):
            self.ask(child, name)

    def announce(self, parent: str, child: str, name: str) -> None:
        if SHAPE == "codex":
            able = {"cancel": True}
            update(
                parent,
                "subagent_spawned",
                subagentSessionId=child,
                name=name,
                task=f"Be the {name}",
                capabilities=able,
            )
            update(child, "session_info_update", _meta={"codex": {"threadStatus": {"type": "active"}}})
        elif SHAPE == "claude":
            running = {"state": "running"}
            update(parent, "subagent_update", sessionId=child, title=name, state=running)
            content = [{"type": "text", "text": f"Be the {name}"}]
            update(
                child, "session_message", messageId=f"m-{child}", recipientSessionId=child, content=content
            )
        elif SHAPE != "plain":
            more = {"description": f"Be the {name}", "capabilities": {"cancel": {}}}
            update(parent, "subagent_update", sessionId=child, title=name, state={"state": "running"}, **more)

    def say(self, session: str, text: str) -> None:
        meta = {"_meta": {"claudeCode": {"parentToolUseId": "toolu_1"}}} if SHAPE == "claude" else {}
        more = {"messageId": f"words-{session}"} if SHAPE == "v2" else {}
        update(session, "agent_message_chunk", content={"type": "text", "text": text}, **more, **meta)

    def use_tool(self, child: str, name: str) -> None:
        kind = "tool_call_update" if SHAPE == "v2" else "tool_call"
        update(
            child, kind, toolCallId=f"t-{child}", title=f"Edit {name}.py", kind="edit", status="in_progress"
        )

    def ask(self, child: str, name: str) -> None:
        call = {"toolCallId": f"t-{child}", "title": f"Edit {name}.py", "kind": "edit", "status": "pending"}
        params: dict[str, Any] = {"sessionId": child, "options": OPTIONS}
        if SHAPE == "v2":
            params |= {"title": "Edit it?", "subject": {"type": "tool_call", "toolCall": call}}
        else:
            params["toolCall"] = call
        write(id=f"ask-{child}", method="session/request_permission", params=params)

    def answer(self, child: str, message: dict[str, Any]) -> None:
        outcome = message.get("result", {}).get("outcome", {})
        self.answers[child] = outcome.get("optionId") or outcome.get("outcome") or "error"
        if len(self.answers) == len(self.ids):
            self.end()

    def end(self) -> None:
        reason = "cancelled" if self.is_cancelled else "end_turn"
        parents = [self.session, *self.ids]
        for at in reversed(range(len(NAMES))):
            child, name = self.ids[at], NAMES[at]
            update(child, "tool_call_update", toolCallId=f"t-{child}", status="completed")
            self.say(child, f"{name} heard {self.answers[child]}.")
            self.finish(parents[at], child, reason)
        self.say(self.session, "answers: " + " ".join(self.answers[child] for child in self.ids))
        if SHAPE == "v2":
            update(self.session, "state_update", state="idle", stopReason=reason)
        else:
            write(id=self.prompt_id, result={"stopReason": reason})

    def finish(self, parent: str, child: str, reason: str) -> None:
        if SHAPE == "codex":
            update(parent, "subagent_state_update", subagentSessionId=child, state=ENDS[reason])
        elif SHAPE != "plain":
            update(parent, "subagent_update", sessionId=child, state={"state": "idle", "stopReason": reason})


def introduction(params: dict[str, Any]) -> dict[str, Any]:
    if SHAPE == "v2":
        return {
            "protocolVersion": 2,
            "info": {"name": "family", "version": "1"},
            "capabilities": {"session": {"prompt": {}, "mcp": {"stdio": {}}}},
        }
    session: dict[str, Any] = {"subagents": {}} if SHAPE == "codex" else {}
    return {
        "protocolVersion": 1,
        "agentInfo": {"name": "family", "version": "1"},
        "agentCapabilities": {"loadSession": False, "sessionCapabilities": session},
        "_meta": {"subagents": "subagents" in (params.get("clientCapabilities") or {})},
    }


def main() -> None:
    turns: dict[str, Family] = {}
    sessions = number = 0
    for line in sys.stdin:
        message = json.loads(line)
        params = message.get("params") or {}
        match message.get("method"):
            case "initialize":
                write(id=message["id"], result=introduction(params))
            case "session/new":
                sessions += 1
                write(id=message["id"], result={"sessionId": f"main-{sessions}"})
            case "session/prompt":
                number += 1
                turns[params["sessionId"]] = Family(params["sessionId"], message["id"], number)
                turns[params["sessionId"]].begin()
            case "session/cancel":
                if params["sessionId"] in turns:
                    turns[params["sessionId"]].is_cancelled = True
            case None:
                child = str(message.get("id")).removeprefix("ask-")
                for turn in turns.values():
                    if child in turn.ids and child not in turn.answers:
                        turn.answer(child, message)
            case method if "id" in message:
                write(id=message["id"], error={"code": -32601, "message": f"no {method} here"})


if __name__ == "__main__":
    main()

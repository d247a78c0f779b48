"""Scripted agents of six dialects, for conversations that are handed over: pure, a frame in, frames out.

Each speaks its dialect on the wire; what the journal holds is what our edge for that dialect makes of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dragoman.dialect import EdgeSettings, Ledger, make_edge
from dragoman_local.journal import Direction, StoredEntry
from tests.dialect.edges import frame, message

KINDS = ("v1", "v2", "crow", "haven", "koog", "acpex")

FACTS: list[dict[str, str]] = json.loads(Path(__file__).with_name("handover_facts.json").read_text())


def facts(by: str) -> list[str]:
    return [fact["fact"] for fact in FACTS if fact["by"] == by]


class DialectAgent:
    """A scripted agent behind the words of a dialect, and the edge through which we talk to it."""

    def __init__(self, dialect: str) -> None:
        ledger = Ledger()
        self._words = make_edge(dialect, "client", EdgeSettings(), ledger)
        self._edge = make_edge(dialect, "agent", EdgeSettings(), ledger)
        self.heard: list[Any] = []
        """What the scripted agent was told, behind its dialect."""
        self.wire: list[Any] = []
        """What was said to it in the words of its dialect."""
        self.entries: list[StoredEntry] = []
        """The stream of the session."""
        self._id = 0

    def record(self, direction: Direction, value: Any) -> None:
        frame_bytes = json.dumps(value).encode()
        self.entries.append(StoredEntry(len(self.entries) + 1, direction, frame_bytes, 0.0))

    def tell(self, value: Any) -> None:
        """Say this to the agent."""
        self.record("to_agent", value)
        for toward, out in self._edge.from_inside(message(value)):
            self._pass("to_agent" if toward == "peer" else "to_client", out)

    def say(self, value: Any) -> None:
        """Let the agent say this."""
        for toward, out in self._words.from_inside(message(value)):
            self._pass("to_client" if toward == "peer" else "to_agent", out, is_native=toward == "peer")

    def _pass(self, way: str, out: Any, *, is_native: bool = True) -> None:
        if way == "to_agent":
            self.wire.append(frame(out))
            for toward, inner in self._words.from_peer(out):
                if toward == "inside":
                    self.heard.append(frame(inner))
                elif toward == "peer":
                    self._pass("to_client", inner)
        elif is_native:
            for toward, inner in self._edge.from_peer(out):
                if toward == "inside":
                    self.record("to_client", frame(inner))
                elif toward == "peer":
                    self._pass("to_agent", inner)

    def call(self, method: str, params: Any) -> Any:
        """Ask the agent; returns the id under which it was asked, as it knows it."""
        self._id += 1
        self.tell({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return next(asked["id"] for asked in reversed(self.heard) if asked.get("method") == method)

    def answer(self, request_id: Any, result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": request_id, "result": result})

    def update(self, **fields: Any) -> None:
        params = {"sessionId": "s", "update": fields}
        self.say({"jsonrpc": "2.0", "method": "session/update", "params": params})

    def open(self) -> DialectAgent:
        capabilities = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": False}
        hello = {"protocolVersion": 1, "clientCapabilities": capabilities}
        info = {"name": "scripted", "version": "1"}
        self.answer(
            self.call("initialize", hello),
            {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": [], "agentInfo": info},
        )
        self.answer(self.call("session/new", {"cwd": "/repo", "mcpServers": []}), {"sessionId": "s"})
        return self

    def prompt(self, *blocks: dict[str, Any]) -> Any:
        return self.call("session/prompt", {"sessionId": "s", "prompt": list(blocks)})

    def prompt_texts(self) -> list[str]:
        """The text blocks of the last prompt, as the agent has them."""
        prompt = next(asked for asked in reversed(self.heard) if asked.get("method") == "session/prompt")
        return [block["text"] for block in prompt["params"]["prompt"]]


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def converse(dialect: str) -> list[StoredEntry]:
    """A conversation in which every fact is said once, by whom it is."""
    agent = DialectAgent(dialect).open()
    said, outputs = facts("agent"), facts("tool")
    for number, fact in enumerate(facts("user")):
        asked = agent.prompt(text(fact))
        if number < len(outputs):
            call = {"toolCallId": f"t{number}", "title": "Run the tests", "kind": "execute"}
            agent.update(sessionUpdate="tool_call", status="in_progress", **call)
            agent.update(
                sessionUpdate="tool_call_update",
                toolCallId=f"t{number}",
                status="completed",
                content=[{"type": "content", "content": text(outputs[number])}],
            )
        if number < len(said):
            for piece in (said[number][:9], said[number][9:]):  # as streams cut it
                agent.update(sessionUpdate="agent_message_chunk", content=text(piece))
        if number == 3:
            _edit(agent, through_client=dialect == "acpex")  # it has no diffs
        if number == 4:
            _ask(agent)
        agent.answer(asked, {"stopReason": "end_turn"})
    plan = [{"content": fact, "priority": "high", "status": "pending"} for fact in facts("plan")]
    asked = agent.prompt(text("go on"))
    agent.update(sessionUpdate="plan", entries=plan)
    agent.answer(asked, {"stopReason": "end_turn"})
    # A hub has taken a prompt, and its agent was out of quota.
    pending = facts("pending")[0]
    agent.record("note", {"hub": "taken", "key": "k", "prompt": [text(pending)]})
    error = {"code": -32603, "message": "the quota is used up"}
    agent.record("note", {"hub": "turn_ended", "key": "k", "error": error})
    return _as_hub_notes(agent.entries)


def _as_hub_notes(entries: list[StoredEntry]) -> list[StoredEntry]:
    """Notes as the hub writes them, without spaces."""
    return [
        StoredEntry(
            entry.sequence,
            entry.direction,
            json.dumps(json.loads(entry.frame), separators=(",", ":")).encode(),
            entry.time,
        )
        for entry in entries
    ]


def _edit(agent: DialectAgent, *, through_client: bool) -> None:
    for number, path in enumerate(facts("change")):
        if through_client:
            params = {"sessionId": "s", "path": path, "content": "new"}
            agent.say({"jsonrpc": "2.0", "id": 60 + number, "method": "fs/write_text_file", "params": params})
            agent.tell({"jsonrpc": "2.0", "id": json.loads(agent.entries[-1].frame)["id"], "result": {}})
            continue
        diff = {"type": "diff", "path": path, "oldText": "old", "newText": "new"}
        call = {"toolCallId": f"e{number}", "title": "Edit", "kind": "edit", "content": [diff]}
        agent.update(sessionUpdate="tool_call", status="in_progress", **call)
        agent.update(sessionUpdate="tool_call_update", toolCallId=f"e{number}", status="completed")


def _ask(agent: DialectAgent) -> None:
    call = {"toolCallId": "p", "title": facts("permission")[0], "kind": "execute"}
    agent.update(sessionUpdate="tool_call", status="pending", **call)
    options = [{"optionId": "no", "name": "Reject", "kind": "reject_once"}]
    params = {"sessionId": "s", "toolCall": call, "options": options}
    agent.say({"jsonrpc": "2.0", "id": 77, "method": "session/request_permission", "params": params})
    asked = json.loads(agent.entries[-1].frame)
    if "id" in asked:  # in one of the dialects, agents cannot ask
        outcome = {"outcome": {"outcome": "selected", "optionId": "no"}}
        agent.tell({"jsonrpc": "2.0", "id": asked["id"], "result": outcome})

"""An agent written from crow's document alone: plain JSON, one text a line, nothing of ours.

What it does depends on the prompt: `count` shows everything the dialect has and asks for permission, `wait`
goes on until it is cancelled, `fail` ends with an error, everything else is said again.
"""

from __future__ import annotations

import json
import sys
import uuid
from typing import Any

Frame = dict[str, Any]


class Crow:
    """Sessions by their ids: everything that was ever told about each, to be told again."""

    def __init__(self) -> None:
        self.told: dict[str, list[Frame]] = {}
        self.turns: dict[str, Any] = {}  # the prompt that is being worked on, by session
        self.calls: dict[str, str] = {}  # the tool call that was asked about, by session

    def send(self, **frame: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **frame}), flush=True)

    def update(self, session: str, **fields: Any) -> None:
        self.told[session].append(fields)
        self.send(method="session/update", params={"sessionId": session, "update": fields})

    def end(self, session: str, reason: str) -> None:
        self.send(id=self.turns.pop(session), result={"stop_reason": reason})

    def answer(self, frame: Frame) -> None:
        known = {
            "initialize": self.initialize,
            "session/new": self.new,
            "session/prompt": self.prompt,
            "session/load": self.load,
            "cancel": self.cancel,
            "permission_response": self.permission_response,
        }
        params = frame.get("params", {})
        if frame["method"] not in known:
            self.send(id=frame["id"], error={"code": -32601, "message": "Method not found"})
        elif "session_id" in params and params["session_id"] not in self.told:
            data = {"errors": [{"field": "session_id", "problem": "unknown"}]}
            self.send(id=frame["id"], error={"code": -32602, "message": "Invalid params", "data": data})
        else:
            known[frame["method"]](frame["id"], params)

    def initialize(self, request_id: Any, params: Frame) -> None:
        assert params["protocol_version"] == 1
        assert params["client_info"]["name"]
        able = {
            "prompt_capabilities": {"text": True, "image": False, "resource": False},
            "mcp_capabilities": {"http": False, "sse": False},
            "load_session": True,
        }
        info = {"name": "corvid", "title": "Corvid", "version": "0.7"}
        result = {"protocol_version": 1, "agent_capabilities": able, "agent_info": info}
        self.send(id=request_id, result=result)

    def new(self, request_id: Any, params: Frame) -> None:
        assert isinstance(params["mcpServers"], list)
        session = str(uuid.uuid4())
        self.told[session] = []
        self.send(id=request_id, result={"sessionId": session})

    def load(self, request_id: Any, params: Frame) -> None:
        for fields in self.told[params["session_id"]]:
            self.send(method="session/update", params={"sessionId": params["session_id"], "update": fields})
        self.send(id=request_id, result={})

    def prompt(self, request_id: Any, params: Frame) -> None:
        session = params["session_id"]
        self.turns[session] = request_id
        text = "".join(block["text"] for block in params["prompt"] if block["type"] == "text")
        if text == "count":
            self.count(session)
        elif text == "wait":
            self.update(session, **{"@type": "agent_message_text", "text": "waiting"})
        elif text == "fail":
            self.end(session, "error")
        else:
            self.update(session, **{"@type": "agent_message_text", "text": f"You said: {text}"})
            self.end(session, "end_turn")

    def count(self, session: str) -> None:
        call = self.calls[session] = str(uuid.uuid4())
        self.update(session, **{"@type": "agent_thought_text", "text": "How many are there?"})
        entry = {"content": "Count", "priority": "high", "status": "in_progress"}
        self.update(session, **{"@type": "plan_update", "entries": [entry]})
        start = {"tool_call_id": call, "title": "counter", "kind": "execute", "status": "in_progress"}
        self.update(session, **{"@type": "tool_call_start", **start})
        options = [
            {"id": "approve", "title": "Approve", "is_primary": True},
            {"id": "reject", "title": "Reject"},
        ]
        ask = {"tool_call_id": call, "title": "counter", "arguments": "--eggs", "permission_options": options}
        question = {"@type": "permission_request", **ask}
        self.send(method="session/update", params={"sessionId": session, "update": question})

    def permission_response(self, request_id: Any, params: Frame) -> None:
        session, call = params["session_id"], params["tool_call_id"]
        self.send(id=request_id, result={})
        if session not in self.turns or self.calls[session] != call:
            return
        allowed = params.get("option_id") == "approve"
        status, text = ("completed", "Four.") if allowed else ("failed", "Nobody knows.")
        self.update(session, **{"@type": "tool_call_update", "tool_call_id": call, "status": status})
        self.update(session, **{"@type": "agent_message_text", "text": text})
        self.end(session, "end_turn")

    def cancel(self, request_id: Any, params: Frame) -> None:
        self.send(id=request_id, result={})
        if params["session_id"] in self.turns:
            self.end(params["session_id"], "cancelled")


if __name__ == "__main__":
    crow = Crow()
    for line in sys.stdin:
        crow.answer(json.loads(line))

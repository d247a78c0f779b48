"""An agent as a program of its own: it answers everything, and remembers each message that it got.

A prompt is a command: `wait` waits until it is cancelled, `ask` asks for permission, `run` starts a program
in a lent terminal and says the terminal's id, `change` changes a file in the session's folder.
`_cells/received` answers with the methods of all messages since the last such question: what came to the
agent before is in it, because the hub writes to an agent in order.
"""

from __future__ import annotations

import json
import sys
from itertools import count
from pathlib import Path
from typing import Any

RECEIVED = "_cells/received"

CAPABILITIES = {
    "loadSession": True,
    "sessionCapabilities": {"additionalDirectories": {}, "close": {}, "fork": {}, "resume": {}},
    "auth": {"logout": {}},
}
MODES = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]}
OPTION = {
    "id": "size",
    "name": "Size",
    "type": "select",
    "currentValue": "small",
    "options": [{"value": "small", "name": "Small"}, {"value": "large", "name": "Large"}],
}
PERMISSIONS = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]


class RecordingAgent:
    def __init__(self) -> None:
        self.received: list[str] = []
        self.folders: dict[str, str] = {}
        self.prompts: dict[str, Any] = {}
        """The prompt of each session that is not answered yet, by its session."""
        self.asked: dict[str, str] = {}
        """The session of each request of ours."""
        self.numbers = count(1)

    def send(self, message: dict[str, Any]) -> None:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()

    def say(self, session: str, text: str) -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self.send({"method": "session/update", "params": {"sessionId": session, "update": update}})

    def ask(self, session: str, method: str, params: dict[str, Any]) -> None:
        number = f"agent-{next(self.numbers)}"
        self.asked[number] = session
        self.send({"id": number, "method": method, "params": {"sessionId": session, **params}})

    def end_turn(self, session: str, reason: str = "end_turn") -> None:
        if session in self.prompts:
            self.send({"id": self.prompts.pop(session), "result": {"stopReason": reason}})

    def on_message(self, message: dict[str, Any]) -> None:
        method, params = message.get("method"), message.get("params") or {}
        if method is None:
            self.received.append("response")
            session = self.asked.pop(message["id"])
            self.say(session, str(message.get("result", {}).get("terminalId", "answered")))
            self.end_turn(session)
            return
        if method == RECEIVED:
            self.send({"id": message["id"], "result": {"methods": self.received}})
            self.received = []
            return
        self.received.append(method)
        if method == "session/cancel":
            self.end_turn(params["sessionId"], "cancelled")
        elif method == "session/prompt":
            self.on_prompt(message["id"], params)
        elif "id" in message:
            self.send({"id": message["id"], "result": self.result(method, params)})

    def result(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            methods = [{"id": "key", "name": "Key"}]
            return {"protocolVersion": 1, "agentCapabilities": CAPABILITIES, "authMethods": methods}
        if method in ("session/new", "session/fork"):
            session = f"recorded-{next(self.numbers)}"
            self.folders[session] = params["cwd"]
            return {"sessionId": session, "modes": MODES, "configOptions": [OPTION]}
        return {"configOptions": [OPTION]} if method == "session/set_config_option" else {}

    def on_prompt(self, number: Any, params: dict[str, Any]) -> None:
        session = params["sessionId"]
        self.prompts[session] = number
        text = " ".join(block.get("text", "") for block in params["prompt"])
        if "ask" in text:
            call = {"toolCallId": "call", "title": "Delete it", "kind": "delete"}
            self.ask(session, "session/request_permission", {"toolCall": call, "options": PERMISSIONS})
        elif "run" in text:
            self.ask(session, "terminal/create", {"command": "true", "args": []})
        elif "wait" not in text:
            if "change" in text:
                Path(self.folders[session], "changed.txt").write_text("after\n")
            self.say(session, "done")
            self.end_turn(session)


def main() -> None:
    agent = RecordingAgent()
    for line in sys.stdin:
        agent.on_message(json.loads(line))


if __name__ == "__main__":
    main()

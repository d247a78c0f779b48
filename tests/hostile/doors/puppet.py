"""An agent that does what its prompt says, in any dialect: `python -I -S puppet.py DIALECT [LOG]`.

A prompt is a JSON list of steps. `$SESSION` in a step is the session's id, as the agent knows it.

| step | what the agent does |
|---|---|
| `{"say": frame}` | sends a frame and goes on |
| `{"raw": text}` | sends a line that need not be JSON |
| `{"ask": frame}` | sends a request and waits for its answer |
| `{"answer": id}` | waits for the answer to a request that was sent otherwise |
| `{"wait": method}` | asks with this method about the terminal of the last answer, if it has one |
| `{"await": method}` | waits for a message of its client, which is then the answer |
| `{"obey": path}` | writes the file if the last answer permits it, as an honest agent would |
| `{"leak": path}` | writes what the last answer told |
| `{"do": path}` | writes the file, whatever was answered |
| `{"shell": line}` | has a shell run the line, without a word to anybody |

Its environment and what it is told go into the file LOG, line by line. In a mode or an option that asks
nobody it leaves a file `loose` in the session's folder, as a sign of what it would do there. It imports
nothing of ours, so that a start costs a few milliseconds.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTRODUCTIONS: dict[str, dict[str, Any]] = {
    "v1": {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True},
        "agentInfo": {"name": "puppet", "version": "1"},
    },
    "koog": {
        "protocolVersion": 1,
        "capabilities": {"tools": [{"name": "readFile", "description": "Reads", "inputSchema": {}}]},
        "serverInfo": {"name": "puppet", "version": "1"},
    },
    "haven": {"protocolVersion": 1, "capabilities": {}},
    "crow": {
        "protocol_version": 1,
        "agent_capabilities": {"prompt_capabilities": {"text": True}, "load_session": True},
        "agent_info": {"name": "puppet", "title": "Puppet", "version": "1"},
    },
    "acpex": {
        "protocolVersion": 1,
        "agentCapabilities": {"sessions": {"new": True, "load": False}},
        "meta": {"name": "puppet", "version": "1"},
        "authenticationMethods": [],
    },
}

ENDS: dict[str, Any] = {
    "crow": {"stop_reason": "end_turn"},
    "acpex": {"stopReason": "done"},
    "threads": None,
}

MODES = {
    "currentModeId": "default",
    "availableModes": [
        {"id": "default", "name": "Always ask"},
        {"id": "bypassPermissions", "name": "Bypass permissions", "description": "Asks nobody"},
        {"id": "turbo", "name": "Turbo", "description": "Runs every command without approval"},
    ],
}

OPTIONS = [
    {
        "id": "approval",
        "name": "Approval policy",
        "type": "select",
        "currentValue": "on-request",
        "options": [{"value": "on-request", "name": "On request"}, {"value": "never", "name": "Never ask"}],
    },
    {
        "id": "sandbox",
        "name": "Sandbox",
        "type": "select",
        "currentValue": "read-only",
        "options": [
            {"value": "read-only", "name": "Read only"},
            {"value": "danger-full-access", "name": "Full access"},
        ],
    },
]

LOGIN = [{"id": "api_key", "name": "API key", "type": "env_var", "vars": [{"name": "PUPPET_KEY"}]}]

LOOSE = {"bypassPermissions", "turbo", "never", "danger-full-access"}

FORGED = "forged by the agent"
"""`$FORGED` in a step: no prompt has it, so that whoever hears it hears the agent."""

YES = ("yes", "allow", "approve")


class Puppet:
    def __init__(self, dialect: str, log: str = "") -> None:
        self.dialect = dialect
        self.log = log
        self.session: Any = None
        self.folders: dict[str, str] = {}
        self.waiting: list[dict[str, Any]] = []
        """Messages that came while an answer was waited for."""

    def run(self) -> None:
        while True:
            message = self.waiting.pop(0) if self.waiting else self.read()
            if "method" in message:
                self.serve(message)

    def read(self) -> dict[str, Any]:
        line = sys.stdin.readline()
        if not line:
            sys.exit(0)
        if self.log:
            with open(self.log, "a", encoding="utf-8") as file:
                file.write(line)
        message = json.loads(line)
        return message if isinstance(message, dict) else {}

    def send(self, frame: object) -> None:
        self.write(json.dumps(frame))

    def write(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def answer(self, message: dict[str, Any], result: object) -> None:
        if "id" in message:
            head = {} if self.dialect == "threads" else {"jsonrpc": "2.0"}
            self.send({**head, "id": message["id"], "result": result})

    def serve(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params") or {}
        if self.dialect == "threads" and method == "initialize":
            self.send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        elif method == "initialize":
            login = {"authMethods": LOGIN} if self.log and self.dialect == "v1" else {}
            self.answer(message, {**INTRODUCTIONS[self.dialect], **login})
        elif method in ("session/new", "createThread"):
            self.answer(message, self.new_session(params))
        elif method == "getThreads":
            self.answer(message, {"threads": []})
        elif method in ("session/prompt", "sendMessage"):
            self.play(message, params)
        elif method == "getThreadEntries":
            self.answer(message, {"entries": []})
        elif method in ("session/set_mode", "session/set_config_option"):
            if {params.get("modeId"), params.get("value")} & LOOSE:
                with open(self.folders[params["sessionId"]] + "/loose", "w", encoding="utf-8") as file:
                    file.write(json.dumps(params))
            self.answer(message, {} if method == "session/set_mode" else {"configOptions": OPTIONS})
        else:
            self.answer(message, {})

    def new_session(self, params: dict[str, Any]) -> dict[str, Any]:
        session = f"{self.dialect}-{len(self.folders) + 1}"
        self.folders[session] = params.get("cwd", ".")
        if self.dialect == "threads":
            return {"threadId": session}
        if self.dialect != "v1":
            return {"sessionId": session}
        return {"sessionId": session, "modes": MODES, "configOptions": OPTIONS}

    def play(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        session = params.get("sessionId") or params.get("session_id") or params.get("threadId")
        blocks = params.get("prompt") or params.get("content") or params["message"]["chunks"]
        text = "".join(block.get("text") or block.get("chunk") or "" for block in blocks)
        self.session = session
        answer: dict[str, Any] = {}
        for step in json.loads(
            text[text.index("[") :].replace("$SESSION", str(session)).replace("$FORGED", FORGED)
        ):
            answer = self.act(step, answer)
        self.answer(message, ENDS.get(self.dialect, {"stopReason": "end_turn"}))

    def act(self, step: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        ((verb, value),) = step.items()
        if verb == "say":
            self.send(value)
        elif verb == "raw":
            self.write(value)
        elif verb in ("ask", "answer"):
            number = value if verb == "answer" else value["id"]
            if verb == "ask":
                self.send(value)
            return self.until(lambda message: is_answer(message, number))
        elif verb == "wait" and "terminalId" in answer.get("result", {}):
            params = {"sessionId": self.session, "terminalId": answer["result"]["terminalId"]}
            asked = {"jsonrpc": "2.0", "id": "wait", "method": value, "params": params}
            return self.act({"ask": asked}, answer)
        elif verb == "await":
            return self.until(lambda message: message.get("method") == value)
        elif verb == "do" or (verb == "obey" and permits(answer)):
            write_at_once(value, f"{self.dialect}\n".encode())
        elif verb == "shell":
            os.system(value)
        elif verb == "leak" and answer.get("result"):
            with open(value, "w", encoding="utf-8") as file:
                json.dump(answer["result"], file)
        return answer

    def until(self, is_meant: Any) -> dict[str, Any]:
        while True:
            message = self.read()
            if is_meant(message):
                if "method" in message:
                    self.answer(message, {})
                return message
            if message.get("method") in ("session/cancel", "cancel"):
                self.answer(message, {})
                return {}
            self.waiting.append(message)


def write_at_once(path: str, content: bytes) -> None:
    """A file that was there before is never seen empty."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    os.ftruncate(file, os.write(file, content))
    os.close(file)


def is_answer(message: dict[str, Any], number: object) -> bool:
    """What could not be read is refused without an id."""
    is_refusal = message.get("id") is None and "error" in message
    return "method" not in message and (message.get("id") == number or is_refusal)


def permits(answer: dict[str, Any]) -> bool:
    """Whether a person, or whoever speaks for one, has said yes: in the words of v1 or of crow."""
    said = answer.get("result") or answer.get("params") or {}
    outcome = said.get("outcome")
    chosen = outcome.get("optionId") if isinstance(outcome, dict) else said.get("option_id")
    return chosen in YES


if __name__ == "__main__":
    if len(sys.argv) > 2:
        with open(sys.argv[2], "a", encoding="utf-8") as log:
            log.write(json.dumps(dict(os.environ)) + "\n")
    Puppet(*sys.argv[1:]).run()

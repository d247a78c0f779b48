"""An agent on raw lines that does what its prompt names, by itself, and tells what came of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

HOME = os.path.expanduser("~")


def say(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def ask(method: str, **params: Any) -> dict[str, Any]:
    say(id=f"ours-{method}", method=method, params={"sessionId": "s", **params})
    return hear()


def hear() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, Any] = json.loads(line)
    return message


def write(path: str) -> str:
    with open(path, "w", encoding="utf-8") as file:
        file.write("mine\n")
    return "done"


def read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read().strip()


def signal(number: str) -> str:
    os.kill(int(number), 0)
    return "done"


def run(line: str) -> str:
    return subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout.strip()


def delegate(path: str) -> str:
    """A subagent: the same program, which speaks the same lines over pipes of its own."""
    words = [sys.executable, __file__]
    prompt = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"text": f"write {path}"}]}}
    done = subprocess.run(words, input=json.dumps(prompt) + "\n", capture_output=True, text=True, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return str(lines[0]["params"]["update"]["content"]["text"])


def lent(line: str) -> str:
    made = ask("terminal/create", command="sh", args=["-c", line])
    if "error" in made:
        return str(made["error"]["message"])
    terminal = made["result"]["terminalId"]
    ask("terminal/wait_for_exit", terminalId=terminal)
    return str(ask("terminal/output", terminalId=terminal)["result"]["output"]).strip()


def leave(mark: str) -> str:
    """Go away twice, and wait for the cancel."""
    words = [sys.executable, "-c", "import time; time.sleep(1000)", mark]
    subprocess.Popen(words, start_new_session=True, env={}, stdout=subprocess.DEVNULL)
    write("ready")
    while hear().get("method") != "session/cancel":
        pass
    return "cancelled"


ACTS: dict[str, Callable[[str], str]] = {
    act.__name__: act for act in (write, read, signal, run, delegate, lent, leave)
}


def turn(prompt: str) -> str:
    outcomes = []
    for line in prompt.splitlines():
        name, _, value = line.partition(" ")
        try:
            outcomes.append(ACTS[name](value.replace("~", HOME)))
        except (OSError, subprocess.SubprocessError) as error:
            outcomes.append(f"refused: {error}")
    return json.dumps(outcomes) if len(outcomes) > 1 else outcomes[0]


def main() -> None:
    while True:
        message = hear()
        result: dict[str, Any] = {}
        match message.get("method"):
            case "initialize":
                result = {"protocolVersion": 1, "agentCapabilities": {}}
            case "session/new":
                result = {"sessionId": "s"}
            case "session/prompt":
                text = turn(message["params"]["prompt"][-1]["text"])
                update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
                say(method="session/update", params={"sessionId": "s", "update": update})
                result = {"stopReason": "cancelled" if text == "cancelled" else "end_turn"}
        if "id" in message and "method" in message:
            say(id=message["id"], result=result)


if __name__ == "__main__":
    main()

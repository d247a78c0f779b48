"""An agent on raw JSON lines that does what its prompt says, step by step. It knows nothing of Dragoman.

A prompt is a JSON list of steps. What an agent would do by itself behind a permission (`run`, `write`) it
does only if the permission came: so an effect on disk says that somebody permitted it.

    {"update": {…}}                     a session/update
    {"ask": {toolCall}, "as": "q"}      a session/request_permission, and its answer
    {"call": method, "params": {…}}     any other request of ours, and its answer
    {"answer_to": id}                   before a `line` with this id: `join` waits for its answer
    {"later": …}                        an `ask` or `call` whose answer is not waited for; {"join": "q"} does
    {"send": {…}}, {"line": text}       a frame as it is, or any text as one
    {"note": path}                      stores the id of our session
    {"terminal": {…}}                   terminal/create, then its end
    {"run": line} {"write": [path, text]} {"link": [target, path]}   acts of our own
    {"when": "q"}                       the rest only if `q` was permitted; with "no": only if it was not
    {"keep": path, "of": "q"}           stores what `q` gave to us, if it gave anything
    {"child": {…}}                      announces a session of our own making
    "retry": true                       again, as long as the hub does not know the session
    {"until": path}                     waits for a file

`"in": folder` speaks in the session of that folder, or of that child; `"in_file": path` in the one that
another agent has noted there. The script speaks the second version of the protocol if it is started with the
word `v2`.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from typing import Any

IS_V2 = "v2" in sys.argv
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
WAIT = 60.0

sessions: dict[str, str] = {}
"""Ids by folder; children by the id that we gave them."""
folders: dict[str, str] = {}
answers: dict[Any, queue.Queue[dict[str, Any]]] = {}
numbers = itertools.count(1)
lock = threading.Lock()


def send(message: dict[str, Any]) -> None:
    line = json.dumps({"jsonrpc": "2.0", **message}) + "\n"
    with lock:
        sys.stdout.write(line)
        sys.stdout.flush()


class Turn:
    """One prompt."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.folder = folders[session]
        self.results: dict[str, dict[str, Any]] = {}
        self.pending: dict[str, Any] = {}

    def request(self, method: str, params: dict[str, Any], number: object = None) -> object:
        number = next(numbers) if number is None else number
        answers[number] = queue.Queue()
        send({"id": number, "method": method, "params": params})
        return number

    def place(self, step: dict[str, Any]) -> str:
        if "in_file" in step:
            with open(step["in_file"], encoding="utf-8") as file:
                return file.read()
        named = step.get("in")
        return self.session if named is None else sessions.get(named, named)

    def begin(self, step: dict[str, Any]) -> object:
        """Sends what this step asks for; the number of the request."""
        session = self.place(step)
        number = step.get("id")
        if "ask" in step:
            options = step.get("options", OPTIONS)
            if IS_V2:
                subject = step.get("subject", {"type": "tool_call", "toolCall": step["ask"]})
                title = step.get("title", "May I?")
                params = {"sessionId": session, "title": title, "subject": subject, "options": options}
            else:
                params = {"sessionId": session, "toolCall": step["ask"], "options": options}
            return self.request("session/request_permission", params | step.get("more", {}), number)
        return self.request(step["call"], {"sessionId": session} | step.get("params", {}), number)

    def take(self, step: dict[str, Any], number: object) -> None:
        name = step.get("as", "q")
        try:
            self.results[name] = answers[number].get(timeout=WAIT)
        except queue.Empty:
            self.results[name] = {"error": {"code": 0, "message": "no answer"}}

    def is_permitted(self, name: str) -> bool:
        result = self.results.get(name, {}).get("result") or {}
        outcome = result.get("outcome", {})
        if "outcome" in outcome:
            return outcome.get("optionId") in ("yes", "always")
        return "result" in self.results.get(name, {})

    def play(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            if "when" in step and self.is_permitted(step["when"]) == bool(step.get("no")):
                break
            self.do(step)
        told = json.dumps(self.results)[:4000]
        content = {"type": "text", "text": told}
        self.update({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content})

    def update(self, update: dict[str, Any], session: str | None = None) -> None:
        send({"method": "session/update", "params": {"sessionId": session or self.session, "update": update}})

    def do(self, step: dict[str, Any]) -> None:
        if "update" in step:
            self.update(step["update"], self.place(step))
        elif "ask" in step or "call" in step:
            number = self.begin(step)
            if step.get("retry"):
                self.retry(step, number)
            elif step.get("later"):
                self.pending[step.get("as", "q")] = number
            else:
                self.take(step, number)
        elif "join" in step:
            self.take({"as": step["join"]}, self.pending[step["join"]])
        elif "send" in step:
            send(json.loads(json.dumps(step["send"]).replace("@session@", self.session)))
        elif "line" in step:
            with lock:
                sys.stdout.write(step["line"].replace("$session", self.session) + "\n")
                sys.stdout.flush()
        elif "answer_to" in step:
            answers[step["answer_to"]] = queue.Queue()
            self.pending[step.get("as", "q")] = step["answer_to"]
        elif "note" in step:
            self.write(step["note"], self.session)
        elif "terminal" in step:
            self.run_terminal(step)
        elif "child" in step:
            child = step["child"]["sessionId"]
            folders[child] = self.folder
            self.update({"sessionUpdate": "subagent_update", **step["child"]})
        elif "keep" in step:
            given = self.results.get(step["of"], {}).get("result")
            if given is not None:
                self.write(step["keep"], json.dumps(given))
        elif "until" in step:
            self.wait_for(step["until"])
        else:
            self.act(step)

    def retry(self, step: dict[str, Any], number: object) -> None:
        """For a child: the hub may hear of it a moment after its announcement."""
        self.take(step, number)
        until = time.monotonic() + WAIT
        while "no such session" in json.dumps(self.results) and time.monotonic() < until:
            time.sleep(0.02)
            self.take(step, self.begin(step))

    def run_terminal(self, step: dict[str, Any]) -> None:
        self.take(step, self.request("terminal/create", {"sessionId": self.place(step)} | step["terminal"]))
        made = self.results[step.get("as", "q")].get("result")
        if made:
            params = {"sessionId": self.place(step), **made}
            for method in ("terminal/wait_for_exit", "terminal/output", "terminal/release"):
                self.take({"as": method}, self.request(method, params))

    def act(self, step: dict[str, Any]) -> None:
        """What we do without anybody's help."""
        if "run" in step:
            shell = [step.get("shell", "/bin/bash"), "-c", step["run"]]
            folder = os.path.join(self.folder, step.get("from", "."))
            env = os.environ | step.get("env", {})
            done = subprocess.run(
                shell, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT
            )
            if "out" in step:
                self.write(step["out"], done.stdout.decode(errors="replace"))
        elif "write" in step:
            self.write(*step["write"])
        elif "link" in step:
            target, path = step["link"]
            path = os.path.join(self.folder, path)
            with contextlib.suppress(FileNotFoundError):
                os.rename(path, path + ".old")
            os.symlink(target, path)

    def write(self, path: str, text: str) -> None:
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def wait_for(self, path: str) -> None:
        until = time.monotonic() + WAIT
        while not os.path.exists(os.path.join(self.folder, path)) and time.monotonic() < until:
            time.sleep(0.01)


def prompt(number: object, params: dict[str, Any]) -> None:
    turn = Turn(params["sessionId"])
    text = "".join(block.get("text", "") for block in params["prompt"])
    state = {"sessionUpdate": "state_update"}
    if IS_V2:
        turn.update({"sessionUpdate": "user_message", "messageId": "u", "content": params["prompt"]})
        send({"id": number, "result": {"messageId": "u"}})
        turn.update(state | {"state": "running"})
    try:
        steps = json.loads(text[text.index("[{") :])
        turn.play(steps)
    except Exception as error:  # noqa: BLE001 the turn must end, and say why
        print(f"the steps failed: {error!r}", file=sys.stderr, flush=True)
        content = {"type": "text", "text": f"failed: {error!r}"}
        turn.update({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": content})
    if IS_V2:
        turn.update(state | {"state": "idle", "stopReason": "end_turn"})
    else:
        send({"id": number, "result": {"stopReason": "end_turn"}})


def capabilities() -> dict[str, Any]:
    info = {"name": "raw", "version": "1"}
    if IS_V2:
        return {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
    return {"protocolVersion": 1, "agentInfo": info, "agentCapabilities": {"loadSession": True}}


def answer(message: dict[str, Any]) -> None:
    method, number, params = message["method"], message.get("id"), message.get("params") or {}
    if method == "initialize":
        send({"id": number, "result": capabilities()})
    elif method == "session/new":
        session = str(uuid.uuid4())
        sessions[params["cwd"]], folders[session] = session, params["cwd"]
        send({"id": number, "result": {"sessionId": session}})
    elif method in ("session/load", "session/resume"):
        sessions[params["cwd"]], folders[params["sessionId"]] = params["sessionId"], params["cwd"]
        send({"id": number, "result": {}})
    elif method == "session/prompt":
        threading.Thread(target=prompt, args=(number, params), daemon=True).start()
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": f"no {method} here"}})


for line in sys.stdin:
    message = json.loads(line)
    if "method" in message:
        answer(message)
    elif message.get("id") in answers:
        answers[message["id"]].put(message)

"""Agents that follow scripts.

The text of a prompt is its key and a script: `K7 say say ask say`. Every `say` is an update whose text
nobody else says, so that an oracle can tell what was lost, doubled or reordered. `ask` asks for permission,
`read` for a file, `pause` takes its time, `stubborn` does not hear cancels from there on, `fail` ends with
an error, `die` ends the process.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Mapping
from typing import Any

from tests.hub.simulate.story import Story
from tests.hub.simulate.virtual_loop import Process

OPTIONS = [
    {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
]


class AgentBook:
    """What all agents of a run were told and have said: the oracle's view of them."""

    def __init__(self, story: Story) -> None:
        self.story = story
        self.told: dict[str, list[float]] = {}
        """When an agent was given the prompt of a key, each time."""
        self.said: dict[str, list[str]] = {}
        """The updates of each prompt, in order."""
        self.finished: dict[str, str] = {}
        """How its agent ended the turn of a key: a stop reason, `error` or `died`."""
        self.answers: dict[str, list[str]] = {}
        """What came back for each question of an agent, by its name."""
        self.steered: dict[str, int] = {}
        """How often an agent was given the message into a turn of a key."""
        self.steers: dict[str, str] = {}
        """By their keys: the session."""
        self.writers: dict[str, str] = {}
        """The node that has written last to the stream of each session."""
        self.prompts: dict[str, tuple[str, str]] = {}
        """By their keys: the session and the text."""
        self.remembered: dict[str, list[str]] = {}
        """Sessions that agents can load, and what was said in them: the agents' own files."""
        self.numbers = 0
        self.pids = 0


class Turn:
    def __init__(self, request_id: Any, session: str, key: str, steps: list[str]) -> None:
        self.request_id = request_id
        self.session = session
        self.key = key
        self.steps = steps
        self.said = 0
        self.is_stubborn = self.is_cancelled = self.is_over = False
        self.waits_for: int | None = None


class ScriptedAgent:
    """One process of an agent. `write` takes a frame that it says, `die` ends it."""

    def __init__(
        self,
        process: Process,
        book: AgentBook,
        *,
        can: Mapping[str, bool],
        chance: random.Random,
        write: Callable[[bytes], None],
        die: Callable[[str], None],
    ) -> None:
        self._process = process
        self._book = book
        self._can = can
        self._chance = chance
        self._write = write
        self._die = die
        self._turns: dict[str, Turn] = {}
        self._sessions: set[str] = set()
        self._asked: dict[int, Callable[[dict[str, Any]], None]] = {}
        self._ids: set[Any] = set()
        self.open_requests: dict[str, str] = {}
        """Names of what it has asked while it loaded a session, and has no answer to, with the session."""

    def _check_owner(self, turn: Turn) -> None:
        """An agent acts while its node has the session, and not when another has gone on with it."""
        node = self._process.name.partition("/")[0]
        session = self._book.prompts.get(turn.key, ("", ""))[0]
        writer = self._book.writers.get(session, node)
        if writer != node:
            self._book.story.find(f"an agent of {node} acts for {turn.key} of {session}, which {writer} has")

    def hear(self, line: bytes) -> None:
        message = json.loads(line)
        if "method" not in message:
            self._answered(message)
        elif "id" in message:
            if message["id"] in self._ids:
                self._book.story.find(f"an agent got the request id {message['id']} twice: {line[:120]!r}")
            self._ids.add(message["id"])
            self._requested(message["id"], message["method"], message.get("params", {}))
        elif message["method"] == "session/cancel":
            self._cancelled(message["params"]["sessionId"])

    def _say(self, message: dict[str, Any]) -> None:
        self._write(json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode())

    def _requested(self, request_id: Any, method: str, params: dict[str, Any]) -> None:
        name = method.replace("/", "_").removeprefix("_")
        handler = getattr(self, f"_on_{name}", None)
        session = params.get("sessionId")
        if method == "session/prompt" and session not in self._sessions:
            text = params["prompt"][-1]["text"]
            self._book.story.find(f"{text.split()[0]} was given to an agent that does not know {session}")
        if handler is None:
            self._fail(request_id, -32601, "Method not found")
        else:
            self._process.call_later(self._chance.uniform(0.0001, 0.01), handler, request_id, params)

    def _reply(self, request_id: Any, result: Any) -> None:
        self._say({"id": request_id, "result": result})

    def _fail(self, request_id: Any, code: int, message: str) -> None:
        self._say({"id": request_id, "error": {"code": code, "message": message}})

    def _update(self, session: str, update: dict[str, Any]) -> None:
        self._say({"method": "session/update", "params": {"sessionId": session, "update": update}})

    # Methods.

    def _on_initialize(self, request_id: Any, params: dict[str, Any]) -> None:
        with_sessions: dict[str, Any] = {
            name: {} for name in ("resume", "fork", "close", "delete") if self._can.get(name)
        }
        can = {"loadSession": bool(self._can.get("load")), "sessionCapabilities": with_sessions}
        self._reply(request_id, {"protocolVersion": 1, "agentCapabilities": can, "authMethods": []})

    def _new_session(self) -> str:
        self._book.numbers += 1
        session = f"session-{self._book.numbers}"
        self._sessions.add(session)
        self._book.remembered[session] = []
        return session

    def _on_session_new(self, request_id: Any, params: dict[str, Any]) -> None:
        session = self._new_session()
        commands = {"sessionUpdate": "available_commands_update", "availableCommands": []}
        if self._chance.random() < 0.3:
            self._update(session, commands)
        self._reply(request_id, {"sessionId": session})
        if self._chance.random() < 0.3:
            self._update(session, commands)

    def _on_session_load(self, request_id: Any, params: dict[str, Any]) -> None:
        session = params["sessionId"]
        if session not in self._book.remembered:
            self._fail(request_id, -32002, "Resource not found")
            return
        self._stop(session)
        self._sessions.add(session)
        for text in self._book.remembered[session]:
            self._chunk(session, text)
        if self._chance.random() < 0.3:
            self._ask_before_loaded(request_id, session)
        else:
            self._reply(request_id, {})

    def _ask_before_loaded(self, request_id: Any, session: str) -> None:
        self._book.numbers += 1
        number = self._book.numbers
        name = f"load?{number}"

        def answered(message: dict[str, Any]) -> None:
            self._note_answer(name, message)
            self.open_requests.pop(name, None)
            self._reply(request_id, {})

        self._asked[number] = answered
        self.open_requests[name] = session
        call = {"toolCallId": name, "title": "Load it", "kind": "read"}
        params = {"sessionId": session, "toolCall": call, "options": OPTIONS}
        self._say({"id": number, "method": "session/request_permission", "params": params})

    def _note_answer(self, name: str, message: dict[str, Any]) -> None:
        result = message.get("result", {})
        chosen = result.get("outcome", result) if isinstance(result, dict) else result
        found = self._book.answers.setdefault(name, [])
        found.append("error" if "error" in message else json.dumps(chosen, sort_keys=True))
        if len(found) > 1:
            self._book.story.find(f"the request {name} of an agent got {len(found)} answers: {found}")

    def _on_session_resume(self, request_id: Any, params: dict[str, Any]) -> None:
        session = params["sessionId"]
        if session not in self._book.remembered:
            self._fail(request_id, -32002, "Resource not found")
            return
        self._stop(session)
        self._sessions.add(session)
        self._reply(request_id, {})

    def _on_session_fork(self, request_id: Any, params: dict[str, Any]) -> None:
        self._reply(request_id, {"sessionId": self._new_session()})

    def _on_session_close(self, request_id: Any, params: dict[str, Any]) -> None:
        self._stop(params["sessionId"])
        self._sessions.discard(params["sessionId"])
        for name in [name for name, session in self.open_requests.items() if session == params["sessionId"]]:
            del self.open_requests[name]
        self._reply(request_id, {})

    def _on_session_delete(self, request_id: Any, params: dict[str, Any]) -> None:
        self._book.remembered.pop(params["sessionId"], None)
        self._reply(request_id, {})

    def _on_session_set_mode(self, request_id: Any, params: dict[str, Any]) -> None:
        self._reply(request_id, {})

    def _on_session_prompt(self, request_id: Any, params: dict[str, Any]) -> None:
        book, session = self._book, params["sessionId"]
        key, *steps = params["prompt"][-1]["text"].split()
        book.told.setdefault(key, []).append(asyncio.get_running_loop().time())
        book.story.turns += 1
        book.story.tell(self._process.name, f"is prompted in {session}: {key} {' '.join(steps)}")
        if session not in self._sessions:  # what came behind the prompt, a close, was done before it
            self._reply(request_id, {"stopReason": "cancelled"})
            return
        if session in self._turns:
            book.story.find(f"{key} was given to an agent while {self._turns[session].key} ran in {session}")
        turn = self._turns[session] = Turn(request_id, session, key, steps)
        self._check_owner(turn)
        self._soon(turn)

    def _on_session_steering(self, request_id: Any, params: dict[str, Any]) -> None:
        key, session = params["prompt"][0]["text"], params["sessionId"]
        self._book.steered[key] = self._book.steered.get(key, 0) + 1
        self._book.story.tell(self._process.name, f"gets the message {key} in {session}")
        self._reply(request_id, {"outcome": "injected" if session in self._turns else "promptRequired"})

    # Turns.

    def _stop(self, session: str) -> None:
        """Nobody waits for the end of what still runs in a session that is closed or brought back."""
        turn = self._turns.get(session)
        if turn is not None:
            self._over(turn)

    def _soon(self, turn: Turn) -> None:
        self._process.call_later(self._chance.choice((0.0005, 0.005, 0.05, 0.3)), self._step, turn)

    def _chunk(self, session: str, text: str) -> None:
        self._update(
            session, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        )

    def _utter(self, turn: Turn, more: str = "") -> None:
        self._check_owner(turn)
        turn.said += 1
        text = f"{turn.key}#{turn.said}{more}"
        self._book.said.setdefault(turn.key, []).append(text)
        self._book.remembered.setdefault(turn.session, []).append(text)
        self._chunk(turn.session, text)

    def _step(self, turn: Turn) -> None:
        if turn.is_over or turn.waits_for is not None:
            return
        if turn.is_cancelled and not turn.is_stubborn:
            self._end(turn, {"stopReason": "cancelled"})
        elif not turn.steps:
            self._end(turn, {"stopReason": "end_turn"})
        else:
            self._do(turn, turn.steps.pop(0))

    def _do(self, turn: Turn, step: str) -> None:
        match step:
            case "say":
                for _ in range(self._chance.choice((1, 1, 2, 5))):
                    self._utter(turn)
            case "stubborn":
                turn.is_stubborn = True
            case "ask":
                self._ask(turn)
                return
            case "read":
                self._read(turn)
                return
            case "pause":
                self._process.call_later(self._chance.uniform(0.5, 4.0), self._step, turn)
                return
            case "fail":
                self._book.finished[turn.key] = "error"
                self._over(turn)
                self._fail(turn.request_id, -32000, f"{turn.key} failed")
                return
            case "die":
                self._book.finished[turn.key] = "died"
                self._die("it has died of its script")
                return
        self._soon(turn)

    def _over(self, turn: Turn) -> None:
        turn.is_over = True
        if self._turns.get(turn.session) is turn:
            del self._turns[turn.session]

    def _end(self, turn: Turn, result: dict[str, Any]) -> None:
        self._over(turn)
        self._book.finished[turn.key] = result["stopReason"]
        self._reply(turn.request_id, result)

    def _cancelled(self, session: str) -> None:
        turn = self._turns.get(session)
        if turn is not None:
            turn.is_cancelled = True
            if turn.waits_for is None and not turn.is_stubborn:
                self._soon(turn)

    # Requests.

    def _request(
        self,
        turn: Turn,
        method: str,
        params: dict[str, Any],
        *,
        on_answer: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self._book.numbers += 1
        number = turn.waits_for = self._book.numbers
        name = f"{turn.key}?{number}"

        def answered(message: dict[str, Any]) -> None:
            self._note_answer(name, message)
            if on_answer is not None:
                on_answer(message)
            turn.waits_for = None
            self._utter(turn)
            self._soon(turn)

        self._asked[number] = answered
        self._say({"id": number, "method": method, "params": {"sessionId": turn.session, **params}})

    def _ask(self, turn: Turn) -> None:
        call = {"toolCallId": f"{turn.key}?{self._book.numbers + 1}", "title": "Delete it", "kind": "delete"}
        self._request(turn, "session/request_permission", {"toolCall": call, "options": OPTIONS})

    def _read(self, turn: Turn) -> None:
        self._request(turn, "fs/read_text_file", {"path": "/simulated/file"})

    def _answered(self, message: dict[str, Any]) -> None:
        answered = self._asked.get(message["id"])
        if answered is None:
            self._book.story.find(f"an agent got an answer to nothing that it asked: {message}")
        else:
            answered(message)

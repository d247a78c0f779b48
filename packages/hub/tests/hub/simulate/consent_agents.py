"""Agents that write files and run commands through the hub, with and without asking, honestly and not.

Besides what a scripted agent does: `write` and `run` want something at once; `ask-write` and `ask-run` ask
for permission first and then do that, do it twice, do something else, ask again, or keep it for a later turn,
which `again` takes up; `child` does one of these in a session of its own. `lend` reads a file that the client
of the turn may have.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.hub.simulate.agents import OPTIONS, AgentBook, ScriptedAgent, Turn
from tests.hub.simulate.consent_acts import FOLDERS, PROGRAMS, Act
from tests.hub.simulate.story import Story

NAMED = re.compile(r"[a-z]+-x?\d+\.\d+")
"""The name of an act in a text or a command."""


class Asked(NamedTuple):
    """A question of an agent, `ann-4?9`, about an act."""

    name: str
    act: Act
    session: str
    turn: str
    sent: float
    shown: tuple[str | None, str]
    """The old and the new text of a change."""


class Wanted(NamedTuple):
    """A request of an agent to do an act."""

    act: Act
    session: str
    turn: str
    sent: float
    text: str


class ConsentBook(AgentBook):
    """What agents have asked and wanted, and what they were told."""

    def __init__(self, story: Story) -> None:
        super().__init__(story)
        self.places: dict[str, tuple[str, str]] = {}
        """Agent and folder of each session, also of children."""
        self.parents: dict[str, str] = {}
        """Of each child, the session that it works for."""
        self.acts: dict[str, Act] = {}
        self.questions: dict[str, Asked] = {}
        self.wanted: list[Wanted] = []
        self.heard: dict[str, tuple[float, str]] = {}
        """When an agent was answered which question, and the option that was chosen, if one was."""
        self.done: dict[str, int] = {}
        """How often an agent was told that an act is done, by the act's name."""
        self.refused: dict[str, list[float]] = {}
        """When an agent was told that an act is not permitted."""
        self.kept: dict[str, list[tuple[Act, str]]] = {}
        """Acts of each session that were asked about and not done, with their texts."""
        self.forbidden_keys: set[str] = set()
        """Keys of prompts and messages that nobody with the right for it has sent."""


class ConsentAgent(ScriptedAgent):
    _book: ConsentBook

    @property
    def _agent_name(self) -> str:
        return self._process.name.partition("/")[2].rpartition("-")[0]

    def _on_session_new(self, request_id: Any, params: dict[str, Any]) -> None:
        name = f"session-{self._book.numbers + 1}"
        self._book.places[name] = (self._agent_name, params["cwd"])
        super()._on_session_new(request_id, params)

    def _on_session_fork(self, request_id: Any, params: dict[str, Any]) -> None:
        name = f"session-{self._book.numbers + 1}"
        self._book.places[name] = (self._agent_name, params["cwd"])
        super()._on_session_fork(request_id, params)

    def _on_session_load(self, request_id: Any, params: dict[str, Any]) -> None:
        if self._is_own(request_id, params):
            super()._on_session_load(request_id, params)

    def _on_session_resume(self, request_id: Any, params: dict[str, Any]) -> None:
        if self._is_own(request_id, params):
            super()._on_session_resume(request_id, params)

    def _is_own(self, request_id: Any, params: dict[str, Any]) -> bool:
        """An agent knows the sessions that it began: what people allow belongs to agent and folder."""
        agent, _ = self._book.places.get(params["sessionId"], (self._agent_name, ""))
        if agent != self._agent_name:
            self._fail(request_id, -32002, "Resource not found")
        return agent == self._agent_name

    def _on_session_prompt(self, request_id: Any, params: dict[str, Any]) -> None:
        self._check_key(params["prompt"][-1]["text"].split()[0], params)
        super()._on_session_prompt(request_id, params)

    def _on_session_steering(self, request_id: Any, params: dict[str, Any]) -> None:
        self._check_key(params["prompt"][0]["text"], params)
        super()._on_session_steering(request_id, params)

    def _check_key(self, key: str, params: dict[str, Any]) -> None:
        if key in self._book.forbidden_keys:
            self._book.story.find(f"{key} reached an agent in {params['sessionId']}; its sender may not")

    def _utter(self, turn: Turn, more: str = "") -> None:
        if not turn.is_over:  # of two requests at once, one may be answered after the turn
            super()._utter(turn, more)

    # Steps.

    def _do(self, turn: Turn, step: str) -> None:
        match step.split(":"):
            case ["write" | "run" as kind]:
                act, text = self._new_act(turn, turn.session, kind)
                self._want(turn, turn.session, act, text)
            case ["ask-write" | "ask-run" as kind]:
                self._ask_first(turn, turn.session, kind.removeprefix("ask-"))
            case ["again"] if self._book.kept.get(turn.session):
                self._want(turn, turn.session, *self._book.kept[turn.session].pop())
            case ["again"]:
                self._soon(turn)
            case ["lend"]:
                path = f"{self._folder(turn.session)}/free/{turn.key}.txt"
                self._request(turn, "fs/read_text_file", {"path": path})
            case ["child"]:
                self._work_in_child(turn)
            case ["do" | "twice" | "ask" as what, name, session]:
                act, text = self._book.acts[name], self._texts[name]
                if what == "ask":
                    self._ask_about(turn, session, act, text)
                else:
                    self._want(turn, session, act, text, twice=what == "twice")
            case _:
                super()._do(turn, step)

    @property
    def _texts(self) -> dict[str, str]:
        found: dict[str, str] = self.__dict__.setdefault("_texts_of_acts", {})
        return found

    def _folder(self, session: str) -> str:
        return self._book.places[session][1]

    def _path(self, session: str, act: Act) -> str:
        return f"{self._folder(session)}/{act.place}/{act.file}"

    def _new_act(self, turn: Turn, session: str, kind: str) -> tuple[Act, str]:
        """A new one, and the text that it writes."""
        chance, book = self._chance, self._book
        book.numbers += 1
        name = f"{turn.key}.{book.numbers}"
        if kind == "run":
            program = chance.choice((*PROGRAMS, "touch"))
            act, text = Act(name, "run", chance.choice(("free", "open")), program), ""
        else:
            place = chance.choice((*FOLDERS, "free", "open"))
            act = Act(name, "write", place, is_part=place == "free" and chance.random() < 0.5)
            text = f"{name}\n"
            if act.is_part:
                text = NAMED.sub(name, self._content(session, act), count=1)
        book.acts[name], self._texts[name] = act, text
        return act, text

    def _content(self, session: str, act: Act) -> str:
        with open(self._path(session, act)) as file:
            return file.read()

    def _ask_first(self, turn: Turn, session: str, kind: str) -> None:
        act, text = self._new_act(turn, session, kind)
        step = f"{act.name}:{session}"
        match self._chance.randrange(8):
            case 0 | 1:
                then = [f"do:{step}"]
            case 2:
                then = [f"do:{step}", f"do:{step}"]
            case 3:
                then = [f"twice:{step}"]
            case 4:
                other = act._replace(name=f"{turn.key}.{self._book.numbers + 1}")
                self._book.numbers += 1
                self._book.acts[other.name] = other
                self._texts[other.name] = text.replace(act.name, other.name)
                then = [f"do:{other.name}:{session}"]
            case 5:
                then = [f"ask:{step}", f"do:{step}"]
            case 6 if kind == "run":  # the same words in another folder
                moved = "open" if act.place == "free" else "free"
                self._book.acts[act.name] = act
                then = [f"do:{step}"]
                self._elsewhere[act.name] = moved
            case _:
                then = []
                self._book.kept.setdefault(session, []).append((act, text))
        turn.steps[:0] = then
        self._ask_about(turn, session, act, text)

    @property
    def _elsewhere(self) -> dict[str, str]:
        found: dict[str, str] = self.__dict__.setdefault("_moved_acts", {})
        return found

    def _work_in_child(self, turn: Turn) -> None:
        book, parent = self._book, turn.session
        book.numbers += 1
        child = f"kid-{book.numbers}"
        book.places[child] = book.places[parent]
        book.parents[child] = parent
        self._sessions.add(child)
        self._update(parent, {"sessionUpdate": "subagent_update", "sessionId": child, "title": child})
        kind = self._chance.choice(("write", "run"))
        if self._chance.random() < 0.7:
            self._ask_first(turn, child, kind)
        else:
            self._want(turn, child, *self._new_act(turn, child, kind))

    # Requests.

    def _ask_about(self, turn: Turn, session: str, act: Act, text: str) -> None:
        book = self._book
        name = f"{turn.key}?{book.numbers + 1}"
        call: dict[str, Any] = {"toolCallId": name, "title": name}
        shown: tuple[str | None, str] = (None, text)
        if act.kind == "run":
            folder = f"{self._folder(session)}/{act.place}"
            command = f"{act.program} {act.name}"
            call |= {"kind": "execute", "rawInput": {"command": command, "cwd": folder}}
        else:
            if act.is_part:
                found = NAMED.search(self._content(session, act))
                shown = (found[0] if found is not None else "", act.name)
            diff = {"type": "diff", "path": self._path(session, act), "newText": shown[1]}
            content = [{**diff, "oldText": shown[0]} if act.is_part else diff]
            call |= {"kind": "edit", "content": content}
        now = asyncio.get_running_loop().time()
        book.questions[name] = Asked(name, act, session, turn.key, now, shown)

        def on_answer(message: dict[str, Any]) -> None:
            outcome = message.get("result", {}).get("outcome", {})
            time = asyncio.get_running_loop().time()
            book.heard[name] = (time, str(outcome.get("optionId", "")))

        params = {"toolCall": call, "options": OPTIONS}
        self._send(turn, session, "session/request_permission", params, on_answer)

    def _want(self, turn: Turn, session: str, act: Act, text: str, *, twice: bool = False) -> None:
        book = self._book
        if act.name in self._elsewhere:
            act = act._replace(place=self._elsewhere[act.name])
        if act.kind == "run":
            folder = f"{self._folder(session)}/{act.place}"
            method = "terminal/create"
            params: dict[str, Any] = {"command": act.program, "args": [act.name], "cwd": folder}
        else:
            method = "fs/write_text_file"
            params = {"path": self._path(session, act), "content": text}

        def on_answer(message: dict[str, Any]) -> None:
            error = message.get("error")
            if error is None:
                book.done[act.name] = book.done.get(act.name, 0) + 1
            elif (error.get("data") or {}).get("reason") == "policy":
                book.refused.setdefault(act.name, []).append(asyncio.get_running_loop().time())

        for _ in range(2 if twice else 1):
            book.wanted.append(Wanted(act, session, turn.key, asyncio.get_running_loop().time(), text))
            self._send(turn, session, method, params, on_answer)

    def _send(
        self,
        turn: Turn,
        session: str,
        method: str,
        params: dict[str, Any],
        on_answer: Callable[[dict[str, Any]], None],
    ) -> None:
        """The turn goes on when the last of its requests is answered."""
        self._book.story.tell(self._process.name, f"wants {method} in {session} ({self._book.numbers + 1})")
        whole = turn.session
        turn.session = session  # the request is about the child, if one works
        try:
            self._request(turn, method, params, on_answer=on_answer)
        finally:
            turn.session = whole


def last_name(text: str) -> str:
    """The name of the act that wrote a text or is run by a command."""
    found = NAMED.search(text)
    return "" if found is None else found[0]


def make_folders(folder: str) -> None:
    for place in FOLDERS:
        os.makedirs(f"{folder}/{place}")
    with open(f"{folder}/free/part.txt", "w") as file:
        file.write("head\nnone-0.0\ntail\n")

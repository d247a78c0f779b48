"""Clients with tokens of every width. Each does what its token is for, tries what it is not for, and looks at
everything that it is told.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from dragoman_hub.gate.admission import ALL, Scope
from tests.hub.simulate.clients import SimulatedClient
from tests.hub.simulate.consent_oracle import may

if TYPE_CHECKING:
    from tests.hub.simulate.consent_world import ConsentWorld

ROLES: dict[str, tuple[frozenset[Scope], tuple[str, ...], bool]] = {
    "observer": (frozenset({"observe"}), (), False),
    "approver": (frozenset({"approve"}), (), False),
    "prompter": (frozenset({"prompt"}), (), False),
    "of another agent": (ALL, ("other",), False),
    "of a folder": (ALL, (), True),
}
"""Scopes, agents, and whether only the inner folder is for it."""

STEPS = (
    *("say", "write", "ask-write", "run", "ask-run", "child", "again", "lend"),
    *("pause", "stubborn", "ask", "die"),
)
WEIGHTS = (3, 4, 6, 2, 3, 2, 3, 2, 1, 0.5, 1, 0.3)

FOR_APPROVERS = frozenset(
    {
        "_dragoman/hub/asked",
        "_dragoman/hub/settled",
        "_dragoman/hub/judged",
        "_dragoman/hub/denied",
        "$/cancel_request",
    }
)
"""What a client may be told that only answers."""


_PART = re.compile(rb'"user_message_chunk".*~[12]"')
"""A block of a prompt behind which the entry goes on."""


class ConsentClient(SimulatedClient):
    _world: ConsentWorld

    def __init__(
        self, world: ConsentWorld, name: str, *, role: str, resumes: bool, chance: random.Random
    ) -> None:
        super().__init__(world, name, resumes=resumes, chance=chance)
        self.role = role
        self.grant = world.grant_for(role, name)
        self._trespasses = 0
        self._lends = chance.random() < 0.7

    # What its token is for.

    def may(self, scope: Scope, session: str) -> bool:
        return may(self.grant, scope) and self._reaches(session)

    def _reaches(self, session: str) -> bool:
        return self._world.oracle.reaches(self.grant, session)

    def _capabilities(self) -> dict[str, Any]:
        writes = {"writeTextFile": True} if self._chance.random() < 0.3 else {}
        more: dict[str, Any] = {"subagents": {}} if self._chance.random() < 0.5 else {}
        return {"fs": {"readTextFile": True, **writes}, **more} if self._lends else more

    def _introduction(self) -> dict[str, Any]:
        return {"agent": self.grant.agents[0]} if self.grant.agents else {}

    def _cwd_of(self, session: str) -> str:
        place = self._world.book.places.get(session)
        return self._world.cwd if place is None else place[1]

    def _steps(self) -> list[str]:
        return self._chance.choices(STEPS, WEIGHTS, k=self._chance.randint(1, 4))

    def _blocks(self, key: str, text: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": part} for part in (f"{key}~1", f"{key}~2", text)]

    def _new_session_params(self) -> dict[str, Any]:
        agent = "other" if self.grant.agents or self._chance.random() < 0.3 else "scripted"
        cwd = self._world.inner if self.grant.roots or self._chance.random() < 0.4 else self._world.cwd
        return {"cwd": cwd, "mcpServers": [], "_meta": {"dragoman": {"agent": agent}}}

    def _acts(self) -> list[tuple[float, Callable[[], Awaitable[None]]]]:
        look: list[tuple[float, Callable[[], Awaitable[None]]]] = [
            (3, self._trespass),
            (1, self._lose_connection),
        ]
        if self.role == "approver":
            return [*look, (4, self.answer_inbox), (1, self._watch)]
        look += [(2, self._join_session), (2, self._claim), (0.5, self._watch)]
        if self.role == "observer":
            return [*look, (1, self._look_around)]
        acts = [act for act in super()._acts() if act[1] != self._lose_connection]
        return [*acts, *look, (1, self.answer_inbox)]

    async def _new_session(self) -> None:
        if may(self.grant, "prompt"):
            await super()._new_session()

    async def _join_session(self) -> None:
        known = [one for one in self._world.sessions if one not in self._following and self._reaches(one)]
        if known:
            method = self._chance.choice(("session/load", "session/load", "session/resume"))
            self._later(self._follow(method, self._chance.choice(known)))

    async def _claim(self) -> None:
        """Follow a session, and say that the prompts of others in it are one's own."""
        known = [one for one in self._world.sessions if one not in self._following and self._reaches(one)]
        if known:
            session = self._chance.choice(known)
            others = [client.name for client in self._world.clients if client is not self]
            keys = [f"{name}-{number}" for name in others for number in range(1, 12)]
            self._later(self._follow("session/resume", session, wrote=keys))

    async def _repeat_prompt(self) -> None:
        known = [
            (key, session, text)
            for key, (session, text) in self._world.prompts.items()
            if self._follows(session) and key not in self._prompts and self._is_own(key)
        ]
        if known:
            key, session, text = self._chance.choice(known)
            self._prompt(session, key, text)

    def _is_own(self, key: str) -> bool:
        return key.startswith(f"{self.name}-")

    async def _hand_over(self) -> None:
        if self.name == "ann":  # whose token may use both agents; the keys of another would make another
            await super()._hand_over()

    async def _look_around(self) -> None:
        if may(self.grant, "prompt"):
            await super()._look_around()
        else:
            self.ask("session/list", {})

    async def _watch(self) -> None:
        self.ask("_dragoman/hub/watch", {"watch": True})

    async def answer_inbox(self) -> None:
        inbox = await self.call("_dragoman/hub/inbox", {})
        if inbox.answer is None or "result" not in inbox.answer:
            return
        for found in inbox.answer["result"]["requests"]:
            self._world.oracle.on_question(self.grant, found["sessionId"], found["params"], "its inbox")
            if may(self.grant, "approve") and self._chance.random() < 0.6:
                await self._answer(found)

    async def _answer(self, found: dict[str, Any]) -> None:
        options = [one["optionId"] for one in found["params"].get("options", ())]
        option = self._pick(options)
        self._choose(found, str(found["params"].get("toolCall", {}).get("toolCallId")), option)
        chosen = {"outcome": {"outcome": "selected", "optionId": option}}
        members = {name: found[name] for name in ("sessionId", "request", "askedAt")}
        self.ask("_dragoman/hub/answer", {**members, "result": chosen})

    def _pick(self, options: list[str]) -> str:
        return self._chance.choice([option for option in options if option != "always"] or ["reject"])

    def _choose(self, question: dict[str, Any], name: str, option: str) -> None:
        super()._choose(question, name, option)
        params = question["params"]
        self._world.oracle.on_choice(self.grant, params["sessionId"], params, option)

    # What its token is not for.

    async def _trespass(self) -> None:
        book, sessions = self._world.book, list(self._world.sessions)
        if not sessions:
            return
        session = self._chance.choice(sessions)
        self._trespasses += 1
        key = f"{self.name}-x{self._trespasses}"
        prompt = [{"type": "text", "text": f"{key} say"}]
        keyed = {"sessionId": session, "_meta": {"dragoman": {"key": key}}}
        opened = {"sessionId": session, "cwd": self._cwd_of(session), "mcpServers": []}
        theirs = [one for one, (place, _) in self._world.prompts.items() if place == session] or [key]
        attempts: list[tuple[str, Scope, dict[str, Any]]] = [
            ("session/prompt", "prompt", {**keyed, "prompt": prompt}),
            ("_session/steering", "prompt", {**keyed, "prompt": [{"type": "text", "text": key}]}),
            ("session/load", "observe", opened),
            ("session/resume", "observe", {**opened, "_meta": {"dragoman": {"wrote": theirs}}}),
            ("_dragoman/hub/attach", "observe", {"sessionId": session}),
            ("_dragoman/hub/history", "observe", {"sessionId": session}),
            ("session/set_title", "prompt", {"sessionId": session, "title": key}),
            ("session/set_mode", "prompt", {"sessionId": session, "modeId": key}),
            ("session/close", "prompt", {"sessionId": session}),
            ("session/delete", "prompt", {"sessionId": session}),
            ("session/fork", "prompt", opened),
            ("_dragoman/hub/handover", "prompt", {**keyed, "agent": "scripted", "force": True}),
            ("_dragoman/hub/queue/withdraw", "prompt", {"sessionId": session, "key": theirs[-1]}),
            *self._answers_of_others(),
        ]
        if self.role == "approver":
            attempts.append(("session/list", "observe", {"sessionId": session}))
        attempts = [one for one in attempts if not self.may(one[1], one[2]["sessionId"])]
        if not attempts:
            return
        method, _, params = self._chance.choice(attempts)
        book.forbidden_keys.add(key)
        self._later(self._try(method, params))

    def _answers_of_others(self) -> list[tuple[str, Scope, dict[str, Any]]]:
        found: list[tuple[str, Scope, dict[str, Any]]] = []
        for session, request in list(self._world.oracle.seen)[-3:]:
            result = {"outcome": {"outcome": "selected", "optionId": "allow"}}
            params = {"sessionId": session, "request": request, "result": result}
            found += [("_dragoman/hub/answer", "approve", params)] * 3
        return found

    async def _try(self, method: str, params: dict[str, Any]) -> None:
        attempt = await self.call(method, params)
        # One that is asked for again after its node was lost is done, if the session is gone by then.
        is_end = method in ("session/close", "session/delete")
        is_gone = is_end and self._world.oracle.is_deleted(params["sessionId"])
        if attempt.answer is not None and "result" in attempt.answer and not is_gone:
            self._world.story.find(
                f"{self.name}, {self.role}, was let through with {method} in {params['sessionId']}"
            )

    # What it is told.

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            message = json.loads(line)
            if "method" in message:
                self._inspect(message["method"], message.get("params", {}))
        super().feed(block)
        is_part = self.resumes and _PART.search(block) is not None
        if is_part and not self._world.weather.is_calm and self._chance.random() < 0.15:
            self._world.story.fault("client cut", self.name, "inside an entry")
            self.cut()

    def _inspect(self, method: str, params: dict[str, Any]) -> None:
        oracle = self._world.oracle
        request = params.get("request")
        question = request if isinstance(request, dict) else {}
        session = str(question.get("sessionId") or params.get("sessionId", ""))
        # Whoever loads the name of a deleted session may get one that its own agent calls so.
        if session and not self._reaches(session) and not oracle.is_deleted(session):
            self._find(f"is told {method} of {session}, which is not for it")
        if method == "session/request_permission":
            if not may(self.grant, "approve"):
                self._find(f"is asked in {session}, and may not answer")
            oracle.on_question(self.grant, session, params, "a request")
        elif method == "_dragoman/hub/asked":
            oracle.on_question(self.grant, session, question.get("params", {}), "a notice")
            oracle.seen[session, str(question["request"])] = None
        elif method == "_dragoman/hub/event" and params["event"] == "asked":
            oracle.on_question(self.grant, session, params["params"], "an event")
            oracle.seen[session, str(params["request"])] = None
        elif method.startswith("fs/"):
            oracle.on_lent(self, params)
        if not may(self.grant, "observe"):
            if method not in FOR_APPROVERS:
                self._find(f"is told {method} of {session}")
            elif "title" in question or "title" in params:
                self._find(f"is told the title of {session}")

    def _find(self, what: str) -> None:
        self._world.story.find(f"{self.name}, {self.role}, {what}")

    def _told(self, method: str, params: dict[str, Any]) -> None:
        super()._told(method, params)
        if method == "session/update" and params["update"]["sessionUpdate"] == "user_message_chunk":
            segment = self._segment(params["sessionId"])
            segment.echoes.append(params["update"]["content"]["text"])

    def _reply(self, number: int, connection: int) -> None:
        message = self._questions.get(number)
        if message is not None and message["method"] == "session/request_permission":
            options = message["params"]["options"]
            message["params"]["options"] = [one for one in options if one["optionId"] != "always"]
        if message is not None and message["method"] == "fs/write_text_file":
            self._world.oracle.on_client_write(message["params"])
        super()._reply(number, connection)

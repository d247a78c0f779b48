"""People with clients: they prompt, cancel, edit, answer, leave and come back, and keep book of what they
hear.

A resuming client talks through `ResumingTransport` and never notices a lost connection. A plain one does: it
connects again, loads its sessions anew, and says its open prompts again under their keys.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from dragoman.errors import LinkClosed
from dragoman.sdk.resumption.transport import ResumingTransport
from dragoman.transport.contract import Transport, TransportLimits
from tests.hub.simulate.records import Attempt, Segment
from tests.hub.simulate.virtual_loop import Process

if TYPE_CHECKING:
    from tests.hub.simulate.world import World

STEPS = ("say", "say", "say", "ask", "read", "pause", "stubborn", "fail", "die")
WEIGHTS = (6, 6, 6, 4, 2, 2, 1, 0.5, 0.5)


class SimulatedClient:
    """One person with one client."""

    def __init__(self, world: World, name: str, *, resumes: bool, chance: random.Random) -> None:
        self.name = name
        self.resumes = resumes
        self.attempts: list[Attempt] = []
        self.segments: list[Segment] = []
        self.process = Process(world.loop, name)
        self.transport: Transport | None = None
        self.events = chance.random() < 0.5
        self._lends = chance.random() < 0.5
        self._world = world
        self._chance = chance
        self._limits = chance.choice((TransportLimits(), TransportLimits(high=1500, low=500)))
        self._following: dict[str, Segment] = {}
        self._open: dict[int, Attempt] = {}
        self._questions: dict[int, dict[str, Any]] = {}
        self._id = 0
        self._keys = 0
        self._connection = 0
        self._ended = asyncio.Event()
        self._here = asyncio.Event()  # the hub knows us
        self._quiet = False
        self._mine: set[str] = set()  # sessions that it works in
        self._prompts: dict[str, tuple[str, str]] = {}  # keys without an answer → session and text

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _tell(self, what: str) -> None:
        self._world.story.tell(self.name, what)

    # The connection.

    async def live(self) -> None:
        if self.resumes:
            pause = self._chance.uniform(0.01, 0.5)
            self.transport = ResumingTransport(
                self._connect, backoff=lambda failed: min(5.0, pause * 2.0 ** min(failed, 5))
            )
            self.transport.start(self)
            await self._begin()
            self._here.set()
            await self._act()
            return
        acting: asyncio.Task[None] | None = None
        while True:
            try:
                self.transport = await self._connect()
            except LinkClosed:
                await asyncio.sleep(self._chance.uniform(0.1, 1.0))
                continue
            self._connection += 1
            self._ended.clear()
            self.transport.start(self)
            coming = self.process.start(self._come_back())
            if acting is None:
                acting = self.process.start(self._act())
            await self._ended.wait()
            coming.cancel()
            self._here.clear()
            for attempt in self._open.values():
                attempt.is_lost = True
                attempt.done.set()
            self._open.clear()
            self._questions.clear()
            for segment in self._following.values():
                segment.is_followed = False
            self._following.clear()
            await asyncio.sleep(self._chance.uniform(0.05, 1.0))

    async def _connect(self) -> Transport:
        await asyncio.sleep(self._chance.uniform(0.001, 0.05))
        return self._world.connect(self, self._limits)

    async def _begin(self) -> bool:
        ours: dict[str, Any] = {"events": True} if self.events else {}
        while True:
            params = {
                "protocolVersion": 1,
                "clientCapabilities": self._capabilities(),
                "_meta": {"dragoman": {**ours, **self._introduction(), "lazy": True}},
            }
            attempt = await self.call("initialize", params)
            if attempt.is_lost or attempt.answer is None:
                return False
            if "result" in attempt.answer:
                return True
            await asyncio.sleep(0.5)

    def _capabilities(self) -> dict[str, Any]:
        return {"fs": {"readTextFile": True}} if self._lends else {}

    def _introduction(self) -> dict[str, Any]:
        """More of what it says of itself to the hub."""
        return {}

    async def _come_back(self) -> None:
        """A plain client on a new connection: load what it worked in, say again what has no answer."""
        if not await self._begin():
            return
        for session in sorted(self._mine):
            await self._follow("session/load", session)
        for key, (session, text) in list(self._prompts.items()):
            self._prompt(session, key, text)
        self._here.set()

    @property
    def is_connected(self) -> bool:
        """Whether a resuming client is back; a plain one says so by its attempts."""
        transport = self.transport
        return not isinstance(transport, ResumingTransport) or transport.core.phase == "live"

    def cut(self) -> None:
        """Its network is gone for a moment."""
        self._world.cut(self)

    async def aclose(self) -> None:
        if self.transport is not None:
            await self.transport.aclose()

    # People who only look, or only answer.

    async def live_quietly(self) -> None:
        self._quiet = True
        await self.live()

    async def look(self, session: str) -> bool:
        """Load a session, and hear all of it."""
        await self._here.wait()
        return await self._follow("session/load", session)

    async def answer_inbox(self) -> None:
        await self._here.wait()
        inbox = await self.call("_dragoman/hub/inbox", {})
        if inbox.answer is None or "result" not in inbox.answer:
            return
        for found in inbox.answer["result"]["requests"]:
            call = found["params"].get("toolCall", {})
            self._choose(found, str(call.get("toolCallId")), "reject")
            chosen = {"outcome": {"outcome": "selected", "optionId": "reject"}}
            members = {name: found[name] for name in ("sessionId", "request", "askedAt")}
            await self.call("_dragoman/hub/answer", {**members, "result": chosen})

    # Speaking.

    def say(self, message: dict[str, Any]) -> bool:
        """Whether there was a connection to say it over."""
        if self.transport is None:
            return False
        try:
            self.transport.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except LinkClosed:
            return False
        return True

    def ask(self, method: str, params: dict[str, Any], *, key: str = "") -> Attempt:
        self._id += 1
        attempt = Attempt(method, str(params.get("sessionId", "")), key, self._now())
        self.attempts.append(attempt)
        self._open[self._id] = attempt
        shown = {name: params[name] for name in ("sessionId", "key", "request") if name in params}
        self._tell(f"asks {method} ({self._id}) {key} {shown or ''}")
        if not self.say({"id": self._id, "method": method, "params": params}):
            del self._open[self._id]
            attempt.is_lost = True
            attempt.done.set()
        return attempt

    async def call(self, method: str, params: dict[str, Any]) -> Attempt:
        attempt = self.ask(method, params)
        await attempt.done.wait()
        return attempt

    # Hearing.

    def feed(self, block: bytes) -> None:
        for line in block.splitlines():
            message = json.loads(line)
            if "method" not in message:
                self._answered(message)
            elif "id" in message:
                self._asked(message)
            else:
                self._told(message["method"], message.get("params", {}))

    def on_oversized(self, size: int) -> None:
        raise AssertionError(size)

    def on_end(self, reason: BaseException | None) -> None:
        self._tell("loses its connection")
        self._ended.set()

    def _answered(self, message: dict[str, Any]) -> None:
        attempt = self._open.pop(message["id"], None) if message["id"] is not None else None
        shown = message.get("error") or message.get("result")
        if attempt is None:
            self._world.story.find(f"{self.name} got an answer that it does not wait for: {message}")
            return
        self._tell(f"is answered ({message['id']}) {attempt.method} {attempt.key}: {json.dumps(shown)[:160]}")
        attempt.answers.append(message)
        attempt.answered_at = self._now()
        attempt.done.set()
        if message.get("error", {}).get("code") == -32002 and attempt.method == "session/prompt":
            self._stop_following(attempt.session)
        if attempt.method == "session/prompt":
            self._prompts.pop(attempt.key, None)
            self._world.oracle.on_answer(self, attempt, self._following.get(attempt.session))

    def _told(self, method: str, params: dict[str, Any]) -> None:
        session = str(params.get("sessionId", ""))
        if method == "session/update":
            update = params["update"]
            if update["sessionUpdate"] == "agent_message_chunk":
                text = update["content"]["text"]
                self._tell(f"hears {session}: {text}")
                self._segment(session).texts.append(text)
        elif method == "$/cancel_request":
            self._questions.pop(params["requestId"], None)
        elif method == "_dragoman/hub/event":
            if params["event"] == "turn_ended":
                self._segment(session).ended_turns.append(params["key"])
            elif params["event"] in ("closed", "deleted"):
                self._segment(session).is_followed = False

    def _segment(self, session: str) -> Segment:
        found = self._following.get(session)
        if found is None:  # its first updates may overtake the answer that names it
            found = self._following[session] = Segment("begun", session, self._now())
            self.segments.append(found)
        return found

    def _asked(self, message: dict[str, Any]) -> None:
        self._questions[message["id"]] = message
        name = self._name(message)
        self._tell(f"is asked ({message['id']}) {name}")
        mood = self._chance.random()
        if mood < 0.7 or self._world.weather.is_calm:
            delay = self._chance.choice((0.01, 0.2, 1.0))
            self.process.call_later(delay, self._reply, message["id"], self._connection)

    def _name(self, message: dict[str, Any]) -> str:
        call = message["params"].get("toolCall")
        return str(call["toolCallId"]) if isinstance(call, dict) else str(message["method"])

    def _reply(self, number: int, connection: int) -> None:
        message = self._questions.pop(number, None) if connection == self._connection else None
        if message is None:
            return
        if message["method"] == "session/request_permission":
            option = self._chance.choice([one["optionId"] for one in message["params"]["options"]])
            name = self._name(message)
            self._choose(message, name, option)
            self._tell(f"answers {name}: {option}")
            self.say({"id": number, "result": {"outcome": {"outcome": "selected", "optionId": option}}})
        else:
            self.say({"id": number, "result": {"content": "what is in the file"}})

    def _choose(self, question: dict[str, Any], name: str, option: str) -> None:
        """A person decides; `question` has the `params` of what was asked."""
        self._world.oracle.chosen.setdefault(name, set()).add(option)

    # Acting.

    def _cwd_of(self, session: str) -> str:
        return self._world.cwd

    async def _follow(self, method: str, session: str, **ours: Any) -> bool:
        segment = self._following.get(session)
        if segment is None and any(place == session for place, _ in self._prompts.values()):
            segment = self._segment(session)  # who prompts in a session hears it from there on
        if segment is None or segment.how == "begun":
            segment = Segment(method, session, self._now(), earlier=segment)
            self.segments.append(segment)
            self._following[session] = segment
        params: dict[str, Any] = {"sessionId": session, "cwd": self._cwd_of(session), "mcpServers": []}
        if ours:
            params["_meta"] = {"dragoman": ours}
        attempt = await self.call(method, params)
        done = attempt.answer is not None and "result" in attempt.answer
        if done:
            self._mine.add(session)
            segment.is_followed = True
        elif self._following.get(session) is segment:
            del self._following[session]
        return done

    async def _act(self) -> None:
        if self._quiet:
            return
        acts = self._acts()
        await asyncio.sleep(self._chance.uniform(0.0, 1.0))
        await self._new_session()
        while not self._world.weather.is_calm:
            await asyncio.sleep(self._chance.choice((0.01, 0.1, 0.5, 2.0)))
            (act,) = self._chance.choices([one for _, one in acts], [weight for weight, _ in acts])
            if self._here.is_set() and not self._world.weather.is_calm:
                await act()

    def _acts(self) -> list[tuple[float, Callable[[], Awaitable[None]]]]:
        return [
            (2, self._new_session),
            (2, self._join_session),
            (10, self._new_prompt),
            (2, self._repeat_prompt),
            (3, self._cancel),
            (2, self._steer),
            (1.5, self._repeat_steer),
            (0.5, self._hand_over),
            (1.5, self._edit),
            (1, self._withdraw),
            (0.4, self._close),
            (0.3, self._delete),
            (0.4, self._fork),
            (0.5, self._look_around),
            (1, self._lose_connection),
        ]

    async def finish(self) -> None:
        """The world is calm: answer what is asked, and wait for what has no answer."""
        for number in list(self._questions):
            self.process.call_later(self._chance.uniform(0.0, 1.0), self._reply, number, self._connection)
        while waiting := [one for one in self.attempts if not one.answers and not one.is_lost]:
            await waiting[0].done.wait()

    def unanswered(self) -> list[Attempt]:
        return [one for one in self.attempts if not one.answers and not one.is_lost]

    def _later(self, work: Awaitable[Any]) -> None:
        """Most people do not wait for an answer before they go on."""

        async def wait() -> None:
            await work

        self.process.start(wait())

    async def _new_session(self) -> None:
        if len(self._world.sessions) < self._world.most_sessions:
            self._later(self._make_session("session/new", self._new_session_params()))

    def _new_session_params(self) -> dict[str, Any]:
        return {"cwd": self._world.cwd, "mcpServers": []}

    async def _make_session(self, method: str, params: dict[str, Any]) -> None:
        attempt = await self.call(method, params)
        answer = attempt.answer
        if answer is None or "result" not in answer:
            return
        session = answer["result"]["sessionId"]
        segment = self._following.get(session)
        if segment is None:
            segment = self._following[session] = Segment(method, session, self._now())
            self.segments.append(segment)
        segment.how = method
        segment.is_followed = not attempt.is_lost
        self._mine.add(session)
        self._world.sessions.setdefault(session, None)

    def _follows(self, session: str) -> bool:
        return session in self._following and self._following[session].is_followed

    def _any_session(self) -> str | None:
        known = [one for one in self._mine if self._follows(one)]
        return self._chance.choice(sorted(known)) if known else None

    async def _join_session(self) -> None:
        others = [one for one in self._world.sessions if one not in self._following]
        if others:
            method = self._chance.choice(("session/load", "session/load", "session/resume"))
            self._later(self._follow(method, self._chance.choice(others)))

    async def _new_prompt(self) -> None:
        session = self._any_session()
        if session is None:
            return
        self._keys += 1
        key = f"{self.name}-{self._keys}"
        self._prompt(session, key, " ".join((key, *self._steps())))

    def _prompt(self, session: str, key: str, text: str) -> None:
        self._prompts[key] = (session, text)
        self._world.prompts.setdefault(key, (session, text))
        params = {
            "sessionId": session,
            "prompt": self._blocks(key, text),
            "_meta": {"dragoman": {"key": key}},
        }
        self.ask("session/prompt", params, key=key)

    def _blocks(self, key: str, text: str) -> list[dict[str, Any]]:
        return [{"type": "text", "text": text}]

    def _steps(self) -> list[str]:
        return self._chance.choices(STEPS, WEIGHTS, k=self._chance.randint(1, 5))

    async def _repeat_prompt(self) -> None:
        """The same key again: the same client by mistake, or another that took its work over."""
        known = [
            (key, session, text)
            for key, (session, text) in self._world.prompts.items()
            if self._follows(session) and key not in self._prompts
        ]
        if known:
            key, session, text = self._chance.choice(known)
            self._prompt(session, key, text)

    async def _steer(self) -> None:
        session = self._any_session()
        if session is not None:
            self._keys += 1
            self._send_message(session, f"{self.name}-s{self._keys}")

    async def _repeat_steer(self) -> None:
        """The same message again, by whoever follows the session."""
        known = [(key, session) for key, session in self._world.book.steers.items() if self._follows(session)]
        if known:
            key, session = self._chance.choice(known)
            self._send_message(session, key)

    def _send_message(self, session: str, key: str) -> None:
        self._world.book.steers.setdefault(key, session)
        prompt = [{"type": "text", "text": key}]
        params = {"sessionId": session, "prompt": prompt, "_meta": {"dragoman": {"key": key}}}
        self.ask("_session/steering", params, key=key)

    async def _hand_over(self) -> None:
        """Most people ask once for it; some ask again, by the same key."""
        session = self._any_session()
        if session is None or len(self._world.sessions) >= self._world.most_sessions:
            return
        key = f"handover-{session}"
        self._world.oracle.cancelled.add(session)
        params = {
            "sessionId": session,
            "agent": "scripted",
            "force": True,
            "_meta": {"dragoman": {"key": key}},
        }
        self.ask("_dragoman/hub/handover", params, key=key)

    async def _cancel(self) -> None:
        session = self._any_session()
        if session is None:
            return
        self._world.oracle.cancelled.add(session)
        waiting = [number for number, one in self._open.items() if one.method == "session/prompt"]
        if waiting and self._chance.random() < 0.4:
            number = self._chance.choice(waiting)
            self._world.oracle.cancelled.add(self._open[number].session)
            self._tell(f"withdraws request {number}")
            self.say({"method": "$/cancel_request", "params": {"requestId": number}})
        else:
            self._tell(f"cancels in {session}")
            self.say({"method": "session/cancel", "params": {"sessionId": session}})

    async def _edit(self) -> None:
        if self._prompts:
            key = self._chance.choice(list(self._prompts))
            session, _ = self._prompts[key]
            prompt = [{"type": "text", "text": f"{key} say say"}]
            self.ask("_dragoman/hub/queue/edit", {"sessionId": session, "key": key, "prompt": prompt})

    async def _withdraw(self) -> None:
        if self._prompts:
            key = self._chance.choice(list(self._prompts))
            self._world.oracle.cancelled.add(self._prompts[key][0])
            self.ask("_dragoman/hub/queue/withdraw", {"sessionId": self._prompts[key][0], "key": key})

    async def _close(self) -> None:
        session = self._any_session()
        if session is not None:
            self._world.oracle.on_close(session)
            self._later(self._leave("session/close", session))

    async def _delete(self) -> None:
        session = self._any_session()
        if session is not None:
            self._world.oracle.on_close(session, deletes=True)
            self._later(self._leave("session/delete", session))

    async def _leave(self, method: str, session: str) -> None:
        await self.call(method, {"sessionId": session})
        if method == "session/delete":
            self._mine.discard(session)
        self._stop_following(session)

    def _stop_following(self, session: str) -> None:
        segment = self._following.pop(session, None)
        if segment is not None:
            segment.is_followed = False

    async def _fork(self) -> None:
        session = self._any_session()
        if session is not None and len(self._world.sessions) < self._world.most_sessions:
            params = {"sessionId": session, "cwd": self._cwd_of(session), "mcpServers": []}
            self._later(self._make_session("session/fork", params))

    async def _look_around(self) -> None:
        session = self._any_session()
        match self._chance.randrange(4):
            case 0:
                self.ask("session/list", {})
            case 1:
                self.ask("_dragoman/hub/inbox", {})
            case 2 if session is not None:
                self.ask("session/set_title", {"sessionId": session, "title": f"of {self.name}"})
            case 3 if session is not None:
                self.ask("session/set_mode", {"sessionId": session, "modeId": "code"})

    async def _lose_connection(self) -> None:
        self._world.story.fault("client cut", self.name, "its connection breaks")
        self.cut()

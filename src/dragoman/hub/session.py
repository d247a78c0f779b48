"""A session of the hub: its stream, its turn, its queue, what its agent asks, and who follows it.

Everything that happens goes through the log and has its effect when it is stored. The session outlives its
clients and its agent's processes: what it has come to is in its stream (see `recall`), and whatever is held
here beside that is lost by a crash without harm. One prompt at a time is with the agent; the others wait in
order. A prompt that was given to an agent is never given to one again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from msgspec import Raw
from msgspec.structs import replace

from dragoman.errors import AgentFailed, CallFailed, DragomanError, JournalError, LinkClosed
from dragoman.hub.belonging import Claim
from dragoman.hub.bounds import TOO_MANY_REQUESTS, size_of_request
from dragoman.hub.frames import answer_frame, encoded, merged, no_result, object_of, value_of
from dragoman.hub.key_lookup import KeyLookups
from dragoman.hub.log import SessionLog
from dragoman.hub.notes import note
from dragoman.hub.pending import REDACTED_PROMPT, PendingEntries
from dragoman.hub.recall import ASKED, OWN_ID, Memory, OpenRequest, Waiting, is_own_id
from dragoman.hub.showing import title_of
from dragoman.runtime.turnstile import Turnstile
from dragoman.wire import Failure, Response, error_object, notification, request
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST
from dragoman.wire.envelope import Id

if TYPE_CHECKING:
    from dragoman.hub.client_side import HubClient
    from dragoman.hub.follower import Follower
    from dragoman.hub.hub import Hub
    from dragoman.hub.life import Life, Receipt
    from dragoman.journal import Stored

log = logging.getLogger(__name__)

CANCELLED = b'{"stopReason":"cancelled"}'
REFUSED = b'{"outcome":{"outcome":"cancelled"}}'


class HubSession:
    """Made by the hub when it is new, or when somebody asks for it."""

    def __init__(self, hub: Hub, session_id: str, memory: Memory, *, agent: str, last: int) -> None:
        self.hub = hub
        self.id = self.stream = session_id
        self.memory = memory
        self.followers: dict[HubClient, Follower] = {}
        self.life: Life | None = None
        """The process that knows this session; None if none does."""
        self.bounds = hub.bounds.session(agent)
        self.log = SessionLog(
            hub.journal, session_id, self.bounds, last=last, show=self._show, failed=self._unstored
        )
        self.starting: Waiting | None = None  # the prompt that is on its way to the agent
        self.claim = Claim(session_id)
        self.gist_at = 0  # the last entry of which the stream has the gist
        self.muted = False  # the agent is telling us what we know
        self.remind = False  # the agent knows nothing of what was said before
        self.state = ""
        self.setup: dict[str, Any] = {}
        """What a client brought along for its agent, such as MCP servers; kept in memory only."""
        self.binding = Turnstile()
        self.over = asyncio.Event()
        """A turn has ended; whoever waits for that clears it."""
        self.owed: list[Receipt] = []  # for what the agent said and is not stored yet
        self.is_closed = False
        """Whether somebody else has it from here on, or nobody: no process is bound to it any more."""
        self._cancelled = False  # while starting
        self._giving = False  # the prompt that is starting is being stored for its agent
        self._expiries: dict[int, asyncio.TimerHandle] = {}
        self.ending: set[str] = set()  # keys of prompts whose end is being stored
        self.pending = PendingEntries(hub, session_id)
        self.lookups = KeyLookups(self)
        for one in memory.requests.values():
            self.bounds.requests.add(size_of_request(one.params))

    # What is going on.

    @property
    def requests(self) -> dict[int, OpenRequest]:
        return self.memory.requests

    @property
    def is_busy(self) -> bool:
        return self.memory.turn is not None or self.starting is not None

    @property
    def is_forgettable(self) -> bool:
        """Whether nothing would be lost by forgetting it until somebody asks for it again."""
        quiet = not (self.is_busy or self.memory.queue or self.requests or self.followers or self.life)
        return quiet and self.log.is_idle and not self.binding.in_use and not self.lookups

    def current_state(self) -> str:
        if any(one.method in ASKED for one in self.requests.values()):
            return "waiting"
        if self.is_busy or self.memory.queue:
            return "running"
        return "failed" if self.memory.failed else "idle"

    # From the agent.

    def heard_updates(self, frames: Sequence[bytes], number: int, receipt: Receipt) -> None:
        life = self.life
        assert life is not None
        fresh = number - self.memory.heard if life.survives else len(frames)
        if self.muted or fresh <= 0:
            life.stored(receipt)
            return
        frames = frames[-fresh:]
        title = self.memory.title
        self.memory.see_updates(frames)
        if self.memory.title != title:
            self.hub.describe(self, title=self.memory.title)
        self.hub.changes.on_updates(self.id, frames)
        self.log.add_heard(frames)
        self._mark(number, receipt)

    def heard_request(self, frame: bytes, request_id: Id, number: int, receipt: Receipt) -> None:
        life = self.life
        assert life is not None
        if life.survives and number <= self.memory.heard:
            life.stored(receipt)
            return
        if is_own_id(request_id):
            why = f"Invalid request: ids that begin with {OWN_ID!r} are for questions of the hub"
            life.refuse(request_id, error_object(INVALID_REQUEST, why))
        elif not self.bounds.requests.fits(size_of_request(frame)):
            life.refuse(request_id, error_object(INTERNAL_ERROR, TOO_MANY_REQUESTS))
        else:
            self.log.add([("to_client", frame)], self._asked, pending=True)
        self._mark(number, receipt)

    def heard_answer(self, frame: bytes, answer: Response | Failure, number: int, receipt: Receipt) -> None:
        """The answer to a prompt of ours."""
        life = self.life
        turn = self.memory.turn
        assert life is not None
        if turn is None or turn.id != answer.id or (life.survives and number <= self.memory.heard):
            life.stored(receipt)
            return
        if isinstance(answer, Failure):
            error = answer.error
            ending: dict[str, Any] = {"error": replace(error, code=error.code or INTERNAL_ERROR)}
        elif object_of(answer.result):
            ending = {"result": answer.result}
        else:
            why = f"Internal error: {no_result('session/prompt')}"
            ending = {"error": error_object(INTERNAL_ERROR, why)}
        self.log.add([("to_client", frame)])
        self.end_turn(turn.key, by=turn.by, **ending)
        self._mark(number, receipt)

    def _mark(self, number: int, receipt: Receipt) -> None:
        """Note how far the agent was heard, in the same breath, and tell it when that is stored."""
        life = self.life
        assert life is not None
        if life.survives:
            self.memory.heard = number
            self.owed.append(receipt)
            self.log.add([("note", note("heard", n=number))], lambda _: life.stored(self.owed.pop(0)))
        else:
            life.stored(receipt)
        self.pending.confirm(life)
        self.log.breathe()
        if self.log.is_full:
            life.hold_while_full(self.bounds.unstored)

    # Prompts.

    def submit(self, client: HubClient | None, params: dict[str, Raw], *, key: str, by: str) -> None:
        """A prompt; its answer goes to whoever waits for its key."""
        lends = [] if client is None else client.lends()
        more = {"lends": lends} if lends else {}
        ready = merged(self._traced(params, key), {"key": key, "by": by, **more})
        item = Waiting(key, by, Raw(encoded(ready)))
        waits = self.is_busy or self.memory.queue or self.hub.draining  # then the next hub begins it
        members = {"key": key, "by": by, "prompt": params.get("prompt"), "params": item.params}
        queued = note("queued" if waits else "taken", **members)
        self.log.add([("note", queued)], partial(self.on_queued, item), pending=True)
        self.memory.queue.append(item)
        if waits:
            self.changed()
        else:
            self._begin(item)

    def on_queued(self, item: Waiting, stored: Stored) -> None:
        """Its params are stored here, and not where they were before."""
        before, item.sequence = item.sequence, stored.sequence
        self.pending.settle(before)

    def _traced(self, params: dict[str, Raw], key: str) -> dict[str, Raw]:
        if self.hub.trace is None:
            return params
        meta = value_of(params.get("_meta"))
        meta = self.hub.trace(self.id, key, meta if isinstance(meta, dict) else None, self.memory.agent)
        return params if meta is None else {**params, "_meta": Raw(encoded(meta))}

    def knows(self, key: str) -> bool:
        waiting = any(one.key == key for one in self.memory.queue)
        is_open = self.memory.turn is not None and self.memory.turn.key == key
        return waiting or is_open or self.is_starting(key) or key in self.ending or key in self.lookups

    def is_starting(self, key: str) -> bool:
        return self.starting is not None and self.starting.key == key

    def is_ending(self, key: str) -> bool:
        """Whether its end is known, and perhaps not stored yet: nothing else becomes of it."""
        return key in self.ending or key in self.memory.answers

    def _begin(self, item: Waiting) -> None:
        self.starting = item
        self._cancelled = self._giving = False
        self.changed()
        self.hub.owner.start(self._start(item))

    async def _start(self, item: Waiting) -> None:
        """Bring the agent there, then give it the prompt. A prompt that was cancelled meanwhile has its
        answer: the start goes on for those that come behind it.
        """
        if not item.is_whole:
            self._not_begun(item, INTERNAL_ERROR, f"Internal error: {REDACTED_PROMPT}")
            return
        try:
            await self.hub.will_run(self)
            life = await self.hub.pool.bind(self)
            if self.remind:
                await self.hub.extras.recall(self)
            if self.starting is item:
                await self.hub.changes.begin(self, item.key)
            room = await self.bounds.answers.take(memoryview(item.params).nbytes)
        except CallFailed as error:
            self._not_begun(item, error.code, error.message, error.data)
        except AgentFailed as error:
            self._not_begun(item, INTERNAL_ERROR, str(error), error.details)
        except (DragomanError, TimeoutError, OSError) as error:
            self._not_begun(item, INTERNAL_ERROR, f"the agent could not be reached: {error}")
        else:
            with room:  # it is counted anew as what is given to the agent
                if self.starting is not item:
                    self.hub.changes.end(self.id, item.key)
                elif self._cancelled:
                    self._cancel_start(item)
                else:
                    self._give(item, life)

    def _cancel_start(self, item: Waiting) -> None:
        self.starting = None
        self.end_turn(item.key, by=item.by, result=Raw(CANCELLED))

    def _not_begun(self, item: Waiting, code: int, message: str, data: Any = None) -> None:
        if self.starting is not item:
            return
        self.starting = None
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        self.end_turn(item.key, by=item.by, error=error)

    def _give(self, item: Waiting, life: Life) -> None:
        self._giving = True
        number = life.next_id()
        params = bytes(item.params)
        shown = request(number, "session/prompt", params)[:-1]
        said = shown
        if self.remind:
            self.remind = False
            said = request(number, "session/prompt", self.hub.extras.reminded(self, params))[:-1]
        life.expect(number, self)
        self.bounds.answers.add(len(said))
        given = partial(self._given, item, life, said)
        self.log.add([("to_agent", shown)], given, pending=life.survives)

    def _given(self, item: Waiting, life: Life, said: bytes, stored: Stored) -> None:
        self.memory.see([stored])
        self.bounds.count_prompts(waiting.params for waiting in self.memory.queue)
        self.starting = None
        self.pending.settle(item.sequence)
        if life.over:  # it died before it heard of it
            self.bounds.answers.remove(len(said))
            self.pending.settle(stored.sequence)
            self.end_turn(item.key, by=item.by, error=life.cut_short())
            return
        self._say(life, said, stored)
        self.title_from(item)
        if self._cancelled:
            self.cancel()

    def say_to_agent(self, life: Life, frame: bytes) -> None:
        """Give the agent a frame, once it is stored."""
        self.bounds.answers.add(len(frame))
        self.log.add([("to_agent", frame)], partial(self._say, life, frame), pending=life.survives)

    def _say(self, life: Life, frame: bytes, stored: Stored) -> None:
        if life.survives:
            self.pending.give(stored.sequence)
        life.say(self, frame, stored.sequence)

    def end_turn(self, key: str, **ending: Any) -> None:
        """Tell everybody, settle what is open, and go on with the next. A turn ends once."""
        if self.is_ending(key):
            return
        self.ending.add(key)
        for sequence in list(self.requests):
            self.settle(sequence, outcome="cancelled", by="")
        end = note("turn_ended", key=key, **ending)
        self.log.add([("note", end)], lambda stored: self._ended(key, stored))

    def _ended(self, key: str, stored: Stored) -> None:
        ended = [waiting.sequence for waiting in self.memory.queue if waiting.key == key]
        self.memory.see([stored])
        self.pending.settle(*ended)
        if self.life is not None:
            self.pending.confirm(self.life)
        self.changed()
        self.ending.discard(key)
        self.hub.changes.end(self.id, key)
        self.over.set()
        self.go_on()

    def go_on(self) -> None:
        """The next prompt, if one waits and nothing is in its way."""
        if self.memory.queue and not self.is_busy and not self.hub.draining:
            self._begin(self.memory.queue[0])
        elif not self.is_busy:
            self.hub.resting(self)

    def cancel(self) -> None:
        """The turn is to end; the agent says when it has, if it has heard of it."""
        if self.starting is not None:
            self._cancelled = True
            if not self._giving:
                self._cancel_start(self.starting)
            return
        life = self.life
        if self.memory.turn is None or life is None:
            return
        frame = notification("session/cancel", encoded({"sessionId": self.id}))[:-1]
        self.say_to_agent(life, frame)
        for sequence, one in list(self.requests.items()):
            if one.method in ASKED:
                refusal = REFUSED if "permission" in one.method else b'{"action":"cancel"}'
                self.settle(sequence, outcome="cancelled", by="", result=Raw(refusal))

    # What the agent asks.

    def _asked(self, stored: Stored) -> None:
        self.memory.see([stored])
        one = self.requests.get(stored.sequence)
        if one is not None:
            self.bounds.requests.add(size_of_request(one.params))
            self.hub.asked(self, one)
            self.changed()

    def ask_people(self, params: bytes, on_stored: Callable[[OpenRequest], None]) -> None:
        """Ask a question of the hub's own; clients see it as they see one of the agent's."""
        frame = request(f"{OWN_ID}{uuid4().hex}", "session/request_permission", params)[:-1]

        def asked(stored: Stored) -> None:
            self._asked(stored)
            on_stored(self.requests[stored.sequence])

        self.log.add([("to_client", frame)], asked, pending=True)

    def settle(
        self,
        sequence: int,
        *,
        outcome: str,
        by: str,
        result: Raw | None = None,
        error: Any = None,
        reason: str = "",
    ) -> bool:
        """The first to say what comes of a request decides it."""
        one = self.requests.pop(sequence, None)
        if one is None:
            return False
        self.bounds.requests.remove(size_of_request(one.params))
        timer = self._expiries.pop(sequence, None)
        if timer is not None:
            timer.cancel()
        life = None if one.is_own else self.life
        if one.method in ASKED:
            result = self.hub.desk.judge.on_answer(self, one, outcome=outcome, by=by, result=result)
        members: dict[str, Any] = {"request": str(sequence), "by": by, "outcome": outcome}
        if reason:
            members["reason"] = reason
        if result is not None or error is not None:
            frame = answer_frame(one.id, result, error)
            if life is not None:
                self.say_to_agent(life, frame)
            if result is not None and one.method in ASKED:
                members["result"] = result
            if result is not None and one.method == "fs/write_text_file":
                self.hub.changes.on_write(self.id, one.params)
        self.log.add([("note", note("settled", **members))], lambda _: self._settled(one, outcome))
        self.changed()
        return True

    def _settled(self, one: OpenRequest, outcome: str) -> None:
        self.pending.settle(one.sequence)
        self.hub.settled(self, one, outcome)

    def expire_in(self, sequence: int, seconds: float, how: Raw) -> None:
        loop = asyncio.get_running_loop()
        self._expiries[sequence] = loop.call_later(seconds, self._expire, sequence, how)

    def _expire(self, sequence: int, how: Raw) -> None:
        self._expiries.pop(sequence, None)
        self.settle(sequence, outcome="expired", by="", result=how)

    # Ends.

    def agent_gone(self, life: Life) -> None:
        """The process that knew us has ended; a turn of its ends with it, and is not repeated."""
        if self.life is not life:
            return
        self.life = None
        self.pending.agent_gone()
        for sequence in list(self.requests):
            self.settle(sequence, outcome="agent_gone", by="")
        turn = self.memory.turn
        if turn is not None:
            self.log.add([("note", note("agent_gone", reason=life.over))])
            self.end_turn(turn.key, by=turn.by, error=life.cut_short())
        self.hub.resting(self)

    async def stop(self, within: float) -> None:
        """End the turn that runs, whatever the agent says to that."""
        self.over.clear()
        self.cancel()
        try:
            async with asyncio.timeout(within):
                while self.is_busy:
                    await self.over.wait()
                    self.over.clear()
        except TimeoutError:
            turn = self.memory.turn
            if turn is not None:
                self.end_turn(turn.key, by=turn.by, result=Raw(CANCELLED))

    def say(self, kind: str, **members: Any) -> None:
        """Write down something that clients hear of as an event."""
        self.log.add([("note", note(kind, **members))], lambda stored: self.memory.see([stored]))

    async def aclose(self) -> None:
        self.is_closed = True
        for timer in self._expiries.values():
            timer.cancel()
        for follower in list(self.followers.values()):
            follower.leave()
        self.followers.clear()
        await self.log.aclose()
        self.bounds.close()
        await self.pending.aclose()

    # Inside.

    def _show(self, entries: Sequence[Stored]) -> None:
        if not entries:
            return
        for follower in list(self.followers.values()):
            try:
                follower.show(entries)
            except LinkClosed:
                pass  # the client's own end is on its way

    def give_up_start(self) -> None:
        """Whoever waits for the prompt that is on its way was told that it failed."""
        self.lookups.give_up()
        self._cancelled = self.starting is not None

    def _unstored(self, error: JournalError) -> bool:
        """Nothing can be acted upon now; whether it is tried again."""
        log.error("session %s cannot be stored: %s", self.id, error)
        return self.hub.unstored(self, error)

    def title_from(self, item: Waiting) -> None:
        if not self.memory.title:
            title = title_of(item.params)
            if title:
                self.memory.title = title
                self.say("renamed", title=title)
                self.hub.describe(self, title=title)

    def changed(self) -> None:
        """Its state may have."""
        self.bounds.count_prompts(waiting.params for waiting in self.memory.queue)
        state = self.current_state()
        if state != self.state:
            self.state = state
            self.hub.describe(self, state=state)
        self.hub.noticed(self)

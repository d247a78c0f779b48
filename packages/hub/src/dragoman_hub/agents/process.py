"""One process of an agent, from its start to its end, with its loaded sessions.

Frames of the agent are sorted by session and given to it; what it asks beyond any session is answered here.
Calls of the hub's own have ids of the hub, and an end: their answer, their deadline, or the agent's. Frames
are acknowledged when every session that had a part of them has stored it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import groupby
from secrets import randbits
from typing import Any

from msgspec import UNSET, Raw, UnsetType

from dragoman.core.connection import Connection
from dragoman.errors import AgentFailed, CallFailed, LinkClosed
from dragoman.runtime.budget import ByteBudget
from dragoman.schema.own_names import METHOD, UNREADABLE, may_hold, stripped
from dragoman.schema.v1.methods import METHODS
from dragoman.schema.waits import bound
from dragoman.wire import (
    ErrorObject,
    Failure,
    MalformedFrame,
    Notification,
    Request,
    Response,
    decode,
    encode,
    error_object,
    failure,
    notification,
    request,
)
from dragoman.wire.codes import INTERNAL_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, NAMES
from dragoman.wire.envelope import Id
from dragoman.wire.glance import glance
from dragoman_hub.agents.channel import AgentChannel
from dragoman_hub.agents.end import AgentEnd, AgentSecrets, StderrLines
from dragoman_hub.agents.invalid_frames import InvalidFrames
from dragoman_hub.agents.refusals import Refusals
from dragoman_hub.agents.sessionless import SessionlessNotifications
from dragoman_hub.engine.agent_answers import CALL_SECONDS, answer_within, nobody
from dragoman_hub.engine.bounds import MIB, PIPE_BYTES
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.ports import Receipt
from dragoman_hub.session.events import BroughtBack
from dragoman_hub.session.frames import (
    BlockLines,
    encode_json,
    no_result,
    passable,
    session_of,
    sessions_of,
    with_session_id,
)
from dragoman_hub.session.state import SessionState

log = logging.getLogger(__name__)

EARLY = 20_000
EARLY_BYTES = 4 * MIB
"""The most messages about sessions that are being created, and their bytes; agents send only a few. Reading
is not paused for them, because the answer that creates the session comes after them.
"""

EARLY_SECONDS = 15.0
"""The seconds that a request about a session that is being created waits. The agent may wait for the answer
before it sends the session's id; then neither would ever come.
"""

UNCLAIMED, UNCLAIMED_BYTES = 16, 64 * 1024
"""Answers without a waiter, and the largest size of an answer to keep."""

UNKNOWN_NAMES = 1000
"""Unknown session names to remember, so that the journal is not searched for each frame; no agent uses more
by mistake.
"""

ABANDONED_NAMES = 10_000
"""Closed sessions to remember; the agent no longer uses older ones."""

LOOKING = "sessions are looked for"
"""The reason for a short pause in reading an agent."""

REFUSED_BYTES = MIB
"""The most bytes of unread refusals before the agent is not read any more."""

UNREAD_BYTES = 4 * PIPE_BYTES
"""An agent with more unread bytes must read before it can continue."""


SAID_STREAMS = 64
"""Streams whose number is kept although the agent's host has it too."""


class AgentProcess:
    """One agent process. The pool creates it, and `on_end` reports its end."""

    last_frame = 0
    """The number of its last received frame."""
    is_dismissed = False
    """Whether we ended it because it was not needed."""
    _acknowledged_frame = 0  # frames up to this one are not said again
    _most_said = SAID_STREAMS  # how many numbers are kept before those that its host has are dropped
    _refused_bytes = 0  # bytes of refusals since it has last taken everything
    _is_leaving = False  # the hub stops, or the process has ended: no session is looked for any more

    def __init__(
        self,
        agent: str,
        channel: AgentChannel,
        *,
        survives: bool,
        origin: int = 0,
        on_end: Callable[[AgentProcess], None],
        find: Callable[[AgentProcess, str], Awaitable[None]],
        secrets: Iterable[str] = (),
        invalid: InvalidFrames | None = None,
        is_interpreted: bool = False,
    ) -> None:
        """`secrets` are values of the agent's environment to hide; `invalid` counts its lines that are not
        messages; `is_interpreted` as in `AgentSpec`.
        """
        self.agent = agent
        self.channel = channel
        self.process_id = origin + channel.pid
        """Tells it from every other process of its agent, on this machine and others."""
        self.survives = survives
        """Whether the process outlives the hub, so that numbers of its frames mean something to the next."""
        self.initialize_result: dict[str, Any] = {}
        """What it answered to `initialize`."""
        self.sessions: dict[str, LiveSession] = {}  # by the agent's own ids
        self.own_ids: dict[str, str] = {}  # ids of the hub's sessions that it knows → its own ids for them
        self.abandoned_ids: dict[str, None] = {}
        """Sessions, by its own ids, that were given up while it worked for them: what it says of them is
        heard by nobody, so that it cannot go on with them as if nothing had been.
        """
        self.start_time = time.time()
        self.used = asyncio.get_running_loop().time()
        self.over = ""
        """Why it has ended; empty while it runs."""
        self.end: AgentEnd | None = None
        """How it has ended; None while it runs."""
        self._stderr = StderrLines(AgentSecrets(secrets))
        self._last_said: dict[str, int] = {}  # numbers of the last frames that its host may not have
        self._closed_streams: set[str] = set()  # those of which its host forgets the numbers, but not yet
        # Ids are unlike those of earlier hubs, also if somebody has set the clock back: the process may have
        # kept requests of those. A prompt has its session, any other call a future.
        self._connection: Connection[asyncio.Future[Raw] | LiveSession] = Connection(first_id=randbits(50))
        self._receipts: deque[Receipt] = deque()
        self._kept_answers: dict[Id, tuple[int, Receipt] | None] = {}  # see `keep_answer`
        self._unclaimed: dict[Id, tuple[bytes, Response | Failure, int]] = {}  # see `expect`
        self._invalid = InvalidFrames(agent) if invalid is None else invalid
        self._is_interpreted = is_interpreted
        # Whoever cannot take more now, and those among them that count requests which we carry out.
        self._full, self._lent = set[object](), set[object]()
        self._untaken: list[tuple[ByteBudget, int]] = []  # what its pipe has not taken, and who is charged
        self._refusals = Refusals(channel.taken_numbers)
        self._draining: asyncio.Task[None] | None = None
        self._early: dict[str, list[tuple[bytes, int, Receipt]]] = {}  # by session
        self._making = self._early_count = self._early_bytes = 0
        self._on_end = on_end
        self._sessionless = SessionlessNotifications(agent, self.sessions)
        self._find = find
        # Sessions that were looked for and perhaps not found, with the last frame of each that is stored.
        self._unknown: dict[str, int] = {}
        self._looking: set[str] = set()  # those that are being looked for
        self._seeking: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self.channel.start(self)

    async def aclose(self) -> None:
        """End it; whoever waits for its answers hears that."""
        await self.channel.aclose()

    # What we say.

    def next_id(self) -> int:
        return self._connection.next_id()

    def say(self, session: LiveSession, frame: bytes, sequence: int) -> None:
        """Send the agent a frame that is stored in the session's stream. It counts against the session until
        it is in the agent's pipe.
        """
        self._untaken.append((session.bounds.answers, len(frame)))
        own = self.own_ids.get(session.id, session.id)
        wire_frame = frame if own == session.id else with_session_id(frame, own)
        number = session.state.taken_before + sequence
        if self.survives:  # nobody counts them else
            self._remember_number(session.stream, number)
        self._write(wire_frame + b"\n", stream=session.stream, last=number)
        self._watch_pipe()

    def _remember_number(self, stream: str, number: int) -> None:
        self._last_said[stream] = number
        self._closed_streams.discard(stream)

    def forget_numbers(self, stream: str) -> None:
        """Forget the numbers of a stream: the order to close the session is in the journal, so no hub repeats
        earlier frames. The process's host forgets the numbers after it has taken all frames.
        """
        if self.has_unheard(stream):
            self._closed_streams.add(stream)
        else:
            self._last_said.pop(stream, None)
            self.channel.forget(stream)

    def last_number(self, stream: str) -> int:
        """Return the last number of a stream of this name that was sent to the process, or is about to be."""
        return max(self.channel.taken_numbers.get(stream, 0), self._last_said.get(stream, 0))

    def last_taken(self, state: SessionState) -> int:
        """Return the last entry of the session's stream that was sent to it, by any hub."""
        return self.channel.taken_numbers.get(state.id, 0) - state.taken_before

    def has_unheard(self, stream: str) -> bool:
        """Whether a message of a stream may not have reached the process yet."""
        return self._last_said.get(stream, 0) > self.channel.taken_numbers.get(stream, 0)

    async def wait_until_taken(self, stream: str) -> None:
        """Wait until its host has all messages of a stream. Raises `LinkClosed` if it never will."""
        await self.channel.wait_until_taken(stream, self._last_said.get(stream, 0))

    def refuse(self, request_ids: Iterable[Id], error: ErrorObject, *, number: int, name: str = "") -> None:
        """Answer requests that are not passed on. They are about the session that the agent calls `name`; the
        last one is frame `number`, which its host keeps until the acknowledgement, so that the next hub does
        not answer again. These answers are sent without waiting: an agent with too many unread answers is not
        read until it has read them.
        """
        block = b"".join(failure(request_id, error) for request_id in request_ids)
        self._write_refusal(block, name, number)
        self._refused_bytes += len(block)
        if self._refused_bytes > REFUSED_BYTES and self.is_behind:
            self.hold(self)
        self._watch_pipe()

    def mark_answered(self, name: str, number: int) -> None:
        """Note that requests about this session up to the frame `number` need no answer: their answers were
        in the journal, which is about to forget them.
        """
        if number > self._acknowledged_frame:
            self._write_refusal(b"", name, number)

    def _write_refusal(self, block: bytes, name: str, number: int) -> None:
        stream = self._refusals.add(name, number) if self.survives else ""
        if stream:
            self._remember_number(stream, number)
        self._write(block, stream=stream, last=number if stream else 0)

    def skip_stored(self, own: str, number: int) -> None:
        """Skip its messages about this session up to the frame `number`: the journal has them and their
        effects. The session is closed, and unknown to its process.
        """
        self._unknown[own] = number

    @property
    def is_behind(self) -> bool:
        """Whether it has much to read. Then new work for it waits, but it is still read: an agent that can do
        only one thing at a time would wait for us, and we for it.
        """
        return self.channel.pending > UNREAD_BYTES

    def _watch_pipe(self) -> None:
        """Free what the pipe has taken, now or when it has."""
        if self.over or self.channel.pending <= PIPE_BYTES:
            self._on_taken()
            return
        if self.is_behind:
            for budget in list(self._lent & self._full):
                self.release(budget)
        if self._draining is None:
            loop = asyncio.get_running_loop()
            self._draining = loop.create_task(self._drain(), name="hub waits for an agent to read")

    async def _drain(self) -> None:
        try:
            await self.channel.drain()
        except LinkClosed:
            pass  # what it has not taken, it never will
        finally:
            self._draining = None
        self._on_taken()

    def _on_taken(self) -> None:
        untaken, self._untaken = self._untaken, []
        for budget, size in untaken:
            budget.remove(size)
        if len(self._last_said) >= self._most_said or self._closed_streams:
            self._drop_taken_numbers()
        self._refused_bytes = 0
        if self in self._full:
            self.release(self)

    def _drop_taken_numbers(self) -> None:
        """Now and then: to look at all of them for each frame would cost a walk through all sessions."""
        taken_numbers = self.channel.taken_numbers
        self._last_said = {
            stream: last for stream, last in self._last_said.items() if last > taken_numbers.get(stream, 0)
        }
        self._most_said = 2 * len(self._last_said) + SAID_STREAMS
        for stream in self._closed_streams - self._last_said.keys():
            self._closed_streams.discard(stream)
            self.channel.forget(stream)

    def expect(
        self,
        request_id: int | str,
        waiting: LiveSession | asyncio.Future[Raw],
        method: str = "session/prompt",
    ) -> None:
        """Pass the answer to this request to its waiter. It may have arrived while a session was opened."""
        self._connection.expect(request_id, method, waiting)
        if (early := self._unclaimed.pop(request_id, None)) is not None:
            asyncio.get_running_loop().call_soon(self._on_answer, *early, Receipt(early[2]))

    def knows(self, own: str, process_id: int) -> bool:
        """Whether it can continue a session that `process` knew last, by the id `own`."""
        return (
            self.survives
            and not self.over
            and process_id == self.process_id
            and own not in self.abandoned_ids
        )

    def join(
        self, session: LiveSession, own: str, *, note: BroughtBack | None = None, last_received: int = 0
    ) -> None:
        """Note that it knows the session from now on, by the id `own`. `note` is for the stream, unless the
        stream has it already.
        """
        self.sessions[own] = session
        self.own_ids[session.id] = own
        self.abandoned_ids.pop(own, None)
        self.used = asyncio.get_running_loop().time()
        session.bind(self, note=note, last_received=last_received)
        self.on_joined(own)

    def forget(self, session: LiveSession, *, for_good: bool = False) -> str:
        """Forget a session that the process no longer knows; return its own id. `for_good` also drops its
        later messages about the session: they must not create a child session.
        """
        own = self.own_ids.pop(session.id, session.id)
        self.sessions.pop(own, None)
        if for_good:
            self.abandoned_ids[own] = None
            if len(self.abandoned_ids) > ABANDONED_NAMES:
                del self.abandoned_ids[next(iter(self.abandoned_ids))]  # the oldest
        return own

    def part_from(self, session: LiveSession) -> None:
        """Note that another process or node has the session from now on."""
        own = self.forget(session, for_good=True)
        for call in list(self._connection.calls.values()):
            if call.context is session:
                self._connection.take(call.id)
        self.release(session.bounds.entries)
        session.drop_receipts()
        if session.state.turn is not None:
            self.notify("session/cancel", encode_json({"sessionId": own}))

    def promise(self, number: int, method: str) -> asyncio.Future[Raw]:
        """Return the future answer to a request that another part of the hub sends under this id."""
        future: asyncio.Future[Raw] = asyncio.get_running_loop().create_future()
        self.expect(number, future, method)
        future.add_done_callback(lambda _: self._connection.take(number))
        if self.end is not None:
            future.set_exception(self.failure())
        return future

    @property
    def is_calm(self) -> bool:
        """Whether no caller waits for it, and it waits for none, so that it may be ended. A login takes time,
        and a session that is being created or searched is not among its sessions yet.
        """
        is_awaited = self._connection.calls or self._making or self._seeking
        return not is_awaited and all(
            session.state.is_calm and not session.has_more_to_say for session in self.sessions.values()
        )

    def failure(self) -> AgentFailed:
        """The reason why no more can be expected of it."""
        end = self.end or self.ended_so_far("it was given up")
        return AgentFailed(end.message, end.details())

    def cut_short(self) -> dict[str, Any]:
        """The error of a turn that it has not ended."""
        message = f"the turn was cut short: {self.over}"
        return {"code": INTERNAL_ERROR, "message": message, "data": self.failure().details}

    def ended_so_far(self, reason: str, exit_status: int | None = None) -> AgentEnd:
        """Return its end as known so far, with its standard error until now."""
        return AgentEnd(agent=self.agent, exit_status=exit_status, reason=reason, stderr=self._stderr.lines())

    @contextmanager
    def making(self) -> Iterator[None]:
        """Hold the agent's messages about a session that is being created, until its id is known."""
        self._making += 1
        try:
            yield
        finally:
            self._end_making()

    def on_joined(self, own: str) -> None:
        """Handle the messages from before the session was known: they no longer wait for other sessions."""
        if own in self._early:
            asyncio.get_running_loop().call_soon(self._sort_known, own)

    def _sort_known(self, own: str) -> None:
        """Sort messages of known sessions; a session being looked for waits until its parent's stream names
        it.
        """
        if own in self.sessions and own not in self._looking:
            self._sort_early(own)

    def _end_making(self) -> None:
        self._making -= 1
        if not self._making:
            self._go_on()

    def _go_on(self) -> None:
        """Continue with early messages, in the order in which their sessions were named: one may announce the
        next.
        """
        for name in list(self._early):
            if self._looking or self._making:
                return
            self._sort_early(name)

    def _sort_early(self, name: str) -> None:
        """Sort messages that came before their session was known."""
        for frame, number, receipt in self._early.pop(name, ()):
            self._early_count -= 1
            self._early_bytes -= len(frame)
            self._sort(frame, number, receipt)
            self.on_stored(receipt)

    async def call(
        self,
        method: str,
        params: object,
        *,
        within: float | None = None,
        waits_for_person: Callable[[], bool] = nobody,
    ) -> Raw:
        """Send the agent a request. Raises `CallFailed` with its error, `LinkClosed` if it is gone,
        `TimeoutError`. `within` overrides the usual deadline.
        """
        seconds = within or bound(method, CALL_SECONDS, receiver="agent")
        number = self.next_id()
        future = self.promise(number, method)
        self._write(request(number, method, params if isinstance(params, bytes) else encode_json(params)))
        return await self.result(future, method, within=seconds, waits_for_person=waits_for_person)

    def request_load(self, session: LiveSession, number: int, method: str, params: object) -> None:
        """Send a request whose answer is promised under this id. It counts as the entry of the session's
        stream that names it: the next hub sees whether the agent has it.
        """
        last = session.state.taken_before + session.state.bound_at
        if self.survives:
            self._remember_number(session.stream, last)
        self._write(request(number, method, encode_json(params)), stream=session.stream, last=last)

    def has_load(self, state: SessionState) -> bool:
        """Whether the agent got the load request that the session's stream names."""
        return self.last_taken(state) >= state.bound_at

    async def result(
        self,
        future: asyncio.Future[Raw],
        method: str,
        *,
        within: float | None,
        waits_for_person: Callable[[], bool],
    ) -> Raw:
        """Return the result of `call` for a request that was already sent."""
        result = await answer_within(future, within, waits_for_person=waits_for_person)
        return result if bytes(result) != b"null" else _empty_result(method)

    def keep_answer(self, number: int) -> None:
        """Acknowledge the answer to this request only after a session has stored its result; until then the
        agent's host sends it again to the next hub.
        """
        self._kept_answers[number] = None

    def number_of_answer(self, number: int) -> int:
        """Return the number of the frame with the answer to this request; 0 if there is none yet."""
        answer = self._kept_answers.get(number)
        return 0 if answer is None else answer[0]

    def take_answer(self, number: int) -> Receipt | None:
        """Return the receipt of the answer, which the caller must give back; None if there is no answer."""
        answer = self._kept_answers.pop(number, None)
        return None if answer is None else answer[1]

    def notify(self, method: str, params: bytes) -> None:
        self._write(notification(method, params))

    def _write(self, block: bytes, *, stream: str = "", last: int = 0) -> None:
        try:
            self.channel.write(block, stream=stream, last=last)
        except LinkClosed:
            pass  # its end is on its way to us

    # What it says: the sink of the line.

    def feed(self, first: int, block: bytes) -> None:
        """Receive frames. Consecutive notifications of one session stay together. Every line has its number,
        even a blank or dropped one, and the numbers of a run have no gaps. Fields that belong to the hub are
        removed here, so that later code need not check whether an agent wrote them.
        """
        if may_hold(block):
            block = b"\n".join(map(self._without_our_names, block.split(b"\n")))
        lines = BlockLines(block)
        receipt = Receipt(first + len(lines) - 1)
        self.last_frame = receipt.last
        self._receipts.append(receipt)
        names = sessions_of(block, lines)
        if names.count(names[0]) == len(names):  # nearly every block
            self._take(names[0], lines, first, receipt)
        else:
            place = 0
            for name, run in groupby(names):
                begin, place = place, place + len(list(run))
                self._take(name, lines[begin:place], first + begin, receipt)
        self.on_stored(receipt)

    def _without_our_names(self, line: bytes) -> bytes:
        """The params without the hub's own names; empty if nothing else remains. A request stays: it is the
        hub that answers it.
        """
        if not may_hold(line) or isinstance(decode(line), MalformedFrame):
            return line
        try:
            line = stripped(passable(line), edges=self._is_interpreted)
        except UNREADABLE:
            self._invalid.add(len(line), "it has values that cannot be read, or too many")
            return b""
        message = decode(line)
        if isinstance(message, Notification) and message.method.startswith(METHOD):
            self._invalid.add(len(line), f"{METHOD} begins methods of the hub")
            return b""
        return line

    def _take(self, name: str, lines: list[bytes], first: int, receipt: Receipt) -> None:
        """Lines that are all notifications of one session, or all something else if it has no name."""
        session = self.sessions.get(name)
        if session is not None and session.id == name and name not in self._early:
            session.on_updates(lines, first + len(lines) - 1, self, self._open(receipt))
        else:
            for number, line in enumerate(lines, first):
                self._sort(line, number, receipt)

    def _sort(self, line: bytes, number: int, receipt: Receipt) -> None:
        if not line or line.isspace():
            return
        message = decode(line)
        if isinstance(message, MalformedFrame):
            self._drop(message, number, receipt)
        elif isinstance(message, Response | Failure):
            self._on_answer(passable(line), message, number, receipt)
        else:
            self._give(passable(line), message, number, receipt)

    def _give(self, frame: bytes, message: Request | Notification, number: int, receipt: Receipt) -> None:
        """To the session that it is about."""
        name = session_of(message.params)
        if isinstance(message, Request) and self._refusals.has(name, number):
            return
        session = self.sessions.get(name) if name else None
        waits = name in self._early  # behind what was said before the session was known
        if session is not None and not waits:
            if session.id != name:
                frame = with_session_id(frame, session.id)
            if isinstance(message, Notification):
                session.on_updates([frame], number, self, self._open(receipt))
            else:
                session.on_request(frame, message.id, number, self, self._open(receipt))
        elif (waits or self._is_awaited(name)) and self._has_room_for_early(frame):
            self._early.setdefault(name, []).append((frame, number, self._open(receipt)))
            self._early_count += 1
            self._early_bytes += len(frame)
            if isinstance(message, Request) and self._making:
                loop = asyncio.get_running_loop()
                loop.call_later(EARLY_SECONDS, self._refuse_early, name, message.id, number)
        else:
            self._on_sessionless_message(frame, message, name, number)

    def _refuse_early(self, name: str, request_id: Id, number: int) -> None:
        """Refuse requests about a session that is still being made: it has no people to ask."""
        early = self._early.get(name, [])
        place = next((place for place, entry in enumerate(early) if entry[1] == number), None)
        if place is None or self.over or not self._making or name in self._looking:
            return
        frame, _, receipt = early.pop(place)
        if not early:
            del self._early[name]
        self._early_count -= 1
        self._early_bytes -= len(frame)
        error = error_object(INVALID_REQUEST, "Invalid request: the session is not there yet")
        self.refuse([request_id], error, number=number, name=name)
        self.on_stored(receipt)

    def _is_awaited(self, name: str) -> bool:
        """Whether it may be a session in a moment: one that is being made, or looked for."""
        if self._making or name in self._looking:
            return True
        return self._may_seek(name) if self._looking else self._seek(name)

    def _has_room_for_early(self, frame: bytes) -> bool:
        if self._early_count < EARLY and self._early_bytes + len(frame) <= EARLY_BYTES:
            return True
        self._acknowledge_early()
        return False

    def _acknowledge_early(self) -> None:
        """The agent host sends no more while too much is unacknowledged, and the answer that is waited for is
        among that: what waits here is then lost if the hub is killed before the session is made.
        """
        receipts = [receipt for early in self._early.values() for _, _, receipt in early]
        for early in self._early.values():
            early[:] = [(frame, number, Receipt(number)) for frame, number, _ in early]
        for receipt in receipts:
            self.on_stored(receipt)

    def _drop(self, invalid: MalformedFrame, number: int, receipt: Receipt) -> None:
        """Count what is not a message. If somebody waits for it under an id that can be read, the wait ends
        with an error. A line without an id is not answered: it may be noise on the agent's standard output.
        """
        why = invalid.why
        self._invalid.add(len(invalid.frame), why)
        outline = glance(invalid.frame)
        if isinstance(outline.id, UnsetType):
            return
        if outline.method is UNSET:
            error = error_object(INTERNAL_ERROR, f"Internal error: the agent's answer is invalid: {why}")
            answer = Failure(outline.id, error)
            self._on_answer(encode(answer)[:-1], answer, number, receipt)
        elif invalid.code is not None and not self._refusals.has("", number):
            error = error_object(invalid.code, f"{NAMES[invalid.code]}: {why}")
            self.refuse([outline.id], error, number=number)

    def seek_child(self, own: str) -> None:
        """Treat a child that one of our sessions has announced as a session."""
        if own not in self.sessions and own not in self._looking:
            self._unknown.pop(own, None)
            self._seek(own)

    def _seek(self, session_id: str) -> bool:
        """Look for a session, which may rest in the journal or be a child of another session; it is looked
        for once. The agent is not read meanwhile: what it says of the session waits here.
        """
        if not self._may_seek(session_id):
            return False
        self._unknown[session_id] = 0
        if len(self._unknown) > UNKNOWN_NAMES:
            del self._unknown[next(iter(self._unknown))]  # the oldest
        self._looking.add(session_id)
        self.hold(LOOKING)
        task = asyncio.get_running_loop().create_task(self._look_for(session_id), name="hub seeks a session")
        self._seeking.add(task)
        task.add_done_callback(self._seeking.discard)
        return True

    @property
    def is_seeking(self) -> bool:
        return bool(self._seeking)

    async def wait_for_seeking(self) -> None:
        """Wait until the current searches for sessions have ended. Each search has a time limit."""
        if self._seeking:
            await asyncio.wait(set(self._seeking))

    async def finish_seeking(self) -> None:
        """Wait for the last searches for sessions. A caller that does not wait ends them."""
        try:
            await self.wait_for_seeking()
        finally:
            await self.stop_seeking()

    async def stop_seeking(self) -> None:
        """Stop looking for sessions: no part of the hub waits for the result."""
        self._is_leaving = True
        seeking = list(self._seeking)
        for task in seeking:
            task.cancel()
        await asyncio.gather(*seeking, return_exceptions=True)

    def _may_seek(self, session_id: str) -> bool:
        return bool(session_id) and session_id not in self._unknown and session_id not in self.abandoned_ids

    async def _look_for(self, session_id: str) -> None:
        try:
            await self._find(self, session_id)
        finally:
            self._looking.discard(session_id)
            if not self._is_leaving:  # else what it said stays with its host, and the next hub hears it
                self._on_search_end(session_id)

    def _on_search_end(self, session_id: str) -> None:
        if session_id in self.sessions:
            self._unknown.pop(session_id, None)  # it may rest, and be looked for again
        if not self._making or session_id in self.sessions:
            self._sort_early(session_id)
        self._go_on()
        if not self._looking:
            self.release(LOOKING)

    def _on_answer(self, frame: bytes, answer: Response | Failure, number: int, receipt: Receipt) -> None:
        call = self._connection.take(answer.id)
        if call is None:  # it answers a hub before this one: perhaps a session that is not open yet
            if len(frame) <= UNCLAIMED_BYTES:
                self._unclaimed[answer.id] = (frame, answer, number)
            if len(self._unclaimed) > UNCLAIMED:
                del self._unclaimed[next(iter(self._unclaimed))]  # the oldest
            return
        if isinstance(answer, Failure):
            answer = Failure(answer.id, self._stderr.secrets.cover_error(answer.error))
        waiting = call.context
        if not isinstance(waiting, asyncio.Future):
            self._sort_known(self.own_ids.get(waiting.id, waiting.id))  # the answer is behind all of that
            waiting.on_answer(frame, answer, number, self, self._open(receipt))
        elif not waiting.done():
            if answer.id in self._kept_answers:
                self._kept_answers[answer.id] = (number, self._open(receipt))
            if isinstance(answer, Response):
                waiting.set_result(answer.result)
            else:
                waiting.set_exception(failed_with(answer.error))

    def _on_sessionless_message(
        self, frame: bytes, message: Request | Notification, name: str, number: int
    ) -> None:
        """Handle a message that names no known session; `name` is the one that it means, if it means one."""
        if number <= self._unknown.get(name, 0):
            return
        if isinstance(message, Notification):
            self._sessionless.on_notification(frame, message, name)
        else:
            error = error_object(METHOD_NOT_FOUND, "Method not found: the hub knows no such session")
            self.refuse([message.id], error, number=number, name=name)

    def stderr(self, line: bytes) -> None:
        self._stderr.add(line)

    def on_oversized(self, number: int, size: int) -> None:
        log.warning("%s sent a message of %d bytes, which was skipped", self.agent, size)
        self.on_stored(self._open(Receipt(number)))

    def on_end(self, reason: str, exit_status: int | None) -> None:
        self._invalid.flush()
        self.end = self.ended_so_far(reason, exit_status)
        self.over = self.end.message
        for call in self._connection.abandon():
            if isinstance(call.context, asyncio.Future) and not call.context.done():
                call.context.set_exception(self.failure())
        self._on_taken()
        self._on_end(self)

    # Receipts and back-pressure.

    def _open(self, receipt: Receipt) -> Receipt:
        receipt.open += 1
        return receipt

    def on_stored(self, receipt: Receipt) -> None:
        """Note that a part of a block is stored."""
        receipt.open -= 1
        last = 0
        while self._receipts and self._receipts[0].open == 0:
            last = self._receipts.popleft().last
        if last and not self.over:
            self._acknowledged_frame = last
            self.channel.acknowledge(last)
            for stream in self._refusals.take_acknowledged(last):
                self.forget_numbers(stream)

    def hold(self, holder: object) -> None:
        """Pause reading for this reason."""
        if not self._full and not self.over:
            self.channel.pause()
        self._full.add(holder)

    def hold_while_full(self, budget: ByteBudget) -> None:
        """Count its bytes in this budget, and pause reading until there is room."""
        if budget not in self._full:
            self.hold(budget)
            budget.when_room(partial(self.release, budget))

    def slow_down(self, lent: ByteBudget) -> None:
        """Do the same for requests that we carry out, unless it has much to read (see `is_behind`)."""
        if lent.is_full and not self.is_behind:
            self._lent.add(lent)
            self.hold_while_full(lent)

    def release(self, holder: object) -> None:
        self._full.discard(holder)
        self._lent.discard(holder)
        if not self._full and not self.over:
            self.channel.resume()

    # What it can.

    def can(self, *path: str) -> bool:
        """Whether it has announced a capability, such as `can("sessionCapabilities", "resume")`."""
        value: Any = self.initialize_result.get("agentCapabilities")
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return value is not None and value is not False


def _empty_result(method: str) -> Raw:
    """The meaning of an answer without a result: success where a result may be empty, else a failure."""
    row = METHODS.get(method, kind="request", receiver="agent")
    if row is None:
        return Raw(b"null")  # an extension: null may be what it means
    if row.needs_result:
        raise CallFailed(INTERNAL_ERROR, f"Internal error: {no_result(method)}", method=method)
    return Raw(b"{}")


def failed_with(error: ErrorObject) -> CallFailed:
    """Return an agent's error as an exception that may be passed on to clients."""
    return CallFailed(
        error.code or INTERNAL_ERROR, error.message, None if error.data is UNSET else error.data
    )

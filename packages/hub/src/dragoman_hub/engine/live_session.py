"""A session that is open at this hub: runs its state machine, stores the entries that the machine writes, and
carries out its actions.

What the session has come to is one value, `state`, which `dispatch` replaces by what `step` makes of it.
Whatever else is held here is lost by a crash without harm: the process that knows the session, the clients
that follow it, timers, and tasks that report back with an event.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, TypeAlias
from uuid import uuid4

from msgspec import Raw
from msgspec.structs import replace

from dragoman.errors import AgentFailed, CallFailed, DragomanError, JournalError, LinkClosed
from dragoman.runtime.locks import KeyedLock, LazyEvent
from dragoman.runtime.small_queue import SmallQueue
from dragoman.wire import ErrorObject, Failure, Response, decode, error_object, notification, request
from dragoman.wire.codes import CANCELLED as REQUEST_CANCELLED
from dragoman.wire.codes import INTERNAL_ERROR
from dragoman.wire.envelope import Id
from dragoman_hub.engine.bounds import TOO_MANY_REQUESTS, SessionBounds, size_of_request
from dragoman_hub.engine.key_lookup import KeyLookups
from dragoman_hub.engine.log import EntryLog
from dragoman_hub.engine.ownership import SessionLease
from dragoman_hub.engine.pending_entries import PendingEntries, unstored_error
from dragoman_hub.engine.ports import AgentPort, ClientPort, FollowerPort, HubPort, Receipt
from dragoman_hub.engine.reminders import with_note
from dragoman_hub.session import events as ev
from dragoman_hub.session.frames import encode_json, merge_ours, no_result, object_of, value_of
from dragoman_hub.session.machine import StepResult, Verdict, prompt_verdict, step
from dragoman_hub.session.message_ids import MessageIds
from dragoman_hub.session.state import (
    ANSWERS,
    OWN_ID,
    SAVED_STATES,
    TEXT_KINDS,
    OpenRequest,
    PromptAnswer,
    SessionState,
    are_chunks,
    tool_call_updates,
)
from dragoman_local.journal.entry_runs import FrameRun, RunPage
from dragoman_local.secrets.search import redact
from dragoman_local.workspace.policy.tool_calls import ToolCalls

log = logging.getLogger(__name__)

_redact = lru_cache(1024)(redact)

CLOSE_SECONDS = 5.0
"""The most seconds for an agent to end a turn whose session is being closed, and then to
close the session.
"""

HOLD_SECONDS = 0.02
"""The seconds that a prompt waits to be stored while a snapshot of its folder is taken: most are complete
before.
"""

SESSION_CLOSED = "Request cancelled: the session is closed"
NO_MEMORY = error_object(INTERNAL_ERROR, "there is too little memory for the prompt")
LOAD_GIVEN_UP = error_object(REQUEST_CANCELLED, "Request cancelled: the session was not loaded")

NO_SETUP: Mapping[str, Any] = {}
"""One shared object for any number of sessions."""

CALM = frozenset({"idle", "failed"})
"""States in which a starting hub does not search for the session: listings show them after
they are stored.
"""


class LiveSession:
    """An open session. The hub creates it for a new session, or when a client opens one. Thousands may be
    idle.
    """

    __slots__ = (
        *("hub", "id", "stream", "followers", "process", "log", "lease", "checkpoint_at", "listed_state"),
        *("is_replaying", "needs_reminder", "setup", "used", "closed_event", "_state", "_calls", "_bounds"),
        *("_binding", "_pending", "_lookups", "_effects", "_receipts", "_storage_callbacks", "_steer_events"),
        *(
            "_waiting",
            "_awaits_hearing",
            "_acted_upon",
            "_timer",
            "_close_at",
            "_trouble",
            "_messages",
            "__weakref__",
        ),
    )

    def __init__(self, hub: EngineHub, state: SessionState, *, listed_state: str = "") -> None:
        """`listed_state` is the state of the session in listings."""
        self.hub, self._state = hub, state
        self.id = self.stream = state.id
        self.followers: tuple[SessionFollower, ...] = ()
        self.process: SessionProcess | None = None
        """The process that knows this session; None if none does."""
        self.log = EntryLog(
            hub.journal, self, ownership=hub.ownership, last=state.last, log_round=hub.log_round
        )
        self.lease = SessionLease(state.id)
        self.checkpoint_at = 0
        """The last entry that a checkpoint in the stream covers."""
        self.listed_state = listed_state
        # Made when they are needed, and dropped when the session rests: see `shed`.
        self._bounds: SessionBounds | None = None
        self._binding: KeyedLock | None = None
        self._pending: PendingEntries | None = None
        self._lookups: KeyLookups | None = None
        self._calls: ToolCalls | None = None
        self.is_replaying = self._awaits_hearing = False
        """Whether the agent tells what is in the stream already."""
        self.needs_reminder = False
        """Whether the agent was never told what the session is about: it needs a reminder."""
        self.setup: Mapping[str, Any] = NO_SETUP
        """What a client brought along for its agent, such as MCP servers; kept in memory only."""
        self.used = asyncio.get_running_loop().time()
        """When a client or a turn of it was there last."""
        self.closed_event = LazyEvent()
        """The session is closed, or lost: nothing happens here any more."""
        self._effects: SmallQueue[ev.Effect] = SmallQueue()  # of entries that are not stored yet
        self._receipts: SmallQueue[tuple[int, SessionProcess, Receipt]] = SmallQueue()  # with the last entry
        self._storage_callbacks: SmallQueue[tuple[int, Callable[[], None]]] = SmallQueue()
        self._steer_events: dict[str, asyncio.Event] | None = None  # of whoever waits for an outcome
        self._waiting: tuple[asyncio.Event, ...] = ()  # of whoever waits for the journal
        self._acted_upon = state.last
        """Effects of entries up to this one are done."""
        self._timer: asyncio.TimerHandle | None = None
        # By the loop's time: somebody may set the clock back while it is closed. And why the journal does
        # not store what happens.
        self._close_at, self._trouble = 0.0, ""
        self._messages: MessageIds | None = None  # while a turn runs
        self._count_bytes()
        self.dispatch(ev.EntriesStored(last=state.last))
        if hub.draining:
            self.dispatch(ev.Draining())

    @property
    def state(self) -> SessionState:
        return self._state

    @property
    def title(self) -> str:
        """The title as the journal stores it: it is often a prompt, and devices keep lists of titles."""
        return _redact(self._state.title)

    @property
    def bounds(self) -> SessionBounds:
        if self._bounds is None:
            self._bounds = self.hub.bounds.session(self._state.agent)
        return self._bounds

    @property
    def binding(self) -> KeyedLock:
        """A lock for binding the session to a process, or unbinding it."""
        if self._binding is None:
            self._binding = KeyedLock()
        return self._binding

    @property
    def pending(self) -> PendingEntries:
        if self._pending is None:
            self._pending = PendingEntries(self.hub.journal, self.hub.owner, self.id, on_idle=self.shed)
        return self._pending

    @property
    def lookups(self) -> KeyLookups:
        if self._lookups is None:
            self._lookups = KeyLookups(self, self.hub.journal, self.hub.owner)
        return self._lookups

    def shed(self) -> None:
        """Free parts without work: they are created again when needed."""
        if self._bounds is not None and self._bounds.is_idle:
            self._bounds = None
        if self._binding is not None and not self._binding.in_use:
            self._binding = None
        if self._pending is not None and self._pending.is_idle:
            self._pending = None
        if not self._lookups:
            self._lookups = None

    def bring_servers(self, servers: object) -> None:
        """Set a client's MCP servers for its agent. An agent without servers gets no note of them."""
        if servers or self.setup:
            self.setup = {**self.setup, "mcpServers": servers or []}

    @property
    def calls(self) -> ToolCalls:
        """The agent's messages about its tool calls."""
        if self._calls is None:
            self._calls = ToolCalls()
        return self._calls

    @calls.setter
    def calls(self, calls: ToolCalls) -> None:
        self._calls = calls or None

    def follower_of(self, client: ClientPort) -> SessionFollower | None:
        """Return this client's follower of the session; None if it does not follow."""
        return next((follower for follower in self.followers if follower.client is client), None)

    def add_follower(self, follower: SessionFollower) -> None:
        """Add a follower, in place of the earlier one of its client."""
        self.remove_follower(follower.client)
        self.followers = (*self.followers, follower)

    def remove_follower(self, client: ClientPort) -> None:
        self.followers = tuple(follower for follower in self.followers if follower.client is not client)

    def ancestors(self) -> Iterator[LiveSession]:
        """The session itself, its parent, and so on, as far as they are open."""
        session: LiveSession | None = self
        while session is not None:
            yield session
            session = self.hub.sessions.get(session.state.parent)

    @property
    def root(self) -> LiveSession:
        """The client's session at the root of this one; itself, unless it is a child."""
        *_, last = self.ancestors()
        return last

    @property
    def _is_ending(self) -> bool:
        """Whether a session for which this one works is being closed."""
        return any(session.state.phase != "open" for session in self.ancestors())

    @property
    def has_relatives(self) -> bool:
        """Whether it has a parent or children."""
        return bool(self._state.children or self._state.parent)

    def name_of(self, own: str) -> str:
        """Return our id for a session that the agent calls `own` in this one: this one itself, a child of it,
        or the same of its parents; `own` if there is none.
        """
        for session in self.ancestors():
            if session.state.agent_session == own:
                return session.id
            if name := session.state.child(own).id:
                return name
        return own

    @property
    def is_forgettable(self) -> bool:
        """Whether the hub can drop it from memory without loss until the next request."""
        state = self._state
        quiet = state.is_calm and not (self.followers or self.process)
        at_rest = quiet and state.phase == "open" and self.log.last == state.last and not self._effects
        return at_rest and not self.binding.in_use and not self.lookups

    @property
    def is_movable(self) -> bool:
        """Whether another node may take it over: it works for no running turn, and its agent has all its
        answers. An answer during the move is not stored, and would be sent again.
        """
        return not (self.root.state.waits_for_agent or self.unanswered_requests())

    @property
    def is_releasable(self) -> bool:
        """Whether its agent can close it unnoticed: it is loaded again on demand."""
        state, process = self._state, self.process
        if process is None or process.over or state.phase != "open" or self.followers or self.binding.in_use:
            return False
        if state.parent or any(child.state.requests for child in self.hub.children.open_children(self)):
            return False  # children are not the client's to close, and rest in their own way
        returns = process.can("sessionCapabilities", "resume") or process.can("loadSession")
        return state.is_calm and returns and process.can("sessionCapabilities", "close")

    # Events.

    def dispatch(self, event: ev.Event, on_stored: Callable[[], None] | None = None) -> Verdict:
        """Handle an event. `on_stored` is called when its consequences are stored."""
        before = self._state
        result = step(before, event, time.time())
        self._state = result.state
        if result.entries:
            self.log.add(result.entries, replaces_receipt=result.replaces_receipt)
        if on_stored is not None:
            self._storage_callbacks.append((result.state.last, on_stored))
        if result.effects:
            self._plan(result)
        self._compare(before, result.state)
        self._do_until(self._acted_upon)
        return result.verdict

    def _plan(self, result: StepResult) -> None:
        """Some of it cannot wait for the journal."""
        for effect in result.effects:
            match effect:
                case ev.ReplaceEntry(after=number, frame=frame):
                    self.log.replace(number, frame)
                    self._unsay(number)
                case ev.StartTurn(key=key) if self.log.is_held:
                    self.hub.owner.start(self._start(key))
                case ev.RefusePrompt(key=key, error=error):
                    self.refuse_prompt(key, error)
                case _:
                    if type(effect) is ev.SendToAgent:
                        self.bounds.answers.add(len(effect.frame))
                    if type(effect) is ev.RequestSettled and effect.outcome != "answered":
                        self.hub.broker.judge.on_end(
                            self, effect.request, outcome=effect.outcome, result=effect.result
                        )
                    self._effects.append(effect)

    def _unsay(self, number: int) -> None:
        """The agent is not given what was to be this entry."""
        for _ in range(len(self._effects)):
            effect = self._effects.popleft()
            if type(effect) is ev.SendToAgent and effect.after == number:
                self.bounds.answers.remove(len(effect.frame))
            else:
                self._effects.append(effect)

    def _compare(self, before: SessionState, after: SessionState) -> None:
        if after.title is not before.title and after.title != before.title:
            self.hub.describe(self, title=after.title)
        if after.children is not before.children:
            self.hub.children.on_change(self, before)
        if after.queue is not before.queue or after.requests is not before.requests:
            self._count_bytes()
        if after.requests is not before.requests or after.phase is not before.phase:
            self._set_timer()
        if after.requests is not before.requests and after.withheld_from != before.withheld_from:
            for follower in self.followers:
                follower.on_judged()
        if (
            after.turn is not before.turn
            or after.queue is not before.queue
            or after.requests is not before.requests
            or after.start is not before.start
            or after.steers is not before.steers
            or after.loading != before.loading
            or after.title != before.title
        ):
            self.on_change(is_waiting=after.last > before.last)

    def _count_bytes(self) -> None:
        """Of prompts that wait, and of requests that have no answer."""
        state = self._state
        if state.queue or state.requests or self._bounds is not None:
            self.bounds.count_prompts([prompt.params for prompt in state.queue])
            self.bounds.count_requests([request.params for request in state.requests.values()])

    @property
    def last_visible(self) -> int:
        """The last entry that clients may get: none from the first unjudged question on."""
        withheld_from = self._state.withheld_from
        return min(self.log.last, withheld_from - 1) if withheld_from else self.log.last

    @property
    def shown_state(self) -> str:
        """One word for clients; a closed session that is only read stays closed."""
        state = self._state.listed_state
        return self.listed_state if state in CALM and self.listed_state in SAVED_STATES else state

    def on_change(self, *, is_waiting: bool = False) -> None:
        """Inform listings and watchers about the session's state. Waiting entries may carry it to the
        journal.
        """
        state = self._state
        listed_state = state.listed_state
        is_certain = listed_state not in CALM or self.log.last == state.last
        if listed_state != self.listed_state and is_certain and state.phase == "open":
            self.listed_state = listed_state
            if self.log.state != listed_state and (self.hub.ownership.is_shared or not is_waiting):
                self.hub.describe(self, state=listed_state)
        self.hub.on_session_change(self)

    def state_to_list(self, *, is_last: bool) -> str:
        """Return the state for listings that the journal gets with entries, perhaps the last waiting ones.
        Empty if listings already have it, or if it is not certain yet. A cluster has its own list.
        """
        listed_state = self._state.listed_state
        if self.hub.ownership.is_shared or self._state.phase != "open" or listed_state == self.log.state:
            return ""
        if listed_state in CALM and (not is_last or self.has_more_to_say):
            return ""
        self.hub.pending_descriptions.get(self.stream, {}).pop("state", None)
        return listed_state

    @property
    def has_more_to_say(self) -> bool:
        """Whether messages for its agent are still being sent: see `_rest_when_heard`."""
        is_unheard = self.process is not None and self.process.has_unheard(self.stream)
        return is_unheard or any(type(effect) is ev.SendToAgent for effect in self._effects)

    def _set_timer(self) -> None:
        state, loop = self._state, asyncio.get_running_loop()
        now = time.time()
        waits = [
            (request.expires - now, request.expires) for request in state.requests.values() if request.expires
        ]
        if state.phase == "closing" and state.turn is not None:
            waits.append((self._close_at - loop.time(), state.close_by))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if waits:
            seconds, due = min(waits)
            self._timer = loop.call_later(max(0.0, seconds), self._on_time, due)

    def _on_time(self, due: float) -> None:
        self._timer = None
        self.dispatch(ev.TimePassed(due=due))
        if self._timer is None:
            self._set_timer()

    # From the agent.

    def on_updates(
        self, frames: Sequence[bytes], number: int, process: SessionProcess, receipt: Receipt
    ) -> None:
        if self.is_replaying or (self._state.parent and self.root.is_replaying):
            process.on_stored(receipt)
            return
        if self._state.parent:
            self.used = asyncio.get_running_loop().time()
        turn = self._state.turn
        key = "" if turn is None else turn.key
        messages = self._messages
        if messages is None:
            messages = self._messages = MessageIds()
        goes_on = process.survives and self.log.may_go_on()
        pieces = messages.go_on(frames, turn=key)
        if pieces is None:
            sequence = self._state.last + (0 if goes_on else 1)
            frames = messages.stamp(self.id, frames, turn=key, sequence=sequence)
            is_text = are_chunks(self.id, frames)
        else:
            frames, is_text = pieces, messages.kind in TEXT_KINDS
        verdict = self.dispatch(
            ev.UpdatesReceived(frames=frames, number=number, are_chunks=is_text, go_on=goes_on)
        )
        if verdict == "done" and not is_text:
            calls = {self.calls.hear(self.id, update) for update in tool_call_updates(self.id, frames)}
            if calls and self._state.requests:
                self.hub.broker.judge.on_tool_calls(self, calls)
            self.hub.changes.on_updates(self.id, frames)
        self._keep_receipt(process, receipt, verdict)

    def continue_message(self, frame: bytes) -> None:
        """Continue a message whose last stored update came from an earlier hub."""
        turn = self._state.turn
        if turn is not None and frame:
            self._messages = MessageIds.after(self.id, frame, turn=turn.key, since=turn.sequence)

    def on_request(
        self, frame: bytes, request_id: Id, number: int, process: SessionProcess, receipt: Receipt
    ) -> None:
        event: ev.Event = ev.RequestReceived(
            frame=frame, id=request_id, number=number, is_ending=self._is_ending
        )
        if not self.bounds.requests.fits(size_of_request(frame)):
            self._refuse(request_id, error_object(INTERNAL_ERROR, TOO_MANY_REQUESTS), number, process)
            event = ev.FrameDropped(number=number)
        verdict = self.dispatch(event)
        if self._state.phase == "closed":
            self._refuse(request_id, error_object(REQUEST_CANCELLED, SESSION_CLOSED), number, process)
        self._keep_receipt(process, receipt, verdict)

    def _refuse(self, request_id: Id, error: ErrorObject, number: int, process: SessionProcess) -> None:
        process.refuse([request_id], error, number=number, name=process.own_ids.get(self.id, self.id))

    def unanswered_requests(self) -> list[Id]:
        """Ids of the agent's requests without a stored answer."""
        waiting = [decode(effect.frame) for effect in self._effects if isinstance(effect, ev.SendToAgent)]
        answers = [message.id for message in waiting if isinstance(message, Response | Failure)]
        return answers + [request.id for request in self._state.requests.values() if not request.is_own]

    def on_answer(
        self,
        frame: bytes,
        answer: Response | Failure,
        number: int,
        process: SessionProcess,
        receipt: Receipt,
    ) -> None:
        """Handle the answer to a prompt of the hub."""
        ending: dict[str, Any] = {}
        if isinstance(answer, Failure):
            ending["error"] = replace(answer.error, code=answer.error.code or INTERNAL_ERROR)
        elif object_of(answer.result):
            ending["result"] = Raw(bytes(answer.result))
        elif any(steer.id == answer.id for steer in self._state.steers.values()):
            ending["result"] = Raw(b"{}")
        else:
            why = f"Internal error: {no_result('session/prompt')}"
            ending["error"] = error_object(INTERNAL_ERROR, why)
        event = ev.AnswerReceived(frame=frame, id=answer.id, number=number, **ending)
        self._keep_receipt(process, receipt, self.dispatch(event))

    def _keep_receipt(self, process: SessionProcess, receipt: Receipt, verdict: Verdict) -> None:
        """Keep the receipt that informs the process when its messages are stored."""
        if self._state.phase == "lost":
            return  # whoever has the session hears it again
        if process.survives and verdict == "done":
            self._receipts.append((self._state.last, process, receipt))
        else:
            process.on_stored(receipt)
        self.pending.confirm(process.last_taken(self._state))
        if self.log.is_full:
            process.hold_while_full(self.bounds.entries)

    def keep_receipt(self, process: SessionProcess, receipt: Receipt) -> None:
        """Return the receipt when all events so far are stored."""
        if self._state.phase == "lost" or self.log.last == self._state.last:
            process.on_stored(receipt)
        else:
            self._receipts.append((self._state.last, process, receipt))

    def drop_receipts(self) -> None:
        """Drop receipts of entries that this hub will no longer store."""
        receipts, self._receipts = self._receipts, SmallQueue()
        while receipts:
            _, process, receipt = receipts.popleft()
            process.on_stored(receipt)

    def bind(
        self,
        process: SessionProcess,
        *,
        note: ev.BroughtBack | None = None,
        load: int = 0,
        last_received: int = 0,
    ) -> None:
        """Note that the process knows the session from now on, or must restore it by the request `load`."""
        self.process = process
        event = ev.AgentBound(
            process=process.process_id,
            survives=process.survives,
            note=note,
            load=load,
            last_received=last_received,
            last_taken=process.last_number(self.stream),
        )
        self.dispatch(event)

    async def give_up_load(self, process: SessionProcess) -> None:
        """Note that the process has not restored the session. It gets answers to its requests in the
        meantime, and stays bound until its host has them: after a kill, the next hub sends them.
        """
        while self.process is process and self._state.phase == "open" and self._state.requests:
            for open_request in list(self._state.requests.values()):
                self.settle(open_request.sequence, outcome="cancelled", by="hub", error=LOAD_GIVEN_UP)
            with suppress(JournalError, LinkClosed):  # it is another node's by now, or the process has ended
                await self.wait_until_stored()
                await process.wait_until_taken(self.stream)
        self.leave_load(process)

    def leave_load(self, process: SessionProcess) -> None:
        """Cancel a load, unless the session is being closed, which frees the process by itself."""
        if self.process is process and self._state.phase == "open":
            self.unbind()

    def unbind(self) -> SessionProcess | None:
        """Unbind the process; return it."""
        process, self.process = self.process, None
        self.dispatch(ev.AgentUnbound())
        return process

    def on_agent_end(self, process: SessionProcess) -> None:
        """Handle the end of the process that knew the session."""
        if self.process is not process:
            return
        self.process = None
        self.pending.agent_gone()
        self.dispatch(ev.AgentGone(error=process.cut_short(), reason=process.over))
        self.hub.resting(self)

    # Prompts.

    @property
    def prompts_queued(self) -> int:
        """The most prompts that may wait."""
        return self.hub.options.prompts_queued

    def submit(self, params: dict[str, Raw], *, key: str, by: str, lends: Sequence[str]) -> Verdict:
        """Submit a prompt; waiters for its key get the answer. `lends` are the methods that its client
        answers for the agent.
        """
        most = max(0, self.prompts_queued - len(self.lookups))
        verdict = prompt_verdict(self._state, key, most)
        if verdict != "accepted":
            return verdict
        more = {"lends": lends} if lends else {}
        ready = Raw(encode_json(merge_ours(self._add_trace(params, key), {"key": key, "by": by, **more})))
        if self._may_start_at_once:
            self.log.hold(HOLD_SECONDS)
        return self.dispatch(ev.PromptReceived(key=key, by=by, params=ready, most=most))

    @property
    def _may_start_at_once(self) -> bool:
        """Whether a prompt and its way to the agent are stored together: nothing is in the way, and the agent
        is there.
        """
        state, process = self._state, self.process
        is_free = not (state.is_busy or state.queue or state.is_draining or self.binding.in_use)
        is_there = process is not None and not process.over and state.is_bound
        is_plain = not (state.remind or state.is_unbriefed or self.hub.ownership.is_shared)
        return is_free and is_there and is_plain and self.log.is_idle

    def edit(self, key: str, blocks: Raw) -> None:
        """Change the text of a waiting prompt, unless it is already being sent. Everything else stays: its
        sender, and the methods that its client provides.
        """
        waiting = next((prompt for prompt in self._state.queue if prompt.key == key), None)
        if waiting is not None:
            params = Raw(encode_json({**object_of(waiting.params), "prompt": blocks}))
            self.dispatch(ev.PromptEdited(key=key, params=params))

    def withdraw(self, key: str) -> bool:
        """Withdraw a prompt; its waiters get "cancelled". False if it is too late."""
        if key in self.lookups:
            self.lookups.cancel(key)
            return True
        return self.dispatch(ev.PromptWithdrawn(key=key)) == "done"

    async def list_as_running(self) -> None:
        """List the session as running before its agent gets a request, so that after a crash the next hub
        searches for the answer. `on_change` lists the true state.
        """
        if not self._state.waits_for_agent:
            await self.hub.will_run(self)
            self.listed_state = "running"

    async def wait_for_steer(self, key: str) -> PromptAnswer | None:
        """Wait for the outcome of a message into a turn, once it is stored; None if this
        hub never learns it.
        """
        if key in self._state.steers:
            if self._steer_events is None:
                self._steer_events = {}
            await self._steer_events.setdefault(key, asyncio.Event()).wait()
        elif key in self._state.steer_answers:
            await self.wait_until_stored()
        answer = self._state.steer_answers.get(key)
        # One that was not stored is not known to anybody: another hub may have written another outcome.
        return None if answer is None or answer.sequence > self.log.last else answer

    def cancel(self) -> None:
        self.dispatch(ev.CancelReceived())

    def _add_trace(self, params: dict[str, Raw], key: str) -> dict[str, Raw]:
        if self.hub.trace is None:
            return params
        meta = value_of(params.get("_meta"))
        meta = self.hub.trace(self.id, key, meta if isinstance(meta, dict) else None, self._state.agent)
        return params if meta is None else {**params, "_meta": Raw(encode_json(meta))}

    async def _start(self, key: str) -> None:
        """Bring the agent there for a prompt. If that ends meanwhile, the start goes on for those behind
        it.
        """
        note = ""
        try:
            if not self.log.is_held:  # else they are told with the prompt, before the agent hears of it
                await self.hub.will_run(self)
            process = await self.hub.pool.bind(self)
            if self._state.remind or self._state.is_unbriefed:
                await self.hub.reminders.recall(self._state)
            if self._state.start == key:
                note = await self.hub.changes.begin(
                    self.id,
                    key,
                    (self._state.cwd, *self._state.folders),
                    agent=self._state.agent,
                    params=bytes(self._state.queue[0].params) if self._state.queue else b"",
                )
            room = await self.bounds.answers.take(self._size_of(key))
            if process.over:
                room.release()
                raise process.failure()
        except CallFailed as error:
            failure = error_object(error.code, error.message, error.data)
        except AgentFailed as error:
            failure = error_object(INTERNAL_ERROR, str(error), error.details)
        except (DragomanError, TimeoutError, OSError) as error:
            failure = error_object(INTERNAL_ERROR, f"the agent could not be reached: {error}")
        except MemoryError:
            failure = NO_MEMORY
        else:
            try:
                with room:  # it is counted anew as what is given to the agent
                    self._on_ready(key, process, note)
                return
            except MemoryError:
                failure = NO_MEMORY
        finally:
            self.log.release()
        self.dispatch(ev.StartFailed(key=key, error=failure))

    def _size_of(self, key: str) -> int:
        """Bytes of a prompt that waits."""
        return sum(memoryview(prompt.params).nbytes for prompt in self._state.queue if prompt.key == key)

    def _on_ready(self, key: str, process: SessionProcess, note: str) -> None:
        """The process is there for a prompt, if that still waits for it; it gets `note` in front."""
        if self._state.start != key:
            self.hub.changes.end(self.id, key)
            return
        params = bytes(self._state.queue[0].params)
        needs_reminder = self._state.remind or self._state.is_unbriefed
        reminder_params = self.hub.reminders.remind(self.id, params) if needs_reminder else None
        for each in filter(None, (self.hub.broker.judge.take_note(self), note)):
            reminder_params = with_note(reminder_params or params, each)
        self.dispatch(ev.AgentReady(key=key, id=process.next_id(), reminder_params=reminder_params))

    def refuse_prompt(self, key: str, error: ErrorObject) -> None:
        """Tell the waiter that its prompt was not accepted."""
        self.hub.broker.refuse_prompt(self.id, key, error)

    def answer_prompt(self, key: str, answer: PromptAnswer) -> None:
        """Return the answer to an old prompt that was sent again. A client that has not received everything
        before the answer gets it at its place.
        """
        self.hub.broker.answer_detached(self.id, key, answer)
        for follower in self.followers:
            waiting = follower.waits_for(key)
            if waiting and (follower.is_ended or follower.position.sequence >= answer.sequence):
                follower.on_answered(key)
                usage = follower.client.usage
                follower.client.tell(b"".join(answer.to(request_id, usage=usage) for request_id in waiting))
            elif waiting:
                follower.keep_answer(key, answer)

    # What agents ask.

    def ask_people(self, params: bytes) -> int:
        """Ask a question of the hub itself; clients see it like a question of the agent.
        Returns its number.
        """
        frame = request(f"{OWN_ID}{uuid4().hex}", "session/request_permission", params)[:-1]
        number = self._state.last + 1
        self.dispatch(ev.QuestionAsked(frame=frame, is_ending=self._is_ending))
        return number

    def settle(
        self,
        sequence: int,
        *,
        outcome: str,
        by: str,
        result: Raw | None = None,
        error: object = None,
        reason: str = "",
    ) -> bool:
        """Set the outcome of a request; the first call wins. People's answers come by `answer`."""
        event = ev.RequestAnswered(
            sequence=sequence, outcome=outcome, by=by, result=result, error=error, reason=reason
        )
        return self.dispatch(event) == "done"

    async def answer(self, sequence: int, *, by: str, result: Raw | None) -> bool:
        """Handle a person's answer to a question. The first one counts, after it is in the audit log; its
        sender may leave in the meantime.
        """
        request = self._state.visible_request(sequence)
        if request is None or not request.is_question:
            return False
        work = self.hub.broker.judge.answer(self, request, by=by, result=result)
        return await asyncio.shield(self.hub.owner.start(work))

    # Ends.

    async def close(self, *, deletes: bool = False) -> None:
        """Close the session, and delete it if `deletes`; return when that is done."""
        if self._state.phase == "open":
            self._close_at = asyncio.get_running_loop().time() + CLOSE_SECONDS
        self.dispatch(ev.CloseReceived(by=time.time() + CLOSE_SECONDS, deletes=deletes))
        await self.closed_event.wait()

    async def rename(self, title: str) -> None:
        """Set the title; return when it is stored."""
        update = {"sessionUpdate": "session_info_update", "title": title}
        params = encode_json({"sessionId": self.id, "update": update})
        frame = notification("session/update", params)[:-1]
        await self.record(ev.Renamed(title=title), ev.FrameForClients(frame=frame))
        self.hub.on_session_change(self)

    async def record(self, *events: ev.Event) -> Verdict:
        """Store facts about the session without opening it: a closed or archived one stays so. Returns the
        verdict of the last event, when it is stored.
        """
        saved_as = self.listed_state if self.listed_state in SAVED_STATES else ""
        verdict = [self.dispatch(event) for event in events][-1]
        await self.wait_until_stored()
        if saved_as and self.process is None and self._state.listed_state in CALM:
            self.listed_state = saved_as
            self.hub.describe(self, state=saved_as)
        return verdict

    async def release(self) -> None:
        """Let the agent close the session. A prompt in the meantime waits, and has it loaded again."""
        async with self.binding:
            process = self.process
            if process is None or self._state.waits_for_agent or self._state.phase != "open":
                return
            own = process.own_ids.get(self.id, self.id)
            # Stored before the agent hears of it: else the next hub takes it for one that knows the session.
            self.dispatch(ev.AgentReleased())
            try:
                await self.wait_until_stored()
                await process.call("session/close", {"sessionId": own}, within=CLOSE_SECONDS)
            except (DragomanError, TimeoutError) as error:
                log.info("agent %s did not close unused session %s: %s", process.agent, self.id, error)
                self.used = asyncio.get_running_loop().time()  # it is asked again, later
                if self.process is process:
                    self.bind(
                        process,
                        note=ev.BroughtBack(session=own, result=self._state.agent_answer, remembers=None),
                    )
                return
            if self.process is process:
                self.process = None
                process.forget(self, for_good=True)
                process.forget_numbers(self.stream)
        self.hub.resting(self)

    async def _close_in_agent(self, deletes: bool) -> None:
        await self.hub.children.close(self, deletes=deletes)
        process = self.process
        try:
            if process is not None and not process.over and not self._state.parent:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await self._end_in(process, deletes)
        except (DragomanError, TimeoutError) as error:
            log.info(
                "agent %s did not close session %s: %s", self._state.agent, self.id, str(error) or "late"
            )
        self._refuse_unanswered()
        process = self.unbind()
        own = self.id if process is None else process.forget(self, for_good=True)
        self.pending.agent_gone()
        self.dispatch(
            ev.AgentClosed(), None if process is None else partial(self._on_closed_in_agent, process, own)
        )

    def _refuse_unanswered(self) -> None:
        """The agent is done with the session. What it asked there has no answer, or one that the journal
        still stores and that finds no process then.
        """
        process, ids = self.process, self.unanswered_requests()
        if process is not None and ids and not process.over:
            error = error_object(REQUEST_CANCELLED, SESSION_CLOSED)
            own = process.own_ids.get(self.id, self.id)
            process.refuse(ids, error, number=self._state.last_received, name=own)

    def _on_closed_in_agent(self, process: SessionProcess, own: str) -> None:
        """The journal says that the session is closed in this process, which called it `own`."""
        process.forget_numbers(self.stream)
        if self._state.deletes:
            process.mark_answered(own, self._state.last_received)

    async def _end_in(self, process: SessionProcess, deletes: bool) -> None:
        own = {"sessionId": process.own_ids.get(self.id, self.id)}
        if deletes and process.can("sessionCapabilities", "delete"):
            await process.call("session/delete", own)
        if process.can("sessionCapabilities", "close"):
            await process.call("session/close", own)

    async def aclose(self) -> None:
        """Free the session. Unstored entries are lost, as in a crash."""
        self.dispatch(ev.OwnershipLost())
        self.closed_event.set()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for follower in self.followers:
            follower.leave()
        self.followers = ()
        self._effects.clear()
        self._storage_callbacks.clear()
        for waiting in [*self._waiting, *(self._steer_events or {}).values()]:
            waiting.set()
        await self.log.aclose()
        self.bounds.close()
        await self.pending.aclose()

    # The journal.

    async def wait_until_stored(self) -> None:
        """Wait until all events so far are stored. Raises `JournalError` if that fails for good."""
        if self.log.last >= self._state.last:
            return
        event = asyncio.Event()
        self._storage_callbacks.append((self._state.last, event.set))
        self._waiting = (*self._waiting, event)
        try:
            await event.wait()
        finally:
            self._waiting = tuple(waiting for waiting in self._waiting if waiting is not event)
        if self.closed_event.is_set() and self.log.last < self._state.last:
            raise JournalError("the session was closed before everything was stored")

    def on_stored(self, first: int, runs: Sequence[FrameRun]) -> None:
        """Run the effects that waited for each entry, before it is shown to clients and after all earlier
        entries.
        """
        number, begin, next_run = first, first, 0
        for place, run in enumerate(runs):
            number += len(run.frames)
            if self._effects and self._effects.first.after < number:
                begin = self._show(begin, runs[next_run:place])
                next_run = place
                self._do_until(number - 1)
        self._show(begin, runs[next_run:])
        self._do_until(self.log.last)
        self._confirm()
        if len(self._state.answers) > ANSWERS:
            self.dispatch(ev.EntriesStored(last=self.log.last))
        if self._trouble:
            self._trouble = ""
            log.info("session %s is stored again", self.id)
        if self.log.last == self._state.last:
            self.on_rest()

    def on_rest(self) -> None:
        """Note that everything is stored for the moment."""
        if self._state.listed_state != self.listed_state:
            process = self.process
            if self._state.is_calm and process is not None and process.has_unheard(self.stream):
                self._rest_when_heard(process)
            else:
                self.on_change()
        if not self._state.is_busy:
            self.shed()
            self.hub.resting(self)

    def _rest_when_heard(self, process: SessionProcess) -> None:
        """Listings call it busy until the agent has the last answer: a hub that is killed before leaves it to
        the next one, which looks for busy sessions, to say it again.
        """

        async def wait() -> None:
            try:
                await process.wait_until_taken(self.stream)
            except LinkClosed:
                if not process.over:  # the hub leaves it: the next hub says it again
                    return
            finally:
                self._awaits_hearing = False
            if self.log.last == self._state.last and not self.closed_event.is_set():
                self.on_change()

        if not self._awaits_hearing:
            self._awaits_hearing = True
            self.hub.owner.start(wait())

    def _confirm(self) -> None:
        last = self.log.last
        while self._receipts and self._receipts.first[0] <= last:
            _, process, receipt = self._receipts.popleft()
            process.on_stored(receipt)
        while self._storage_callbacks and self._storage_callbacks.first[0] <= last:
            self._storage_callbacks.popleft()[1]()

    def _show(self, first: int, runs: Sequence[FrameRun]) -> int:
        """Returns the number behind them."""
        if not runs:
            return first
        page = RunPage(first, runs)
        for follower in self.followers:
            try:
                follower.show(page)
            except LinkClosed:
                pass  # the client's own end is on its way
        return first + len(page)

    def on_failure(self, error: JournalError, certain: bool) -> bool:
        """Handle a failed append: pause all effects; return whether it is tried again."""
        if str(error) != self._trouble:
            self._trouble = str(error)
            log.error("session %s cannot be stored, trying again: %s", self.id, error)
        if not self.hub.on_failed_append(self, error):
            return False
        if certain:
            self.dispatch(ev.NotStored(last_stored=self.log.last, error=unstored_error(error)))
        return True

    # Effects.

    def _do_until(self, last: int) -> None:
        """Run the work that waited for entries up to this one, which are stored."""
        self._acted_upon = last
        while self._effects and self._effects.first.after <= last:
            effect = self._effects.popleft()
            try:
                self._do(effect)
            except LinkClosed:
                pass  # the end of whoever it was for is on its way
            except Exception:  # one effect that fails must not take the rest with it
                log.exception("session %s: %s failed", self.id, type(effect).__name__)

    def _do(self, effect: ev.Effect) -> None:
        match effect:
            case ev.StartTurn(key=key):
                if self._state.start == key:
                    self.hub.owner.start(self._start(key))
            case ev.SendToAgent():
                self._send(effect)
            case ev.OpenRequestReceived(after=sequence):
                request = self._state.requests.get(sequence)
                if request is not None:
                    self.hub.broker.on_request(self, request)
            case ev.RequestSettled():
                self._on_settled(effect)
            case ev.TurnEnded() | ev.SteerEnded():
                self._on_outcome(effect)
            case ev.ChildAnnounced() | ev.EndChildRequests():
                self.hub.children.carry_out(self, effect)
            case ev.DropOriginals(sequences=sequences):
                self.pending.settle(*sequences)
            case ev.CloseInAgent(deletes=deletes):
                self.hub.owner.start(self._close_in_agent(deletes))
            case ev.Forget(deletes=deletes):
                self.hub.owner.start(self.hub.forget_closed(self, deletes=deletes))

    def _send(self, effect: ev.SendToAgent) -> None:
        process = self.process
        if process is None or process.over or process.process_id != effect.process:
            self.bounds.answers.remove(len(effect.frame))
            self.pending.settle(effect.after)
            return
        if process.survives:
            self.pending.give(effect.after)
        if effect.prompt_id is not None:
            process.expect(effect.prompt_id, self)
        try:
            process.say(self, effect.frame, effect.after)
        except Exception:  # the journal says that the agent has the frame: without it, nobody ends the turn
            log.exception(
                "session %s: agent %s is ended, which cannot be given a frame", self.id, process.agent
            )
            self.hub.owner.start(process.aclose())

    def _on_turn_ended(self, key: str) -> None:
        self.used = asyncio.get_running_loop().time()
        self.hub.changes.end(self.id, key)
        self.hub.broker.answer_detached(self.id, key, self._state.answers.get(key))
        self.hub.broker.judge.end_turn(self)
        if self.process is not None:
            self.pending.confirm(self.process.last_taken(self._state))

    def _on_outcome(self, effect: ev.TurnEnded | ev.SteerEnded) -> None:
        """Pass the outcome of a prompt or a message into a turn to its waiter."""
        if isinstance(effect, ev.TurnEnded):
            if self._state.turn is None:
                self._messages = None
            self._on_turn_ended(effect.key)
            return
        event = (self._steer_events or {}).pop(effect.key, None)
        if event is not None:
            event.set()

    def _on_settled(self, effect: ev.RequestSettled) -> None:
        request: OpenRequest = effect.request
        if effect.result is not None and request.method == "fs/write_text_file":
            self.hub.changes.on_write(self.id, request.params)
        self.hub.broker.on_settled(self, request, effect.outcome)


SessionProcess: TypeAlias = AgentPort[LiveSession]
SessionFollower: TypeAlias = FollowerPort[LiveSession]
EngineHub: TypeAlias = HubPort[LiveSession]
"""The interfaces of a process, a follower and the hub for the code that uses open sessions."""

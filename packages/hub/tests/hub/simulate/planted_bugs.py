"""Bugs that are planted into the hub, to see that the simulation finds them.

Each is a mistake that somebody could make in one line, or that somebody has made. A bug that is not found
within a few hundred seeds says that the oracle, the faults or the workload have a hole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from dragoman_hub import hub
from dragoman_hub.agents import process
from dragoman_hub.agents.pool import AgentPool
from dragoman_hub.agents.process import AgentProcess
from dragoman_hub.clients.follower import ClientFollower
from dragoman_hub.cluster import membership
from dragoman_hub.cluster.client_router import ClientRouter
from dragoman_hub.cluster.links import Links
from dragoman_hub.cluster.membership import Members
from dragoman_hub.engine import forks, lifecycle, log, recovery
from dragoman_hub.engine.live_session import LiveSession
from dragoman_hub.engine.log import EntryLog
from dragoman_hub.engine.ports import Receipt
from dragoman_hub.engine.recovery import UnfinishedWork
from dragoman_hub.hub import Hub
from dragoman_hub.session import events as ev
from dragoman_hub.session import machine, state
from dragoman_hub.session.state import SessionState
from dragoman_hub.session.steering import accept_steer
from dragoman_local.journal import Entry
from tests.hub.simulate.world import Outcome, World, run_seed


class _Never(Exception):
    """Nobody raises it."""


def _handler(event: type, instead: Any) -> Any:
    """A patch of what the machine does with an event."""
    return patch.dict(machine._HANDLERS, {event: instead})


def _note(kind: str, instead: Any) -> Any:
    """A patch of what a note changes."""
    return patch.dict(state._NOTES, {kind: instead})


# The engine.

_plan = LiveSession._plan


def _act_at_once(self: LiveSession, found: machine.StepResult) -> None:
    _plan(self, found)
    self._do_until(found.state.last)


def _confirm_at_once(
    self: LiveSession, process: AgentProcess, receipt: Receipt, verdict: machine.Verdict
) -> None:
    process.on_stored(receipt)


_begin_log = EntryLog.__init__


class _WithoutAfter:
    def __init__(self, journal: Any) -> None:
        self._journal = journal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    async def append(self, stream: str, entries: Sequence[Entry], *, after: int | None = None) -> int:
        return int(await self._journal.append(stream, entries))


def _append_anywhere(self: EntryLog, journal: Any, *more: Any, **options: Any) -> None:
    _begin_log(self, _WithoutAfter(journal), *more, **options)


async def _nothing_found(self: EntryLog, backlog: log.Backlog) -> None:
    """Nobody asks the journal what it has."""
    backlog.is_unknown = False


# The machine.


def _tell_only(work: machine._StepWork, key: str, sequence: int, error: Any) -> None:
    work.do(ev.RefusePrompt(after=0, key=key, error=error))


def _ignore(work: machine._StepWork, event: Any) -> machine.Verdict:
    return "done"


def _forget_answer(before: SessionState, note: Any) -> SessionState:
    return replace(state._apply_turn_ended(before, note), answers={})


def _begin_any(work: machine._StepWork) -> None:
    waiting = work.state
    if waiting.queue and not waiting.start and waiting.phase == "open":
        work.state = replace(waiting, start=waiting.queue[0].key)
        work.do(ev.StartTurn(after=waiting.last, key=waiting.queue[0].key))


def _take_all(work: machine._StepWork, event: ev.UpdatesReceived) -> machine.Verdict:
    work.append("to_client", *event.frames)
    machine._mark_heard(work, event.number)
    return "done"


def _steer_again(work: machine._StepWork, event: ev.SteerReceived) -> machine.Verdict:
    if work.state.phase != "open" or not work.state.is_bound:
        return "closing"
    accept_steer(work, event)
    return "accepted"


def _continue_again(work: machine._StepWork, event: ev.ContinuedElsewhere) -> machine.Verdict:
    work.note("continued", session=event.session, agent=event.agent, by=event.by)
    return "done"


# Opening, recovery, followers.


def _say_nothing_again(session: LiveSession, process: AgentProcess, unfinished: UnfinishedWork) -> None:
    pass


async def _listen_first(hub: Hub) -> None:
    for adopted in await hub.pool.adopt_all():
        adopted.start()
    ours = hub.ownership.left_behind()
    await recovery._open_all(hub, await recovery._unfinished_streams(hub) if ours is None else ours)


def _take_nothing_up(hub: Hub, session: LiveSession, unfinished: UnfinishedWork) -> None:
    pass


_tell = ClientFollower._tell


def _skip_some(self: ClientFollower, entries: Any) -> None:
    if self.position.sequence % 19 == 18:
        entries = entries[1:]
    if entries:
        _tell(self, entries)


def _tell_twice(self: ClientFollower, entries: Any) -> None:
    before = self.position
    _tell(self, entries)
    if before.sequence % 19 == 18:
        self.position = before


# Agents and nodes.


def _renew_nothing(self: AgentPool, lasting: Any) -> None:
    pass


def _always_lives(self: Members, name: str) -> Any:
    return None if name != self.node.name else self.node


_hear = Links._hear


def _hear_without_numbers(self: Links, subject: str, data: bytes, answer: str) -> None:
    for link in self._links.values():
        link.last_number = _Any()
    _hear(self, subject, data, answer)


class _Any(int):
    """A number that every other number follows."""

    def __add__(self, other: int) -> Any:
        return self

    def __ne__(self, other: object) -> bool:
        return False

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__

    __radd__ = __add__


_router_on_block = ClientRouter.on_block


def _stay_behind(
    self: ClientRouter, branch: Any, block: bytes, session: str = "", position: Any = None
) -> None:
    followed = self.sessions.get(session)
    before = None if followed is None else followed.position
    _router_on_block(self, branch, block, session, position)
    if followed is not None and before is not None:
        followed.position = before


BUGS: dict[str, Callable[[], Any]] = {
    "effects are done before their entries are stored": lambda: patch.object(
        LiveSession, "_plan", _act_at_once
    ),
    "frames of an agent are acknowledged before they are stored": lambda: patch.object(
        LiveSession, "_keep_receipt", _confirm_at_once
    ),
    "entries are appended wherever the stream ends": lambda: patch.object(
        EntryLog, "__init__", _append_anywhere
    ),
    "an append of unknown fate is taken for a failure": lambda: patch.object(log, "JournalUncertain", _Never),
    "the journal is not asked what it has": lambda: patch.object(EntryLog, "_find_out", _nothing_found),
    "a refused prompt stays in the queue": lambda: patch.object(machine, "_refuse", _tell_only),
    "the end of an agent is not noticed": lambda: _handler(ev.AgentGone, _ignore),
    "the queue does not go on after a crash": lambda: _handler(ev.Resumed, _ignore),
    "keys of answered prompts are forgotten": lambda: _note("turn_ended", _forget_answer),
    "a settled request stays open": lambda: _note("settled", lambda before, note: before),
    "a message into a turn that is sent again is given again": lambda: _handler(
        ev.SteerReceived, _steer_again
    ),
    "the outcome of a message into a turn is not remembered": lambda: _note(
        "steered", lambda before, note: replace(before, steers={})
    ),
    "a hand-over that is asked for again is written again": lambda: _handler(
        ev.ContinuedElsewhere, _continue_again
    ),
    "a hub forgets where a session goes on": lambda: _note("continued", lambda before, note: before),
    "two prompts are with the agent at once": lambda: patch.object(machine, "_begin_next", _begin_any),
    "it is not stored up to where the agent was heard": lambda: patch.object(
        machine, "_mark_heard", lambda work, number: None
    ),
    "frames that an agent says again are taken again": lambda: _handler(ev.UpdatesReceived, _take_all),
    "what did not reach the agent is not said again": lambda: patch.object(
        recovery, "_say_again", _say_nothing_again
    ),
    "agents are listened to before their sessions are open": lambda: patch.object(
        hub, "recover", _listen_first
    ),
    "nobody takes up what a dead hub has left": lambda: patch.object(lifecycle, "take_up", _take_nothing_up),
    "followers skip an entry": lambda: patch.object(ClientFollower, "_tell", _skip_some),
    "followers are told an entry twice": lambda: patch.object(ClientFollower, "_tell", _tell_twice),
    "clients that are behind are not answered when their session is closed": lambda: patch.object(
        ClientFollower, "end", lambda self: None
    ),
    "a fork has the turn that runs in the other session": lambda: patch.object(
        forks, "fold", lambda before, page: before
    ),
    "ids of requests come from the wall clock": lambda: patch.object(
        AgentProcess,
        "next_id",
        lambda self: int(process.time.time() * 10),  # type: ignore[attr-defined]
    ),
    "agents do not get the renewed lease": lambda: patch.object(AgentPool, "renew", _renew_nothing),
    "a node acts for longer than the others wait for it": lambda: patch.object(membership, "ACTS", 4.0),
    "a load is forgotten by a crash": lambda: patch.object(
        AgentProcess, "knows", lambda self, own, process: False
    ),
    "sessions of living nodes are taken": lambda: patch.object(Members, "find", _always_lives),
    "lost words between nodes are not noticed": lambda: patch.object(Links, "_hear", _hear_without_numbers),
    "a front does not know how far its client was told": lambda: patch.object(
        ClientRouter, "on_block", _stay_behind
    ),
}
"""By what is wrong with them."""


class LongStorms(World):
    """Some bugs show in few storms, and in long ones alone."""

    short_seeds = 0


def find(name: str, seeds: Sequence[int]) -> Outcome | None:
    """The first seed that finds the bug; None if none does."""
    with BUGS[name]():
        for seed in seeds:
            outcome = run_seed(seed, kind=LongStorms)
            if outcome.findings:
                return outcome
    return None

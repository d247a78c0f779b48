"""What happens to a world: one method for each action, and one for each effect of the session's machine.

The first part is the engine as the hub has it: entries are stored in order and together, effects are done
when their entry is stored, before clients are shown it. The rest is what agents, clients and hubs do.
"""

from __future__ import annotations

from typing import Any

from dragoman_hub.session import state as states
from tests.hub.explore.invariants import BrokenPromise, SessionHistory, outcome_of, steer_outcome_of
from tests.hub.explore.tables import QUIET, Item, Label, Tables
from tests.hub.explore.world import DELETED, HubWorld, ProcessModel, Scope, key_of

EFFECTS = {
    name: f"_on_{name}"
    for name in (
        *("start", "send", "answer", "steered", "close", "release"),
        *("forget", "ask", "unask", "drop", "ack"),
    )
}
"""Methods of `Move`."""


class Move:
    """One thing happens; a world while it changes."""

    __slots__ = (*HubWorld._fields, "tables")
    hub: str
    session: int
    folded: int
    journal: int
    dropped: tuple[int, ...]
    waiting: tuple[int, ...]
    unseen: int
    stored: int
    outbox: tuple[Item, ...]
    starts: tuple[str, ...]
    is_loading: bool
    asked: tuple[tuple[int, bool], ...]
    closing: bool
    closers: int
    process: ProcessModel
    clients: tuple[str, ...]
    budget: Scope
    history: SessionHistory
    tables: Tables

    def __init__(self, world: HubWorld, tables: Tables) -> None:
        (
            self.hub,
            self.session,
            self.folded,
            self.journal,
            self.dropped,
            self.waiting,
            self.unseen,
            self.stored,
            self.outbox,
            self.starts,
            self.is_loading,
            self.asked,
            self.closing,
            self.closers,
            self.process,
            self.clients,
            self.budget,
            self.history,
        ) = world
        self.tables = tables

    def end(self) -> HubWorld:
        self._do_quiet()
        return HubWorld(
            self.hub,
            self.session,
            self.folded,
            self.journal,
            self.dropped,
            self.waiting,
            self.unseen,
            self.stored,
            self.outbox,
            self.starts,
            self.is_loading,
            self.asked,
            self.closing,
            self.closers,
            self.process,
            self.clients,
            self.budget,
            self.history,
        )

    # The engine: steps, the journal, effects.

    def step(self, *label: Any) -> str:
        tables = self.tables
        taken = tables.step(self.session, label)
        self.session = taken.state
        if taken.batch:
            self.waiting = (*self.waiting, taken.batch)
            self.folded = tables.fold(self.folded, taken.batch)
        if taken.items:
            self.outbox = (*self.outbox, *taken.items)
        for item in taken.at_once:
            self._replace(item) if item[1] == "replace" else self._refuse(item[2])
        self._check_fold()
        return taken.verdict

    def _check_fold(self) -> None:
        parts = self.tables.stored_parts
        if parts[self.session] != parts[self.folded]:
            raise BrokenPromise("state-is-fold", "the state differs from the fold of its entries")

    def _replace(self, item: Item) -> None:
        """An entry that is not stored gets another content, which clients are shown when it is stored."""
        tables, (sequence, _, frame) = self.tables, item
        batches: list[int] = []
        first = self.stored + 1
        for batch in self.waiting:
            rows = tables.batches[batch]
            if first <= sequence < first + len(rows):
                at = sequence - first
                batch = tables.batch((*rows[:at], ("note", frame), *rows[at + 1 :]))
            batches.append(batch)
            first += len(rows)
        self.waiting = tuple(batches)
        self.folded = tables.folded[self.journal]
        for batch in batches:
            self.folded = tables.fold(self.folded, batch)
        answers = [
            (sequence, "answer", key, outcome)
            for kind, key, outcome in tables.facts[tables.batch((("note", frame),))]
            if kind == "ended"
        ]
        rest = (item for item in self.outbox if item[:2] != (sequence, "send"))
        self.outbox = tuple(sorted((*rest, *answers), key=lambda item: item[0]))

    def _refuse(self, key: str) -> None:
        for client, phase in enumerate(self.clients):
            if phase == "waits" and key_of(client) == key:
                self.history = self.history.on_prompt_refused(key)
                self._set_client(client, "lost" if self.budget.again else "done")
                if self.budget.again:
                    self._spend(again=self.budget.again - 1)

    def store(self) -> None:
        """The journal has stored all that waits. Whether the hub hears of it, and when, is another matter."""
        for batch in self.waiting:
            self.journal = self.tables.journal(self.journal, batch)
            self.history = self.history.on_stored(self.tables.facts[batch])
        self.unseen = len(self.waiting)

    def learn(self) -> None:
        for batch in self.waiting[: self.unseen]:
            self.stored += len(self.tables.batches[batch])
        self.waiting = self.waiting[self.unseen :]
        self.unseen = 0
        if len(self.tables.states[self.session].answers) > states.ANSWERS:
            self.step("entries stored", self.stored)

    def fail(self) -> None:
        self._spend(fail=self.budget.fail - 1)
        self.step("not stored", self.stored)

    def do(self) -> None:
        """The first effect that is due."""
        item, self.outbox = self.outbox[0], self.outbox[1:]
        if self.journal != DELETED and item[0] > self.tables.lasts[self.journal]:
            raise BrokenPromise("effect-after-store", f"{item[1]} was done before entry {item[0]} was stored")
        getattr(self, EFFECTS[item[1]])(item)

    def _do_quiet(self) -> None:
        while self.outbox and self.outbox[0][1] in QUIET and self.outbox[0][0] <= self.stored:
            item, self.outbox = self.outbox[0], self.outbox[1:]
            getattr(self, EFFECTS[item[1]])(item)

    def _on_start(self, item: Item) -> None:
        self.starts = (*self.starts, item[2])

    def _on_send(self, item: Item) -> None:
        """The host takes each frame once, by its number; a process that has ended takes nothing."""
        process, (sequence, _, number, kind, *arguments) = self.process, item
        if not process.is_alive or process.number != number or sequence <= process.taken:
            return
        if sequence <= process.since and kind != "response":
            raise BrokenPromise("frames-for-their-process", f"entry {sequence} is for another process")
        if not process.knows and kind != "response":
            raise BrokenPromise(
                "agent-knows-session", f"entry {sequence} was sent to a process that closed it"
            )
        process = process._replace(taken=sequence)
        if kind == "prompt":
            key, prompt_id, is_whole = arguments
            current = process.prompt[0] if process.prompt else ""
            self.history = self.history.on_prompt_given(key, is_with_agent=current, is_whole=is_whole)
            process = process._replace(prompt=(key, prompt_id), is_cancelled=False)
        elif kind == "steer":
            self.history = self.history.on_steer_given(arguments[0])
            process = process._replace(steers=(*process.steers, (arguments[0], arguments[1])))
        elif kind == "cancel":
            process = process._replace(is_cancelled=bool(process.prompt))
        else:
            request = arguments[0]
            self.history = self.history.on_request_answered(request)
            process = process._replace(asks="" if process.asks == request else process.asks)
        self.process = process

    def _on_answer(self, item: Item) -> None:
        """Whoever waits for a prompt is shown its end."""
        key, outcome = item[2:]
        for client, phase in enumerate(self.clients):
            if phase == "waits" and key_of(client) == key:
                self._answer(client, outcome)

    def _on_steered(self, item: Item) -> None:
        key, outcome = item[2:]
        for client, phase in enumerate(self.clients):
            if phase == "waits" and key_of(client) == key:
                self._answer_steer(client, outcome)

    def _answer_steer(self, client: int, outcome: str) -> None:
        self.history.on_steer_answered(key_of(client), outcome)
        self._set_client(client, "done")

    def _answer(self, client: int, outcome: str) -> None:
        self.history.on_prompt_answered(key_of(client), outcome)
        self._set_client(client, "done")

    def _on_close(self, item: Item) -> None:
        """The agent may have closed it at once, although nobody hears of that before `closed`."""
        self._close_in_process()
        self.closing = True

    def _on_release(self, item: Item) -> None:
        self._close_in_process()

    def _close_in_process(self) -> None:
        """What the agent has asked ends with the session."""
        self.process = self.process._replace(knows=False, asks="", loads=False, steers=())

    def _on_forget(self, item: Item) -> None:
        self._forget()
        self.closers = 0
        if item[2]:
            self.journal = DELETED

    def _on_ask(self, item: Item) -> None:
        state = self.tables.states[self.session]
        if item[2] in state.requests:
            if state.phase != "open":
                raise BrokenPromise("closing-asks-nobody", f"people are asked request {item[2]}")
            self.asked = (*self.asked, (item[2], False))

    def _on_unask(self, item: Item) -> None:
        self.asked = tuple(question for question in self.asked if question[0] != item[2])

    def _on_drop(self, item: Item) -> None:
        self.dropped = tuple(sorted({*self.dropped, *item[2]}))

    def _on_ack(self, item: Item) -> None:
        """Its host need not keep frames up to this number any more."""
        process, (_, _, number, upto) = self.process, item
        if process.number == number and upto > process.acknowledged and not self.budget.deaf:
            frames = process.frames[upto - process.acknowledged :]
            self.process = process._replace(acknowledged=upto, frames=frames)

    # The agent and its process.

    def start(self) -> None:
        """The agent is brought there for a prompt: a process loads the session, or knows it already."""
        state, process = self.tables.states[self.session], self.process
        if state.is_bound:
            key, self.starts = self.starts[0], self.starts[1:]
            self.step("ready", key, state.last + 1)
            return
        if state.phase != "open":
            self.starts = ()
            return
        if process.is_alive:  # it is used for the session again; what it said since it closed it is lost
            self._check_asked(process)
            number, _, count = self.history.update.partition(".")
            process = process._replace(
                knows=True,
                loads=True,
                prompt=(),
                asks="",
                steers=(),
                frames=(),
                acknowledged=process.last,
                delivered=process.last,
                updates=int(count) if number == str(process.number) else 0,
            )
        else:
            process = ProcessModel(number=process.number + 1, loads=True)
        self.process, self.is_loading = process, True
        self._bind("load")

    def start_early(self) -> None:
        """The agent is there: the prompt and its way to it are stored together."""
        item = next(item for item in self.outbox if item[1] == "start")
        self.outbox = tuple(other for other in self.outbox if other is not item)
        self._on_start(item)

    def _check_asked(self, process: ProcessModel) -> None:
        """A request that the host has given away has its answer, or its process or session has ended."""
        if process.knows and process.asks and not any(frame[0] == "request" for frame in process.frames):
            raise BrokenPromise("request-answered-once", f"request {process.asks} is never answered")

    def _bind(self, how: str) -> str:
        heard = self.process.delivered if how else 0
        return self.step("bound", self.process.number, how, heard, not self.budget.mortal)

    def loaded(self) -> None:
        """Whoever has closed the session meanwhile closes it in this process too, when that is stored."""
        self.is_loading = False
        if not self.process.knows:  # it has refused, and said so to a hub that was killed
            self.step("unbound")
            return
        self.process = self.process._replace(loads=False)
        if self._bind("loaded") == "ignored":
            self.outbox = (*self.outbox, (self.tables.states[self.session].last, "release"))
            self.starts = ()
        else:
            self.process = self.process._replace(since=self.tables.states[self.session].bound_at)

    def start_fails(self) -> None:
        self._spend(start_fails=self.budget.start_fails - 1)
        if self.is_loading:
            self.step("unbound")
            self._close_in_process()
            self.is_loading = False
        key, self.starts = self.starts[0], self.starts[1:]
        self.step("start failed", key)

    def hear(self) -> None:
        """The next frames of the host: an answer, a request, or all updates that follow each other."""
        process = self.process
        begin = process.delivered - process.acknowledged
        kind, *arguments = process.frames[begin]
        count = 1
        if kind == "update":
            rest = process.frames[begin:]
            count = next((at for at, frame in enumerate(rest) if frame[0] != "update"), len(rest))
            counts = tuple(frame[1] for frame in rest[:count])
            label: Label = ("updates", process.number, counts, process.delivered + count)
        elif kind == "steered":
            label = ("steer reply", *arguments, process.delivered + 1)
        elif kind == "request":
            label = ("request", process.number, process.delivered + 1)
        else:
            label = ("reply", *arguments, process.delivered + 1)
        upto = process.delivered + count
        self.process = process._replace(delivered=upto)
        self.step(*label)
        acknowledge = (self.tables.states[self.session].last, "ack", process.number, upto)
        self.outbox = (*self.outbox, acknowledge)

    def update(self) -> None:
        self._spend(update=self.budget.update - 1)
        self.process = self.process._replace(updates=self.process.updates + 1)
        self._say(("update", self.process.updates))

    def ask(self) -> None:
        self._spend(ask=self.budget.ask - 1)
        self._say(("request",))
        self.process = self.process._replace(asks=f"{self.process.number}.{self.process.last}")

    def reply(self) -> None:
        process = self.process
        assert process.prompt
        self._say(("reply", process.prompt[1], "cancelled" if process.is_cancelled else "end_turn"))
        self.process = self.process._replace(prompt=(), is_cancelled=False)

    def answer_steer(self) -> None:
        """The agent says whether a turn took the first message that it has."""
        process = self.process
        _, number = process.steers[0]
        self._say(("steered", number, "injected" if process.prompt else "promptRequired"))
        self.process = self.process._replace(steers=process.steers[1:])

    def _say(self, frame: tuple[Any, ...]) -> None:
        self.process = self.process._replace(frames=(*self.process.frames, frame))

    def die(self) -> None:
        self._spend(die=self.budget.die - 1)
        self._end_process()

    def _end_process(self) -> None:
        self.process = ProcessModel(number=self.process.number, is_alive=False, since=self.process.since)

    def gone(self) -> None:
        self.asked, self.is_loading = (), False
        self.step("gone")

    def closed(self) -> None:
        self.closing = False
        self.step("closed")

    def timeout(self) -> bool:
        before = self.session
        self.step("time")
        return self.session != before

    def release(self) -> None:
        """Nobody needs it now: the agent closes the session, and loads it for the next prompt."""
        self._spend(release=self.budget.release - 1)
        self.step("released")
        self.outbox = (*self.outbox, (self.tables.states[self.session].last, "release"))

    def judge(self, sequence: int) -> None:
        """A question is judged, and that is written down. Who guessed its number before had no success."""
        if self.tables.step(self.session, ("settle", sequence)).verdict != "ignored":
            raise BrokenPromise("judged-before-open", f"request {sequence} was answered before it was judged")
        self.step("judge", sequence)
        self.asked = tuple((number, is_judged or number == sequence) for number, is_judged in self.asked)

    def settle(self, sequence: int) -> bool:
        """A person answers."""
        return self.step("settle", sequence) != "ignored"

    # Clients.

    def prompt(self, client: int) -> None:
        self._prompt(client)

    def retry(self, client: int) -> None:
        if client < self.budget.clients:
            self._prompt(client)
        else:
            self.steer(client)

    def steer(self, client: int) -> None:
        """A message into a turn. A session that is not bound to a process has none to give it to."""
        key = key_of(client)
        if self.journal != DELETED and self.hub == "away":
            self._open()
        if self.journal == DELETED or self.hub == "away":
            self._set_client(client, "done")
            return
        state = self.tables.states[self.session]
        self._set_client(client, "waits")
        verdict = self.step("steer", key, state.last + 1000)
        is_shown_later = any(item[1:3] == ("steered", key) for item in self.outbox)
        if verdict in ("closing", "ignored", "full"):
            self.history.on_steer_refused(key)
            self._set_client(client, "done")
        elif verdict == "known" and key in state.steer_answers and not is_shown_later:
            self._answer_steer(client, steer_outcome_of(state.steer_answers[key].note))

    def handover(self) -> None:
        self._spend(handover=self.budget.handover - 1)
        self.step("continued")

    def _prompt(self, client: int) -> None:
        key = key_of(client)
        if self.journal == DELETED:
            self._set_client(client, "done")  # there is no such session
            return
        if self.hub == "away":
            self._open()
            if self.hub == "away":
                self._set_client(client, "done")
                return
        self.history = self.history.on_prompt_sent(key)
        self._set_client(client, "waits")
        state = self.tables.states[self.session]
        if key in state.answers and any(item[1:3] == ("answer", key) for item in self.outbox):
            return  # it is answered when its end is shown
        outcome = "" if key in state.answers or state.has_open_prompt(key) else self.old_outcome(key)
        verdict = "known" if outcome else self.step("prompt", key)
        if verdict in ("closing", "full"):
            self.history = self.history.on_prompt_refused(key)
            self._set_client(client, "done")
        elif verdict == "known" and (outcome or key in state.answers):
            self._answer(client, outcome or outcome_of(state.answers[key].note))

    def old_outcome(self, key: str) -> str:
        """How a prompt ended that the state does not remember: the engine looks it up in the journal."""
        return self.history.outcome(key)

    def cut(self, client: int) -> None:
        self._spend(cut=self.budget.cut - 1)
        self._set_client(client, "lost")

    def edit(self, client: int) -> bool:
        self._spend(edit=self.budget.edit - 1)
        return self.step("edit", key_of(client)) == "done"

    def withdraw(self, client: int) -> bool:
        self._spend(withdraw=self.budget.withdraw - 1)
        return self.step("withdraw", key_of(client)) == "done"

    def cancel(self) -> bool:
        self._spend(cancel=self.budget.cancel - 1)
        return self.step("cancel") == "done"

    def close(self, deletes: bool) -> bool:
        budget = self.budget
        self._spend(delete=budget.delete - 1) if deletes else self._spend(close=budget.close - 1)
        if self.tables.states[self.session].phase == "closed":
            return False
        self.closers += 1
        self.step("close", deletes)
        return True

    def drain(self) -> None:
        self._spend(drain=self.budget.drain - 1)
        self.step("drain")

    # Hubs end and begin.

    def crash(self) -> None:
        """All that is not stored is lost, and so is every connection."""
        self._spend(crash=self.budget.crash - 1)
        self._forget()
        self.hub = "down"
        self.closers = 0
        self.clients = tuple("lost" if phase == "waits" else phase for phase in self.clients)
        if self.budget.mortal:
            self._end_process()

    def _forget(self) -> None:
        self.hub, self.session, self.folded = "away", self.tables.empty, self.tables.empty
        self.waiting, self.unseen, self.outbox, self.starts = (), 0, (), ()
        self.asked, self.closing, self.stored, self.is_loading = (), False, 0, False

    def restart(self) -> None:
        self.hub = "away"
        if self.journal != DELETED:
            self._open()

    def _open(self) -> None:
        """What the engine does with a session that it finds in the journal."""
        tables, process = self.tables, self.process
        self.session = tables.recover(self.journal, self.dropped)
        state = tables.states[self.session]
        if state.phase == "closed":  # it was to be deleted, and the hub before did not come to that
            self._forget()
            self.journal = DELETED
            return
        self.hub, self.stored, self.folded = "open", tables.lasts[self.journal], tables.folded[self.journal]
        self._check_fold()
        if process.is_alive and process.number == state.process:
            self.outbox = tables.for_agent(self.journal, max(process.taken, state.bound_at))
            self.process = process._replace(delivered=process.acknowledged, since=state.bound_at)
            self._bind("")
            self.asked = tuple((sequence, False) for sequence in state.requests)
            self.is_loading = bool(state.loading)
        else:
            self.step("gone")
        self.step("resumed")

    def _set_client(self, client: int, phase: str) -> None:
        self.clients = (*self.clients[:client], phase, *self.clients[client + 1 :])

    def _spend(self, **counts: int) -> None:
        self.budget = self.budget._replace(**counts)

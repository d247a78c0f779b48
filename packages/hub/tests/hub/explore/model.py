"""One session and all that is around it, as one value, and everything that can happen next.

The session is the hub's own code (see `tables`). The rest is a model: the engine that stores entries and does
effects, the journal, an agent in a process that outlives the hub, and clients that send their prompt again
when they had no answer. `moves` gives what can happen, `perform` the world behind it; `perform` raises
`BrokenPromise` where a promise of the hub is not kept.

What must happen in the end (a store, an answer of the agent, a client's second try) is told from what may
happen (a crash, a cut, a cancel). All of it is bounded, so every run comes to a world in which nothing must
happen any more, whatever the order was: the hub has to be at rest there.
"""

from __future__ import annotations

from tests.hub.explore.invariants import BrokenPromise, SessionHistory
from tests.hub.explore.moves import Move
from tests.hub.explore.tables import MADE, Tables
from tests.hub.explore.world import Action, HubWorld, ProcessModel, Scope, key_of


class Model:
    """The rules of worlds; `tables` are filled on the way."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.tables = Tables()

    def first(self) -> HubWorld:
        """A session that was just made, in process 1."""
        tables = self.tables
        journal = tables.journal(0, tables.batch((MADE,)))
        bound = tables.step(tables.recover(journal, ()), ("bound", 1, "", 0, not self.scope.mortal))
        return HubWorld(
            hub="open",
            session=bound.state,
            folded=tables.folded[journal],
            journal=journal,
            dropped=(),
            waiting=(),
            unseen=0,
            stored=1,
            outbox=(),
            starts=(),
            is_loading=False,
            asked=(),
            closing=False,
            closers=0,
            process=ProcessModel(),
            clients=("new",) * (self.scope.clients + self.scope.steer),
            budget=self.scope,
            history=SessionHistory(),
        )

    def moves(self, world: HubWorld) -> tuple[list[Action], list[Action]]:
        """What must happen sooner or later, and what may happen."""
        must: list[Action] = []
        may: list[Action] = []
        budget, process, clients = world.budget, world.process, world.clients
        if process.is_alive and process.prompt:
            # An agent waits for what it has asked, and may be deaf to a cancel: a close does not wait for it.
            is_free = not process.asks and self.tables.states[world.session].phase == "open"
            (must if is_free else may).append(("reply",))
            if budget.update:
                may.append(("update",))
            if budget.ask and not process.asks:
                may.append(("ask",))
        if process.is_alive and process.steers and not process.asks:
            must.append(("answer_steer",))
        if process.loads and budget.ask and not process.asks:
            may.append(("ask",))
        if process.is_alive and budget.die:
            may.append(("die",))
        if world.hub == "down":
            must.append(("restart",))
            return must, may
        if budget.crash:
            may.append(("crash",))
        is_open = world.hub == "open"
        for client, phase in enumerate(clients):
            if phase == "lost":
                must.append(("retry", client))
            elif phase == "new" and client >= budget.clients:
                if is_open:
                    may.append(("steer", client))
            elif phase == "new":
                if client == 0 or clients[client - 1] != "new":  # they are alike: the first one is first
                    may.append(("prompt", client))
            elif budget.cut:
                may.append(("cut", client))
            if client >= budget.clients:
                continue
            if phase == "waits" and is_open and budget.edit:
                may.append(("edit", client))
            if phase == "waits" and is_open and budget.withdraw:
                may.append(("withdraw", client))
        if is_open:
            self._moves_of_engine(world, must, may)
        return must, may

    def _moves_of_engine(self, world: HubWorld, must: list[Action], may: list[Action]) -> None:
        budget, process, state = world.budget, world.process, self.tables.states[world.session]
        if world.unseen:
            must.append(("learn",))
        elif world.waiting:
            must.append(("store",))
            if budget.fail:
                may.append(("fail",))
        if world.outbox and world.outbox[0][0] <= world.stored:
            must.append(("do",))
        if world.is_loading:
            if process.is_alive and not process.asks and process.delivered == process.last:
                must.append(("loaded",))
        elif world.starts:
            must.append(("start",))
        if state.is_bound and not world.is_loading and any(item[1] == "start" for item in world.outbox):
            may.append(("start_early",))
        if world.starts and budget.start_fails:
            may.append(("start_fails",))
        if not process.is_alive:
            if state.is_bound:
                must.append(("gone",))
        elif (state.is_bound or state.phase == "closing") and process.delivered < process.last:
            must.append(("hear",))
        if world.closing:
            must.append(("closed",))
        if state.phase == "closing" and state.turn is not None:
            must.append(("timeout",))
        if world.asked:
            sequence, is_judged = world.asked[0]
            must.append(("settle" if is_judged else "judge", sequence))
        acts: tuple[tuple[int, Action], ...] = (
            (budget.cancel, ("cancel",)),
            (budget.handover, ("handover",)),
            (budget.close, ("close", False)),
            (budget.delete, ("close", True)),
        )
        may.extend(action for count, action in acts if count)
        if state.is_draining:
            must.append(("crash",))  # it is drained because it is to end
        elif budget.drain and budget.crash:
            may.append(("drain",))
        is_quiet = not (state.is_busy or state.queue or world.starts or world.outbox or world.waiting)
        if budget.release and state.is_bound and is_quiet:
            may.append(("release",))

    def perform(self, world: HubWorld, action: Action) -> HubWorld | None:
        """None if nothing comes of it."""
        move = Move(world, self.tables)
        if getattr(move, action[0])(*action[1:]) is False:
            return None
        return move.end()

    def check_rest(self, world: HubWorld) -> None:
        """Nothing has to happen any more in this world."""
        state, process = self.tables.states[world.session], world.process
        for client, phase in enumerate(world.clients):
            if phase == "waits" and client >= self.scope.clients:
                raise BrokenPromise("steer-settled-once", f"message {key_of(client)} is never answered")
            if phase == "waits":
                raise BrokenPromise("answered-once", f"prompt {key_of(client)} is never answered")
        if world.closers:
            raise BrokenPromise("comes-to-rest", "the close of the session is never answered")
        if world.hub != "open":
            return
        if state.is_busy or (state.queue and not state.is_draining):
            raise BrokenPromise("comes-to-rest", f"the session stays {state.listed_state}")
        if world.outbox or world.waiting or state.phase != "open":
            raise BrokenPromise("comes-to-rest", f"the session stays {state.phase}, with something undone")
        if state.is_bound and process.asks:
            raise BrokenPromise("request-answered-once", f"request {process.asks} is never answered")
        if state.is_bound and process.updates:
            text = f"{process.number}.{process.updates:02}"
            if world.history.update != text:
                raise BrokenPromise("updates-complete", f"update {text} is not stored")
        if state.is_bound and self.tables.for_agent(world.journal, max(process.since, process.taken)):
            raise BrokenPromise("frames-for-their-process", "a frame is stored for the agent and never sent")

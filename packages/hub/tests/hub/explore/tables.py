"""The machine of the hub, remembered: every step of it is taken once, by the very code that runs in the hub.

A world of the model is a tuple of numbers. States, entries and journals have numbers here, and a step from
one state by one event is looked up if it was taken before. So a world costs microseconds, and is hashed fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from msgspec import Raw
from msgspec.structs import replace

from dragoman.wire import Failure, Notification, Request, Response, decode
from dragoman_hub.session import events as ev
from dragoman_hub.session import machine
from dragoman_hub.session import state as states
from dragoman_hub.session.events import Effect, Event
from dragoman_hub.session.frames import object_of, value_of
from dragoman_hub.session.notes import note, read_note
from dragoman_hub.session.state import Direction, SessionState
from tests.hub.explore.invariants import (
    BrokenPromise,
    Fact,
    check_accepted,
    facts_of,
    outcome_of,
    steer_outcome_of,
    stored_part,
)

SESSION = "s"
SECRET, REDACTED = b"secret", b"[redacted]"
CLOSE_BY = 10.0
STOPPED: Mapping[str, object] = {"code": -32603, "message": "agent gone"}
NOT_STORED: Mapping[str, object] = {"code": -32603, "message": "not stored"}

Label: TypeAlias = tuple[Any, ...]
"""An event in short: a name and its arguments."""
Item: TypeAlias = tuple[Any, ...]
"""Something that the engine does when an entry is stored: its number, a name, and arguments."""
Row: TypeAlias = tuple[Direction, bytes]


class Taken(NamedTuple):
    """A step that was taken."""

    state: int
    batch: int
    """The entries that are stored together; 0 if there are none."""
    items: tuple[Item, ...]
    at_once: tuple[Item, ...]
    verdict: str


class Tables:
    """Made anew for each exploration: what is remembered is what the code did when it was asked."""

    def __init__(self) -> None:
        self.states: list[SessionState] = []
        self.stored_parts: list[int] = []
        """For each state the number of its stored part: equal numbers, equal parts."""
        self.batches: list[tuple[Row, ...]] = [()]
        self.facts: list[tuple[Fact, ...]] = [()]
        self.journals: list[tuple[int, int]] = [(0, 0)]
        """Each is another one and a batch behind it; the first is empty."""
        self.lasts: list[int] = [0]
        self.steps = 0
        self._state_numbers: dict[object, int] = {}
        self._part_numbers: dict[object, int] = {}
        self._batch_numbers: dict[tuple[Row, ...], int] = {(): 0}
        self._journal_numbers: dict[tuple[int, int], int] = {}
        self._taken: dict[tuple[int, Label], Taken] = {}
        self._folds: dict[tuple[int, int], int] = {}
        self._recovered: dict[tuple[int, tuple[int, ...]], int] = {}
        self.empty = self.state(states.new_state(SESSION))
        self.folded: list[int] = [self.empty]
        """For each journal the fold of its entries as they were said."""

    # Numbers.

    def state(self, state: SessionState) -> int:
        part = stored_part(state)
        whole = (
            *(part, state.phase, state.start, state.is_bound, state.survives, state.remind),
            *(
                state.is_draining,
                state.deletes,
                state.closing_process,
                state.close_by,
                state.last_stored,
                tuple(state.answers.values()),
            ),
            tuple(prompt.is_whole for prompt in state.queue),
            tuple(request.is_judged for request in state.requests.values()),
        )
        number = self._state_numbers.get(whole)
        if number is None:
            number = self._state_numbers[whole] = len(self.states)
            self.states.append(state)
            self.stored_parts.append(self._part(part))
        return number

    def _part(self, part: object) -> int:
        return self._part_numbers.setdefault(part, len(self._part_numbers))

    def batch(self, rows: tuple[Row, ...]) -> int:
        number = self._batch_numbers.get(rows)
        if number is None:
            number = self._batch_numbers[rows] = len(self.batches)
            self.batches.append(rows)
            self.facts.append(facts_of(SESSION, rows))
        return number

    def journal(self, before: int, batch: int) -> int:
        number = self._journal_numbers.get((before, batch))
        if number is None:
            number = self._journal_numbers[before, batch] = len(self.journals)
            self.journals.append((before, batch))
            self.lasts.append(self.lasts[before] + len(self.batches[batch]))
            self.folded.append(self.fold(self.folded[before], batch))
        return number

    def rows(self, journal: int) -> list[Row]:
        """All entries of a journal, the first one first."""
        parts: list[tuple[Row, ...]] = []
        while journal:
            journal, batch = self.journals[journal]
            parts.append(self.batches[batch])
        return [row for rows in reversed(parts) for row in rows]

    # What the code does.

    def fold(self, state: int, batch: int) -> int:
        known = self._folds.get((state, batch))
        if known is None:
            folded = _fold(self.states[state], self.batches[batch])
            known = self._folds[state, batch] = self.state(folded)
        return known

    def step(self, state: int, label: Label) -> Taken:
        known = self._taken.get((state, label))
        if known is None:
            known = self._taken[state, label] = self._take(state, label)
        return known

    def _take(self, number: int, label: Label) -> Taken:
        self.steps += 1
        before = self.states[number]
        event, now = EVENTS[label[0]](*label[1:])
        try:
            after, entries, effects, verdict, _ = machine.step(before, event, now)
        except Exception as error:  # whatever it is, it would end the session's engine
            raise BrokenPromise("no-failure", f"{type(event).__name__} raised {error!r}") from error
        if label[0] == "prompt":
            check_accepted(before, verdict)
        rows = tuple((entry.direction, frame) for entry in entries for frame in entry.frames)
        shown = [
            (sequence, "answer", read.key, outcome_of(read))
            for sequence, (direction, frame) in enumerate(rows, before.last + 1)
            if direction == "note" and (read := read_note(frame)) is not None and read.hub == "turn_ended"
        ]
        shown += [
            (sequence, "steered", read.key, steer_outcome_of(read))
            for sequence, (direction, frame) in enumerate(rows, before.last + 1)
            if direction == "note" and (read := read_note(frame)) is not None and read.hub == "steered"
        ]
        done = [item for effect in effects if (item := _item(effect)) is not None]
        # Sorting keeps the order of what has one number: effects come before clients are shown the entry.
        items = sorted([item for item in done if item[1] not in AT_ONCE] + shown, key=lambda item: item[0])
        at_once = tuple(item for item in done if item[1] in AT_ONCE)
        return Taken(self.state(after), self.batch(rows), tuple(items), at_once, verdict)

    def recover(self, journal: int, dropped: tuple[int, ...]) -> int:
        """What the next hub makes of a journal of which these entries have no original any more."""
        known = self._recovered.get((journal, dropped))
        if known is None:
            rows = self.rows(journal)
            state = _fold(
                states.new_state(SESSION), [(way, frame.replace(SECRET, REDACTED)) for way, frame in rows]
            )
            originals = {at: frame for at, (_, frame) in enumerate(rows, 1) if at not in dropped}
            state = states.restore(state, originals, lambda text: REDACTED in text)
            state = replace(state, last_stored=state.last)
            known = self._recovered[journal, dropped] = self.state(state)
        return known

    def for_agent(self, journal: int, after: int) -> tuple[Item, ...]:
        """What is stored for the agent behind an entry."""
        process = self.states[self.folded[journal]].process
        rows = [(at, frame) for at, (way, frame) in enumerate(self.rows(journal), 1) if way == "to_agent"]
        return tuple((at, "send", process, *_sent(frame)) for at, frame in rows if at > after)


def _fold(state: SessionState, rows: Iterable[Row]) -> SessionState:
    for direction, frame in rows:
        state = states.apply(state, direction, (frame,), 0.0)
    return state


# Effects in short. `QUIET` ones change nothing that anybody could see before the next one: they are done with
# the one before them.

AT_ONCE = frozenset({"replace", "refuse"})
QUIET = frozenset({"ask", "unask", "drop", "ack"})


def _item(effect: Effect) -> Item | None:
    match effect:
        case ev.StartTurn(after=after, key=key):
            return after, "start", key
        case ev.SendToAgent(after=after, frame=frame, process=process):
            return after, "send", process, *_sent(frame)
        case ev.OpenRequestReceived(after=after):
            return after, "ask", after
        case ev.RequestSettled(after=after, request=request):
            return after, "unask", request.sequence
        case ev.DropOriginals(after=after, sequences=sequences):
            return after, "drop", sequences
        case ev.CloseInAgent(after=after, deletes=deletes):
            return after, "close", deletes
        case ev.Forget(after=after, deletes=deletes):
            return after, "forget", deletes
        case ev.ReplaceEntry(after=after, frame=frame):
            return after, "replace", frame
        case ev.RefusePrompt(key=key):
            return 0, "refuse", key
    return None  # `TurnEnded`: clients are answered by the entry


def _sent(frame: bytes) -> tuple[Any, ...]:
    """A frame for the agent in short."""
    match decode(frame):
        case Request(id=number, method="session/prompt"):
            key = next(fact[1] for fact in facts_of(SESSION, [("to_agent", frame)]))
            return "prompt", key, number, REDACTED not in frame
        case Request(id=number, method="_session/steering", params=params):
            key = value_of(object_of(params).get("prompt"))[0]["text"]
            return "steer", key, number
        case Notification(method="session/cancel"):
            return ("cancel",)
        case Response(id=number) | Failure(id=number):
            return "response", number
    raise AssertionError(frame)


# Events by their names.


def _params(key: str, text: str) -> Raw:
    """The title is the first line, which is in the journal as it is; what is secret is behind it."""
    prompt = b'{"sessionId":"s","prompt":[{"type":"text","text":"%b\\nsecret"}],' % text.encode()
    return Raw(prompt + b'"_meta":{"dragoman":{"key":"%b","by":"client"}}}' % key.encode())


def _updates(process: int, counts: tuple[int, ...], number: int) -> Event:
    frames = [
        b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
        b'"agent_message_chunk","content":{"type":"text","text":"%d.%02d"}}}}' % (process, count)
        for count in counts
    ]
    return ev.UpdatesReceived(frames=frames, number=number, are_chunks=True)


def _request(process: int, number: int) -> Event:
    frame = (
        b'{"jsonrpc":"2.0","id":"%d.%d","method":"session/request_permission",'
        b'"params":{"sessionId":"s","options":[]}}' % (process, number)
    )
    return ev.RequestReceived(frame=frame, id=f"{process}.{number}", number=number)


def _steer(key: str, number: int) -> Event:
    frame = (
        b'{"jsonrpc":"2.0","id":%d,"method":"_session/steering",'
        b'"params":{"sessionId":"s","prompt":[{"type":"text","text":"%b"}]}}' % (number, key.encode())
    )
    return ev.SteerReceived(key=key, by="client", id=number, frame=frame)


def _steer_answer(number: int, outcome: str, at: int) -> Event:
    result = b'{"outcome":"%b"}' % outcome.encode()
    frame = b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (number, result)
    return ev.AnswerReceived(frame=frame, id=number, number=at, result=Raw(result))


def _answer(prompt_id: int, outcome: str, number: int) -> Event:
    result = b'{"stopReason":"%b"}' % outcome.encode()
    frame = b'{"jsonrpc":"2.0","id":%d,"result":%b}' % (prompt_id, result)
    return ev.AnswerReceived(frame=frame, id=prompt_id, number=number, result=Raw(result))


def _bound(process: int, how: str, heard: int, survives: bool) -> Event:
    """`how` is `load` if a process is asked to load the session, `loaded` if it has, empty if it knows it."""
    back = ev.BroughtBack(session=SESSION, result={}, remembers=True) if how == "loaded" else None
    load = 99 if how == "load" else 0
    return ev.AgentBound(process=process, survives=survives, note=back, load=load, last_received=heard)


def _settle(sequence: int) -> Event:
    allowed = Raw(b'{"outcome":{"outcome":"selected","optionId":"allow"}}')
    return ev.RequestAnswered(sequence=sequence, outcome="answered", by="client", result=allowed)


EVENTS: Mapping[str, Callable[..., tuple[Event, float]]] = {
    "prompt": lambda key: (ev.PromptReceived(key=key, by="client", params=_params(key, key)), 0.0),
    "edit": lambda key: (ev.PromptEdited(key=key, params=_params(key, f"{key} edited")), 0.0),
    "withdraw": lambda key: (ev.PromptWithdrawn(key=key), 0.0),
    "cancel": lambda: (ev.CancelReceived(), 0.0),
    "steer": lambda key, number: (_steer(key, number), 0.0),
    "steer reply": lambda number, outcome, at: (_steer_answer(number, outcome, at), 0.0),
    "continued": lambda: (ev.ContinuedElsewhere(session="t", agent="other", by="client"), 0.0),
    "close": lambda deletes: (ev.CloseReceived(by=CLOSE_BY, deletes=deletes), 0.0),
    "judge": lambda sequence: (ev.RequestJudged(sequence=sequence), 0.0),
    "settle": lambda sequence: (_settle(sequence), 0.0),
    "updates": lambda process, counts, number: (_updates(process, counts, number), 0.0),
    "request": lambda process, number: (_request(process, number), 0.0),
    "reply": lambda prompt_id, outcome, number: (_answer(prompt_id, outcome, number), 0.0),
    "ready": lambda key, number: (ev.AgentReady(key=key, id=number), 0.0),
    "start failed": lambda key: (ev.StartFailed(key=key, error=STOPPED), 0.0),
    "bound": lambda process, how, heard, survives: (_bound(process, how, heard, survives), 0.0),
    "unbound": lambda: (ev.AgentUnbound(), 0.0),
    "released": lambda: (ev.AgentReleased(), 0.0),
    "gone": lambda: (ev.AgentGone(error=STOPPED), 0.0),
    "closed": lambda: (ev.AgentClosed(), 0.0),
    "drain": lambda: (ev.Draining(), 0.0),
    "resumed": lambda: (ev.Resumed(), 0.0),
    "not stored": lambda stored: (ev.NotStored(last_stored=stored, error=NOT_STORED), 0.0),
    "entries stored": lambda last: (ev.EntriesStored(last=last), 0.0),
    "time": lambda: (ev.TimePassed(), CLOSE_BY),
}

MADE: Row = ("note", note("made", agent="a", cwd="/", n=1, result={}))
"""How every journal begins: process 1 has made the session."""

"""Bugs that are planted into the code, one at a time: an exploration must find each of them.

Each is a small change of the text of one or two functions, of the hub's machine or of the model of what is
around it. When the code changes so that a text is not there any more, planting it fails, and the bug is
to be written anew.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType, ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

from dragoman_hub.session import machine, state
from tests.hub.explore import model, moves, tables
from tests.hub.explore.world import Scope


class Change(NamedTuple):
    """`name` is a function of `module`, or `Class.method`."""

    module: ModuleType
    name: str
    old: str
    new: str


class PlantedBug(NamedTuple):
    name: str
    promise: str
    scope: Scope
    changes: tuple[Change, ...]


@contextmanager
def planted(bug: PlantedBug) -> Iterator[None]:
    """While this is open, the code has the bug."""
    with ExitStack() as stack:
        for change in bug.changes:
            _plant(stack, change)
        yield


def _plant(stack: ExitStack, change: Change) -> None:
    owner: Any = change.module
    *path, name = change.name.split(".")
    for part in path:
        owner = getattr(owner, part)
    function = getattr(owner, name)
    if not isinstance(function, FunctionType):
        stack.enter_context(patch.object(owner, name, eval(change.new, vars(change.module))))
        return
    changed = _changed(function, change)
    stack.enter_context(patch.object(owner, name, changed))
    for table in vars(change.module).values():
        if isinstance(table, dict):
            held = {key: changed for key, value in table.items() if value is function}
            stack.enter_context(patch.dict(table, held))


def _changed(function: FunctionType, change: Change) -> FunctionType:
    source = textwrap.dedent(inspect.getsource(function))
    if source.count(change.old) != 1:
        raise AssertionError(f"{change.name} has {source.count(change.old)} times, not once: {change.old}")
    made: dict[str, Any] = {}
    text = "from __future__ import annotations\n" + source.replace(change.old, change.new)
    exec(compile(text, f"<{change.name} with a bug>", "exec"), function.__globals__, made)
    found: FunctionType = made[function.__name__]
    return found


def _in_machine(name: str, old: str, new: str = "pass") -> tuple[Change, ...]:
    return (Change(machine, name, old, new),)


def _in_state(name: str, old: str, new: str = "pass") -> tuple[Change, ...]:
    return (Change(state, name, old, new),)


def _in_engine(name: str, old: str, new: str = "pass") -> tuple[Change, ...]:
    module = model if name.startswith("Model.") else moves
    return (Change(module, name, old, new),)


CRASH = Scope(clients=1, crash=1)
CUT = Scope(clients=1, cut=1)
CLOSE = Scope(clients=2, close=1)
FAIL = Scope(clients=2, fail=1)

PLANTED = (
    # Prompts and their answers.
    PlantedBug(
        "answers are forgotten, and nobody looks for them in the journal",
        "accepted-once",
        CUT,
        (
            Change(state, "ANSWERS", "", "0"),
            Change(moves, "Move.old_outcome", "return self.history.outcome(key)", 'return ""'),
        ),
    ),
    PlantedBug(
        "a prompt that has its answer counts as new",
        "accepted-once",
        CUT,
        _in_machine("prompt_verdict", "state.knows_key(key)", "state.has_open_prompt(key)"),
    ),
    PlantedBug(
        "a prompt that runs counts as new",
        "accepted-once",
        CUT,
        _in_state("SessionState.has_open_prompt", "is_running or ", ""),
    ),
    PlantedBug(
        "a prompt that waits counts as new",
        "accepted-once",
        CUT,
        _in_state("SessionState.has_open_prompt", " or any(prompt.key == key for prompt in self.queue)", ""),
    ),
    PlantedBug(
        "a prompt stays in the queue when the agent has it",
        "run-once",
        Scope(clients=1),
        (
            Change(state, "_apply_to_agent", "queue=_without(state.queue, key)", "queue=state.queue"),
            Change(state, "_apply_turn_ended", "queue=_without(state.queue, note.key)", "queue=state.queue"),
        ),
    ),
    PlantedBug(
        "the newest prompt is the first",
        "in-order",
        Scope(clients=2),
        _in_state("_apply_queued", "(*state.queue, prompt)", "(prompt, *state.queue)"),
    ),
    PlantedBug(
        "the next prompt does not wait for the turn to end",
        "one-at-a-time",
        Scope(clients=2),
        _in_machine("_begin_next", "state.is_busy or ", "state.start or "),
    ),
    PlantedBug(
        "the next prompt is not begun",
        "answered-once",
        Scope(clients=2),
        _in_machine("_end_prompt", "_begin_next(work)"),
    ),
    PlantedBug(
        "the queue is not taken up after a crash",
        "answered-once",
        CRASH,
        _in_machine("_session_resumed", "_begin_next(work)"),
    ),
    PlantedBug(
        "a failed start ends nothing",
        "answered-once",
        Scope(clients=1, start_fails=1),
        _in_machine("_start_failed", "_end_prompt(work, event.key, by=state.queue[0].by, error=event.error)"),
    ),
    PlantedBug(
        "a withdrawn prompt has no end",
        "answered-once",
        Scope(clients=2, withdraw=1),
        _in_machine("_withdraw", 'work.note("turn_ended", key=key, result=CANCELLED)', "work.state.last"),
    ),
    PlantedBug(
        "a prompt that was given to the agent can be withdrawn",
        "one-at-a-time",
        Scope(clients=2, withdraw=1),
        _in_machine(
            "_prompt_withdrawn",
            'return "done" if _withdraw',
            "turn = work.state.turn\n    if turn: _end_prompt(work, turn.key, result=CANCELLED)\n"
            '    return "done" if turn or _withdraw',
        ),
    ),
    PlantedBug(
        "a prompt that is on its way is withdrawn without a word to the start",
        "no-failure",
        Scope(clients=2, withdraw=1),
        _in_machine("_withdraw", "if waiting is None or work.state.start == key:", "if waiting is None:"),
    ),
    PlantedBug(
        "a prompt that is sent again gets another answer",
        "same-answer",
        CUT,
        _in_engine("Move._prompt", "outcome or outcome_of(state.answers[key].note)", '"cancelled"'),
    ),
    # Refusals.
    PlantedBug(
        "what is not stored is refused, and stored and run later",
        "refused-not-run",
        FAIL,
        (
            *_in_machine("_not_stored", "turn is not None and turn.since > event.last_stored", "False"),
            *_in_machine(
                "_refuse",
                'frame = note("turn_ended", key=key, error=error)',
                "work.do(ev.RefusePrompt(after=0, key=key, error=error))\n    return",
            ),
        ),
    ),
    PlantedBug(
        "a prompt is refused that is stored for the agent later",
        "state-is-fold",
        FAIL,
        _in_machine(
            "_not_stored",
            "work.do(ev.ReplaceEntry(after=turn.sequence, frame=encode_receipt(0)))",
            "pass",
        ),
    ),
    PlantedBug(
        "what may be stored is refused as if it were not",
        "state-is-fold",
        FAIL,
        _in_engine(
            "Model._moves_of_engine",
            'must.append(("learn",))',
            'must.append(("learn",))\n        if budget.fail: may.append(("fail",))',
        ),
    ),
    PlantedBug(
        "a stored prompt is refused with one that is not stored",
        "state-is-fold",
        FAIL,
        _in_machine("_not_stored", "if prompt.since > event.last_stored:", "if True:"),
    ),
    PlantedBug(
        "a refused prompt stays on its way",
        "no-failure",
        FAIL,
        _in_machine("_refuse", 'start="" if state.start == key else state.start', "start=state.start"),
    ),
    PlantedBug(
        "a refused prompt counts as a failed turn after a crash",
        "state-is-fold",
        FAIL,
        _in_state("_apply_turn_ended", "if was_open else", "if was_open or isinstance(note.error, Raw) else"),
    ),
    PlantedBug(
        "the place of a refused prompt in the journal keeps the prompt",
        "state-is-fold",
        FAIL,
        _in_machine("_refuse", "work.do(ev.ReplaceEntry(after=sequence, frame=frame))"),
    ),
    # Messages into turns, and hand-overs.
    PlantedBug(
        "a message into a turn that is sent again counts as new",
        "steered-once",
        Scope(clients=1, steer=1, cut=1),
        _in_machine("steer_verdict", "state.knows_steer(key)", "False"),
    ),
    PlantedBug(
        "the outcome of a message into a turn is not remembered",
        "steered-once",
        Scope(clients=1, steer=1, cut=1),
        _in_state("_apply_steered", "steer_answers=answers", "steer_answers=state.steer_answers"),
    ),
    PlantedBug(
        "a message into a turn is given to the agent and not stored",
        "frames-for-their-process",
        Scope(clients=1, steer=1),
        _in_machine(
            "_steer_received",
            "accept_steer(work, event)",
            "work.do(ev.SendToAgent(after=1, frame=event.frame, process=work.state.process))",
        ),
    ),
    PlantedBug(
        "nobody hears what became of a message when its agent dies",
        "steer-settled-once",
        Scope(clients=1, steer=1, die=1),
        (
            Change(
                machine, "_agent_gone", "doubt_steers(work, event.reason", "(lambda *_: 0)(work, event.reason"
            ),
            Change(machine, "_unbind", 'doubt_steers(work, "the session was taken from its agent")', "pass"),
        ),
    ),
    PlantedBug(
        "a hand-over that is asked for again is written again",
        "continued-once",
        Scope(clients=1, handover=2),
        _in_machine("_continued_elsewhere", "work.state.successor == event.session", "False"),
    ),
    PlantedBug(
        "a hub forgets where a session goes on",
        "continued-once",
        Scope(clients=1, handover=2, crash=1),
        _in_state("_apply_note", "_NOTES.get(note.hub)", '_NOTES.get(note.hub.replace("continued", ""))'),
    ),
    # Closing.
    PlantedBug(
        "a prompt that comes during a close hangs",
        "answered-once",
        CLOSE,
        _in_machine("prompt_verdict", 'return "closing"', 'return "known"'),
    ),
    PlantedBug(
        "a prompt is accepted during a close",
        "closing-accepts-nothing",
        CLOSE,
        _in_machine("prompt_verdict", 'if state.phase != "open":', "if False:"),
    ),
    PlantedBug(
        "a question that comes during a close waits for people",
        "closing-asks-nobody",
        Scope(clients=1, close=1, ask=1),
        _in_machine("_open_request", ' or work.state.phase != "open"', ""),
    ),
    PlantedBug(
        "a close leaves the queue as it is",
        "answered-once",
        CLOSE,
        _in_machine("_close_received", "_withdraw(work, waiting.key)"),
    ),
    PlantedBug(
        "a close of a quiet session waits for a turn to end",
        "comes-to-rest",
        CLOSE,
        _in_machine("_close_received", "_close_if_quiet(work)"),
    ),
    PlantedBug(
        "the end of a turn does not go on with the close",
        "comes-to-rest",
        CLOSE,
        _in_machine("_end_prompt", "_close_if_quiet(work)"),
    ),
    PlantedBug(
        "a close waits for ever for an agent that does not hear a cancel",
        "answered-once",
        CLOSE,
        _in_machine("_time_passed", "_end_prompt(work, turn.key, by=turn.by, result=CANCELLED)"),
    ),
    PlantedBug(
        "a closed session is not forgotten",
        "comes-to-rest",
        CLOSE,
        _in_machine("_agent_closed", "work.do(ev.Forget(after=last, deletes=work.state.deletes))"),
    ),
    PlantedBug(
        "the journal does not say that the agent was told to close the session",
        "agent-knows-session",
        CLOSE,
        _in_machine("_close_if_quiet", 'work.note("released")'),
    ),
    PlantedBug(
        "a process is bound to a session that is being closed",
        "agent-knows-session",
        Scope(clients=2, close=1, die=1),
        _in_machine("_agent_bound", 'if work.state.phase != "open":', "if False:"),
    ),
    PlantedBug(
        "the journal does not say that a quiet session was closed in its agent",
        "agent-knows-session",
        Scope(clients=2, release=1, crash=1),
        _in_machine("_agent_released", 'work.note("released")'),
    ),
    PlantedBug(
        "a prompt that has its answer is refused while the session is forgotten",
        "refusal-is-true",
        Scope(clients=1, close=1, cut=1),
        _in_machine("step", 'verdict="known" if has_answer else "closing"', 'verdict="closing"'),
    ),
    PlantedBug(
        "a deleted session is there again after a crash",
        "deleted-is-gone",
        Scope(clients=1, delete=1, crash=1),
        _in_state("_apply_note", "_NOTES.get(note.hub)", '_NOTES.get(note.hub.replace("deleted", ""))'),
    ),
    # The agent.
    PlantedBug(
        "a turn does not end with its agent",
        "answered-once",
        Scope(clients=1, die=1),
        _in_machine("_agent_gone", "_end_prompt(work, turn.key, by=turn.by, error=event.error)"),
    ),
    PlantedBug(
        "a turn ends twice when its agent dies",
        "ended-once",
        Scope(clients=1, die=1),
        _in_machine(
            "_agent_gone",
            "_end_prompt(work, turn.key, by=turn.by, error=event.error)",
            "_end_prompt(work, turn.key, by=turn.by, error=event.error)\n"
            "        _end_prompt(work, turn.key, by=turn.by, error=event.error)",
        ),
    ),
    PlantedBug(
        "a question is answered before it is judged",
        "judged-before-open",
        Scope(clients=1, ask=1),
        _in_machine("_request_answered", "and not open_request.is_visible", "and False"),
    ),
    PlantedBug(
        "a question counts as judged after a crash",
        "judged-before-open",
        Scope(clients=1, ask=1, crash=1),
        _in_state(
            "_apply_from_agent", "method, raw_params, time)", "method, raw_params, time, is_judged=True)"
        ),
    ),
    PlantedBug(
        "a settled request stays open",
        "settled-once",
        Scope(clients=1, ask=1),
        _in_state("_apply_settled", "if sequence not in state.requests:", "if True:"),
    ),
    PlantedBug(
        "a request that is open when the turn ends gets no answer",
        "request-answered-once",
        Scope(clients=1, ask=1),
        _in_machine(
            "_write_end",
            "_cancel_request(work, open_request)",
            "_settle(work, open_request.sequence, outcome='')",
        ),
    ),
    PlantedBug(
        "a request that is sent again after a crash is asked again",
        "request-answered-once",
        Scope(clients=1, ask=1, crash=1),
        _in_machine("_request_received", "if _is_known(work.state, event.number):", "if False:"),
    ),
    PlantedBug(
        "updates that are sent again after a crash are stored again",
        "updates-in-order",
        Scope(clients=1, update=1, crash=1),
        _in_machine("_updates_received", "event.number - state.last_received if state.survives else ", ""),
    ),
    PlantedBug(
        "the journal does not say which updates it has",
        "updates-in-order",
        Scope(clients=1, update=1, crash=1),
        _in_machine("_updates_received", "_mark_heard(work, event.number)"),
    ),
    PlantedBug(
        "the journal says that it has one frame more than it has",
        "answered-once",
        Scope(clients=1, update=2),
        _in_machine("_mark_heard", "state = work.state", "state, number = work.state, number + 1"),
    ),
    PlantedBug(
        "numbers of one process count for the next",
        "state-is-fold",
        Scope(clients=2, update=2, die=1),
        _in_state("_apply_loading", "last_received=0", "last_received=state.last_received"),
    ),
    PlantedBug(
        "a process that loads the session is forgotten by a crash",
        "request-answered-once",
        Scope(clients=1, release=1, ask=1, crash=1),
        _in_engine(
            "Move._open",
            "process.number == state.process",
            "process.number == state.process and not state.loading",
        ),
    ),
    PlantedBug(
        "the process that loads the session is not in the stream",
        "state-is-fold",
        Scope(clients=1, release=1),
        _in_state("_apply_loading", "process=note.n", "process=0"),
    ),
    PlantedBug(
        "a refusal that is not stored is forgotten",
        "accepted-once",
        Scope(clients=1, fail=1, again=1),
        _in_state("_apply_turn_ended", "latest_answers(answers, keep_after=state.last_stored)", "{}"),
    ),
    PlantedBug(
        "an answer that is sent again ends the next turn",
        "one-at-a-time",
        Scope(clients=3, crash=1, deaf=1),
        _in_machine(
            "_answer_received",
            "turn is None or turn.id != event.id or _is_known(work.state, event.number)",
            "turn is None",
        ),
    ),
    # The engine.
    PlantedBug(
        "an effect is done before its entry is stored",
        "effect-after-store",
        Scope(clients=1),
        _in_engine(
            "Model._moves_of_engine", "world.outbox and world.outbox[0][0] <= world.stored", "world.outbox"
        ),
    ),
    PlantedBug(
        "a frame is sent when the entry before it is stored",
        "effect-after-store",
        Scope(clients=1),
        _in_machine("_StepWork.say", "after=sequence,", "after=sequence - 1,"),
    ),
    PlantedBug(
        "a prompt that is sent again is answered before its end is stored",
        "answer-after-store",
        CUT,
        _in_engine(
            "Move._prompt",
            'if key in state.answers and any(item[1:3] == ("answer", key) for item in self.outbox):',
            "if False:",
        ),
    ),
    PlantedBug(
        "frames that the host has not taken are not sent again",
        "answered-once",
        CRASH,
        _in_engine("Move._open", "tables.for_agent(self.journal, max(process.taken, state.bound_at))", "()"),
    ),
    PlantedBug(
        "frames for one process are sent to the next",
        "frames-for-their-process",
        Scope(clients=2, die=1, crash=1),
        _in_engine("Move._open", "max(process.taken, state.bound_at)", "process.taken"),
    ),
    PlantedBug(
        "what is sent again after a crash is redacted",
        "as-it-was-sent",
        CRASH,
        (Change(tables, "Tables.for_agent", "_sent(frame)", "_sent(frame.replace(SECRET, REDACTED))"),),
    ),
    PlantedBug(
        "a host forgets which frames it has taken",
        "run-once",
        CRASH,
        _in_engine("Move._on_send", "process._replace(taken=sequence)", "process"),
    ),
    PlantedBug(
        "a host is told that frames are stored before they are",
        "updates-complete",
        Scope(clients=1, update=1, crash=1),
        _in_engine("Move.hear", "(self.tables.states[self.session].last,", "(0,"),
    ),
    PlantedBug(
        "open requests are not asked again after a crash",
        "answered-once",
        Scope(clients=1, ask=1, crash=1),
        _in_engine("Move._open", "self.asked = tuple((sequence, False) for sequence in state.requests)"),
    ),
    PlantedBug(
        "the original of a prompt is dropped while it waits",
        "state-is-fold",
        CRASH,
        _in_machine(
            "_prompt_received",
            "_begin_next(work)",
            "last = work.state.last\n    work.do(ev.DropOriginals(after=last, sequences=(last,)))\n"
            "    _begin_next(work)",
        ),
    ),
    PlantedBug(
        "an edit drops its own original",
        "state-is-fold",
        Scope(clients=2, edit=1, crash=1),
        _in_machine("_prompt_edited", "(before.sequence,)", "(before.sequence, last)"),
    ),
    PlantedBug(
        "originals are not put back after a crash",
        "state-is-fold",
        CRASH,
        (Change(tables, "Tables.recover", "states.restore(state, originals,", "states.restore(state, {},"),),
    ),
)

"""What follows from each event: entries, effects, and a verdict for whoever has brought it."""

from __future__ import annotations

from typing import Any, NamedTuple, get_args

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from dragoman.wire import Failure, Notification, Request, Response, decode
from dragoman_hub.session import events as ev
from dragoman_hub.session.events import Event
from dragoman_hub.session.machine import (
    CANCELLED,
    REDACTED_PROMPT,
    StepResult,
    prompt_verdict,
    step,
    title_of,
)
from dragoman_hub.session.notes import encode_receipt, note, read_note
from dragoman_hub.session.state import SessionState, apply, new_state, restore
from tests.every import every

ERROR = {"code": -32603, "message": "no"}
DONE = Raw(b'{"stopReason":"end_turn"}')
ALLOWED = Raw(b'{"outcome":{"outcome":"selected","optionId":"allow"}}')
UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}'
)
NOW, LATE = 100.0, 200.0


def params(key: str) -> Raw:
    text = b'{"sessionId":"s","prompt":[{"type":"text","text":"words of %b"}],' % key.encode()
    return Raw(text + b'"_meta":{"dragoman":{"key":"%b","by":"ann"}}}' % key.encode())


def prompt(key: str, *, most: int = 32) -> Event:
    return ev.PromptReceived(key=key, by="ann", params=params(key), most=most)


def asks(method: str = "session/request_permission", number: int = 1, request_id: Any = "r") -> Event:
    frame = b'{"jsonrpc":"2.0","id":"%b","method":"%b","params":{}}' % (request_id.encode(), method.encode())
    return ev.RequestReceived(frame=frame, id=request_id, number=number)


def answers(prompt_id: int = 1, number: int = 1, **ending: Any) -> Event:
    ending = ending or {"result": DONE}
    frame = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % prompt_id
    return ev.AnswerReceived(frame=frame, id=prompt_id, number=number, **ending)


def after(*events: Event) -> SessionState:
    state = new_state("s")
    for event in events:
        state = step(state, event, NOW).state
    return state


MADE = (
    ev.SessionMade(agent="a", cwd="/", folders=(), session="own", process=7, result={"modes": {}}),
    ev.AgentBound(process=7, survives=True),
)
IDLE = after(*MADE)
STARTING = after(*MADE, prompt("k"))
RUNNING = after(*MADE, prompt("k"), ev.AgentReady(key="k", id=1))
TWO = after(*MADE, prompt("k"), ev.AgentReady(key="k", id=1), prompt("l"))
UNJUDGED = after(*MADE, prompt("k"), ev.AgentReady(key="k", id=1), asks())
REQUEST = UNJUDGED.last - 1  # its mark follows it
JUDGED = ev.RequestJudged(sequence=REQUEST, rule="r")
ASKED = step(UNJUDGED, JUDGED, NOW).state
CLOSING = after(*MADE, prompt("k"), ev.AgentReady(key="k", id=1), ev.CloseReceived(by=LATE))
CLOSED = after(*MADE, ev.CloseReceived(by=LATE), ev.AgentClosed())
DRAINING = after(*MADE, ev.Draining())
UNBOUND = after(*MADE, ev.AgentGone(error=ERROR))
CHILD_UPDATE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'
    b'{"sessionUpdate":"subagent_update","sessionId":"kid","capabilities":{"cancel":{}}}}}'
)
PARENT = after(*MADE, prompt("k"), ev.AgentReady(key="k", id=1), ev.ChildMade(session="kid", own="kid"))
CHILD = after(replace(MADE[0], parent="p", title="look"), MADE[1])
ASKED_CHILD = after(replace(MADE[0], parent="p"), MADE[1], asks())
MORTAL = after(MADE[0], ev.AgentBound(process=7, survives=False))


STEER = ev.SteerReceived(
    key="m",
    by="me",
    id=9,
    frame=b'{"jsonrpc":"2.0","id":9,"method":"_session/steering","params":{"sessionId":"s","prompt":[{}]}}',
)
STEER_ANSWER = b'{"jsonrpc":"2.0","id":9,"result":{}}'
STEERED = after(*MADE, prompt("k"), ev.AgentReady(key="k", id=1), STEER)


class Case(NamedTuple):
    about: str
    state: SessionState
    event: Event
    entries: str = ""
    effects: str = ""
    verdict: str = "done"
    now: float = NOW


CASES = [
    # Prompts.
    Case("a prompt is on its way at once", IDLE, prompt("k"), "taken k", "StartTurn k", "accepted"),
    Case("a second one waits", RUNNING, prompt("l"), "queued l", "", "accepted"),
    Case("one waits while the hub drains", DRAINING, prompt("k"), "queued k", "", "accepted"),
    Case("one that runs is known", RUNNING, prompt("k"), verdict="known"),
    Case("the queue is bounded", TWO, prompt("m", most=1), verdict="full"),
    Case("a session that is being closed takes none", CLOSING, prompt("l"), verdict="closing"),
    Case("a closed session neither", CLOSED, prompt("l"), verdict="closing"),
    Case(
        "one that waits is edited",
        TWO,
        ev.PromptEdited(key="l", params=params("l")),
        "edited l",
        "DropOriginals",
    ),
    Case(
        "one that is on its way is not",
        STARTING,
        ev.PromptEdited(key="k", params=params("k")),
        verdict="ignored",
    ),
    Case(
        "one that nobody knows neither", TWO, ev.PromptEdited(key="m", params=params("m")), verdict="ignored"
    ),
    Case(
        "one that waits is withdrawn",
        TWO,
        ev.PromptWithdrawn(key="l"),
        "withdrawn l, turn_ended l",
        "DropOriginals, TurnEnded l",
    ),
    Case("one that is on its way is not withdrawn", STARTING, ev.PromptWithdrawn(key="k"), verdict="ignored"),
    Case("one that runs neither", RUNNING, ev.PromptWithdrawn(key="k"), verdict="ignored"),
    Case(
        "an agent that is there gets the prompt",
        STARTING,
        ev.AgentReady(key="k", id=1),
        "> session/prompt, renamed",
        "SendToAgent, DropOriginals",
    ),
    Case("not for a prompt that has ended", IDLE, ev.AgentReady(key="k", id=1), verdict="ignored"),
    Case(
        "a start that fails ends the prompt",
        STARTING,
        ev.StartFailed(key="k", error=ERROR),
        "turn_ended k",
        "DropOriginals, TurnEnded k",
    ),
    Case("but not another one", RUNNING, ev.StartFailed(key="k", error=ERROR), verdict="ignored"),
    # Answers and cancels.
    Case("the answer ends the turn", RUNNING, answers(), "< answer, turn_ended k, heard", "TurnEnded k"),
    Case(
        "the next prompt follows",
        TWO,
        answers(error=ERROR),
        "< answer, turn_ended k, heard",
        "TurnEnded k, StartTurn l",
    ),
    Case("an answer to something else is nothing", RUNNING, answers(2), verdict="ignored"),
    Case(
        "a start that is cancelled ends",
        STARTING,
        ev.CancelReceived(),
        "turn_ended k",
        "DropOriginals, TurnEnded k",
    ),
    Case(
        "a turn that is cancelled is the agent's to end",
        RUNNING,
        ev.CancelReceived(),
        "> session/cancel",
        "SendToAgent",
    ),
    Case(
        "what it has asked is cancelled",
        ASKED,
        ev.CancelReceived(),
        "> session/cancel, > answer, settled",
        "SendToAgent, SendToAgent, DropOriginals, RequestSettled",
    ),
    Case("there is nothing to cancel", IDLE, ev.CancelReceived(), verdict="ignored"),
    Case("a turn that cannot go on ends", RUNNING, ev.TurnFailed(error=ERROR), "turn_ended k", "TurnEnded k"),
    Case("without a turn nothing fails", IDLE, ev.TurnFailed(error=ERROR), verdict="ignored"),
    # What the agent says and asks.
    Case(
        "updates are stored with their number",
        RUNNING,
        ev.UpdatesReceived(frames=[UPDATE], number=1),
        "< session/update, heard",
    ),
    Case(
        "of a process that dies with the hub without",
        MORTAL,
        ev.UpdatesReceived(frames=[UPDATE], number=1),
        "< session/update",
    ),
    Case("again they are nothing", ASKED, ev.UpdatesReceived(frames=[UPDATE], number=1), verdict="ignored"),
    Case(
        "what is new of them is stored",
        ASKED,
        ev.UpdatesReceived(frames=[UPDATE] * 3, number=3),
        "< session/update, < session/update, heard",
    ),
    Case("a request is open", RUNNING, asks(), "< session/request_permission, heard", "OpenRequestReceived"),
    Case("again it is nothing", ASKED, asks(), verdict="ignored"),
    Case("a frame that goes no further counts", RUNNING, ev.FrameDropped(number=1), "heard"),
    Case("ids of ours are refused", RUNNING, asks(request_id="hub:1"), "> error, heard", "SendToAgent"),
    Case(
        "a question of ours is open",
        RUNNING,
        ev.QuestionAsked(frame=b'{"jsonrpc":"2.0","id":"hub:1","method":"session/request_permission"}'),
        "< session/request_permission",
        "OpenRequestReceived",
    ),
    Case(
        "the first answer counts",
        ASKED,
        ev.RequestAnswered(sequence=REQUEST, outcome="answered", by="ann", result=ALLOWED),
        "> answer, settled",
        "SendToAgent, DropOriginals, RequestSettled",
    ),
    Case("no other does", IDLE, ev.RequestAnswered(sequence=9, outcome="answered"), verdict="ignored"),
    Case(
        "the end of a turn answers what is open",
        ASKED,
        answers(number=2),
        "< answer, > answer, settled, turn_ended k, heard",
        "SendToAgent, DropOriginals, RequestSettled, TurnEnded k",
    ),
    Case("a question is judged", UNJUDGED, JUDGED),
    Case("once", ASKED, JUDGED, verdict="ignored"),
    Case("of none nothing is known", IDLE, ev.RequestJudged(sequence=9), verdict="ignored"),
    Case(
        "a rule answers before anybody is asked",
        UNJUDGED,
        ev.RequestJudged(sequence=REQUEST, outcome="answered", by="policy", result=ALLOWED),
        "> answer, settled",
        "SendToAgent, DropOriginals, RequestSettled",
    ),
    Case(
        "nobody answers what is not judged",
        UNJUDGED,
        ev.RequestAnswered(sequence=REQUEST, outcome="answered", by="ann", result=ALLOWED),
        verdict="ignored",
    ),
    Case(
        "it ends with its turn all the same",
        UNJUDGED,
        answers(number=2),
        "< answer, > answer, settled, turn_ended k, heard",
        "SendToAgent, DropOriginals, RequestSettled, TurnEnded k",
    ),
    Case(
        "what the reviewer says of it is told",
        ASKED,
        ev.RequestAssessed(sequence=REQUEST, members={"risks": []}),
        "judged",
    ),
    Case("of none it is not", IDLE, ev.RequestAssessed(sequence=9, members={}), verdict="ignored"),
    # Child sessions.
    Case(
        "a child is announced",
        RUNNING,
        ev.UpdatesReceived(frames=(CHILD_UPDATE,), number=1),
        "< session/update, heard",
        "ChildAnnounced",
    ),
    Case("a child is made", RUNNING, ev.ChildMade(session="kid", own="kid"), "child"),
    Case("it is made once", PARENT, ev.ChildMade(session="kid", own="kid"), verdict="known"),
    Case("a child takes no prompt", CHILD, prompt("k"), verdict="child"),
    Case(
        "its parent's cancel is for it too",
        PARENT,
        ev.CancelReceived(),
        "> session/cancel",
        "SendToAgent, EndChildRequests",
    ),
    Case(
        "and so is the end of the turn",
        PARENT,
        answers(number=2),
        "< answer, turn_ended k, heard",
        "TurnEnded k, EndChildRequests",
    ),
    Case(
        "what a child has asked ends with the turn of its parent",
        ASKED_CHILD,
        ev.ParentTurnEnded(),
        "> answer, settled",
        "SendToAgent, DropOriginals, RequestSettled",
    ),
    Case("a session without a parent goes on", ASKED, ev.ParentTurnEnded(), verdict="ignored"),
    Case(
        "a cancel of a child goes to the agent",
        ASKED_CHILD,
        ev.CancelReceived(),
        "> session/cancel, > answer, settled",
        "SendToAgent, SendToAgent, DropOriginals, RequestSettled",
    ),
    Case(
        "a child that is closed has its answers first",
        ASKED_CHILD,
        ev.CloseReceived(by=LATE),
        "> answer, settled, released",
        "SendToAgent, DropOriginals, RequestSettled, CloseInAgent",
    ),
    # Processes.
    Case("a session is made", new_state("s"), MADE[0], "made"),
    Case("a process that the stream knows is bound", UNBOUND, ev.AgentBound(process=7, survives=True)),
    Case(
        "one that has brought the session back is noted",
        UNBOUND,
        ev.AgentBound(
            process=8, survives=True, note=ev.BroughtBack(session="own", result={}, remembers=False)
        ),
        "bound, agent_back",
    ),
    Case(
        "not while the session is being closed",
        CLOSING,
        ev.AgentBound(process=8, survives=True),
        verdict="ignored",
    ),
    Case("what is stored is no news", IDLE, ev.EntriesStored(last=1)),
    Case("a process is let go of", IDLE, ev.AgentUnbound()),
    Case("that it closes the session is noted", IDLE, ev.AgentReleased(), "released"),
    Case("a process that ends while nothing runs is no news", IDLE, ev.AgentGone(error=ERROR, reason="x")),
    Case(
        "a turn ends with its process, and its requests too",
        ASKED,
        ev.AgentGone(error=ERROR, reason="x"),
        "settled, agent_gone, turn_ended k",
        "DropOriginals, RequestSettled, TurnEnded k",
    ),
    Case("the queue waits for the next hub", after(*MADE, ev.Draining(), prompt("k")), ev.Resumed()),
    Case("which goes on with it", replace(STARTING, start=""), ev.Resumed(), "", "StartTurn k"),
    # The end of a session.
    Case(
        "a quiet session is closed in its agent", IDLE, ev.CloseReceived(by=LATE), "released", "CloseInAgent"
    ),
    Case(
        "what the agent has asked out of a turn has its answer first",
        after(*MADE, asks()),
        ev.CloseReceived(by=LATE),
        "> answer, settled, released",
        "SendToAgent, DropOriginals, RequestSettled, CloseInAgent",
    ),
    Case("one without an agent at once", UNBOUND, ev.CloseReceived(by=LATE), "", "CloseInAgent"),
    Case(
        "one that is busy first ends what it does",
        TWO,
        ev.CloseReceived(by=LATE),
        "withdrawn l, turn_ended l, > session/cancel",
        "DropOriginals, TurnEnded l, SendToAgent",
    ),
    Case(
        "a start ends with the close",
        STARTING,
        ev.CloseReceived(by=LATE, deletes=True),
        "turn_ended k, released",
        "DropOriginals, TurnEnded k, CloseInAgent",
    ),
    Case("a second close joins the first", CLOSING, ev.CloseReceived(by=LATE)),
    Case(
        "the end of the turn goes on with the close",
        CLOSING,
        answers(),
        "< answer, turn_ended k, released, heard",
        "TurnEnded k, CloseInAgent",
    ),
    Case(
        "an agent that does not end it is not waited for",
        CLOSING,
        ev.TimePassed(),
        "turn_ended k, released",
        "TurnEnded k, CloseInAgent",
        now=LATE,
    ),
    Case("before that it is", CLOSING, ev.TimePassed()),
    Case(
        "the agent has closed it",
        after(*MADE, ev.CloseReceived(by=LATE)),
        ev.AgentClosed(),
        "closed",
        "Forget",
    ),
    Case(
        "a session is deleted",
        after(*MADE, ev.CloseReceived(by=LATE, deletes=True)),
        ev.AgentClosed(),
        "deleted, closed",
        "Forget",
    ),
    Case("nobody has asked for that", IDLE, ev.AgentClosed(), verdict="ignored"),
    Case("nothing happens in a closed session", CLOSED, answers(), verdict="closing"),
    # The journal and other nodes.
    Case(
        "what is not stored is refused",
        STARTING,
        ev.NotStored(last_stored=1, error=ERROR),
        "",
        "ReplaceEntry, RefusePrompt k",
    ),
    Case(
        "what was to go to the agent is refused, too",
        RUNNING,
        ev.NotStored(last_stored=1, error=ERROR),
        "",
        "ReplaceEntry, RefusePrompt k, ReplaceEntry",
    ),
    Case(
        "a turn whose prompt is stored goes on", RUNNING, ev.NotStored(last_stored=STARTING.last, error=ERROR)
    ),
    Case("what is stored is not", STARTING, ev.NotStored(last_stored=STARTING.last, error=ERROR)),
    Case("another node has it", RUNNING, ev.OwnershipLost()),
    Case("the hub drains", IDLE, ev.Draining()),
    Case("a checkpoint is written", IDLE, ev.CheckpointTaken(frame=b'{"hub":"gist"}'), "gist"),
    # What is only written down.
    Case("a session gets a name", IDLE, ev.Renamed(title="t"), "renamed"),
    Case(
        "another agent goes on",
        IDLE,
        ev.ContinuedElsewhere(session="t", agent="b", by="me"),
        "continued",
    ),
    Case(
        "it is said once",
        replace(IDLE, successor="t"),
        ev.ContinuedElsewhere(session="t", agent="b", by="me"),
        verdict="known",
    ),
    # Messages into turns.
    Case(
        "a message into a turn is stored with its key and given to the agent",
        RUNNING,
        STEER,
        "steering m, > _session/steering",
        "SendToAgent",
        "accepted",
    ),
    Case("one that is with the agent is known", STEERED, STEER, verdict="known"),
    Case("without an agent there is nobody to have it", UNBOUND, STEER, verdict="ignored"),
    Case("a session that is being closed takes no message", CLOSING, STEER, verdict="closing"),
    Case("a child takes none", CHILD, STEER, verdict="child"),
    Case(
        "one that the agent has taken is told as the user's",
        STEERED,
        ev.AnswerReceived(frame=STEER_ANSWER, id=9, number=2, result=Raw(b'{"outcome":"injected"}')),
        "< answer, < session/update, steered m, heard",
        "SteerEnded m",
    ),
    Case(
        "one that no turn has taken is told to nobody",
        STEERED,
        ev.AnswerReceived(frame=STEER_ANSWER, id=9, number=2, result=Raw(b'{"outcome":"promptRequired"}')),
        "< answer, steered m, heard",
        "SteerEnded m",
    ),
    Case(
        "nobody knows what became of one that is waited for no more",
        STEERED,
        ev.SteerGivenUp(key="m", reason="late"),
        "steered m",
        "SteerEnded m",
    ),
    Case("nor of one that is not there", RUNNING, ev.SteerGivenUp(key="m", reason="late"), verdict="ignored"),
    Case(
        "nor of one whose agent closes the session",
        after(*MADE, STEER),
        ev.AgentReleased(),
        "steered m, released",
        "SteerEnded m",
    ),
    Case("it gets folders", IDLE, ev.FoldersChanged(folders=("/x",)), "folders"),
    Case("not in a turn", RUNNING, ev.FoldersChanged(folders=("/x",)), verdict="ignored"),
    Case(
        "a frame for the agent",
        IDLE,
        ev.FrameForAgent(frame=b'{"jsonrpc":"2.0","method":"_x"}'),
        "> _x",
        "SendToAgent",
    ),
    Case(
        "is lost without one",
        UNBOUND,
        ev.FrameForAgent(frame=b'{"jsonrpc":"2.0","method":"_x"}'),
        verdict="ignored",
    ),
    Case("a frame for clients", IDLE, ev.FrameForClients(frame=UPDATE), "< session/update"),
]


@every("case", CASES, ids=lambda case: case.about)
def test_what_follows_from_an_event(case: Case) -> None:
    found = step(case.state, case.event, case.now)
    assert (entries_of(found), effects_of(found), found.verdict) == (case.entries, case.effects, case.verdict)
    assert found.state.last == case.state.last + sum(len(entry.frames) for entry in found.entries)
    assert all(entry.time == case.now for entry in found.entries)
    waits = [effect.after for effect in found.effects if not isinstance(effect, ev.RefusePrompt)]
    assert waits == sorted(waits)
    assert not waits or waits[-1] <= found.state.last


def test_every_event_has_a_case() -> None:
    assert {type(case.event) for case in CASES} == set(get_args(Event))


def test_every_effect_is_named_by_a_case() -> None:
    named = {words.split()[0] for case in CASES for words in case.effects.split(", ") if words}
    assert named == {effect.__name__ for effect in get_args(ev.Effect)}


def entries_of(found: StepResult) -> str:
    """`>` is for the agent, `<` from it, and a note has its kind and its key."""
    return ", ".join(_word(entry.direction, frame) for entry in found.entries for frame in entry.frames)


def _word(direction: str, frame: bytes) -> str:
    if direction == "note":
        read = read_note(frame)
        assert read is not None
        return f"{read.hub} {read.key}".strip()
    sign = ">" if direction == "to_agent" else "<"
    match decode(frame):
        case Request(method=method) | Notification(method=method):
            return f"{sign} {method}"
        case Response():
            return f"{sign} answer"
        case Failure():
            return f"{sign} error"
    raise AssertionError(frame)


def effects_of(found: StepResult) -> str:
    return ", ".join(f"{type(one).__name__} {getattr(one, 'key', '')}".strip() for one in found.effects)


# What a table does not show.


def test_a_refused_prompt_is_replaced_where_it_stands_and_remembered() -> None:
    found = step(STARTING, ev.NotStored(last_stored=1, error=ERROR), NOW)
    replaced = found.effects[0]
    assert isinstance(replaced, ev.ReplaceEntry)
    assert replaced.after == STARTING.queue[0].since
    assert replaced.frame == note("turn_ended", key="k", error=ERROR)
    assert (found.state.queue, found.state.start, found.state.has_failed) == ((), "", False)
    assert prompt_verdict(found.state, "k", 32) == "known"


@pytest.mark.parametrize("note", [None, ev.BroughtBack(session="own", result={}, remembers=True)])
def test_numbers_for_a_host_begin_behind_those_of_a_deleted_stream(note: ev.BroughtBack | None) -> None:
    """The session was deleted, and loaded again at another node; then it came back to this process."""
    bound = ev.AgentBound(
        process=8, survives=True, note=note, load=0 if note else 5, last_taken=UNBOUND.last + 9
    )
    found = step(UNBOUND, bound, NOW)
    assert found.state.taken_before == UNBOUND.last + 9
    finished = ev.AgentBound(process=8, survives=True, note=note, last_taken=UNBOUND.last + 12)
    assert step(found.state, finished, NOW).state.taken_before == UNBOUND.last + 9, "frames were said since"
    own = replace(bound, last_taken=UNBOUND.last)
    assert step(UNBOUND, own, NOW).state.taken_before == 0, "what it has is of this stream"


def test_a_closed_session_still_knows_its_answers() -> None:
    state = after(*MADE, prompt("k"), ev.CancelReceived(), ev.CloseReceived(by=LATE), ev.AgentClosed())
    assert step(state, prompt("k"), NOW).verdict == "known"


def test_an_agent_that_remembers_nothing_is_reminded_and_the_journal_is_not() -> None:
    back = ev.BroughtBack(session="other", result={}, remembers=False)
    state = after(
        *MADE, ev.AgentGone(error=ERROR), ev.AgentBound(process=8, survives=True, note=back), prompt("k")
    )
    assert state.remind
    found = step(state, ev.AgentReady(key="k", id=3, reminder_params=b'{"prompt":[]}'), NOW)
    sent = found.effects[0]
    assert isinstance(sent, ev.SendToAgent)
    assert (sent.process, sent.prompt_id) == (8, 3)
    assert sent.frame == b'{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"prompt":[]}}'
    assert b"words of k" in found.entries[0].frames[0]
    assert not found.state.remind


def test_a_prompt_of_which_only_the_redacted_form_is_left_is_not_run() -> None:
    state = restore(fold_again(after(*MADE, prompt("k"))), {}, lambda text: True)
    found = step(state, ev.Resumed(), NOW)
    assert entries_of(found) == "turn_ended k"
    assert REDACTED_PROMPT.encode() in found.entries[0].frames[0]


def fold_again(state: SessionState) -> SessionState:
    """The same stream after a crash."""
    return replace(state, start="", is_bound=False)


def test_an_expired_request_gets_the_answer_that_was_set_for_it() -> None:
    event = ev.RequestJudged(sequence=REQUEST, expires=LATE, expiry=ALLOWED)
    state = step(UNJUDGED, event, NOW).state
    assert step(state, ev.TimePassed(), NOW).entries == ()
    found = step(state, ev.TimePassed(), LATE)
    assert entries_of(found) == "> answer, settled"
    assert b'"expired"' in found.entries[1].frames[0]


def test_a_request_expires_also_if_the_clock_was_set_back() -> None:
    event = ev.RequestJudged(sequence=REQUEST, expires=LATE, expiry=ALLOWED)
    state = step(UNJUDGED, event, NOW).state
    assert step(state, ev.TimePassed(), NOW).state.requests
    assert not step(state, ev.TimePassed(due=LATE), NOW - 3600).state.requests


def test_two_requests_that_expire_at_once_are_both_settled() -> None:
    state = step(UNJUDGED, asks(number=2, request_id="r2"), NOW).state
    for sequence in state.requests:
        state = step(state, ev.RequestJudged(sequence=sequence, expires=LATE, expiry=ALLOWED), NOW).state
    assert step(state, ev.TimePassed(), LATE).state.requests == {}


def test_a_second_close_that_deletes_makes_it_a_delete() -> None:
    state = step(CLOSING, ev.CloseReceived(by=LATE, deletes=True), NOW).state
    found = step(state, answers(), NOW)
    assert found.effects[-1] == ev.CloseInAgent(after=found.state.last - 1, deletes=True)


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create"])
def test_what_is_lent_ends_with_the_turn_by_an_error(method: str) -> None:
    state = step(RUNNING, asks(method), NOW).state
    found = step(state, answers(number=2), NOW)
    assert entries_of(found) == "< answer, > error, settled, turn_ended k, heard"
    assert b"-32800" in found.entries[1].frames[0]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("  first line\nand more ", "first line"),
        ("x" * 200, "x" * 79 + "…"),
        ("Rewrite the parser, " + "slowly " * 20, "Rewrite the parser," + " slowly" * 8 + "…"),
        ("go", ""),
        ("hi!", ""),
        ("修复登录", "修复登录"),
        ("", ""),
    ],
)
def test_a_session_is_called_by_the_first_line_that_says_something(text: str, title: str) -> None:
    assert title_of(Raw(msgspec.json.encode({"prompt": [{"type": "text", "text": text}]}))) == title


def test_a_cancelled_start_says_so() -> None:
    found = step(STARTING, ev.CancelReceived(), NOW)
    assert found.state.answers["k"].note.result == CANCELLED


@pytest.mark.parametrize("state", [IDLE, RUNNING, ASKED, CLOSING, CLOSED, MORTAL])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("number", [1, 2, 3, 9])
def test_the_short_way_of_pieces_of_text_is_the_long_way(
    state: SessionState, count: int, number: int
) -> None:
    frames = [UPDATE.replace(b"hi", b"%d" % place) for place in range(count)]
    short = step(state, ev.UpdatesReceived(frames=frames, number=number, are_chunks=True), NOW)
    long = step(state, ev.UpdatesReceived(frames=frames, number=number), NOW)
    entries = [replace(entry, frames=tuple(entry.frames)) for entry in short.entries]
    assert short._replace(entries=tuple(entries)) == long


@pytest.mark.parametrize("number", [1, 2, 9])
@pytest.mark.parametrize("state", [IDLE, RUNNING, ASKED])
def test_what_was_heard_is_what_its_note_says(state: SessionState, number: int) -> None:
    found = step(state, ev.UpdatesReceived(frames=[UPDATE], number=number, are_chunks=True), NOW)
    for entry in found.entries:
        state = apply(state, entry.direction, entry.frames, NOW)
    assert found.state == state


@pytest.mark.parametrize("are_chunks", [True, False])
def test_updates_that_go_on_are_told_apart_from_those_before_by_nothing(are_chunks: bool) -> None:
    state = replace(RUNNING, last_received=4)
    first = ev.UpdatesReceived(frames=[UPDATE], number=5, are_chunks=are_chunks)
    second = ev.UpdatesReceived(frames=[UPDATE, UPDATE], number=7, are_chunks=are_chunks, go_on=True)
    both = ev.UpdatesReceived(frames=[UPDATE] * 3, number=7, are_chunks=are_chunks)
    between = step(state, first, NOW)
    found = step(between.state, second, NOW)
    assert (between.replaces_receipt, found.replaces_receipt) == (False, True)
    assert found.state == step(state, both, NOW).state
    assert found.entries[-1].frames == (encode_receipt(7),)
    again = step(found.state, second, NOW)
    assert (again.state, again.verdict, again.replaces_receipt) == (found.state, "ignored", False)


@pytest.mark.parametrize("number", [0, 1, 123456789012])
def test_the_note_of_what_was_heard_is_a_note_like_any_other(number: int) -> None:
    assert encode_receipt(number) == note("heard", n=number)

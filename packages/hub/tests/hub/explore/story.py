"""A broken promise as a story: a sentence for each action, and no action that could be left out."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.wire import Notification, Request, Response, decode
from dragoman_hub.session.notes import read_note
from tests.hub.explore.explorer import Found
from tests.hub.explore.invariants import PROMISES, BrokenPromise
from tests.hub.explore.model import Model
from tests.hub.explore.tables import Item, Row
from tests.hub.explore.world import Action, HubWorld, Scope, key_of

NAMES = "ABC"

SENTENCES = {
    "learn": "the hub learns that they are stored",
    "fail": "the journal refuses to store what waits",
    "start_fails": "the agent cannot be started",
    "start_early": "the agent, which is there, is made ready before the prompt is stored",
    "loaded": "the process has loaded the session",
    "hear": "the hub reads what the agent sent",
    "update": "the agent sends an update",
    "ask": "the agent asks for permission",
    "reply": "the agent answers the prompt",
    "die": "the agent dies",
    "gone": "the hub notices that the agent is dead",
    "closed": "the agent has closed the session",
    "timeout": "the time for the turn to end is over",
    "release": "nobody needs the agent: the hub lets go of it",
    "judge": "the hub judges the agent's request",
    "settle": "a person answers the agent's request",
    "answer_steer": "the agent says whether it has the message",
    "handover": "a client hands the session to another agent",
    "cancel": "a client cancels",
    "drain": "the hub is told to end soon",
    "crash": "the hub is killed",
    "restart": "the next hub reads the journal",
}

CLIENTS = {
    "prompt": "client {name} sends prompt {key}",
    "steer": "client {name} sends message {key} into the turn",
    "retry": "client {name} sends prompt {key} again",
    "cut": "client {name} loses its connection",
    "edit": "client {name} edits prompt {key}",
    "withdraw": "client {name} withdraws prompt {key}",
}


def replay(scope: Scope, actions: Sequence[Action]) -> BrokenPromise | None:
    """What breaks when these happen one after the other; None if nothing does, or one cannot happen."""
    model = Model(scope)
    world = model.first()
    try:
        for action in actions:
            must, may = model.moves(world)
            reached = model.perform(world, action) if action in must or action in may else None
            if reached is None:
                return None
            world = reached
        if not any(_can_happen(model, world, action) for action in model.moves(world)[0]):
            model.check_rest(world)
    except BrokenPromise as broken:
        return broken
    return None


def _can_happen(model: Model, world: HubWorld, action: Action) -> bool:
    try:
        return model.perform(world, action) is not None
    except BrokenPromise:
        return True


def shrink(found: Found) -> Found:
    """Without every action that is not needed for the same promise to break."""
    actions = list(found.actions)
    at = len(actions) - 1
    while at >= 0:
        fewer = actions[:at] + actions[at + 1 :]
        broken = replay(found.scope, fewer)
        if broken is not None and broken.name == found.promise:
            actions, found = fewer, found._replace(actions=tuple(fewer), why=broken.why)
        at -= 1
    return found


def tell(found: Found) -> str:
    """The whole story, a line for each action."""
    model = Model(found.scope)
    world = model.first()
    lines = []
    for action in found.actions:
        sentence = _sentence(model, world, action)
        try:
            reached = model.perform(world, action)
        except BrokenPromise:
            reached = None
        if reached is not None:
            sentence += _news(model, world, reached)
            world = reached
        lines.append(sentence)
    told = "\n".join(f"{number:3}. {line}" for number, line in enumerate(lines, 1))
    return f"{told}\n  => {found.promise}: {found.why}. The promise is: {PROMISES[found.promise]}"


def _sentence(model: Model, world: HubWorld, action: Action) -> str:
    name, *arguments = action
    if name in CLIENTS:
        client = arguments[0]
        return CLIENTS[name].format(name=NAMES[client], key=key_of(client))
    if name == "close":
        return f"a client {'deletes' if arguments[0] else 'closes'} the session"
    if name == "store":
        first = world.stored + 1
        rows = [row for batch in world.waiting for row in model.tables.batches[batch]]
        return f"the journal stores {_entries(first, rows)}"
    if name == "do":
        return _effect(world.outbox[0])
    if name == "start":
        is_bound = model.tables.states[world.session].is_bound
        return f"the agent is ready for {world.starts[0]}" if is_bound else "a process is to load the session"
    return SENTENCES[name]


def _news(model: Model, world: HubWorld, reached: HubWorld) -> str:
    """What clients and the hub have from it."""
    answered = [
        f"client {NAMES[client]} has its answer"
        for client, (before, after) in enumerate(zip(world.clients, reached.clients, strict=True))
        if before != after == "done"
    ]
    new = reached.waiting[len(world.waiting) :] if reached.hub == world.hub == "open" else ()
    if new:
        first = reached.stored + 1 + sum(len(model.tables.batches[batch]) for batch in world.waiting)
        rows = [row for batch in new for row in model.tables.batches[batch]]
        answered.append(f"{_entries(first, rows)} to be stored")
    return f" ({'; '.join(answered)})" if answered else ""


def _effect(item: Item) -> str:
    sequence, name, *arguments = item
    match name, arguments:
        case "start", [key]:
            return f"the hub begins to bring the agent there for {key}"
        case "send", [_, "prompt", key, *_]:
            return f"entry {sequence} is sent to the agent: prompt {key}"
        case "send", [_, what, *_]:
            return f"entry {sequence} is sent to the agent: {what}"
        case "answer", [key, outcome]:
            return f"entry {sequence} is shown to clients: prompt {key} ended ({outcome})"
        case "close", _:
            return "the agent is told to close the session"
        case "release", _:
            return "the agent is told to close the session until it is needed again"
    return "the hub forgets the session"


def _entries(first: int, rows: Sequence[Row]) -> str:
    words = [f"{number} {_word(row)}" for number, row in enumerate(rows, first)]
    return f"{'entries' if len(words) > 1 else 'entry'} {', '.join(words)}"


def _word(row: Row) -> str:
    direction, frame = row
    if direction == "note":
        note = read_note(frame)
        return "?" if note is None else f"`{note.hub}{f' {note.key}' if note.key else ''}`"
    match decode(frame):
        case Request(method=method) | Notification(method=method):
            return f"`{method}`"
        case Response():
            return "an answer for the agent" if direction == "to_agent" else "the agent's answer"
    return "an error for the agent" if direction == "to_agent" else "the agent's error"

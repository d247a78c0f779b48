"""The promises of the hub about a session, as observers of its history.

`SessionHistory` is what was seen of one session so far, from outside: what its journal has, what reached its
agent, and what clients were answered. Each `on_…` gives the history behind one more observation, or raises
`BrokenPromise` with the name of the promise. Nothing here looks at how the hub keeps its promises, so the
same observers can be folded along a model, a simulation or a journal that a real hub has left.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Raw

from dragoman.wire import Request, decode
from dragoman_hub.session.frames import object_of, ours_in, update_kind, update_start, value_of
from dragoman_hub.session.notes import StreamNote, read_note
from dragoman_hub.session.state import Direction, SessionState, latest_answers

PROMISES = {
    "answered-once": "Every attempt to prompt gets exactly one answer.",
    "same-answer": "All attempts with one key get the same answer: the one that is stored.",
    "answer-after-store": "A prompt is answered after its end is stored.",
    "effect-after-store": "Nothing is done before the entry that says so is stored.",
    "accepted-once": "A key is accepted once, however often it is sent.",
    "ended-once": "A prompt has one end.",
    "run-once": "A prompt is given to an agent at most once, and not after its end.",
    "refused-not-run": "A prompt that was refused is not run, unless it is sent again.",
    "refusal-is-true": "A prompt that was run, or that has its end, is not refused.",
    "one-at-a-time": "One prompt at a time is with the agent.",
    "in-order": "Prompts are given to the agent in the order in which they were stored.",
    "steered-once": "A message into a turn is accepted and given to an agent at most once per key.",
    "steer-settled-once": "A message into a turn has one stored outcome, which every attempt is told.",
    "continued-once": "A hand-over to a session is written once, however often it is asked for.",
    "request-answered-once": "A request of an agent gets one answer, or ends with its process or session.",
    "settled-once": "A request is settled once.",
    "judged-before-open": "Nobody can answer a question before it is judged and that is written down.",
    "updates-in-order": "Updates are stored in the order in which the agent sent them, each once.",
    "updates-complete": "Every update of an agent that lives is stored.",
    "frames-for-their-process": "An agent gets what was stored for its own process, once and in order.",
    "agent-knows-session": "Nothing about a session is sent to a process that has closed it.",
    "as-it-was-sent": "What is acted upon is what was sent, not its redacted form.",
    "state-is-fold": "The state is the fold of the entries, so the next hub knows what this one knew.",
    "closing-accepts-nothing": "A session that is being closed accepts no prompt.",
    "closing-asks-nobody": "What an agent asks people while its session is closing is cancelled at once.",
    "deleted-is-gone": "Nothing follows in a session that was deleted.",
    "comes-to-rest": "Every turn and every close ends, whatever happens around it.",
    "no-failure": "The machine has an answer to every event in every state.",
}
"""Each promise by its name; docs/hub.md leads here."""


class BrokenPromise(Exception):
    """A history that must not be."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why} ({PROMISES[name]})")
        self.name = name
        self.why = why


FactKind: TypeAlias = Literal[
    "accepted", "ended", "begun", "settled", "update", "deleted", "steering", "steered", "continued"
]
Fact: TypeAlias = tuple[FactKind, str, str]
"""What a stored entry says: a kind, whose it is (a key or a number), and an outcome or a text."""


def facts_of(session_id: str, entries: Iterable[tuple[Direction, bytes]]) -> tuple[Fact, ...]:
    """What entries say about promises; most say nothing."""
    facts = (_fact_of(session_id, direction, frame) for direction, frame in entries)
    return tuple(fact for fact in facts if fact is not None)


def _fact_of(session_id: str, direction: Direction, frame: bytes) -> Fact | None:
    if direction == "note":
        note = read_note(frame)
        return None if note is None else _fact_of_note(note)
    if direction == "to_agent":
        message = decode(frame)
        if isinstance(message, Request) and message.method == "session/prompt":
            return "begun", str(ours_in(object_of(message.params)).get("key", "")), ""
        return None
    kind = update_kind(frame, update_start(session_id))
    if kind is None or kind == b"user_message_chunk":
        return None
    update = object_of(object_of(object_of(frame).get("params")).get("update"))
    return "update", "", str(value_of(object_of(update.get("content")).get("text"), ""))


def _fact_of_note(note: StreamNote) -> Fact | None:
    if note.hub in ("taken", "queued"):
        return "accepted", note.key, ""
    if note.hub == "turn_ended":
        return "ended", note.key, outcome_of(note)
    if note.hub == "settled":
        return "settled", note.request, note.outcome
    if note.hub == "steering":
        return "steering", note.key, ""
    if note.hub == "steered":
        return "steered", note.key, steer_outcome_of(note)
    if note.hub == "continued":
        return "continued", note.session, ""
    return ("deleted", "", "") if note.hub == "deleted" else None


def outcome_of(note: StreamNote) -> str:
    """How a prompt ended, in a few words."""
    if isinstance(note.error, Raw):
        return f"error: {value_of(object_of(note.error).get('message'), '')}"
    result = object_of(note.result) if isinstance(note.result, Raw) else {}
    return str(value_of(result.get("stopReason"), ""))


def steer_outcome_of(note: StreamNote) -> str:
    """What came of a message into a turn, in a few words."""
    if isinstance(note.error, Raw):
        return f"error: {value_of(object_of(note.error).get('message'), '')}"
    return "result: " + (bytes(note.result).decode() if isinstance(note.result, Raw) else "")


class SessionHistory(NamedTuple):
    """What was seen of a session. Keys are in the order in which they were seen."""

    accepted_keys: tuple[str, ...] = ()
    """Prompts that are stored."""
    begun_keys: tuple[str, ...] = ()
    """Prompts whose frame for the agent is stored."""
    given_keys: tuple[str, ...] = ()
    """Prompts that have reached an agent."""
    ends: tuple[tuple[str, str], ...] = ()
    """Prompts whose end is stored, with their outcome."""
    refused_keys: tuple[str, ...] = ()
    """Prompts that were refused and not sent again."""
    settled_ids: tuple[str, ...] = ()
    answered_ids: tuple[str, ...] = ()
    """Requests of agents that have their answer."""
    steer_keys: tuple[str, ...] = ()
    """Messages into turns that are stored."""
    given_steers: tuple[str, ...] = ()
    """Those that have reached an agent."""
    steer_ends: tuple[tuple[str, str], ...] = ()
    """Those whose outcome is stored, with it."""
    successors: tuple[str, ...] = ()
    """Sessions in which other agents go on."""
    update: str = ""
    """The last update."""
    is_deleted: bool = False

    # The journal.

    def on_stored(self, facts: Iterable[Fact]) -> SessionHistory:
        history = self
        for kind, name, text in facts:
            if history.is_deleted:
                raise BrokenPromise(
                    "deleted-is-gone", f"{kind} {name} is stored behind the end of the session"
                )
            history = _ON_STORED[kind](history, name, text)
        return history

    def _on_accepted(self, key: str, _: str) -> SessionHistory:
        if key in self.accepted_keys or self.outcome(key):
            raise BrokenPromise("accepted-once", f"prompt {key} was accepted again")
        return self._replace(accepted_keys=(*self.accepted_keys, key))

    def _on_ended(self, key: str, outcome: str) -> SessionHistory:
        if self.outcome(key):
            raise BrokenPromise("ended-once", f"prompt {key} ended a second time")
        return self._replace(ends=(*self.ends, (key, outcome)))

    def _on_begun(self, key: str, _: str) -> SessionHistory:
        if key in self.begun_keys or self.outcome(key):
            raise BrokenPromise(
                "run-once", f"prompt {key} is for the agent although it was there or has ended"
            )
        for earlier in self.begun_keys:
            if not self.outcome(earlier):
                raise BrokenPromise("one-at-a-time", f"prompt {key} is for the agent while it has {earlier}")
        for earlier in (
            self.accepted_keys[: self.accepted_keys.index(key)] if key in self.accepted_keys else ()
        ):
            if not self.outcome(earlier):
                raise BrokenPromise("in-order", f"prompt {key} overtook {earlier}")
        return self._replace(begun_keys=(*self.begun_keys, key))

    def _on_settled(self, request: str, _: str) -> SessionHistory:
        if request in self.settled_ids:
            raise BrokenPromise("settled-once", f"request {request} was settled twice")
        return self._replace(settled_ids=(*self.settled_ids, request))

    def _on_update(self, _: str, text: str) -> SessionHistory:
        """Updates of an agent under test say the number of its process and their own: `2.07`."""
        process, _, count = text.partition(".")
        before, _, last = self.update.partition(".")
        if text <= self.update:
            raise BrokenPromise("updates-in-order", f"update {text} is stored behind {self.update}")
        if int(count) > (int(last) if process == before else 0) + 1:
            raise BrokenPromise("updates-complete", f"update {text} is stored, and one before it is not")
        return self._replace(update=text)

    def _on_deleted(self, _: str, __: str) -> SessionHistory:
        return self._replace(is_deleted=True)

    def _on_steering(self, key: str, _: str) -> SessionHistory:
        if key in self.steer_keys:
            raise BrokenPromise("steered-once", f"message {key} was accepted again")
        return self._replace(steer_keys=(*self.steer_keys, key))

    def _on_steered(self, key: str, outcome: str) -> SessionHistory:
        if self.steer_outcome(key):
            raise BrokenPromise("steer-settled-once", f"message {key} was settled twice")
        return self._replace(steer_ends=(*self.steer_ends, (key, outcome)))

    def _on_continued(self, session: str, _: str) -> SessionHistory:
        if session in self.successors:
            raise BrokenPromise("continued-once", f"the hand-over to {session} was written twice")
        return self._replace(successors=(*self.successors, session))

    def steer_outcome(self, key: str) -> str:
        """What came of a message into a turn; empty if that is not stored."""
        return next((outcome for steer_key, outcome in self.steer_ends if steer_key == key), "")

    def outcome(self, key: str) -> str:
        """How a prompt ended; empty if no end is stored."""
        return next((outcome for ended_key, outcome in self.ends if ended_key == key), "")

    # The agent.

    def on_prompt_given(self, key: str, *, is_with_agent: str, is_whole: bool) -> SessionHistory:
        """A prompt has reached an agent, which has the prompt `is_with_agent`, or none."""
        if key in self.given_keys:
            raise BrokenPromise("run-once", f"prompt {key} reached an agent again")
        if key in self.refused_keys:
            raise BrokenPromise("refused-not-run", f"prompt {key} was refused and then run")
        if key not in self.begun_keys:
            raise BrokenPromise("effect-after-store", f"prompt {key} reached the agent and is not stored")
        if is_with_agent:
            raise BrokenPromise("one-at-a-time", f"the agent got prompt {key} while it had {is_with_agent}")
        if not is_whole:
            raise BrokenPromise("as-it-was-sent", f"the agent got the redacted form of prompt {key}")
        return self._replace(given_keys=(*self.given_keys, key))

    def on_steer_given(self, key: str) -> SessionHistory:
        """A message into a turn has reached an agent."""
        if key in self.given_steers:
            raise BrokenPromise("steered-once", f"message {key} reached an agent again")
        if key not in self.steer_keys:
            raise BrokenPromise("effect-after-store", f"message {key} reached the agent and is not stored")
        return self._replace(given_steers=(*self.given_steers, key))

    def on_request_answered(self, request: str) -> SessionHistory:
        """An agent has the answer to a request of its own."""
        if request in self.answered_ids:
            raise BrokenPromise("request-answered-once", f"request {request} was answered twice")
        return self._replace(answered_ids=(*self.answered_ids, request))

    # Clients.

    def on_prompt_sent(self, key: str) -> SessionHistory:
        if key not in self.refused_keys:
            return self
        return self._replace(
            refused_keys=tuple(refused_key for refused_key in self.refused_keys if refused_key != key)
        )

    def on_prompt_refused(self, key: str) -> SessionHistory:
        """A client was told that its prompt was not taken."""
        if key in self.given_keys or self.outcome(key):
            raise BrokenPromise(
                "refusal-is-true", f"prompt {key} was refused although it was run or has ended"
            )
        if key in self.refused_keys:
            return self
        return self._replace(refused_keys=tuple(sorted((*self.refused_keys, key))))

    def on_steer_refused(self, key: str) -> None:
        """A client was told that its message was not taken."""
        if key in self.given_steers:
            raise BrokenPromise("refusal-is-true", f"message {key} was refused although the agent has it")

    def on_steer_answered(self, key: str, outcome: str) -> None:
        if self.steer_outcome(key) != outcome:
            raise BrokenPromise(
                "steer-settled-once",
                f"message {key} was answered {outcome!r} and is stored as {self.steer_outcome(key)!r}",
            )

    def on_prompt_answered(self, key: str, outcome: str) -> None:
        stored_outcome = self.outcome(key)
        if not stored_outcome:
            raise BrokenPromise("answer-after-store", f"prompt {key} was answered and no end of it is stored")
        if stored_outcome != outcome:
            raise BrokenPromise(
                "same-answer", f"prompt {key} was answered {outcome!r} and ended {stored_outcome!r}"
            )


_ON_STORED = {
    "accepted": SessionHistory._on_accepted,
    "ended": SessionHistory._on_ended,
    "begun": SessionHistory._on_begun,
    "settled": SessionHistory._on_settled,
    "update": SessionHistory._on_update,
    "deleted": SessionHistory._on_deleted,
    "steering": SessionHistory._on_steering,
    "steered": SessionHistory._on_steered,
    "continued": SessionHistory._on_continued,
}


def stored_part(state: SessionState) -> tuple[object, ...]:
    """What a state has from entries, as one value that can be compared and hashed. The rest of it ends with
    the hub.
    """
    return (
        *(state.id, state.last, state.agent, state.cwd, state.folders, state.agent_session),
        *(
            state.process,
            state.bound_at,
            state.loading,
            state.last_received,
            state.title,
            state.has_failed,
            state.turns,
            state.has_old_answers,
        ),
        tuple(sorted((name, bytes(raw)) for name, raw in state.agent_answer.items())),
        state.turn,
        tuple(
            (prompt.key, prompt.by, bytes(prompt.params), prompt.sequence, prompt.since)
            for prompt in state.queue
        ),
        tuple(
            (request.sequence, request.id, request.method, bytes(request.params))
            for request in state.requests.values()
        ),
        frozenset(
            (key, answer.sequence, outcome_of(answer.note))
            for key, answer in latest_answers(state.answers).items()
        ),
        state.has_old_answers,
        tuple(sorted(state.latest.items())),
        state.parent,
        tuple(state.children.items()),
        tuple((steer.key, steer.id, steer.sequence) for steer in state.steers.values()),
        tuple(
            (key, answer.sequence, answer.is_error, answer.content)
            for key, answer in state.steer_answers.items()
        ),
        state.successor,
    )


def check_state(state: SessionState, replayed_state: SessionState) -> None:
    """`replayed_state` is the fold of all entries, stored or not."""
    if stored_part(state) != stored_part(replayed_state):
        raise BrokenPromise("state-is-fold", "the state differs from the fold of its entries")


def check_accepted(before: SessionState, verdict: str) -> None:
    """`before` is the state that a prompt met."""
    if verdict == "accepted" and before.phase != "open":
        raise BrokenPromise(
            "closing-accepts-nothing", f"a prompt was accepted while the session was {before.phase}"
        )

"""Prompts that wait until their idempotency key has been looked up in the journal.

A session has in mind the keys of its open prompts and its last answers; a session that has had no more than
those needs no lookup. The journal knows every key that a session ever had, so a prompt that comes again after
any time and any number of turns gets its answer, and is not carried out again. Prompts are accepted in the
order in which they came, and what comes for a key that is being looked up waits for the same outcome.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from msgspec import Raw, Struct

from dragoman.errors import ErrorAnswer, JournalError
from dragoman.runtime.locks import LazyEvent
from dragoman.runtime.owner import TaskOwner
from dragoman.wire import ErrorObject, error_object
from dragoman.wire.codes import INTERNAL_ERROR, invalid_request
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.table import FORBIDDEN
from dragoman_hub.session.machine import Verdict
from dragoman_hub.session.notes import read_note
from dragoman_hub.session.state import REDACTED, PromptAnswer, SessionState
from dragoman_local.journal import Journal
from dragoman_local.journal.idempotency import steer_key

log = logging.getLogger(__name__)

UNREADABLE = "Internal error: the journal cannot be read, so the prompt was not accepted; send it again"


KEY_OF_OTHERS = "Forbidden: another token has used this key already; send the message with a new one"

CHILD = "its agent alone works in it; send this to the parent session"


class IncomingPrompt(Struct, kw_only=True, eq=False):
    """A prompt that was neither accepted nor answered yet."""

    params: dict[str, Raw]
    key: str
    by: str
    lends: Sequence[str]
    """The methods that its client answers for the agent."""
    is_fresh: bool
    """Whether its key can't be in use: the hub has just created it, or knows all of the session."""
    may_claim: bool = False
    """Whether it may get the answer to another token's prompt: see `check_owner`."""
    is_cancelled: bool = False


class PromptSession(Protocol):
    """The session that accepts prompts (`live_session.LiveSession`)."""

    id: str
    stream: str

    @property
    def state(self) -> SessionState: ...
    @property
    def prompts_queued(self) -> int: ...
    def submit(self, params: dict[str, Raw], *, key: str, by: str, lends: Sequence[str]) -> Verdict: ...
    def withdraw(self, key: str) -> bool: ...
    def cancel(self) -> None: ...
    def refuse_prompt(self, key: str, error: ErrorObject) -> None: ...
    def answer_prompt(self, key: str, answer: PromptAnswer) -> None: ...


class KeyLookups:
    """The waiting prompts of one session."""

    __slots__ = ("_empty_event", "_journal", "_owner", "_prompts", "_session")

    def __init__(self, session: PromptSession, journal: Journal, owner: TaskOwner) -> None:
        self._session = session
        self._journal = journal
        self._owner = owner
        self._prompts: dict[str, IncomingPrompt] = {}  # by key, in the order of their coming
        self._empty_event = LazyEvent(is_set=True)

    def __len__(self) -> int:
        return len(self._prompts)

    def __contains__(self, key: object) -> bool:
        return key in self._prompts

    def owner_of(self, key: str) -> str:
        """Return the token that sent the prompt with this key; empty if none is looked up."""
        prompt = self._prompts.get(key)
        return "" if prompt is None else prompt.by

    def add(self, prompt: IncomingPrompt) -> Verdict:
        """Add a prompt. Waiters for its key get its answer, unless it is refused at once."""
        session = self._session
        if prompt.key in self._prompts:
            return "known"
        if not self._prompts and (prompt.is_fresh or session.state.knows_key(prompt.key)):
            return self._submit(prompt)
        if len(session.state.queue) + len(self._prompts) >= session.prompts_queued:
            return "full"
        self._prompts[prompt.key] = prompt
        if self._empty_event.is_set():
            self._empty_event.clear()
            self._owner.start(self._look_up_all())
        return "accepted"

    def cancel(self, key: str) -> None:
        """Cancel a request, if it has not run yet."""
        self._prompts[key].is_cancelled = True

    async def finish(self) -> None:
        """Wait until all prompts have been looked up."""
        await self._empty_event.wait()

    async def _look_up_all(self) -> None:
        try:
            while self._prompts and self._session.state.phase != "lost":
                prompt = next(iter(self._prompts.values()))
                await self._look_up(prompt)
        finally:
            self._prompts.clear()
            self._empty_event.set()

    async def _look_up(self, prompt: IncomingPrompt) -> None:
        session, key = self._session, prompt.key
        answer: PromptAnswer | None = None
        problem: Exception | None = None
        try:
            if not prompt.is_fresh:
                answer = await read_answer(self._journal, session.stream, key)
        except (JournalError, TimeoutError) as error:
            problem = error
        if session.state.phase == "lost":
            return  # another node has the session, and its clients send the prompt there
        del self._prompts[key]
        if problem is not None:
            log.error("session %s: a key could not be looked up: %s", session.id, problem)
            session.refuse_prompt(key, error_object(INTERNAL_ERROR, UNREADABLE))
        elif answer is not None and not prompt.may_claim and answer.by not in ("", prompt.by):
            session.refuse_prompt(key, error_object(FORBIDDEN, KEY_OF_OTHERS))
        elif answer is not None:
            session.answer_prompt(key, answer)
        else:
            self._accept(prompt)

    def _accept(self, prompt: IncomingPrompt) -> None:
        session = self._session
        refusal = prompt_refusal(self._submit(prompt))
        if refusal is not None:
            session.refuse_prompt(prompt.key, error_object(refusal.code, refusal.message, refusal.data))
        elif prompt.is_cancelled and not session.withdraw(prompt.key):
            session.cancel()

    def _submit(self, prompt: IncomingPrompt) -> Verdict:
        return self._session.submit(prompt.params, key=prompt.key, by=prompt.by, lends=prompt.lends)


def check_owner(owner: str, grant: Grant) -> None:
    """Check the owner of a key: it belongs to the token that used it first, and to administrators. Watchers
    see the key, but may not use it. An empty `owner` is unknown.
    """
    if owner and owner != grant.name and not grant.may("admin"):
        raise ErrorAnswer(FORBIDDEN, KEY_OF_OTHERS)


def prompt_refusal(verdict: Verdict) -> ErrorAnswer | None:
    """Return the error for a client whose prompt was not accepted; None if it was, or is already known."""
    match verdict:
        case "closing":
            return invalid_request("the session is being closed; load it again before the next prompt")
        case "full":
            return invalid_request("too many prompts wait in this session already")
        case "child":
            return invalid_request(CHILD)
    return None


async def read_answer(journal: Journal, stream: str, key: str) -> PromptAnswer | None:
    """Return the stored answer to the prompt with this key; None if there is none. An open prompt is not
    looked up: it is in memory.
    """
    return await _read_answer(journal, stream, key, index_key=key, kind="turn_ended")


async def read_steer_outcome(journal: Journal, stream: str, key: str) -> PromptAnswer | None:
    """Return the same for a message into a turn."""
    return await _read_answer(journal, stream, key, index_key=steer_key(key), kind="steered")


async def _read_answer(
    journal: Journal, stream: str, key: str, *, index_key: str, kind: str
) -> PromptAnswer | None:
    place = await journal.find_key(stream, index_key)
    if place is None or not place.answer:
        return None
    async for page in journal.replay(stream, after=place.answer - 1, limit=1):
        note = read_note(page[0].frame)
        if note is not None and note.hub == kind and (note.key == key or REDACTED in note.key):
            return PromptAnswer.read(page[0].sequence, note)
    raise JournalError(f"entry {place.answer} of {stream} is not the answer that the index of keys names")

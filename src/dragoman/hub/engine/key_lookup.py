"""Prompts whose key is looked up in the journal before they are accepted.

A session has in mind the keys of its open prompts and its last answers; a session that has had no more than
those needs no lookup. The journal knows every key that a session ever had, so a prompt that comes again after
any time and any number of turns gets its answer, and is not carried out again. Prompts are accepted in the
order in which they came, and what comes for a key that is being looked up waits for the same outcome.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from msgspec import Raw

from dragoman.errors import JournalError
from dragoman.hub.clients.checking import prompt_refusal
from dragoman.hub.session.notes import read_note
from dragoman.hub.session.state import REDACTED, PromptAnswer
from dragoman.runtime.signal import Signal
from dragoman.wire import error_object
from dragoman.wire.codes import INTERNAL_ERROR

if TYPE_CHECKING:
    from dragoman.hub.clients.client import HubClient
    from dragoman.hub.engine.live_session import LiveSession
    from dragoman.hub.session.machine import Verdict
    from dragoman.journal import Journal

log = logging.getLogger(__name__)

UNREADABLE = "Internal error: the journal cannot be read, so the prompt was not accepted; send it again"


class IncomingPrompt:
    """A prompt that was neither accepted nor answered yet."""

    __slots__ = ("by", "client", "is_cancelled", "is_fresh", "key", "params")

    def __init__(self, client: HubClient, params: dict[str, Raw], *, key: str, is_fresh: bool) -> None:
        self.client = client
        self.by = client.grant.name
        self.params = params
        self.key = key
        self.is_fresh = is_fresh
        """Whether nobody can have used its key: the hub has just made it, or knows all of the session."""
        self.is_cancelled = False


class KeyLookups:
    """Those of one session."""

    __slots__ = ("_prompts", "_session", "_settled")

    def __init__(self, session: LiveSession) -> None:
        self._session = session
        self._prompts: dict[str, IncomingPrompt] = {}  # by key, in the order of their coming
        self._settled = Signal(is_set=True)

    def __len__(self) -> int:
        return len(self._prompts)

    def __contains__(self, key: object) -> bool:
        return key in self._prompts

    def add(self, prompt: IncomingPrompt) -> Verdict:
        """Whoever waits for its key gets its answer, unless it is refused at once."""
        session, most = self._session, self._session.hub.options.prompts_queued
        if prompt.key in self._prompts:
            return "known"
        if not self._prompts and (prompt.is_fresh or session.state.knows_key(prompt.key)):
            return session.submit(prompt.client, prompt.params, key=prompt.key, by=prompt.by)
        if len(session.state.queue) + len(self._prompts) >= most:
            return "full"
        self._prompts[prompt.key] = prompt
        if self._settled.is_set():
            self._settled.clear()
            session.hub.owner.start(self._look_up_all())
        return "accepted"

    def cancel(self, key: str) -> None:
        """It is not to be carried out, if it never was."""
        self._prompts[key].is_cancelled = True

    async def finish(self) -> None:
        """Until no prompt is being looked up."""
        await self._settled.wait()

    async def _look_up_all(self) -> None:
        try:
            while self._prompts and self._session.state.phase != "lost":
                prompt = next(iter(self._prompts.values()))
                await self._look_up(prompt)
        finally:
            self._prompts.clear()
            self._settled.set()

    async def _look_up(self, prompt: IncomingPrompt) -> None:
        session, key = self._session, prompt.key
        answer: PromptAnswer | None = None
        problem: Exception | None = None
        try:
            if not prompt.is_fresh:
                answer = await read_answer(session.hub.journal, session.stream, key)
        except (JournalError, TimeoutError) as error:
            problem = error
        if session.state.phase == "lost":
            return  # another node has the session, and its clients send the prompt there
        del self._prompts[key]
        if problem is not None:
            log.error("session %s: a key could not be looked up: %s", session.id, problem)
            session.hub.desk.refuse_prompt(session, key, error_object(INTERNAL_ERROR, UNREADABLE))
        elif answer is not None:
            self._answer(key, answer)
        else:
            self._accept(prompt)

    def _accept(self, prompt: IncomingPrompt) -> None:
        session = self._session
        refusal = prompt_refusal(session.submit(prompt.client, prompt.params, key=prompt.key, by=prompt.by))
        if refusal is not None:
            error = error_object(refusal.code, refusal.message, refusal.data)
            session.hub.desk.refuse_prompt(session, prompt.key, error)
        elif prompt.is_cancelled and not session.withdraw(prompt.key):
            session.cancel()

    def _answer(self, key: str, answer: PromptAnswer) -> None:
        """A client that has not been told all up to the answer yet gets it in its place."""
        session = self._session
        session.hub.desk.answer_detached(session, key, answer)
        for client, follower in list(session.followers.items()):
            waiting = follower.waits_for(key)
            if waiting and (follower.is_ended or follower.position.sequence >= answer.sequence):
                follower.answered(key)
                client.tell(b"".join(answer.to(request_id) for request_id in waiting))
            elif waiting:
                follower.keep_answer(key, answer)


async def read_answer(journal: Journal, stream: str, key: str) -> PromptAnswer | None:
    """The stored answer to the prompt with this key; None if it has none. A prompt that is still open is not
    looked up: the session has it in mind.
    """
    found = await journal.find_key(stream, key)
    if found is None or not found.answer:
        return None
    async for page in journal.replay(stream, after=found.answer - 1, limit=1):
        note = read_note(page[0].frame)
        if note is not None and note.hub == "turn_ended" and (note.key == key or REDACTED in note.key):
            return PromptAnswer.read(page[0].sequence, note)
    raise JournalError(f"entry {found.answer} of {stream} is not the answer that the index of keys names")

"""One client that follows one session: its position in the stream, and how it keeps up.

A client that keeps up is told as soon as an entry is stored. One that does not, because its connection is
slow or because it has just come, is told from the journal, page by page, as fast as it takes it, until it has
caught up. Nothing is queued for it, so a slow reader costs no memory and slows nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import UNSET, UnsetType

from dragoman.errors import DragomanError, LinkClosed
from dragoman.schema import v1
from dragoman.schema.base import given
from dragoman.schema.codec import read
from dragoman.schema.errors import SchemaError
from dragoman.wire import Request, decode, notification
from dragoman.wire.envelope import Id
from dragoman_hub.clients.client import HubClient
from dragoman_hub.clients.entry_messages import block_of, repeat_request
from dragoman_hub.clients.questions import PERMISSION, is_told
from dragoman_hub.engine.live_session import LiveSession, SessionFollower, SessionProcess
from dragoman_hub.engine.ports import Position
from dragoman_hub.session.frames import UPDATE, encode_json, may_name_sessions, object_of
from dragoman_hub.session.notes import read_note
from dragoman_hub.session.state import PromptAnswer
from dragoman_local.journal import StoredEntry
from dragoman_local.journal.entry_runs import first_of, last_of

log = logging.getLogger(__name__)

AGAIN_SECONDS = 5.0
"""The seconds in which a client that is back repeats its unanswered requests."""


NONE: frozenset[str] = frozenset()
NO_IDS: Mapping[int, int] = {}
"""Shared empty collections, one for any number of followed sessions."""


class ClientFollower:
    """A `ClientView` of its client on the session."""

    __slots__ = (
        *("session", "client", "position", "through", "is_silent", "name", "cursors", "events", "own"),
        *(
            "expected_keys",
            "is_ended",
            "_old_answers",
            "_come_event",
            "_question_ids",
            "_notices",
            "_task",
            "_on_failure",
        ),
    )

    def __init__(
        self,
        session: LiveSession,
        client: HubClient,
        position: Position,
        *,
        through: SessionFollower | None = None,
    ) -> None:
        """`through` is the client's follower of the parent, for a child session that it has not requested."""
        self.session = session
        self.client = client
        self.position = position
        self.through = through
        self.is_silent = through is not None and not client.follows_children
        """Whether it is only asked: it knows no children, and what they tell would mean nothing to it."""
        self.name: str = session.id if through is None or client.knows_children else through.name
        """The session in whose name it is asked: one that it knows."""
        self.cursors = client.cursors and not self.is_silent
        self.events = client.events
        self.own: frozenset[str] = NONE  # keys of prompts that it says it wrote: see `wrote`
        self.expected_keys: frozenset[str] = (
            NONE  # keys of prompts that are about to come again, to be answered
        )
        self.is_ended = False
        """Whether the session is closed, so that nothing more is told in its place."""
        self._old_answers: dict[str, PromptAnswer] | None = None  # by key, those that were looked up
        self._come_event: asyncio.Event | None = None  # while it is waited for: a prompt has come again
        # Requests by their sequence → the id that it was asked under.
        self._question_ids: Mapping[int, int] = NO_IDS
        self._notices: tuple[int, ...] = ()  # open questions of which it was told, because it cannot be asked
        self._task: asyncio.Task[None] | None = None
        self._on_failure: Callable[[str], None] | None = None  # hears that it will never be up

    def show(self, entries: Sequence[StoredEntry]) -> None:
        """Send entries that were just stored."""
        if self._task is not None or not entries:
            return
        is_behind = self.position.sequence + 1 != first_of(entries)
        is_early = last_of(entries) > self.session.last_visible
        if (
            self.client.is_full
            or self.expected_keys
            or is_behind
            or is_early
            or self._seeking_process(entries)
        ):
            self.catch_up()
        else:
            self._tell(entries)

    def catch_up(
        self, then: Callable[[], None] | None = None, on_failure: Callable[[str], None] | None = None
    ) -> None:
        """Send the client the missing entries from the journal. `then` is called when it is up to date for
        the first time, `on_failure` when the journal can't be read, which otherwise ends the connection.
        """
        if self._task is None:
            loop = asyncio.get_running_loop()
            self._on_failure = on_failure
            self._task = loop.create_task(
                self._catch_up(then, on_failure), name=f"follower of {self.session.id}"
            )

    def ask_again(self) -> None:
        """Send open requests again that the client had before, or that it may answer now."""
        again = [
            repeat_request(request, self)
            for request in self.session.state.requests.values()
            if request.is_visible and request.sequence <= self.position.sequence
        ]
        if any(again):
            self.client.send(b"".join(again))

    def on_judged(self) -> None:
        """Send messages that were withheld until a question was judged."""
        self.ask_again()
        self.catch_up()

    def ask_anew(self, sequence: int) -> None:
        """Ask an invalidly answered question again under another id."""
        self._forget_question(sequence)
        self.ask_again()

    def withdraw(self) -> None:
        """Withdraw the client's open questions: it no longer follows, or follows from another position."""
        for number in self._question_ids.values():
            if number in self.client.questions.calls:
                self.client.tell(notification("$/cancel_request", encode_json({"requestId": number})))
        self.leave()

    def leave(self, *, moves: bool = False) -> None:
        """Send it nothing more. Waiting callers get an error, unless it `moves` to another node."""
        on_failure, self._on_failure = self._on_failure, None
        for number in self._question_ids.values():
            self.client.questions.take(number)
        self._question_ids = NO_IDS
        if self._task is not None:
            self._task.cancel()
            self._task = None
            if on_failure is not None and not moves:
                on_failure("the session was closed, or loaded again, before its history was sent completely")

    @property
    def follows_children(self) -> bool:
        return self.client.follows_children

    def follow_child(self, child: LiveSession, position: Position) -> None:
        """Let the client follow a child of this session too, unless it does, or has left."""
        client = self.client
        is_there = client.followers.get(self.session.id) is self and not client.closed_event.is_set()
        if is_there and child.id not in client.followers and child.state.phase == "open":
            follower = client.hub.attach(client, child, position, through=self)
            follower.catch_up(follower.ask_again)

    def detach(self) -> None:
        self.client.hub.detach(self.client, self.session)

    def end(self) -> None:
        """Handle the end of the session. A client that is behind gets its awaited answers at once, because it
        will not get the messages before them.
        """
        self.is_ended = True
        if self._task is None:
            return
        self.leave()
        self.answer_waiting()

    def answer_waiting(self) -> None:
        """Answer the client's prompts whose end is stored, even if earlier messages were not sent."""
        answers = {**(self._old_answers or {}), **self.session.state.answers}
        for session_id, key in list(self.client.waiting):
            answer = answers.get(key) if session_id == self.session.id else None
            if answer is not None and answer.sequence <= self.session.log.last:
                for request_id in self.waits_for(key):
                    self.client.send(answer.to(request_id, usage=self.usage))
                self.on_answered(key)

    async def _catch_up(
        self, then: Callable[[], None] | None, on_failure: Callable[[str], None] | None
    ) -> None:
        session = self.session
        try:
            while (remaining := session.last_visible - self.position.sequence) > 0:
                # The journal may know of more than the session has acted upon: that is told when it has.
                pages = session.hub.journal.replay(
                    session.stream, after=self.position.sequence, limit=remaining
                )
                async for page in pages:
                    for part in self._up_to_answers(page):
                        await self._expect(part)
                        if (process := self._seeking_process(part)) is not None:
                            await process.wait_for_seeking()
                        self._tell(part)
                        if self.client.is_full:
                            await self.client.room()
            self._task = self._on_failure = None
            if then is not None:
                then()
        except LinkClosed:
            pass  # the client has gone, and we go with it
        except DragomanError as error:
            log.warning("session %s could not be read from the journal: %s", session.id, error)
            self._task = self._on_failure = None
            why = "the session's journal could not be read to its end"
            if on_failure is None:
                self.client.give_up(why)
                return
            # It would wait for ever for what stands behind the part that cannot be read.
            self.detach()
            on_failure(why)

    def _up_to_answers(self, page: Sequence[StoredEntry]) -> Iterator[Sequence[StoredEntry]]:
        """The page in parts, each of which begins with the end of a turn that is expected."""
        if not self.expected_keys:
            return iter((page,))
        ends = [
            place for place, entry in enumerate(page) if place and _ended_key(entry) in self.expected_keys
        ]
        return (page[first:last] for first, last in pairwise((0, *ends, len(page))))

    async def _expect(self, part: Sequence[StoredEntry]) -> None:
        """Register a request before its answer is sent at its place in the stream."""
        if not self.expected_keys:
            return
        try:
            async with asyncio.timeout(AGAIN_SECONDS):
                while _ended_key(part[0]) in self.expected_keys:
                    self._come_event = asyncio.Event()
                    await self._come_event.wait()
        except TimeoutError:
            self.expected_keys = NONE
        finally:
            self._come_event = None

    def _seeking_process(self, entries: Sequence[StoredEntry]) -> SessionProcess | None:
        """The process, if an entry may announce a child that is being made: messages about the child use its
        id, not the agent's own.
        """
        process = self.session.process
        if process is None or not process.is_seeking:
            return None
        return process if any(may_name_sessions(entry.frame) for entry in entries) else None

    def keep_answer(self, key: str, answer: PromptAnswer) -> None:
        """Keep an answer until the client reaches its place in the stream."""
        self._old_answers = {**(self._old_answers or {}), key: answer}

    def came_again(self, key: str) -> None:
        self.expected_keys = self.expected_keys - {key} or NONE
        if self._come_event is not None:
            self._come_event.set()

    def _tell(self, entries: Sequence[StoredEntry]) -> None:
        visible = [entry for entry in entries if _is_about_requests(entry)] if self.is_silent else entries
        block = block_of(self.session.id, visible, self, skip=self.position.part)
        self.position = Position(last_of(entries))
        if block and self.is_silent:
            self.client.send(block)
        elif block:
            self.client.show(self.session.id, self.position, block)

    # The view.

    @property
    def stand_in(self) -> str:
        return "" if self.name == self.session.id else self.name

    @property
    def requester(self) -> str:
        return self.session.hub.children.requester(self.session)

    def tool_title(self, params: bytes, /) -> str:
        call = object_of(params).get("toolCall")
        try:
            known = self.session.calls.find_call(self.session.id, read(call, v1.ToolCallUpdate))
        except SchemaError:
            return ""  # the agent asks about no tool call
        return "" if known is None else given(known.title, None) or ""

    @property
    def has_relatives(self) -> bool:
        return self.session.has_relatives

    def name_of(self, own: str, /) -> str:
        return self.session.name_of(own)

    def on_child(self, session_id: str, /) -> None:
        hub = self.session.hub
        hub.owner.start(hub.children.attach(self, session_id))

    def waits_for(self, key: str, /) -> tuple[Id, ...]:
        return self.client.waiting.get((self.session.id, key), ())

    @property
    def usage(self) -> bool:
        return self.client.usage

    def on_answered(self, key: str, /) -> None:
        self.client.waiting.pop((self.session.id, key), None)
        if self._old_answers is not None:
            self._old_answers.pop(key, None)
        self.own = self.own - {key} or NONE

    def wrote(self, key: str, by: str, /) -> bool:
        return key in self.own and by == self.client.grant.name

    def asks(self, sequence: int, method: str, /) -> Id | UnsetType:
        if sequence in self._question_ids:
            return UNSET
        open_request = self.session.state.visible_request(sequence)
        if open_request is None:
            return UNSET
        if not open_request.is_question:
            lender = self.session.hub.broker.lender(self.session, sequence)
            if lender is not self.client:
                return UNSET
        elif not self.client.can_answer(open_request):
            return UNSET
        number = self.client.questions.next_id()
        self._question_ids = {**self._question_ids, sequence: number}
        self.client.questions.expect(number, method, (self.session, sequence))
        return number

    def notice(self, sequence: int, method: str, /) -> dict[str, Any] | None:
        open_request = self.session.state.visible_request(sequence)
        if open_request is None or sequence in self._notices:
            return None
        if method != PERMISSION or not is_told(self.client.capabilities):
            return None
        self._notices = (*self._notices, sequence)
        return self.session.hub.broker.describe(self.session, open_request)

    def judgement_of(self, sequence: int, /) -> dict[str, Any]:
        request = self.session.state.requests.get(sequence)
        return {} if request is None else dict(request.judgement)

    def open_params(self, sequence: int, /) -> bytes | None:
        request = self.session.state.requests.get(sequence)
        return None if request is None else bytes(request.shown)

    def settles(self, sequence: int, /) -> Id | UnsetType:
        if sequence in self._notices:
            self._notices = tuple(number for number in self._notices if number != sequence)
        number = self._forget_question(sequence)
        if number is None or self.client.questions.take(number) is None:
            return UNSET
        return number

    def _forget_question(self, sequence: int) -> int | None:
        """Returns the id under which it was asked, if it was."""
        number = self._question_ids.get(sequence)
        if number is not None:
            ids = {at: other for at, other in self._question_ids.items() if at != sequence}
            self._question_ids = ids or NO_IDS
        return number


def _is_about_requests(entry: StoredEntry) -> bool:
    if entry.direction != "to_client":
        return entry.direction == "note"
    return not entry.frame.startswith(UPDATE) and isinstance(decode(entry.frame), Request)


def _ended_key(entry: StoredEntry) -> str | None:
    """The key of the turn that this entry ends."""
    if entry.direction != "note" or not entry.frame.startswith(b'{"hub":"turn_ended"'):
        return None
    note = read_note(entry.frame)
    return None if note is None else note.key

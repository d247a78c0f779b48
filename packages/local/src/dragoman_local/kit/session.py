"""A durable session: its settings, its usage, its memory, and its running turn.

It lives in one connection, from `session/new`, `load`, `resume` or `fork` to `session/close` or the end of
the connection; its log outlives it. What it started (tasks, MCP servers, commands) ends with it and is seen
by no other session.

A turn is stored as it goes. What it starts with `start` and `run` belongs to it: it is waited for when the
turn ends by itself, and ended, process trees included, when the turn is cancelled or fails.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from msgspec import UNSET

from dragoman.core import STOP_REASONS
from dragoman.errors import ErrorAnswer
from dragoman.runtime.owner import TaskOwner
from dragoman.schema import v1
from dragoman.schema.codec import read
from dragoman.sdk.agent.session import AgentSession, SteerMessage, Turn
from dragoman_local.kit import frames
from dragoman_local.kit.recording_speaker import RecordingSpeaker
from dragoman_local.kit.settings import MODE, AnyOption, SessionSettings, Value
from dragoman_local.kit.usage import TokenUsage

if TYPE_CHECKING:
    from dragoman.core import RunningTurn
    from dragoman.sdk.agent.session import ClientHandle
    from dragoman_local.kit.local import CommandResult, LocalTools
    from dragoman_local.kit.log import KitJournal
    from dragoman_local.kit.mounts import Mounts
    from dragoman_local.kit.restore import RestoredSession
    from dragoman_local.kit.session_lock import SessionFileLock


log = logging.getLogger(__name__)

C = TypeVar("C")
T = TypeVar("T")

PATIENCE = 1.0
"""The seconds for tasks of a session to end with it; a closing link waits little longer."""


class StopTurn(Exception):
    """End the turn for this reason.

        if tokens > limit:
            raise StopTurn("max_tokens")

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn#stop-reasons
    """

    def __init__(self, reason: v1.StopReason) -> None:
        if reason not in STOP_REASONS:
            raise ValueError(f"{reason!r} is not a stop reason")
        super().__init__(reason)
        self.reason: v1.StopReason = reason


class KitTurn(RecordingSpeaker, Turn, Generic[C]):
    """The turn that a kit's prompt handler gets.

        @kit.prompt
        async def reply(turn: KitTurn[None]) -> None:
            tests = await turn.run("make", "test")
            await turn.say("green" if tests.exit_code == 0 else "red")

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn
    """

    session: KitSession[C]

    def __init__(
        self, client: ClientHandle, session: AgentSession, request: v1.PromptRequest, running: RunningTurn
    ) -> None:
        super().__init__(session.client, session, request, running)
        self.number = 0
        """Its number in the session, from 1; set when it begins."""
        self.end_future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the turn is stored and nothing of it runs any more."""
        self.spent = TokenUsage()
        self.requests = 0
        self.most_requests: int | None = None
        self._tasks: list[asyncio.Task[object]] = []
        self._is_answered = False
        self._steered = 0  # messages of the user in it, besides the prompt

    # Its own tasks and commands.

    def start(self, work: Coroutine[object, None, T]) -> asyncio.Task[T]:
        """Start a task beside the handler, within the turn. Its failure, if not awaited, fails the turn."""
        task = asyncio.get_running_loop().create_task(work, name=f"turn {self.number} of {self.session.id}")
        self._tasks.append(task)
        return task

    async def run(
        self,
        command: str,
        *args: str,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        output_bytes: int | None = None,
    ) -> CommandResult:
        """Run a command on this machine to its end, in the session's folders. A cancellation kills its whole
        tree.
        """
        return await self.session.local.run(command, *args, cwd=cwd, env=env, output_bytes=output_bytes)

    async def join(self) -> None:
        """Wait until all tasks of the turn have ended; raises the first failure."""
        while pending := [task for task in self._tasks if not task.done()]:
            await asyncio.wait(pending, return_when=asyncio.FIRST_EXCEPTION)
            self._raise_failure()
        self._raise_failure()

    async def abort(self) -> None:
        """End all tasks of the turn."""
        pending = [task for task in self._tasks if not task.done()]
        for task in pending:
            task.cancel()
        if pending:
            await asyncio.wait(pending)

    def _raise_failure(self) -> None:
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    # What it uses.

    def count_request(self) -> None:
        """Count a request to a model; end the turn if it is one too many."""
        if self.most_requests is not None and self.requests >= self.most_requests:
            raise StopTurn("max_turn_requests")
        self.requests += 1

    async def spend(
        self,
        *,
        input_tokens: int = 0,
        output_tokens: int = 0,
        thought_tokens: int = 0,
        cached_read_tokens: int = 0,
        cached_write_tokens: int = 0,
        cost: float | None = None,
        currency: str = "USD",
        context_used: int | None = None,
        context_size: int | None = None,
    ) -> None:
        """Add to the usage of this turn and its session; the client gets it if the context is known."""
        spent = TokenUsage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            thought_tokens=thought_tokens,
            cached_read_tokens=cached_read_tokens,
            cached_write_tokens=cached_write_tokens,
            cost=cost,
            currency=currency,
        )
        self.spent.add(spent)
        used = self.session.total_usage
        used.spent.add(spent)
        used.context_used = used.context_used if context_used is None else context_used
        used.context_size = used.context_size if context_size is None else context_size
        update = used.update()
        if update is not None:
            await self.update(update)

    # Its place in the log.

    def begin(self) -> None:
        """Store the prompt as the session's next turn."""
        session = self.session
        session.turns += 1
        self.number = session.turns
        session.running.add(self)
        self._log.add("to_agent", frames.prompt_frame(self.number, self.request))

    def take_steering(self) -> list[SteerMessage]:
        """Return the user's messages since the turn began, or since the last call. Each is stored at its
        position, and is replayed as the user's message.
        """
        messages = super().take_steering()
        for message in messages:
            self._steered += 1
            name = f"steer-{self.number}-{self._steered}"
            for block in message.prompt:
                chunk = v1.UserMessageChunk(content=block, message_id=name)
                self._log.add("to_client", frames.update_frame(self.session.id, chunk))
        return messages

    def end(self, answer: bytes) -> None:
        """Store the answer, once. The turn can send nothing after it."""
        super().close()
        if self.number and not self._is_answered:
            self._is_answered = True
            if self.spent != TokenUsage():
                self._log.add("note", frames.note("usage", self.session.total_usage))
            self._log.add("to_client", answer)

    def leave(self) -> None:
        """Mark the turn as ended: none of its tasks runs, and it is stored."""
        self.session.running.discard(self)
        if not self.session.running:
            self.session.lease.drop()
        if not self.end_future.done():
            self.end_future.set_result(None)

    def close(self) -> None:
        """Handle the answer to the prompt, even if a handler does not end."""
        left_behind = bool(self.number) and not self._is_answered
        self.end(frames.answer_frame(self.number, v1.PromptResponse(stop_reason="cancelled")))
        if left_behind:
            self.session.start(self._settle())

    def when_sent(self, then: Callable[[], None]) -> None:
        """Call `then` when the turn's updates are stored and sent."""
        self.session.start(self._send_and(then))

    async def _send_and(self, then: Callable[[], None]) -> None:
        try:
            await self._log.catch_up()
        except ErrorAnswer as error:
            log.warning("the last words of a turn could not be stored: %s", error.message)
        finally:
            then()

    async def _settle(self) -> None:
        try:
            await self._log.flush()
        finally:
            self.leave()

    @property
    def _log(self) -> KitJournal:
        return self.session.log

    def _remember_update(self, update: v1.SessionUpdate) -> None:
        self.session._remember_update(update)


class KitSession(RecordingSpeaker, AgentSession, Generic[C]):
    """A session created by the kit. `conversation` is its own object from the agent's factory.

        @kit.prompt
        async def reply(turn: KitTurn[Chat]) -> None:
            await turn.say(turn.session.conversation.answer(turn.text))

    Specification: https://agentclientprotocol.com/protocol/v1/session-setup
    """

    turn_type: ClassVar[type[Turn]] = KitTurn

    conversation: C

    def __init__(
        self,
        client: ClientHandle,
        session_id: str,
        *,
        cwd: str,
        additional_directories: list[str],
        mcp_servers: list[v1.McpServer],
        log: KitJournal,
        lease: SessionFileLock,
        settings: SessionSettings,
        restored_session: RestoredSession,
        title: str = "",
    ) -> None:
        super().__init__(
            client,
            session_id,
            cwd=cwd,
            additional_directories=additional_directories,
            mcp_servers=mcp_servers,
        )
        self.log = log
        log.send = self._send
        self.client = client.behind(log.catch_up)
        self.lease = lease
        self.settings = settings
        self.turns = restored_session.turns
        """Turns that were asked for in this session so far, in any process."""
        self.total_usage = restored_session.usage
        self.memories = restored_session.memories
        """What was remembered, oldest first; see `remember`."""
        self.session_title = title
        self.mcp: Mounts | None = None
        """The MCP servers of this session; None if the client gave none."""
        self.running: set[KitTurn[C]] = set()
        self.pending_notices: list[str] = []
        """What the user should know and could not be told yet."""
        self._owner = TaskOwner(f"session {session_id}")
        self._local: LocalTools | None = None

    # What is set.

    def __getitem__(self, option_id: str) -> Value:
        """Return the value of an option."""
        return self.settings[option_id]

    @property
    def mode_id(self) -> str:
        """The current mode."""
        return str(self.settings[MODE])

    async def set(self, option_id: str, value: Value) -> None:
        """Change an option from the agent's side, and tell the client."""
        if self.settings.change(option_id, value):
            self.store_settings()
            await self.announce_settings(mode=option_id == MODE)

    async def offer(self, option: AnyOption) -> None:
        """Offer an option again in this session, for example after its choices have become known, and tell
        the client.
        """
        self.settings.redeclare(option)
        await self.announce_settings(mode=option.id == MODE)

    def store_settings(self) -> None:
        """Write the values of modes and options to the journal."""
        self.log.add("note", frames.note("settings", self.settings.values))

    async def announce_settings(self, *, mode: bool) -> None:
        """Send the client all options, and the mode in its older form if it has changed."""
        if mode:
            await self.update(v1.CurrentModeUpdate(current_mode_id=self.mode_id))
        await self.update(v1.ConfigOptionUpdate(config_options=self.config_options()))

    def config_options(self) -> list[v1.SessionConfigOption]:
        """The options of the session for its client."""
        return self.settings.config_options(
            switches="session.configOptions.boolean" in self.client.capabilities
        )

    # What is remembered.

    def remember(self, value: object) -> None:
        """Store plain data with the session; it is in `memories` whenever the session is opened again."""
        self.memories.append(value)
        self.log.add("note", frames.note("memory", value))

    async def flush(self) -> None:
        """Wait until all messages and memories so far are stored."""
        await self.log.flush()

    def forget(self) -> None:
        """Clear the memories, for example after a compaction."""
        self.memories.clear()
        self.log.add("note", frames.note("forgotten"))

    async def history(self) -> AsyncIterator[v1.SessionUpdate]:
        """Return the typed conversation so far, with the user's messages, as a load would replay it."""
        from dragoman_local.kit.restore import RestoredSession

        await self.log.flush()
        restored_session = RestoredSession(self.id)
        async for page in self.log.journal.replay(self.log.stream):
            for frame in restored_session.take(page).splitlines():
                yield read(frame[frame.index(b'"params":') + 9 : -1], v1.SessionNotification).update

    def spend(self, spent: TokenUsage) -> None:
        """Add to the session's usage."""
        self.total_usage.spent.add(spent)

    async def rename(self, title: str | None) -> None:
        """Give the session a title, tell the client, and show it in listings."""
        await self.title(title)

    async def note(self, title: str, description: str | None = None) -> None:
        """Send the user a notice. A client without notices gets it in the next turn."""
        if "session.notices" in self.client.capabilities:
            await self.notice(title, severity="warning", description=description)
        else:
            self.pending_notices.append(f"{title}. {description}" if description else title)

    # What runs.

    def start(self, work: Coroutine[object, None, None]) -> asyncio.Task[None]:
        """Start a task in this session, besides its turns; it is cancelled when the session ends."""
        task = self._owner.start(self._run_guarded(work))
        task.add_done_callback(lambda _: work.close())  # one that was cancelled before its first step
        return task

    async def _run_guarded(self, work: Coroutine[object, None, None]) -> None:
        try:
            await work
        except Exception:  # what fails in one session is that session's own affair
            log.exception("a task of session %s failed", self.id)

    @property
    def local(self) -> LocalTools:
        """This machine's files and commands, limited to the session's folders, for clients
        without their own.
        """
        if self._local is None:
            from dragoman_local.kit.local import LocalTools

            self._local = LocalTools(self)
        return self._local

    async def aclose(self) -> None:
        """End the session's tasks, and store its messages. A second call has no effect."""
        self._has_ended = True
        async with AsyncExitStack() as last_things:  # each is done whatever becomes of the others
            last_things.callback(self.lease.drop)
            last_things.push_async_callback(self._store)
            if self._local is not None:
                last_things.push_async_callback(self._local.aclose)
            if self.mcp is not None:
                last_things.push_async_callback(self.mcp.aclose)
            last_things.push_async_callback(self._owner.aclose, patience=PATIENCE)
            if self.running:
                await asyncio.wait([turn.end_future for turn in self.running], timeout=PATIENCE)

    async def _store(self) -> None:
        try:
            await self.log.flush()
        except ErrorAnswer:
            if not self.log.is_moved:  # then it is stored by whoever has it now
                raise

    # Speech.

    def _send(self, block: bytes) -> None:
        outbox = self._outbox
        outbox.buffer += block
        if not outbox.is_scheduled:
            outbox.schedule()

    @property
    def _log(self) -> KitJournal:
        return self.log

    def _remember_update(self, update: v1.SessionUpdate) -> None:
        match update:
            case v1.SessionInfoUpdate(title=title) if title is not UNSET:
                self.session_title = title or ""
                self.log.describe(title=self.session_title)
            case v1.CurrentModeUpdate(current_mode_id=mode):
                if MODE in self.settings.values and self.settings.change(MODE, mode):
                    self.store_settings()
            case v1.UsageUpdate(used=used, size=size):
                self.total_usage.context_used, self.total_usage.context_size = used, size

"""One turn as the client sees it: an async iterator of updates that ends with a result.

The result exists only after the last update was handled, because both come through the same queue. That
queue is bounded in bytes: a reader that falls behind makes the link stop reading, and the agent wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import aclosing
from io import BytesIO
from typing import TYPE_CHECKING, Protocol, cast

from msgspec import Struct

from dragoman.errors import DragomanError, LinkClosed, LocalMistake
from dragoman.runtime.deferred import DeferredModule
from dragoman.schema import v1
from dragoman.sdk.client.tool_state import ToolState
from dragoman.sdk.reading import read_result
from dragoman.sdk.writing import write_out

if TYPE_CHECKING:
    import asyncio

    from dragoman.core import OutgoingCall
    from dragoman.runtime import Link
    from dragoman.runtime.pending_call import PendingCall
    from dragoman.sdk.capabilities import Capabilities
else:
    asyncio = DeferredModule("asyncio")


# Text and links are taken by every agent, these only by one that says so. By name: the types are made when
# they are first used.
_BLOCK_CAPABILITIES = {
    "ImageContent": "promptCapabilities.image",
    "AudioContent": "promptCapabilities.audio",
    "EmbeddedResource": "promptCapabilities.embeddedContext",
}


class TurnResult(Struct, frozen=True, kw_only=True):
    """How a turn ended.

        result = await session.prompt("Explain this project")
        print(result.stop_reason, result.text, len(result.tool_calls))

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn#stop-reasons
    """

    stop_reason: v1.StopReason
    utf8: bytes
    """`text` in the form in which it is kept. One character that is not Latin makes a `str` two or four times
    as large.
    """
    tool_calls: dict[str, ToolState]
    """Each tool call as it stood at the end, by its id, in the order of their first mention."""
    usage: v1.Usage | None
    response: v1.PromptResponse

    @property
    def text(self) -> str:
        """Everything the agent said, thoughts left out; nothing if the turn was told not to keep it."""
        return self.utf8.decode(errors="surrogatepass")


class PromptSession(Protocol):
    """What a turn needs of its session; `Session` is one."""

    id: str
    is_closed: bool
    turn: PromptTurn | None

    @property
    def link(self) -> Link: ...

    @property
    def capabilities(self) -> Capabilities:
        """What the agent can do."""

    async def cancel(self) -> None: ...

    def weigh_backlog(self) -> None:
        """The reader has taken updates, or waits for more: decide whether the link reads on."""

    def turn_ended(self, turn: PromptTurn) -> None: ...


class PromptTurn:
    """Made by `Session.prompt`. Iterate once, or await.

        turn = session.prompt("Explain this project")
        async for text in turn.texts():
            print(text, end="")
        print(turn.result.stop_reason)

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn
    """

    def __init__(
        self,
        session: PromptSession,
        blocks: Sequence[v1.ContentBlock],
        *,
        silence: float | None,
        keep_text: bool = True,
    ) -> None:
        for block in blocks:
            capability = _BLOCK_CAPABILITIES.get(type(block).__name__)
            if capability is not None:
                session.capabilities.require(capability, "session/prompt")
        self._session = session
        params = v1.PromptRequest(session_id=session.id, prompt=list(blocks))
        self._request = write_out(params, v1.PromptRequest, "session/prompt")
        self._silence = silence
        self._keep_text = keep_text
        self._call: OutgoingCall[PendingCall] | None = None
        self._is_abandoned = False
        self._batches: deque[tuple[list[v1.SessionUpdate | v1.SessionNotification], int]] = deque()
        self.has_subagents = False
        """Whether updates of subagents are among those that came."""
        self._backlog = 0
        self._wake: asyncio.Future[None] | None = None
        self._is_started = False
        self._tools: dict[str, ToolState] = {}
        self._result: TurnResult | None = None

    @property
    def result(self) -> TurnResult:
        """How the turn ended; there is one once the last update was handled."""
        if self._result is None:
            raise LocalMistake("the turn has no result before its last update was handled")
        return self._result

    def __aiter__(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        return self._updates()

    def batches(self, *, keep_text: bool = False) -> AsyncGenerator[list[v1.SessionUpdate], None]:
        """The updates as they arrive, in lists of those that arrived together: the fastest way to read very
        many. Iterate over this or over the turn, once. The text is not kept for the result, unless wanted.

            async for updates in turn.batches():
                show(updates)
        """
        return self._own_batches(keep_text=keep_text)

    async def notifications(self) -> AsyncGenerator[v1.SessionNotification, None]:
        """The updates of the session and of all its subagents in the order of their arrival, each with the
        id of its session. Iterate over this or over the turn, once.

            async for note in turn.notifications():
                print(agent.subagents.requester(note.session_id) or "agent", note.update)
        """
        async with aclosing(self._read(keep_text=self._keep_text)) as batches:
            async for batch in batches:
                for update in batch:
                    if isinstance(update, v1.SessionNotification):
                        yield update
                    else:
                        yield v1.SessionNotification(session_id=self._session.id, update=update)

    def __await__(self) -> Generator[object, None, TurnResult]:
        return self._drain().__await__()

    async def texts(self) -> AsyncGenerator[str, None]:
        """What the agent says, piece by piece, and nothing else; the turn is iterated as a whole."""
        async for update in self:
            if isinstance(update, v1.AgentMessageChunk) and isinstance(update.content, v1.TextContent):
                yield update.content.text

    async def _drain(self) -> TurnResult:
        async for _ in self._read(keep_text=self._keep_text):
            pass
        return self.result

    async def _updates(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        async with aclosing(self._own_batches(keep_text=self._keep_text)) as batches:
            async for batch in batches:
                for update in batch:
                    yield update

    async def _own_batches(self, *, keep_text: bool) -> AsyncGenerator[list[v1.SessionUpdate], None]:
        """The updates of the session itself."""
        async with aclosing(self._read(keep_text=keep_text)) as batches:
            async for batch in batches:
                if not self.has_subagents:
                    yield cast("list[v1.SessionUpdate]", batch)
                elif own := [update for update in batch if not isinstance(update, v1.SessionNotification)]:
                    yield own

    async def _read(
        self, *, keep_text: bool
    ) -> AsyncGenerator[list[v1.SessionUpdate | v1.SessionNotification], None]:
        if self._is_started:
            raise LocalMistake("a turn can be iterated only once")
        self._is_started = True
        session, link = self._session, self._session.link
        await self._after_the_last(session)
        session.turn = self
        silence = link.limits.silence_seconds if self._silence is None else self._silence
        is_answered = False
        text = BytesIO() if keep_text else None
        try:
            call = self._call = link.open_call(
                "session/prompt", self._request, silence=silence, lane=session.id
            )
            call.context.add_done_callback(lambda _: self._wake_up())
            try:
                while True:
                    while self._batches:
                        batch, size = self._batches.popleft()
                        self._note(batch, text)
                        yield batch
                        self._backlog -= size
                        session.weigh_backlog()
                    if call.context.done():
                        break
                    await self._more()
                is_answered = True
            finally:
                if (
                    not is_answered
                ):  # the reader left early, or was cancelled: nobody wants this turn any more
                    await self._abandon()
            response = read_result(link.result(call), v1.PromptResponse, "session/prompt")
            self._result = TurnResult(
                stop_reason=response.stop_reason,
                utf8=b"" if text is None else text.getvalue(),
                tool_calls=self._tools,
                usage=response.usage or None,
                response=response,
            )
        finally:
            if not self._is_abandoned:
                session.turn_ended(self)

    @staticmethod
    async def _after_the_last(session: PromptSession) -> None:
        """A turn that was left early still runs until the agent has answered it; what it says until then is
        not ours.
        """
        while session.turn is not None:
            last = session.turn
            if not last._is_abandoned or last._call is None:
                raise LocalMistake("a turn is already running in this session; await it or cancel it first")
            await session.link.wait_answered(last._call)
        if session.is_closed:
            raise LocalMistake("this session was closed")

    def give_up(self, why: DragomanError) -> None:
        """End this turn with an error; the agent is told that nobody waits any more."""
        if self._call is not None:
            self._session.link.give_up(self._call, why)

    @property
    def is_open(self) -> bool:
        """Whether the prompt was sent and has no answer yet; perhaps nobody reads it any more."""
        return self._call is not None and not self._call.context.done()

    @property
    def listens(self) -> bool:
        """Whether the turn takes updates: it runs, and somebody reads it."""
        call = self._call
        return call is not None and not (self._is_abandoned or call.context.is_answered)

    @property
    def is_hungry(self) -> bool:
        """Whether a reader waits for the next update."""
        return self._wake is not None or self._is_abandoned

    def take(self, updates: list[v1.SessionUpdate | v1.SessionNotification], size: int) -> None:
        """Take updates that the session received for this turn."""
        self._batches.append((updates, size))
        self._backlog += size
        self._wake_up()

    @property
    def backlog(self) -> int:
        """Bytes of updates that the reader has not taken yet."""
        return self._backlog

    def _note(self, batch: list[v1.SessionUpdate | v1.SessionNotification], text: BytesIO | None) -> None:
        """Collect text and tool calls for the result. Batches of nothing but text take a shorter way."""
        message_chunk, text_content = v1.AgentMessageChunk, v1.TextContent
        if set(map(type, batch)) == {message_chunk}:
            if text is None:
                return
            try:
                _keep([chunk.content.text for chunk in batch], text)  # type: ignore[union-attr]  # or below
                return
            except AttributeError:
                pass  # some are pictures, or the like
        texts: list[str] = []
        for update in batch:
            if isinstance(update, message_chunk):
                if isinstance(update.content, text_content):
                    texts.append(update.content.text)
            elif isinstance(update, v1.ToolCall | v1.ToolCallProgress):
                name = update.tool_call_id
                state = self._tools.get(name)
                self._tools[name] = ToolState.of(update) if state is None else state.after(update)
        if texts and text is not None:
            _keep(texts, text)

    async def _more(self) -> None:
        self._wake = asyncio.get_running_loop().create_future()
        if self._session.link.on_hold:
            self._session.weigh_backlog()
        try:
            await self._wake
        finally:
            self._wake = None

    def _wake_up(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def _abandon(self) -> None:
        """Cancel the turn and stop reading it; it runs on until the agent answers."""
        assert self._call is not None
        self._is_abandoned = True
        self._batches.clear()
        self._backlog = 0
        session = self._session
        self._call.context.add_done_callback(lambda _: session.turn_ended(self))
        session.weigh_backlog()
        if self._call.context.is_answered:
            return  # there is nothing left to cancel, only something to read
        try:
            await session.cancel()
        except LinkClosed:
            pass  # nor anybody who would


def _keep(words: list[str], text: BytesIO) -> None:
    text.write("".join(words).encode(errors="surrogatepass"))

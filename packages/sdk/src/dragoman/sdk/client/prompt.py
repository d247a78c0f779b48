"""One turn as the client sees it: an async iterator of updates that ends with a result.

The result exists only after the last update was handled, because both come through the same queue. That
queue is bounded in bytes: a reader that falls behind makes the link stop reading, and the agent wait.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Protocol, cast

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dragoman.errors import CallFailed, CallTimeout, DragomanError, LinkClosed, LocalMistake
from dragoman.runtime.deferred_module import DeferredModule
from dragoman.runtime.limits import check_seconds
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.schema.steering import (
    FALLBACKS,
    SEPARATOR,
    SteerAnswer,
    SteerFallback,
    SteeringWay,
    SteerOutcome,
    read_steer_answer,
    restart_prompt,
    steer_call,
)
from dragoman.sdk.client.kept_text import KeptText
from dragoman.sdk.client.tool_state import ToolState
from dragoman.sdk.inbound import read_result
from dragoman.sdk.outbound import as_block, check_one_of, write_out

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


STEER_SECONDS = 10.0
"""The seconds that an agent has after its answer to say whether the turn got a message."""


class TurnResult(Struct, frozen=True, kw_only=True):
    """How a turn ended.

        result = await session.prompt("Explain this project")
        print(result.stop_reason, result.text, len(result.tool_calls))

    Specification: https://agentclientprotocol.com/protocol/v1/prompt-turn#stop-reasons
    """

    stop_reason: v1.StopReason
    kept: KeptText
    """`text` in its stored form."""
    tool_calls: dict[str, ToolState]
    """The final state of each tool call, by id, in the order of first mention."""
    usage: v1.Usage | None
    response: v1.PromptResponse

    @property
    def text(self) -> str:
        """The agent's whole text, without thoughts; empty with `keep_text=False`."""
        return self.kept.text

    @property
    def utf8(self) -> bytes:
        """`text` as UTF-8. In a `str`, one non-Latin character doubles or quadruples the size."""
        return self.kept.utf8


class PromptSession(Protocol):
    """The parts of a session that a turn uses; `Session` implements it."""

    id: str
    is_closed: bool
    cancelling: bool
    turn: PromptTurn | None

    @property
    def link(self) -> Link: ...

    @property
    def capabilities(self) -> Capabilities:
        """The agent's capabilities."""

    @property
    def steering_way(self) -> SteeringWay:
        """The way to send the agent a message while a turn runs."""

    async def cancel(self) -> None: ...

    async def interrupt(self) -> None:
        """Stop the running turn, which then continues with the user's messages since."""

    def weigh_backlog(self) -> None:
        """Decide whether the link continues to read, because the reader has taken updates
        or waits for more.
        """

    def turn_ended(self, turn: PromptTurn) -> None: ...


class PromptTurn:
    """A turn, made by `Session.prompt`. Iterate over it once, or await it.

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
        meta: Mapping[str, Any] | None = None,
    ) -> None:
        self._session = session
        self._blocks = list(blocks)
        self._meta: dict[str, Any] | UnsetType = UNSET if meta is None else dict(meta)
        self._request = self._write_request(self._blocks)
        self._silence = check_seconds(silence, "silence")
        self._messages: deque[list[v1.ContentBlock]] = deque()  # that follow, in the order of `steer`
        self._steer_count = 0  # calls of `steer` under way
        self._offers: list[OutgoingCall[PendingCall]] = []  # to the agent, of messages
        self._restarts = False
        self._is_answered = False  # the prompt that runs
        self._has_ended = False
        self.unsent: tuple[Sequence[v1.ContentBlock], ...] = ()
        """Messages for `steer` that waited for a turn which failed or was cancelled: they were not sent."""
        self._keep_text = keep_text
        self._call: OutgoingCall[PendingCall] | None = None
        self._is_abandoned = False
        self._batches: deque[tuple[list[v1.SessionUpdate | v1.SessionNotification], int, bytes]] = deque()
        self._text: KeptText | None = None  # while it is kept
        self.has_subagents = False
        """Whether updates of subagents are among those that came."""
        self._backlog = 0
        self._wake: asyncio.Future[None] | None = None
        self._is_started = False
        self._tools: dict[str, ToolState] = {}
        self._result: TurnResult | None = None

    @property
    def result(self) -> TurnResult:
        """The result of the turn, available after the last update was handled."""
        if self._result is None:
            raise LocalMistake("the turn has no result before its last update was handled")
        return self._result

    def __aiter__(self) -> AsyncGenerator[v1.SessionUpdate, None]:
        return self._updates()

    def batches(self, *, keep_text: bool = False) -> AsyncGenerator[list[v1.SessionUpdate], None]:
        """Yield the updates as they arrive, in lists of those that arrived together: the fastest way to read
        very many. Iterate over this or over the turn, once. The text is kept for the result only with
        `keep_text`.

            async for updates in turn.batches():
                show(updates)
        """
        return self._own_batches(keep_text=keep_text)

    async def notifications(self) -> AsyncGenerator[v1.SessionNotification, None]:
        """Yield the updates of the session and of all its subagents in the order of their arrival, each with
        the id of its session. Iterate over this or over the turn, once.

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
        """Yield the agent's text, piece by piece; the turn itself yields all updates."""
        async for update in self:
            if isinstance(update, v1.AgentMessageChunk) and isinstance(update.content, v1.TextContent):
                yield update.content.text

    async def _drain(self) -> TurnResult:
        if self._result is not None:
            return self._result
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
        self._text = KeptText() if keep_text else None
        try:
            call = self._open_call(self._request, silence)
            try:
                while True:
                    while self._batches:
                        batch, size, block = self._batches.popleft()
                        self._note(batch, block)
                        yield batch
                        self._backlog -= size
                        session.weigh_backlog()
                    if call.context.done() and not self._steer_count:
                        request = self._next_request(call)
                        if request is None:
                            break
                        call = self._open_call(request, silence)
                    elif call.context.done():
                        await self._wait_for_offers()
                    else:
                        await self._more()
                is_answered = True
            finally:
                if (
                    not is_answered
                ):  # the reader left early, or was cancelled: nobody wants this turn any more
                    await self._abandon()
            self._result = self._result_of(call)
        finally:
            self._has_ended = True
            self.forget_messages()
            if not self._is_abandoned:
                session.turn_ended(self)

    def _result_of(self, call: OutgoingCall[PendingCall]) -> TurnResult:
        response = self._response(call)
        return TurnResult(
            stop_reason=response.stop_reason,
            kept=self._text or KeptText(),
            tool_calls=self._tools,
            usage=response.usage or None,
            response=response,
        )

    def _response(self, call: OutgoingCall[PendingCall]) -> v1.PromptResponse:
        return read_result(self._session.link.result(call), v1.PromptResponse, "session/prompt")

    def _write_request(self, blocks: list[v1.ContentBlock]) -> bytes:
        for block in blocks:
            capability = _BLOCK_CAPABILITIES.get(type(block).__name__)
            if capability is not None:
                self._session.capabilities.require(capability, "session/prompt")
        params = v1.PromptRequest(session_id=self._session.id, prompt=blocks, meta=self._meta)
        return write_out(params, v1.PromptRequest, "session/prompt")

    def _open_call(self, request: bytes, silence: float | None) -> OutgoingCall[PendingCall]:
        session = self._session
        session.cancelling = False
        call = self._call = session.link.open_call(
            "session/prompt", request, silence=silence, lane=session.id
        )
        self._is_answered = False
        call.context.add_done_callback(lambda _: self._on_answer())
        return call

    def _on_answer(self) -> None:
        self._is_answered = True
        self._wake_up()

    # Steering.

    async def steer(
        self, *content: str | v1.ContentBlock, otherwise: SteerFallback = "restart"
    ) -> SteerOutcome:
        """Send a message into the running turn; returns its outcome.

            match await turn.steer("Leave the tests alone"):
                case "delivered": ...     # the agent took it into the running turn
                case "queued": ...        # it runs after this turn
                case "will_restart": ...  # the turn is cancelled and begins again with it

        Where the agent cannot be steered, `otherwise` says whether the turn begins again or the message waits
        for its end. Both belong to this turn: whoever iterates over it, or awaits it, gets them too.
        """
        check_one_of(otherwise, FALLBACKS, "otherwise")
        blocks = [as_block(block, f"content[{at}]") for at, block in enumerate(content)]
        self._write_request(blocks)  # it must be fit for a prompt, whatever way it takes
        if self._call is None or self._is_abandoned or self._has_ended:
            raise LocalMistake("no turn is running that could be steered; send a prompt")
        self._steer_count += 1
        try:
            answer = await self._offer(blocks) if self.is_open else "refused"
            return answer if answer != "refused" else await self._keep(blocks, otherwise)
        finally:
            self._steer_count -= 1
            self._wake_up()

    async def _offer(self, blocks: list[v1.ContentBlock]) -> SteerAnswer:
        """Give the agent a message, if it takes any. It answers when its turn has decided, or has ended."""
        session = self._session
        way = session.steering_way
        if way == "restart":
            return "refused"
        method, params = steer_call(way, session.id, [Raw(write(block)) for block in blocks])
        link = session.link
        offer = link.open_call(method, params)  # the end of the turn is its deadline
        was_open: list[bool] = []  # the turn, when the answer came: callbacks are called in that order
        offer.context.add_done_callback(lambda _: was_open.append(not self._is_answered))
        self._offers.append(offer)
        try:
            await link.wait_answered(offer)
            raw = link.result(offer)
        except (CallFailed, CallTimeout):
            return "refused"
        finally:
            self._offers.remove(offer)
            if not offer.context.done():
                link.give_up(offer, LinkClosed("nobody waits any more"))
        return read_steer_answer(way, msgspec.json.decode(raw), is_turn_open=all(was_open))

    async def _wait_for_offers(self) -> None:
        """The prompt is answered, and messages that were offered to it are not."""
        try:
            async with asyncio.timeout(STEER_SECONDS):
                await self._more()
        except TimeoutError:
            for offer in tuple(self._offers):
                self._session.link.give_up(offer, CallTimeout(offer.method, STEER_SECONDS))

    async def _keep(self, blocks: list[v1.ContentBlock], otherwise: SteerFallback) -> SteerOutcome:
        """Let a message follow the prompt that runs, or end that for it."""
        if not self._add_message(blocks):
            raise LocalMistake("the turn has ended before the message was sent; send a prompt")
        if otherwise == "queue" or not self.is_open:
            return "queued"
        if not self._restarts:
            self._restarts = True
            await self._session.interrupt()
        return "will_restart" if await self._was_interrupted() else "queued"

    async def _was_interrupted(self) -> bool:
        """Whether the prompt that runs ends with the cancel, or had come to its end. An agent that takes its
        time is believed to: the caller may be the reader of a turn that goes on to speak.
        """
        assert self._call is not None
        await self._wait_for_answer(self._call)
        return not self._call.context.done() or self._response(self._call).stop_reason == "cancelled"

    async def _wait_for_answer(self, call: OutgoingCall[PendingCall]) -> None:
        """Until the agent has answered, or for as long as it may take."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STEER_SECONDS):
                await self._session.link.wait_answered(call)

    def _add_message(self, blocks: list[v1.ContentBlock]) -> bool:
        if self._has_ended or self._is_abandoned:
            return False
        self._messages.append(blocks)
        return True

    def _next_request(self, call: OutgoingCall[PendingCall]) -> bytes | None:
        """The prompt that follows the one that was answered; None if the turn ends with it."""
        if not self._messages:
            self._has_ended = True
            return None
        response = self._response(call)  # an error ends the turn, whatever waits
        if self._restarts and response.stop_reason == "cancelled":
            messages, self._messages = self._messages, deque()
            separator = v1.TextContent(text=SEPARATOR)
            self._blocks = restart_prompt(self._blocks, list(messages), separator)
        else:  # it had come to its end: only what was said since is new
            self._blocks = self._messages.popleft()
        self._restarts = False
        return self._write_request(self._blocks)

    def forget_messages(self) -> None:
        """Drop the messages that have not been sent yet."""
        self.unsent += tuple(self._messages)
        self._messages.clear()
        self._restarts = False

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
        """End this turn with an error, and send the agent a cancel."""
        if self._call is not None:
            self._session.link.give_up(self._call, why)

    @property
    def is_open(self) -> bool:
        """Whether the prompt was sent and has no answer yet, even if no caller reads the turn any more."""
        return self._call is not None and not self._call.context.done()

    @property
    def listens(self) -> bool:
        """Whether the turn accepts updates: it runs, and a caller reads it."""
        call = self._call
        return call is not None and not (self._is_abandoned or call.context.is_answered)

    @property
    def is_hungry(self) -> bool:
        """Whether a reader waits for the next update."""
        return self._wake is not None or self._is_abandoned

    def take(self, updates: list[v1.SessionUpdate | v1.SessionNotification], size: int, block: bytes) -> None:
        """Take updates that the session received for this turn; `block` holds their frames and no others, or
        nothing.
        """
        # Who keeps up has one block twice, as text and as it came. What waits is there once.
        self._batches.append((updates, size, b"" if self._text is None or self._batches else block))
        self._backlog += size
        self._wake_up()

    @property
    def backlog(self) -> int:
        """The bytes of updates that the reader has not taken yet."""
        return self._backlog

    def _note(self, batch: list[v1.SessionUpdate | v1.SessionNotification], block: bytes) -> None:
        """Collect text and tool calls for the result. Batches of nothing but text take a shorter way."""
        message_chunk, text_content = v1.AgentMessageChunk, v1.TextContent
        if set(map(type, batch)) == {message_chunk}:
            if self._text is None:
                return
            try:
                self._text.add([chunk.content.text for chunk in batch], block)  # type: ignore[union-attr]  # or below
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
        if self._text is not None:
            self._text.add(texts)

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

"""One direction of a running proxy: passes frames on, calls hooks for some, and holds frames back during a
hook.

Most blocks are only searched for names: one in which no hooked method, no id and no escape can be found
passes as it is. Where that cannot be proven, the envelopes are glanced at, and only a frame that has a hook
is decoded. Every request that passes is remembered until its answer does, because somebody must answer it
when the other side dies, and because the hook on a result has to know what was asked.

What cannot be read cannot be judged: where there are hooks, a malformed frame is refused instead of passed
on, and so is a request whose id is still in use. Without hooks both pass, like everything else.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable

from msgspec import UNSET, Raw

from dragoman.core import Connection, ResponseReceived
from dragoman.errors import LinkClosed
from dragoman.runtime import Limits
from dragoman.runtime.owner import TaskOwner
from dragoman.runtime.relay import RelayDirection
from dragoman.schema.codec import write
from dragoman.schema.v1 import PromptResponse
from dragoman.sdk.proxy.calls import ProxyConversation, Waiting, current
from dragoman.sdk.proxy.hook_queues import ForwardedRequest, HookQueues, QueuedFrame
from dragoman.sdk.proxy.hooks import FrameFate, HookMessage, ProxyHook
from dragoman.sdk.proxy.scope import cancelled_request, session_of
from dragoman.transport.waiters import Waiters
from dragoman.wire import (
    Failure,
    Id,
    MalformedFrame,
    Notification,
    Request,
    Response,
    decode,
    error_object,
    failure,
    response,
)
from dragoman.wire.codes import CANCELLED, INTERNAL_ERROR, INVALID_REQUEST, NAMES
from dragoman.wire.glance import Glance, glance_block, lines_of

log = logging.getLogger(__name__)

HELD = "hooks hold too much back"

IN_USE = error_object(INVALID_REQUEST, "Invalid request: this id is still in use by an earlier request")
BAD_ANSWER = error_object(INTERNAL_ERROR, "Internal error: the answer could not be read")
SIDE_ENDED = error_object(INTERNAL_ERROR, "Internal error: the other side has ended")

_CANCELLED_TURN = write(PromptResponse(stop_reason="cancelled"))


class ProxyFlow:
    """The messages of one direction; `back` is the other direction."""

    back: ProxyFlow

    def __init__(
        self,
        side: ProxyConversation,
        way: RelayDirection,
        *,
        owner: TaskOwner,
        hooks: dict[str, ProxyHook],
        results: dict[str, ProxyHook],
        prefix: str,
        limits: Limits,
    ) -> None:
        self.way = way
        self.open: dict[Id, ForwardedRequest] = {}  # requests that went this way
        self.calls: Connection[Waiting] = Connection(prefix=prefix)
        self.lanes = HookQueues(owner, side, self._settle_held)
        self.end_reason: LinkClosed | None = None  # why nobody answers any more what goes this way
        self.all_answered = Waiters()  # woken when nothing that went this way is open any more
        self._side = side
        self._hooks = hooks
        self._results = results  # for the answers to what goes this way
        self._names = tuple(method.encode() for method in hooks)
        self._prefix = prefix
        self._limits = limits
        self._block = bytearray()  # what passes of the block that is being taken

    def take(self, block: bytes) -> None:
        quiet = self.end_reason is None and not self.lanes
        if quiet and self._names_nothing(block):
            self.way.send(block)
            return
        glances = glance_block(block)
        methods = [glance.method if glance.id is UNSET else UNSET for glance in glances]
        if quiet and UNSET not in methods and self._hooks.keys().isdisjoint(methods):
            self.way.send(block)
            return
        token = current.set(self._side)
        try:
            for frame, glance in zip(lines_of(block), glances, strict=True):
                self._take_frame(frame, glance)
        finally:
            current.reset(token)
            self._flush()

    def send(self, frame: bytes) -> None:
        """Send a frame of the proxy, after the frames that have passed so far."""
        self._flush()
        self.way.send(frame)

    def hang_up(self, reason: LinkClosed) -> None:
        """Fail the proxy's own calls and the held requests of this direction, because they get no answer any
        more.
        """
        self.end_reason = reason
        for call in self.calls.abandon():
            if not call.context.done():
                call.context.set_result(reason)
        for item in self.lanes:
            if item.passing is not None:
                self.lanes.take_out(item, failure(item.passing.id, SIDE_ENDED))

    def refuse_open_requests(self) -> None:
        """Answer every open request in this direction with an error."""
        for passing in [passing for passing in self.open.values() if passing.queued_frame is None]:
            del self.open[passing.id]
            self.back.send(failure(passing.id, SIDE_ENDED))

    # Which blocks are looked at.

    def _names_nothing(self, block: bytes) -> bool:
        # Without an escape a name can be written in one way only, unless zero bytes make it UTF-16.
        if b"\\" in block or b"\0" in block or b'"id"' in block:
            return False
        return not any(name in block for name in self._names)

    @property
    def _is_guarded(self) -> bool:
        """Whether any message of this direction has a hook."""
        return bool(self._hooks or self.back._results)

    # One frame.

    def _take_frame(self, frame: bytes, glance: Glance) -> None:
        if glance.method is UNSET:
            if glance.id is UNSET:
                self._take_unreadable(frame)
            else:
                self._take_answer(frame, glance.id)
        elif glance.id is UNSET:
            self._take_notification(frame, glance.method)
        else:
            self._take_request(frame, ForwardedRequest(glance.id, glance.method, session_of(frame)))

    def _take_unreadable(self, frame: bytes) -> None:
        envelope = decode(frame)
        if isinstance(envelope, MalformedFrame) and self._is_guarded:
            self._complain(envelope)
        else:
            self._pass(frame)

    def _take_request(self, frame: bytes, passing: ForwardedRequest) -> None:
        envelope = decode(frame) if self._is_guarded or self._results else None
        if isinstance(envelope, MalformedFrame):
            self._complain(envelope)
        elif envelope is not None and passing.id in self.open:
            self.back.send(failure(passing.id, IN_USE))
        elif self.end_reason is not None:
            self.back.send(failure(passing.id, SIDE_ENDED))
        else:
            self.open[passing.id] = passing
            hook = self._hooks.get(passing.method)
            request = envelope if isinstance(envelope, Request) else None
            self._put(passing.session, frame, hook, request, passing)

    def _take_notification(self, frame: bytes, method: str) -> None:
        if method == "$/cancel_request" and self._cancel_held(frame):
            return
        hook = self._hooks.get(method)
        if hook is None and not self.lanes:
            self._pass(frame)
            return
        envelope = decode(frame) if hook else None
        if isinstance(envelope, MalformedFrame):
            self._complain(envelope)
            return
        waits = hook is not None and hook.is_async
        lane: Hashable = session_of(frame) if waits or self.lanes else None
        if method == "session/cancel":
            self._cancel_held_turns(lane)
        if method in ("session/cancel", "$/cancel_request"):
            lane = (method, lane)  # one of its own: cancels overtake
        note = envelope if isinstance(envelope, Notification) else None
        self._put(lane, frame, hook, note)

    def _take_answer(self, frame: bytes, request_id: Id) -> None:
        if isinstance(request_id, str) and request_id.startswith(self.back._prefix):
            self._take_own(frame)
            return
        passing = self.back.open.get(request_id)
        if passing is None or passing.queued_frame is not None:
            self._take_unasked(frame)
            return
        del self.back.open[request_id]
        if not self.back.open:
            self.back.all_answered.wake()
        hook = self.back._results.get(passing.method)
        envelope = decode(frame) if hook else None
        if isinstance(envelope, MalformedFrame):
            frame = failure(request_id, BAD_ANSWER)
        result = envelope if isinstance(envelope, Response) else None
        lane = session_of(frame) if passing.session is None and (hook or self.lanes) else passing.session
        self._put(lane, frame, hook, result)

    def _take_unasked(self, frame: bytes) -> None:
        """A result that belongs to nothing could belong to something by a looser reading than ours."""
        if self._is_guarded and not isinstance(decode(frame), Failure):
            log.info("%s: dropped an answer to nothing that was asked", self.way.direction)
        else:
            self._pass(frame)

    def _take_own(self, frame: bytes) -> None:
        event = self.back.calls.receive(decode(frame))
        if isinstance(event, ResponseReceived) and not event.call.context.done():
            # A copy: what is kept of a block would keep all of it.
            answer = event.answer.copy() if isinstance(event.answer, Raw) else event.answer
            event.call.context.set_result(answer)

    # Cancels overtake: what they are about may still be here.

    def _cancel_held(self, frame: bytes) -> bool:
        """Answer a held request in place of the other side, which never heard of it."""
        target = cancelled_request(frame)
        passing = self.open.get(target[0]) if target else None
        if passing is None or passing.queued_frame is None:
            return False
        self.lanes.take_out(passing.queued_frame, failure(passing.id, error_object(CANCELLED)))
        return True

    def _cancel_held_turns(self, session: Hashable) -> None:
        for passing in list(self.open.values()):
            queued_frame = passing.queued_frame
            if queued_frame is not None and passing.method == "session/prompt" and passing.session == session:
                self.lanes.take_out(queued_frame, response(passing.id, _CANCELLED_TURN))

    # Passing on, judging, holding back.

    def _put(
        self,
        lane: Hashable,
        frame: bytes,
        hook: ProxyHook | None,
        envelope: HookMessage | None,
        passing: ForwardedRequest | None = None,
    ) -> None:
        """Let it pass, judge it, or hold it back. Without an envelope there is nothing to judge."""
        active_hook = hook if envelope is not None else None
        if lane in self.lanes or (active_hook is not None and active_hook.is_async):
            item = QueuedFrame(frame, hook=active_hook, envelope=envelope, passing=passing)
            if passing is not None:
                passing.queued_frame = item
            self.lanes.add(lane, item)
            self.weigh()
        elif active_hook is None or envelope is None:
            self._pass(frame)
        else:
            fate = active_hook.judge(frame, envelope, self._side)
            assert isinstance(fate, FrameFate)
            self._settle(fate, passing)

    def _settle(self, fate: FrameFate, passing: ForwardedRequest | None) -> None:
        if passing is not None:
            passing.queued_frame = None
            if fate.onward is None:
                self.open.pop(passing.id, None)
        if fate.onward:
            self._pass(fate.onward)
        if fate.back:
            self.back.send(fate.back)

    def _settle_held(self, item: QueuedFrame, fate: FrameFate) -> None:
        self._settle(fate, item.passing)
        self._flush()
        self.weigh()

    def weigh(self) -> None:
        """Pause reading while too many bytes are held back, but not while an awaited answer comes from this
        side.
        """
        limits = self._limits
        max_bytes = limits.backlog_hard_bytes if self.back.calls.calls else limits.backlog_bytes
        (self.way.hold if self.lanes.size > max_bytes else self.way.listen)(HELD)

    def _complain(self, bad: MalformedFrame) -> None:
        log.info("%s: refused a message: %s", self.way.direction, bad.why)
        if bad.code is not None:
            self.back.send(failure(None, error_object(bad.code, f"{NAMES[bad.code]}: {bad.why}")))

    def _pass(self, frame: bytes) -> None:
        self._block += frame

    def _flush(self) -> None:
        if self._block:
            block, self._block = bytes(self._block), bytearray()
            self.way.send(block)

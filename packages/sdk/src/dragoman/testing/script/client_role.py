"""A scripted client: plays its script from beginning to end, and answers requests by rules in the meantime.

What no rule is for waits, in order, for a line of the story that expects it.
"""

from __future__ import annotations

import logging

from dragoman.errors import CallFailed, LinkClosed
from dragoman.testing.script.body import Body
from dragoman.testing.script.client_verbs import ScriptFailed, frame_value
from dragoman.testing.script.patterns import Names
from dragoman.testing.script.peer import Peer, plain_data
from dragoman.testing.script.scene import ScriptScene, perform
from dragoman.testing.script.script import Script, ScriptRules
from dragoman.testing.transcript import Party, show
from dragoman.transport.contract import Transport
from dragoman.wire import Envelope, Notification, Request

log = logging.getLogger(__name__)

NOT_CHOSEN = {"outcome": {"outcome": "cancelled"}}


class ClientRole:
    """One connection of a scripted client."""

    party: Party = "client"

    def __init__(self, script: Script, transport: Transport, *, body: Body, names: Names) -> None:
        self.peer = Peer(transport, role=self, body=body)
        self.at = 0
        """The line of the story that is being played."""
        self._script = script
        self._rules = ScriptRules(script.rules)
        self._story = ScriptScene(self.peer, names=dict(names))

    def start(self) -> None:
        self.peer.start()

    async def tell(self) -> None:
        """Play the story; raises `ScriptFailed` at a difference."""
        try:
            for line, act in self._script.story:
                self.at = line
                await perform([(line, act)], self._story)
        except (CallFailed, LinkClosed) as error:
            raise ScriptFailed(self.at, f"{error}\n{show(self.peer.transcript)}") from error
        if self.peer.failure is not None:
            raise self.peer.failure

    def on_frame(self, line: bytes, envelope: Envelope) -> None:
        if isinstance(envelope, Request | Notification):
            self.peer.wake_waiters(envelope.method)
            if self._answered_by_rule(envelope):
                return
        self._story.inbox.put_nowait(frame_value(line))

    def on_oversized_frame(self, size: int) -> None:
        log.warning("a frame of %d bytes was skipped", size)

    def on_end(self) -> None:
        self._story.inbox.put_nowait(None)

    def _answered_by_rule(self, envelope: Request | Notification) -> bool:
        if not self._rules.know(envelope.method):
            return False
        try:
            params = plain_data(envelope.params)
        except ValueError:
            return False  # the story may still expect it as it is
        names: Names = dict(self._story.names)
        rule = self._rules.pick(envelope.method, params, names)
        if rule is None:
            return False
        names["options"] = params.get("options") if isinstance(params, dict) else None
        names["id"] = envelope.id if isinstance(envelope, Request) else None
        is_request = isinstance(envelope, Request)
        scene = ScriptScene(self.peer, method=envelope.method, answers=is_request, names=names)
        scene.outcome = NOT_CHOSEN if envelope.method == "session/request_permission" else {}
        self.peer.begin(scene.play(rule.actions))
        return True

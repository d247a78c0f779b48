"""Messages of a client whose token is limited to some folders: the folders in a message are checked before it
is accepted. Later messages wait, so that a cancel does not overtake its prompt.

A disk that hangs holds up the clients that name it, and nobody else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from dragoman.errors import LinkClosed
from dragoman.runtime.owner import TaskOwner
from dragoman.wire import Notification, Request, decode_block
from dragoman.wire.envelope import Envelope
from dragoman_hub.engine.options import HubOptions
from dragoman_hub.gate.admission import Grant
from dragoman_hub.gate.table import places_named
from dragoman_hub.session.frames import object_of


class IntakeHub(Protocol):
    """The parts of the hub that are used here."""

    @property
    def options(self) -> HubOptions: ...


class ConfinedClient(Protocol):
    """The client of these messages."""

    grant: Grant

    @property
    def hub(self) -> IntakeHub: ...
    def give_up(self, why: str) -> None: ...


class ConfinedIntake:
    """Passes each message to `take`, in order. `owner` owns the waiting work."""

    def __init__(self, client: ConfinedClient, take: Callable[[Envelope], None], owner: TaskOwner) -> None:
        self._client = client
        self._take = take
        self._owner = owner
        self._held: list[Envelope] = []  # the first of them is being looked at
        self._held_bytes = 0

    def feed(self, block: bytes) -> None:
        """Receive bytes of the client. Raises `LinkClosed` if the client has left."""
        self._held_bytes = self._held_bytes + len(block) if self._held else 0
        if self._held_bytes > self._client.hub.options.unread:
            self._client.give_up("it goes on while a disk does not answer")
            return
        for envelope in decode_block(block):
            if self._held:
                self._held.append(envelope)
            elif paths := self._paths_in(envelope):
                self._held.append(envelope)
                self._held_bytes = len(block)
                self._owner.start(self._take_held(paths))
            else:
                self._take(envelope)

    async def _take_held(self, paths: list[str]) -> None:
        while self._held:
            await self._client.grant.look_at(paths)
            paths = []
            while self._held and not paths:
                try:
                    self._take(self._held[0])
                except LinkClosed:
                    self._held.clear()
                    return
                del self._held[0]
                paths = self._paths_in(self._held[0]) if self._held else []

    def _paths_in(self, envelope: Envelope) -> list[str]:
        """Paths that must be resolved before a message can be judged."""
        if not isinstance(envelope, Request | Notification):
            return []
        grant, options = self._client.grant, self._client.hub.options
        if envelope.method == "initialize":  # these are shown in the answer, if its token is for them
            return grant.paths_to_look_at((options.folder, options.home))
        is_request = isinstance(envelope, Request)
        return places_named(grant, envelope.method, object_of(envelope.params), is_request=is_request)

"""How an agent speaks when several threads may speak at once: each update leaves as one whole frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import msgspec

from dragoman.errors import TurnOver
from dragoman.schema.codec import write
from dragoman.sdk.agent_session import AgentSession
from dragoman.sdk.lender import Lender
from dragoman.sdk.turn import Turn

if TYPE_CHECKING:
    from dragoman.blocking.agent_link import AgentLink
    from dragoman.schema.v1 import ContentBlock, SessionUpdate

_encode = msgspec.json.Encoder().encode


class Voice(Lender):
    """Takes the place of the methods that append to the outbox piece by piece."""

    __slots__ = ()

    @property
    def _link(self) -> AgentLink:
        return cast("AgentLink", self.client.link)  # the only kind of link that gives out voices

    async def say(self, text: str | ContentBlock, *, message_id: str | None = None) -> None:
        if message_id is None and type(text) is str and not self._over:
            if not self._say_head:
                self._prepare()
            self._link.say(b"%b%b}}}}\n" % (self._say_head, _encode(text)))
            return
        await super().say(text, message_id=message_id)

    async def update(self, update: SessionUpdate) -> None:
        if self._over:
            raise TurnOver("this turn has been answered; nothing can be said in it any more")
        if not self._update_head:
            self._prepare()
        self._link.say(b"%b%b}}\n" % (self._update_head, write(update)))


class VoicedSession(Voice, AgentSession):
    __slots__ = ()


class VoicedTurn(Voice, Turn):
    __slots__ = ()

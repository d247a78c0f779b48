"""How an agent speaks when several threads may speak at once: each update leaves as one whole frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dragoman.schema import v1
from dragoman.sdk.agent.lender import Lender
from dragoman.sdk.agent.session import AgentSession, Turn
from dragoman.sdk.agent.speaker import _or_unset, encode_text
from dragoman.sdk.outbound import as_block, write_update

if TYPE_CHECKING:
    from dragoman.blocking.agent_link import AgentLink
    from dragoman.schema.v1 import ContentBlock, SessionUpdate


class ThreadSpeaker(Lender):
    """Takes the place of the methods that append to the outbox piece by piece."""

    __slots__ = ()

    @property
    def _link(self) -> AgentLink:
        return cast("AgentLink", self.client.link)  # the only kind of link that gives out voices

    def say_now(self, text: str) -> None:
        """The short way for `say`, which is most of what an agent ever does."""
        if not self._say_head:
            self._prepare()
        if self._has_ended:
            self._check_open()
        if self._link.outbox.gather(b"".join((self._say_head, encode_text(text), b"}}}}\n"))):
            self._link.make_room()

    async def say(self, text: str | ContentBlock, *, message_id: str | None = None) -> None:
        if message_id is None and type(text) is str:
            self.say_now(text)
        else:
            await self.update(v1.AgentMessageChunk(content=as_block(text), message_id=_or_unset(message_id)))

    async def update(self, update: SessionUpdate) -> None:
        self._put(update)
        if self._link.outbox.is_congested:
            self._link.make_room()

    def _put(self, update: SessionUpdate) -> None:
        self._check_open()
        if not self._update_head:
            self._prepare()
        self._link.outbox.gather(b"%b%b}}\n" % (self._update_head, write_update(update)))


class ThreadAgentSession(ThreadSpeaker, AgentSession):
    __slots__ = ()


class ThreadTurn(ThreadSpeaker, Turn):
    __slots__ = ()

"""A running agent whose handlers are plain functions: what `sdk.agent_side` is, with threads for tasks."""

from __future__ import annotations

from typing import cast

from dragoman.blocking.agent_link import AgentLink
from dragoman.blocking.turns import ThreadTurns
from dragoman.blocking.voice import VoicedSession
from dragoman.runtime import Link
from dragoman.sdk.agent.client_handle import ClientHandle
from dragoman.sdk.agent.side import AgentSide


class BlockingAgentSide(AgentSide):
    """The router of an agent's link."""

    __slots__ = ()

    session_type = VoicedSession

    def attach_to(self, link: AgentLink) -> None:
        # It offers what the SDK uses of a link; a test holds it to that.
        self.client = ClientHandle(cast(Link, link), self.sessions)
        self._turns = ThreadTurns(self.agent, self.client, link)

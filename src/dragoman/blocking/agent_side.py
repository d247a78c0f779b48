"""A running agent whose handlers are plain functions: what `sdk.agent_side` is, with threads for tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar, cast

from dragoman.blocking.agent_link import AgentLink
from dragoman.blocking.speaker import ThreadAgentSession
from dragoman.blocking.turns import ThreadTurns
from dragoman.runtime.limits import check_seconds
from dragoman.schema.waits import bound
from dragoman.sdk.agent.client_calls import DEFAULT, write_request
from dragoman.sdk.agent.session import ClientHandle
from dragoman.sdk.agent.side import AgentSide
from dragoman.sdk.inbound import read_result

if TYPE_CHECKING:
    from dragoman.runtime.link import Link

T = TypeVar("T")
R = TypeVar("R")


class ThreadClientHandle(ClientHandle):
    """The client as an agent with threads sees it: its link has no futures to wait for."""

    __slots__ = ()

    async def ask_for(
        self,
        method: str,
        message: object,
        result: type[T],
        part: Callable[[T], R],
        *,
        deadline: float | None = DEFAULT,
    ) -> R:
        self.check_allowed(method)
        seconds = (
            bound(method, self.limits.call_seconds, receiver="client")
            if deadline is DEFAULT
            else check_seconds(deadline, "deadline")
        )
        answer = await self.link.call(method, write_request(method, message), deadline=seconds)
        return part(read_result(answer, result, method))


class BlockingAgentSide(AgentSide):
    """The router of an agent's link."""

    __slots__ = ()

    session_type = ThreadAgentSession

    def attach_to(self, link: AgentLink) -> None:
        # It offers what the SDK uses of a link; a test holds it to that.
        self.client = ThreadClientHandle(cast("Link", link), self.sessions)
        self._turns = ThreadTurns(self.agent, self.client, link)

"""The client, as an agent sees it: who it is, what it can do, and how to ask it anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Raw

from dragoman.errors import NotAdvertised
from dragoman.runtime import Limits, Link
from dragoman.schema import v1
from dragoman.schema.codec import write
from dragoman.sdk.capabilities import NOTHING, advertised
from dragoman.sdk.methods import CLIENT_REQUESTS
from dragoman.sdk.reading import read_result

if TYPE_CHECKING:
    from dragoman.sdk.agent.session import AgentSession

T = TypeVar("T")

_DEFAULT: Any = object()


class ClientHandle:
    """The other end of an agent's connection."""

    __slots__ = ("capabilities", "info", "link", "protocol_version", "sessions")

    def __init__(self, link: Link, sessions: Mapping[str, AgentSession] | None = None) -> None:
        self.link = link
        self.sessions: Mapping[str, AgentSession] = {} if sessions is None else sessions
        """Its open sessions by id. The one that is being loaded or resumed is among them, to be spoken in."""
        self.capabilities = NOTHING
        self.info: v1.Implementation | None = None
        self.protocol_version = 0

    def introduce(self, request: v1.InitializeRequest, version: int) -> None:
        """`initialize` told us who it is."""
        self.capabilities = advertised(request.client_capabilities)
        self.info = request.client_info or None
        self.protocol_version = version

    @property
    def limits(self) -> Limits:
        return self.link.limits

    async def ask(
        self, method: str, message: Any, result: type[T], *, deadline: float | None = _DEFAULT
    ) -> T:
        """A request of the protocol, typed both ways, refused here if the client did not say that it can do
        it.
        """
        capability = CLIENT_REQUESTS[method].capability
        if capability is not None and capability not in self.capabilities:
            raise NotAdvertised(capability, method)
        link = self.link
        seconds = link.limits.call_seconds if deadline is _DEFAULT else deadline
        raw = await link.call(method, write(message), deadline=seconds)
        return read_result(raw, result, method)

    async def call(self, method: str, params: Any = None, *, deadline: float | None = _DEFAULT) -> Any:
        """Any other request, such as an extension (`_…`): plain data in, plain data out."""
        seconds = self.limits.call_seconds if deadline is _DEFAULT else deadline
        return msgspec.json.decode(await self.link.call(method, _encoded(params), deadline=seconds))

    async def notify(self, method: str, params: Any = None) -> None:
        """Any notification, such as an extension."""
        self.link.notify(method, _encoded(params))
        await self.link.outbox.flow()


def _encoded(params: Any) -> bytes | None:
    if params is None:
        return None
    return bytes(params) if isinstance(params, Raw) else write(params)

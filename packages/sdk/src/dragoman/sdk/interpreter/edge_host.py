"""The host of an interpreter: does the IO that an edge requests.

An edge does no IO. What its peer wants to read and v1 cannot be asked for, it asks of its host: files of ours
for one side (`request_lending`), files and terminals of the client for the other (`client_tools`). Most
conversations ask for nothing: each is loaded with the first question, and ends with the transport that it
belongs to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dragoman.dialect.message import Message
from dragoman.transport.contract import Transport
from dragoman.transport.translated_transport import TranslatedTransport, TransportInterpreter

if TYPE_CHECKING:
    from dragoman.sdk.interpreter.client_tools.host import ClientTools
    from dragoman_local.interpreter.request_lending import Answer, RequestLending


class EdgeHost:
    """Answers all requests of edges: with our files for one side, with the client's files and terminals
    for the other. Used from one event loop.
    """

    def __init__(self, tell: Answer, *, policy: str = "") -> None:
        self._tell = tell
        self._policy = policy
        self._is_closed = False
        self._lending: RequestLending | None = None
        self._tools: ClientTools | None = None

    def ask(self, position: int, message: Message) -> None:
        if not message.is_answer and not str(message.method).startswith("client_tools/"):
            self._lend(position, message)
            return
        if self._tools is None:
            from dragoman.sdk.interpreter.client_tools.host import ClientTools

            self._tools = ClientTools(self._tell)
        self._tools.ask(position, message)

    def _lend(self, position: int, message: Message) -> None:
        if self._is_closed:
            return
        if self._lending is None:
            from dragoman_local.interpreter.request_lending import RequestLending

            self._lending = RequestLending(self._tell, policy=self._policy)
        self._lending.ask(position, message)

    async def aclose(self) -> None:
        self._is_closed = True
        if self._lending is not None:
            await self._lending.aclose()
        if self._tools is not None:
            await self._tools.aclose()


class LendingTransport(TranslatedTransport):
    """A translated transport with a host of its own, which ends with it."""

    def __init__(self, inner: Transport, interpreter: TransportInterpreter, *, policy: str = "") -> None:
        self._edge_host = EdgeHost(self.answer, policy=policy)
        super().__init__(inner, interpreter, host=self._edge_host.ask)

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            await self._edge_host.aclose()

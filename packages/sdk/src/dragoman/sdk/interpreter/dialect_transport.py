"""Wraps a transport whose peer speaks a dialect, so that our side of it speaks v1."""

from __future__ import annotations

import logging
import os
import socket
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from msgspec.structs import replace

from dragoman.dialect import Edge, EdgeSettings, Ledger, Position, Translator, make_edge
from dragoman.dialect.message import Message
from dragoman.dialect.quirks.edge import Quirks
from dragoman.transport.contract import Transport
from dragoman.transport.translated_transport import TranslatedTransport, TransportInterpreter

if TYPE_CHECKING:
    from dragoman.sdk.interpreter.client_tools.host import ClientTools
    from dragoman_local.interpreter.request_lending import Answer, RequestLending

log = logging.getLogger(__name__)


def speaking(
    dialect: str,
    peer: Transport,
    *,
    position: Position,
    settings: EdgeSettings,
    ledger: Ledger,
    quirks: bool = True,
) -> Transport:
    """Wrap `peer` so that it speaks v1, without its known `quirks`. A v1 client whose quirks may stay is
    not wrapped.
    """
    # Our edge for an agent speaks for it to other edges, and it does not. `LoginTransport` looks itself.
    guards = position == "agent" and not settings.credentials
    interpreter = interpreter_for(
        dialect, position=position, settings=settings, ledger=ledger, quirks=quirks, guards_names=guards
    )
    return peer if interpreter is None else LendingTransport(peer, interpreter, policy=settings.policy)


def interpreter_for(
    dialect: str,
    *,
    position: Position,
    settings: EdgeSettings,
    ledger: Ledger,
    quirks: bool = True,
    guards_names: bool = False,
) -> Translator | None:
    """Return the interpreter for a peer of this dialect; None if none is needed."""
    if hasattr(socket, "AF_UNIX"):  # what the client lends is reached through one
        settings = replace(settings, client_tools=True)
    if not settings.nonce:
        settings = replace(settings, nonce=os.urandom(8).hex())
    if settings.clock is None:
        settings = replace(settings, clock=_now)
    edges: list[Edge] = [Quirks(position, settings, ledger)] if quirks else []
    if dialect != "v1":
        edges.append(make_edge(dialect, position, settings, ledger))
    if not edges and not guards_names:
        return None
    return Translator(edges, ledger, on_mistake=_report, guards_names=guards_names)


def agent_in_v1(
    agent: Transport,
    dialect: str,
    *,
    cwd: str | os.PathLike[str] | None,
    ledger: Ledger | None,
    quirks: bool,
    policy: str,
) -> Transport:
    """Wrap an agent that we connect to, so that it speaks v1. The file `policy` limits its access to files
    and terminals.
    """
    interpreter = agent_interpreter(dialect, cwd=cwd, ledger=ledger, quirks=quirks)
    return agent if interpreter is None else LendingTransport(agent, interpreter, policy=policy)


def agent_interpreter(
    dialect: str, *, cwd: str | os.PathLike[str] | None, ledger: Ledger | None, quirks: bool
) -> Translator | None:
    """Return an interpreter for a single agent that someone connects to; its sessions without a folder use
    `cwd`.
    """
    settings = EdgeSettings(cwd=os.path.abspath(cwd or "."), as_written=None)
    decisions = Ledger() if ledger is None else ledger
    return interpreter_for(dialect, position="agent", settings=settings, ledger=decisions, quirks=quirks)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _report(error: Exception) -> None:
    # Its text may hold what the peer said; the kind and the place are enough to find the mistake.
    trace, place = error.__traceback__, "somewhere"
    while trace is not None:
        place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    log.error("an edge failed at %s: %s", place, type(error).__name__)


# The host of an interpreter: does the IO that an edge requests.
#
# An edge does no IO. What its peer wants to read and v1 cannot be asked for, it asks of its host: files of
# ours for one side (`request_lending`), files and terminals of the client for the other (`client_tools`).
# Most conversations ask for nothing: each is loaded with the first question, and ends with the transport
# that it belongs to.


class EdgeHost:
    """Answers all requests of edges: with our files for one side, with the client's files and terminals for
    the other. For use in one event loop.
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
    """A translated transport with its own host, which ends with it."""

    def __init__(self, inner: Transport, interpreter: TransportInterpreter, *, policy: str = "") -> None:
        self._edge_host = EdgeHost(self.answer, policy=policy)
        super().__init__(inner, interpreter, host=self._edge_host.ask)

    async def aclose(self) -> None:
        try:
            await super().aclose()
        finally:
            await self._edge_host.aclose()

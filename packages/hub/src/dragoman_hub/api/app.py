"""The hub as one ASGI application: the endpoint, the page, metrics and health.

Clients of every dialect are welcome: one that begins as the protocol's version 1 is spoken to directly, any
other through an interpreter, by the dialect that its address names (`?dialect=crow`) or by what it says
first.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from math import ceil
from typing import Any

import msgspec

from dragoman.dialect import CHOICES, EdgeSettings, Ledger
from dragoman.dialect.clues_client import begins_as_koog
from dragoman.dialect.message import Message, as_object, as_text, decode
from dragoman.dialect.quirks.edge import quirks_of
from dragoman.sdk.interpreter.dialect_transport import speaking
from dragoman.transport.contract import Transport, TransportLimits
from dragoman.transport.http_asgi import respond
from dragoman.transport.http_connection import Bounds
from dragoman.transport.messages import MessageTransport
from dragoman_hub.api.endpoint import TICKET, AcpEndpoint, Visit
from dragoman_hub.api.history_api import HistoryApi, HistoryDoor
from dragoman_hub.api.listener import NETWORK
from dragoman_hub.api.pairing import PAIR, PairingDoor
from dragoman_hub.api.push_answer import PUSH_ANSWER, PushAnswerDoor
from dragoman_hub.api.rule_page import RULES, show_rules
from dragoman_hub.clients.client import ClientHub
from dragoman_hub.engine.session_reach import in_reach
from dragoman_hub.gate.admission import Admission, AdmissionRefusal, Grant
from dragoman_hub.gate.rates import Buckets
from dragoman_local.journal import StreamInfo

log = logging.getLogger(__name__)

App = Callable[[Any, Any, Any], Awaitable[None]]

PLAIN = frozenset({"protocolVersion", "clientCapabilities", "clientInfo", "_meta"})
ACP = "/acp"

RESERVED = 16
"""Connections for tokens with the scope `admin` beyond the limit."""

RETRY = 5
"""The seconds after which a refused client may try again."""


class HubApp:
    """Everything at the hub's address. `page` and `observed_app` are separate applications."""

    def __init__(
        self,
        hub: ClientHub,
        admission: Admission,
        *,
        page: App | None = None,
        observed_app: App | None = None,
        observed_paths: frozenset[str] = frozenset(),
        limits: TransportLimits = NETWORK,
        bounds: Bounds | None = None,
        connections: int = 256,
        connect_rate: Buckets | None = None,
        on_refused: Callable[[str | int], None] | None = None,
    ) -> None:
        self.hub = hub
        self.endpoint = AcpEndpoint(
            admission,
            self._accept,
            path=ACP,
            limits=limits,
            bounds=bounds,
            on_refused=on_refused,
            once=False,
            find_room=self._find_room,
        )
        self._on_refused = on_refused or (lambda why: None)
        self._pairing_door = (
            None
            if hub.pairings is None
            else PairingDoor(admission, hub.pairings, on_refused=self._on_refused)
        )
        self._push_answer_door = PushAnswerDoor(admission, hub, on_refused=self._on_refused)
        self._admission = admission
        self._page = page
        self._observed_app = observed_app
        self._observed_paths = observed_paths
        self._most = connections
        self._connect_rate = connect_rate

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] not in ("http", "websocket"):
            return
        path = scope["path"]
        if scope["type"] == "websocket" or path in (ACP, TICKET):
            await self.endpoint(scope, receive, send)
        elif path == PAIR and self._pairing_door is not None:
            await self._pairing_door(scope, receive, send)
        elif path == PUSH_ANSWER:
            await self._push_answer_door(scope, receive, send)
        elif path in self._observed_paths and self._observed_app is not None:
            await self._observed_app(scope, receive, send)
        else:
            await self._show(scope, receive, send)

    async def _show(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve the page only under the hub's own name, although it has no secrets."""
        refusal = self._admission.check_address(dict(scope["headers"]))
        if refusal is not None:
            await respond(send, refusal.status, b"", headers=refusal.headers)
        elif self._page is None:
            await respond(send, 404, b"there is nothing here; clients come to /acp")
        elif scope["path"] == RULES:
            await show_rules(scope, receive, send)
        else:
            await self._page(scope, receive, send)

    def _accept(self, transport: MessageTransport, visit: Visit) -> None:
        grant = visit.grant
        late = not self._admission.holds(grant)  # revoked between the door and the first word
        if late or self.hub.draining or self._is_full(grant, self.endpoint.http.reclaim):
            log.warning("a connection of %s is refused", grant.name)
            self._on_refused("token" if late else "connections")
            self.hub.owner.start(_refuse(transport))
            return
        client_transport = self._in_version_1(transport, visit)
        self.hub.accept(client_transport, grant, agent=visit.query.get("agent", ""))

    def _find_room(self, grant: Grant, is_socket: bool) -> AdmissionRefusal | None:
        """The reason why a connection of this token cannot begin now; checked before it begins. Whoever runs
        the hub always gets in, whatever a program with the same token does.
        """
        wait = 0.0 if self._connect_rate is None else self._connect_rate.take(grant.name)
        if wait > 0 and not (is_socket and grant.may("admin")):
            self._on_refused("rate")
            reason = f"This token opens connections too fast: wait {ceil(wait)} s"
            return AdmissionRefusal(429, "its token opens connections too fast", ceil(wait), reason)
        if self.hub.draining:
            return AdmissionRefusal(503, "the hub is stopping", RETRY, "The hub is stopping: try again later")
        if self._is_full(grant, self.endpoint.http.find_abandoned):
            self._on_refused("connections")
            reason = f"The hub has {self._most} clients already: close one, or raise limits.connections"
            return AdmissionRefusal(503, "there are too many connections", RETRY, reason)
        return None

    def _is_full(self, grant: Grant, make_room: Callable[[], object]) -> bool:
        """Whether there is no room, also if an abandoned connection is forgotten. Only whoever is let in
        makes room, once: what is forgotten takes a moment to go, and is counted until then.
        """
        free = self._most - len(self.hub.clients)
        return free <= 0 and not make_room() and not (grant.may("admin") and free > -RESERVED)

    def _in_version_1(self, transport: MessageTransport, visit: Visit) -> Transport:
        """The client as one that speaks version 1; history is answered in its own language."""
        dialect = dialect_of(visit)
        if dialect == "v1":
            return transport
        history = HistoryApi(self.hub.journal, may_see=partial(self._may_see, visit.grant))
        door = HistoryDoor(transport, history, self.hub.owner, grant=visit.grant)
        # Other clients may be in its sessions: what becomes of a question is for the hub to say.
        settings = EdgeSettings(cwd=visit.query.get("cwd", "/"), answers_for_peer=False, as_written=None)
        return speaking(dialect, door, position="client", settings=settings, ledger=Ledger())

    async def _may_see(self, grant: Grant, info: StreamInfo) -> bool:
        return bool(await in_reach(self.hub, grant, [info]))


async def _refuse(transport: MessageTransport) -> None:
    error = {"code": -32603, "message": "Internal error: the hub takes no more clients now"}
    transport.write(msgspec.json.encode({"jsonrpc": "2.0", "id": None, "error": error}) + b"\n")
    await transport.aclose()


def dialect_of(visit: Visit) -> str:
    """Return the client's configured dialect; `auto` if it must be detected."""
    dialect = visit.query.get("dialect", "auto")
    if dialect in CHOICES and dialect != "auto":
        return dialect
    return "v1" if is_plain(visit.first) else "auto"


def is_plain(first: bytes) -> bool:
    """Whether a client's first message is exactly that of version 1, so that no interpreter is necessary."""
    message = decode(first)
    if (
        message is None
        or not message.is_request
        or message.method != "initialize"
        or message.jsonrpc != "2.0"
    ):
        return False
    members = as_object(message.params)
    version = members.get("protocolVersion")
    is_version_1 = type(version) is int and version == 1 and members.keys() <= PLAIN
    return is_version_1 and not _needs_an_interpreter(message)


def _needs_an_interpreter(message: Message) -> bool:
    """Whether it has known quirks, or begins as the guide of koog does."""
    info = as_object(as_object(message.params).get("clientInfo"))
    return begins_as_koog(message) or bool(quirks_of(as_text(info.get("name")), "client"))

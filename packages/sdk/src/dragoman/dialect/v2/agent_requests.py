"""Records a v1 client's open requests to a v2 agent: the request, and its id at the agent."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from dragoman.dialect.debts import OwnIds, PendingRequests
from dragoman.dialect.edge import Out
from dragoman.dialect.message import Id, Json, Message, request
from dragoman.dialect.v2.agent_turns import V2AgentTurn


class ForwardedRequest(Struct, frozen=True):
    """A request that the agent has not answered."""

    method: str
    """The client's name for the method."""
    client_id: Id | UnsetType
    session: str = ""
    offer: str = ""
    """The name of the offer under which the new session gets the client's tools."""
    turn: V2AgentTurn | None = None


class ForwardedRequests:
    """Open requests of the client. Ids stay the same, except those that v2 does not allow: null and too large
    ones.
    """

    def __init__(self) -> None:
        self._open: PendingRequests[ForwardedRequest] = PendingRequests()  # by the agent's ids
        self._agent_ids: dict[Id, Id] = {}  # by the client's, for as long as the client waits
        self._ids = OwnIds("dragoman")

    def send(
        self,
        message: Message,
        method: str,
        params: Json,
        session: str = "",
        *,
        offer: str = "",
        turn: V2AgentTurn | None = None,
    ) -> Out:
        """Send a request of the client to the agent."""
        known_as = message.id
        if known_as is None or (type(known_as) is int and not -(2**63) <= known_as < 2**63):
            known_as = self._ids.next()
        if known_as is not UNSET and message.id is not UNSET:
            self._agent_ids[message.id] = known_as
        self._open.owe(known_as, ForwardedRequest(str(message.method), message.id, session, offer, turn))
        if method == message.method and params is message.params and known_as == message.id:
            return "peer", message
        return "peer", request(known_as, method, params)

    def settle(self, message: Message) -> ForwardedRequest | None:
        """Return the request that the agent's answer belongs to."""
        request = self._open.settle(message.id)
        if request is not None and request.turn is None:  # a prompt is open for longer
            self.forget(request.client_id)
        return request

    def forget(self, client_id: Id | UnsetType) -> None:
        if client_id is not UNSET:
            self._agent_ids.pop(client_id, None)

    def agent_id(self, client_id: Id) -> Id | UnsetType:
        """Return the agent's id for an open request of the client."""
        return self._agent_ids.get(client_id, UNSET)

    def client_id(self, agent_id: Json) -> Id | UnsetType:
        """Return the client's id for a request that the agent names, if the request is still open."""
        client_ids = [ours for ours, theirs in self._agent_ids.items() if theirs == agent_id]
        return client_ids[0] if client_ids else UNSET

    def is_opening(self) -> bool:
        """Whether a session may be about to exist whose id is still unknown."""
        return any(request.method in ("session/new", "session/fork") for _, request in self._open.items())

    def pop_all(self) -> list[ForwardedRequest]:
        """Remove and return all open requests."""
        requests = [
            request for _, request in self._open.items() if request.turn is None or not request.turn.over
        ]
        self._open = PendingRequests()
        self._agent_ids.clear()
        return requests

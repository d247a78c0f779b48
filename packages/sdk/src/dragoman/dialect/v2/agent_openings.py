"""Opens sessions of a v2 agent, and lends it the client's files and terminals where possible.

A session that is to have them waits for the host's word; everybody else goes on meanwhile.
"""

from __future__ import annotations

from dragoman.dialect.edge import EdgeSettings, Out
from dragoman.dialect.message import Id, Message, Object, answer, as_text, refusal
from dragoman.dialect.v2.agent_handshake import V2Welcome
from dragoman.dialect.v2.agent_requests import ForwardedRequest, ForwardedRequests
from dragoman.dialect.v2.agent_session import V2AgentSession, V2AgentSessions
from dragoman.dialect.v2.agent_setup import OPENING, SetupRefused, opening, with_server
from dragoman.dialect.v2.agent_tools import ClientToolOffers, PendingOpening, bind_message, withdrawn
from dragoman.dialect.v2.to_v1.fields import LossReporter
from dragoman.wire.codes import CANCELLED, INVALID_PARAMS, NAMES


class Openings:
    """The openings of a conversation."""

    def __init__(
        self,
        report: LossReporter,
        settings: EdgeSettings,
        sessions: V2AgentSessions,
        requests: ForwardedRequests,
    ) -> None:
        self._tell = report
        self._settings = settings
        self._sessions = sessions
        self._requests = requests
        self._welcome = V2Welcome(stdio=True)
        self.lending = ClientToolOffers()

    def on_welcome(self, welcome: V2Welcome) -> None:
        """Read the agent's capabilities."""
        self._welcome = welcome
        if self._sessions.abilities.tools and not self._lends:
            self._lends_nothing()

    def on_request(self, message: Message, params: Object) -> list[Out]:
        """A request of the client that opens a session."""
        try:
            v2_params = opening(str(message.method), params, stdio=self._welcome.stdio, report=self._tell)
        except SetupRefused as why:
            return [("inside", refusal(message.id, INVALID_PARAMS, f"Invalid params: {why}"))]
        if self._lends:
            return self.lending.offer(PendingOpening(message, v2_params), self._sessions.abilities.tools)
        return self._open(message, v2_params)

    def on_grant(self, message: Message) -> list[Out]:
        """The host's answer to an offer."""
        grant = self.lending.on_grant(message)
        if grant is None:
            return []
        offer, waiting, server = grant
        if server is None:
            self._lends_nothing()
            return self._open(waiting.message, waiting.params)
        return self._open(waiting.message, with_server(waiting.params, server), offer)

    def withdraw(self, request_id: Id) -> list[Out]:
        """The client does not want a session any more that still waits; nothing, if it does not wait."""
        if not self.lending.forget(request_id):
            return []
        return [("inside", refusal(request_id, CANCELLED, NAMES[CANCELLED]))]

    def on_open(
        self, request: ForwardedRequest, result: Object
    ) -> tuple[list[Out], V2AgentSession, list[Object]]:
        """Handle the agent's answer: the messages to send now, and those to send after everything else."""
        session = self._sessions.of(request.session or as_text(result.get("sessionId")))
        result_in_v1, after = session.on_open(result)
        outs: list[Out] = []
        if request.offer:
            session.offer = request.offer
            outs = [bind_message(request.offer, session.id)]
        return [*outs, ("inside", answer(request.client_id, result_in_v1))], session, after

    def over(self, offer: str) -> list[Out]:
        """End what was lent under this name."""
        return [withdrawn(offer)] if offer else []

    def _open(self, message: Message, params: Object, offer: str = "") -> list[Out]:
        method, session_id = str(message.method), ""
        if method in ("session/load", "session/resume"):  # the others open one that has no id yet
            session = self._sessions.of(as_text(params.get("sessionId")))
            session_id, session.cwd = session.id, as_text(params.get("cwd")) or "/"
            if method == "session/load":
                session.begin_again()
        return [self._requests.send(message, OPENING[method], params, session_id, offer=offer)]

    @property
    def _lends(self) -> bool:
        """Whether somebody can be asked to lend the client's tools, and the agent can take them."""
        return bool(self._sessions.abilities.tools) and self._welcome.stdio and self._settings.client_tools

    def _lends_nothing(self) -> None:
        self._tell.note_loss("the client's files and terminals", "not lent: a v2 agent does not ask for them")

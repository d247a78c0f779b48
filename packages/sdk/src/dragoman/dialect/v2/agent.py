"""A v2 agent behind a v1 client.

Each side is told in its own words what the other said, one message at a time. What is remembered of a session
is in `agent_session`, of turns in `agent_prompts` and `agent_turns`, of requests in `agent_requests` and of
the agent's own questions in `agent_questions`; `agent_openings` opens sessions.
"""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from dragoman.dialect.edge import Edge, EdgeSettings, Out
from dragoman.dialect.ledger import Ledger
from dragoman.dialect.message import (
    Id,
    Message,
    Object,
    answer,
    as_object,
    as_text,
    refusal,
    update_of,
    with_params,
)
from dragoman.dialect.v2 import agent_answers, agent_handshake
from dragoman.dialect.v2.agent_openings import OPENING, RENAMED, Openings
from dragoman.dialect.v2.agent_prompts import V2AgentPrompts
from dragoman.dialect.v2.agent_questions import V2AgentQuestions
from dragoman.dialect.v2.agent_requests import ForwardedRequest, ForwardedRequests
from dragoman.dialect.v2.agent_session import V2AgentSession, V2AgentSessions, update_messages
from dragoman.dialect.v2.to_v1 import config
from dragoman.wire.codes import INTERNAL_ERROR, METHOD_NOT_FOUND, NAMES, VERSION_UNSUPPORTED


class V2Agent(Edge):
    """Offers version 2. An agent that answers with version 1 is left alone from then on."""

    name = "v2"

    def __init__(self, settings: EdgeSettings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self.transparent = False
        self._introducing = False
        self._held_messages: list[
            Message
        ] = []  # what the client said before it was known what the agent speaks
        self._sessions = V2AgentSessions(self)
        self._requests = ForwardedRequests()
        self._openings = Openings(self, settings, self._sessions, self._requests)
        self._prompts = V2AgentPrompts(self, self._sessions, self._requests)
        self._questions = V2AgentQuestions(self, self._sessions, self._requests)

    def from_inside(self, message: Message) -> list[Out]:
        if self.transparent:
            return [("peer", message)]
        if message.is_answer:
            if self._openings.lending.owns(message.id):
                return self._openings.lending.on_answer(message)
            return self._questions.on_answer(message)
        if self._introducing:
            self._held_messages.append(message)
            return []
        if message.is_request:
            return self._on_request(message, as_object(message.params))
        if message.method == "$/cancel_request":
            return self._on_withdrawal(message)
        if message.method == "session/cancel":
            self._session(message).turns.cancel()
        return [("peer", message)]

    def from_peer(self, message: Message) -> list[Out]:
        if self.transparent:
            return [("inside", message)]
        if message.is_answer:
            return self._on_answer(message)
        if message.method == "session/update":
            return self._on_update(message)
        if message.is_request:
            return self._on_agent_request(message)
        if message.method == "$/cancel_request":
            is_open = self._questions.is_open(as_object(message.params).get("requestId"))
            return [("inside", message)] if is_open else []
        return [("inside", message)]

    def from_host(self, message: Message) -> list[Out]:
        return self._openings.lending.ask(message) if message.is_request else self._openings.on_grant(message)

    @property
    def holding(self) -> bool:
        """Whether messages wait for the agent's `initialize` answer, or for its MCP tools."""
        return bool(self._held_messages) or self._openings.lending.is_waiting

    def succeeded_by(self) -> Edge:
        return Edge(self.settings, self.ledger) if self.transparent else self

    def peer_ended(self) -> list[Out]:
        outs: list[Out] = []
        open_: list[Id | UnsetType] = []
        for session in self._sessions.all():
            session.calls.unseen()
            outs += self._prompts.let_go(session)
            open_ += [turn.message.id for turn in session.turns.pop_unanswered()]
        open_ += [request.client_id for request in self._requests.pop_all()]
        open_ += [waiting.message.id for waiting in self._openings.lending.openings()]
        messages, self._held_messages = self._held_messages, []
        open_ += [message.id for message in messages if message.is_request]
        why = "Internal error: the agent has ended"
        return outs + [("inside", refusal(request_id, INTERNAL_ERROR, why)) for request_id in open_]

    # What the client asks

    def _on_request(self, message: Message, params: Object) -> list[Out]:
        method = str(message.method)
        if method == "initialize":
            self._introducing = True
            self._sessions.abilities = agent_handshake.abilities(params)
            return [self._requests.send(message, method, agent_handshake.offer(params))]
        if method in OPENING:
            return self._openings.on_request(message, params)
        if method == "session/prompt":
            return self._prompts.on_prompt(message)
        session = self._session(message)
        if method == "session/set_mode":
            return self._set_mode(message, session, params)
        if method == "session/set_config_option":
            choice = config.choice(params, session.switches)
            return [self._requests.send(message, method, choice, session.id)]
        if method in ("session/close", "session/delete"):
            session.turns.cancel()
        return [self._requests.send(message, RENAMED.get(method, method), message.params, session.id)]

    def _set_mode(self, message: Message, session: V2AgentSession, params: Object) -> list[Out]:
        option = config.mode_option(session.options)
        if option is None:
            why = f"{NAMES[METHOD_NOT_FOUND]}: this session has no modes"
            return [("inside", refusal(message.id, METHOD_NOT_FOUND, why))]
        choice = {"configId": option["id"], "type": "id", "value": params.get("modeId")}
        params = {"sessionId": session.id, **choice}
        return [self._requests.send(message, "session/set_config_option", params, session.id)]

    def _on_withdrawal(self, message: Message) -> list[Out]:
        """The client does not want an answer any more."""
        params = as_object(message.params)
        request_id = params.get("requestId")
        if not (request_id is None or type(request_id) in (int, str)):
            return []
        outs = self._openings.withdraw(request_id) or self._prompts.withdraw(request_id)
        if outs:
            return outs
        known_as = self._requests.agent_id(request_id)
        if known_as is UNSET:
            return []
        if known_as == request_id:
            return [("peer", message)]
        return [("peer", with_params(message, {**params, "requestId": known_as}))]

    # What the agent says

    def _on_agent_request(self, message: Message) -> list[Out]:
        """A request of the agent. It does not wait for what may be the prompt's echo."""
        session_id = as_text(as_object(message.params).get("sessionId"))
        outs: list[Out] = []
        if session_id in self._sessions and self._sessions.of(session_id).turns.held_updates:
            session = self._sessions.of(session_id)
            session.turns.take_for_echo()
            outs = self._prompts.let_go(session)
        return [*outs, *self._questions.ask(message)]

    def _on_update(self, message: Message) -> list[Out]:
        session_id, update = as_object(message.params).get("sessionId"), update_of(message)
        if type(session_id) is not str or type(update.get("sessionUpdate")) is not str:
            self.note_loss("a malformed update", "left out")
            return []
        if session_id not in self._sessions and self._requests.is_opening():
            self._sessions.early.append(message)
            return []
        session = self._sessions.of(session_id)
        if update["sessionUpdate"] == "state_update":
            return self._prompts.changed_state(session, update)
        session.turns.stir()
        if session.turns.holds(update) or session.turns.is_echo(update):
            return []
        updates = session.updates(update)
        if len(updates) == 1 and updates[0] is update:
            return [("inside", message)]
        return update_messages(session, updates)

    def _on_answer(self, message: Message) -> list[Out]:
        request = self._requests.settle(message)
        if request is None:
            if message.id is None and message.error is not UNSET:  # a complaint about a frame, not an answer
                return [("inside", message)]
            self.note_loss("an answer to nothing that was asked", "left out")
            return []
        if request.turn is not None and request.turn.over:  # its session was closed meanwhile
            return []
        if request.method == "initialize":
            return self._on_introduction(message, request)
        if message.error is not UNSET:
            return self._on_failure(message, request)
        result = as_object(message.result)
        if request.method in OPENING:
            return self._on_open(request, result)
        session = self._sessions.of(request.session)
        if request.turn is not None:
            return self._prompts.on_acknowledgement(request.turn, session, result)
        if request.method in ("session/set_config_option", "session/set_mode"):
            return self._on_option_set(request, session, result)
        outs = self._on_close(session) if request.method in ("session/close", "session/delete") else []
        result_in_v1 = agent_answers.plain(request.method, message.result, self)
        return [*outs, ("inside", agent_answers.under_client_id(message, request.client_id, result_in_v1))]

    def _on_failure(self, message: Message, request: ForwardedRequest) -> list[Out]:
        sorry = agent_answers.convert_error(message, request.client_id, self)
        if request.turn is not None:
            return self._prompts.on_failure(self._sessions.of(request.session), sorry)
        return [("inside", sorry), *self._release_early(), *self._openings.over(request.offer)]

    def _on_introduction(self, message: Message, request: ForwardedRequest) -> list[Out]:
        """The agent has shown itself, and is given what had to wait for that."""
        outs: list[Out] = [("inside", self._introduction(message, request))]
        self._introducing = False
        held_messages, self._held_messages = self._held_messages, []
        for held_message in held_messages:
            outs += self.from_inside(held_message)
        return outs

    def _introduction(self, message: Message, request: ForwardedRequest) -> Message:
        result, error = as_object(message.result), as_object(message.error)
        if message.error is not UNSET and error.get("code") != VERSION_UNSUPPORTED:
            return agent_answers.convert_error(message, request.client_id, self)
        if agent_handshake.speaks_v1(result):
            self.note_repair("an agent of version 1", "left alone")
            self.transparent = True
            return agent_answers.under_client_id(message, request.client_id, message.result)
        if result.get("protocolVersion") != agent_handshake.VERSION:
            self.note_loss("a version of the protocol that is neither 1 nor 2", "initialize is refused")
            return agent_handshake.version_refused(request.client_id, error)
        self._openings.on_welcome(agent_handshake.welcome(result))
        return answer(request.client_id, agent_handshake.convert_introduction(result, self))

    def _on_open(self, request: ForwardedRequest, result: Object) -> list[Out]:
        if not (request.session or as_text(result.get("sessionId"))):
            return self._on_failure(
                refusal(UNSET, INTERNAL_ERROR, "Internal error: the session has no id"), request
            )
        outs, session, after = self._openings.on_open(request, result)
        return [*outs, *self._release_early(), *update_messages(session, after)]

    def _on_option_set(self, request: ForwardedRequest, session: V2AgentSession, result: Object) -> list[Out]:
        before = session.options
        if type(result.get("configOptions")) is list:
            session.learn(result["configOptions"])
        if request.method == "session/set_config_option":
            return [("inside", answer(request.client_id, {**result, "configOptions": session.options}))]
        news: list[Object] = []
        if session.options != before:
            news = [{"sessionUpdate": "config_option_update", "configOptions": session.options}]
        return [*update_messages(session, news), ("inside", answer(request.client_id, {}))]

    def _on_close(self, session: V2AgentSession) -> list[Out]:
        session.calls.unseen()
        outs = self._prompts.on_close(session)
        self._sessions.forget(session.id)
        return [*outs, *self._openings.over(session.offer)]

    def _release_early(self) -> list[Out]:
        """Updates that came before the client could know their session."""
        early, self._sessions.early = self._sessions.early, []
        return [out for message in early for out in self._on_update(message)]

    def _session(self, message: Message) -> V2AgentSession:
        return self._sessions.of(as_text(as_object(message.params).get("sessionId")))

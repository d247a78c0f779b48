"""A v2 agent behind a v1 client.

Each side is told in its own words what the other said, one message at a time. What is remembered of a session
is in `agent_session`, of turns in `agent_prompts` and `agent_turns`, of requests in `agent_requests` and of
the agent's own questions in `agent_questions`.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import UNSET, UnsetType

from dragoman.dialect.edge import NEVER, Edge, Out, Plain, Settings
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
from dragoman.dialect.v2.agent_lending import Lending, Opening, bound, withdrawn
from dragoman.dialect.v2.agent_prompts import Prompts
from dragoman.dialect.v2.agent_questions import Questions
from dragoman.dialect.v2.agent_requests import Asked, Requests
from dragoman.dialect.v2.agent_session import Session, Sessions, told
from dragoman.dialect.v2.agent_setup import OPENING, RENAMED, Refused, opening, with_server
from dragoman.dialect.v2.to_v1 import config
from dragoman.wire.codes import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    NAMES,
    VERSION_UNSUPPORTED,
)


class V2Agent(Edge):
    """Offers version 2. An agent that answers with version 1 is left alone from then on."""

    name = "v2"
    plain_from_inside: ClassVar[Plain] = {"elicitation/complete": NEVER}

    def __init__(self, settings: Settings, ledger: Ledger) -> None:
        super().__init__(settings, ledger)
        self.transparent = False
        self._welcome = agent_handshake.Welcome(stdio=True)
        self._sessions = Sessions(self)
        self._requests = Requests()
        self._prompts = Prompts(self, self._sessions, self._requests)
        self._questions = Questions(self, self._sessions, self._requests)
        self._lending = Lending()

    def from_inside(self, message: Message) -> list[Out]:
        if self.transparent:
            return [("peer", message)]
        if message.is_request:
            return self._requested(message, as_object(message.params))
        if message.is_answer:
            if self._lending.owns(message.id):
                return self._lending.answered(message)
            return self._questions.answered(message)
        if message.method == "$/cancel_request":
            return self._withdrawn(message)
        if message.method == "session/cancel":
            self._session(message).turns.cancel()
        return [("peer", message)]

    def from_peer(self, message: Message) -> list[Out]:
        if self.transparent:
            return [("inside", message)]
        if message.is_answer:
            return self._answered(message)
        if message.method == "session/update":
            return self._updated(message)
        if message.is_request:
            return self._asked(message)
        if message.method == "$/cancel_request":
            is_open = self._questions.is_open(as_object(message.params).get("requestId"))
            return [("inside", message)] if is_open else []
        return [("inside", message)]

    def from_host(self, message: Message) -> list[Out]:
        if message.is_request:
            return self._lending.ask(message)
        granted = self._lending.granted(message)
        if granted is None:
            return []
        offer, waiting, server = granted
        if server is None:
            self._lends_nothing()
            return self._open(waiting.message, waiting.params)
        return self._open(waiting.message, with_server(waiting.params, server), offer)

    @property
    def holding(self) -> bool:
        """Whether a session waits for the tools that it is to have."""
        return self._lending.is_waiting

    def succeeded_by(self) -> Edge:
        return Edge(self.settings, self.ledger) if self.transparent else self

    def peer_ended(self) -> list[Out]:
        outs: list[Out] = []
        for session in self._sessions.all():
            session.calls.unseen()
            outs += self._prompts.let_go(session)
            outs += [("inside", _gone(turn.message.id)) for turn in session.turns.left()]
        outs += [("inside", _gone(asked.client_id)) for asked in self._requests.left()]
        return outs + [("inside", _gone(waiting.message.id)) for waiting in self._lending.openings()]

    # What the client asks

    def _requested(self, message: Message, params: Object) -> list[Out]:
        method = str(message.method)
        if method == "initialize":
            self._sessions.abilities = agent_handshake.abilities(params)
            return [self._requests.send(message, method, agent_handshake.offer(params))]
        if method in OPENING:
            return self._opening(message, params)
        if method == "session/prompt":
            return self._prompts.prompted(message)
        session = self._session(message)
        if method == "session/set_mode":
            return self._set_mode(message, session, params)
        if method == "session/set_config_option":
            chosen = config.choice(params, session.switches)
            return [self._requests.send(message, method, chosen, session.id)]
        if method in ("session/close", "session/delete"):
            session.turns.cancel()
        return [self._requests.send(message, RENAMED.get(method, method), message.params, session.id)]

    def _opening(self, message: Message, params: Object) -> list[Out]:
        try:
            found = opening(str(message.method), params, stdio=self._welcome.stdio, tell=self)
        except Refused as why:
            return [("inside", refusal(message.id, INVALID_PARAMS, f"Invalid params: {why}"))]
        if self._lends:
            return self._lending.offer(Opening(message, found), self._sessions.abilities.tools)
        return self._open(message, found)

    def _open(self, message: Message, params: Object, offer: str = "") -> list[Out]:
        method, session_id = str(message.method), ""
        if method in ("session/load", "session/resume"):  # the others open one that has no id yet
            session = self._session(message)
            session_id, session.cwd = session.id, as_text(params.get("cwd")) or "/"
            if method == "session/load":
                session.begin_again()
        return [self._requests.send(message, OPENING[method], params, session_id, offer=offer)]

    def _set_mode(self, message: Message, session: Session, params: Object) -> list[Out]:
        option = config.mode_option(session.options)
        if option is None:
            why = f"{NAMES[METHOD_NOT_FOUND]}: this session has no modes"
            return [("inside", refusal(message.id, METHOD_NOT_FOUND, why))]
        chosen = {"configId": option["id"], "type": "id", "value": params.get("modeId")}
        params = {"sessionId": session.id, **chosen}
        return [self._requests.send(message, "session/set_config_option", params, session.id)]

    def _withdrawn(self, message: Message) -> list[Out]:
        """The client does not want an answer any more."""
        params = as_object(message.params)
        wanted = params.get("requestId")
        if not (wanted is None or type(wanted) in (int, str)):
            return []
        if self._lending.forget(wanted):
            return [("inside", refusal(wanted, CANCELLED, NAMES[CANCELLED]))]
        found = self._prompts.withdrawn(wanted)
        if found is not None:
            return found
        known_as = self._requests.agent_id(wanted)
        if known_as is UNSET:
            return []
        return [
            (
                "peer",
                message if known_as == wanted else with_params(message, {**params, "requestId": known_as}),
            )
        ]

    # What the agent says

    def _asked(self, message: Message) -> list[Out]:
        """A request of the agent. It does not wait for what may be the prompt's echo."""
        session_id = as_text(as_object(message.params).get("sessionId"))
        outs: list[Out] = []
        if session_id in self._sessions and self._sessions.of(session_id).turns.held:
            session = self._sessions.of(session_id)
            session.turns.take_for_echo()
            outs = self._prompts.let_go(session)
        return [*outs, *self._questions.ask(message)]

    def _updated(self, message: Message) -> list[Out]:
        session_id, update = as_object(message.params).get("sessionId"), update_of(message)
        if type(session_id) is not str or type(update.get("sessionUpdate")) is not str:
            self.lost("a malformed update", "left out")
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
        found = session.updates(update)
        if len(found) == 1 and found[0] is update:
            return [("inside", message)]
        return told(session, found)

    def _answered(self, message: Message) -> list[Out]:
        asked = self._requests.settle(message)
        if asked is None:
            if message.id is None and message.error is not UNSET:  # a complaint about a frame, not an answer
                return [("inside", message)]
            self.lost("an answer to nothing that was asked", "left out")
            return []
        if asked.turn is not None and asked.turn.over:  # its session was closed meanwhile
            return []
        if message.error is not UNSET:
            return self._failed(message, asked)
        result = as_object(message.result)
        if asked.method == "initialize":
            return [("inside", self._introduced(message, asked, result))]
        if asked.method in OPENING:
            return self._opened(asked, result)
        session = self._sessions.of(asked.session)
        if asked.turn is not None:
            return self._prompts.acknowledged(asked.turn, session, result)
        if asked.method in ("session/set_config_option", "session/set_mode"):
            return self._configured(asked, session, result)
        outs: list[Out] = []
        if asked.method in ("session/close", "session/delete"):
            outs = self._closed(session)
        found = agent_answers.plain(asked.method, message.result, self)
        return [*outs, ("inside", agent_answers.passed(message, asked.client_id, found))]

    def _failed(self, message: Message, asked: Asked) -> list[Out]:
        sorry = agent_answers.failed(message, asked.client_id, self)
        if asked.turn is not None:
            return self._prompts.failed(self._sessions.of(asked.session), sorry)
        error = as_object(message.error)
        if asked.method == "initialize" and error.get("code") == VERSION_UNSUPPORTED:
            self.lost("a version of the protocol that is neither 1 nor 2", "initialize is refused")
            sorry = agent_handshake.version_refused(asked.client_id, error)
        return [("inside", sorry), *self._released(), *([withdrawn(asked.offer)] if asked.offer else [])]

    def _introduced(self, message: Message, asked: Asked, result: Object) -> Message:
        if agent_handshake.speaks_v1(result):
            self.repaired("an agent of version 1", "left alone")
            self.transparent = True
            return agent_answers.passed(message, asked.client_id, message.result)
        if result.get("protocolVersion") != agent_handshake.VERSION:
            self.lost("a version of the protocol that is neither 1 nor 2", "initialize is refused")
            return agent_handshake.version_refused(asked.client_id, {})
        self._welcome = agent_handshake.welcome(result)
        if self._sessions.abilities.tools and not self._lends:
            self._lends_nothing()
        return answer(asked.client_id, agent_handshake.introduced(result, self))

    def _opened(self, asked: Asked, result: Object) -> list[Out]:
        session_id = asked.session or as_text(result.get("sessionId"))
        if not session_id:
            return self._failed(
                refusal(UNSET, INTERNAL_ERROR, "Internal error: the session has no id"), asked
            )
        session = self._sessions.of(session_id)
        found, after = session.opened(result)
        outs: list[Out] = []
        if asked.offer:
            session.offer = asked.offer
            outs = [bound(asked.offer, session_id)]
        return [*outs, ("inside", answer(asked.client_id, found)), *self._released(), *told(session, after)]

    def _configured(self, asked: Asked, session: Session, result: Object) -> list[Out]:
        before = session.options
        if type(result.get("configOptions")) is list:
            session.learn(result["configOptions"])
        if asked.method == "session/set_config_option":
            return [("inside", answer(asked.client_id, {**result, "configOptions": session.options}))]
        news: list[Object] = []
        if session.options != before:
            news = [{"sessionUpdate": "config_option_update", "configOptions": session.options}]
        return [*told(session, news), ("inside", answer(asked.client_id, {}))]

    def _closed(self, session: Session) -> list[Out]:
        session.calls.unseen()
        outs = self._prompts.closed(session)
        self._sessions.forget(session.id)
        return [*outs, *([withdrawn(session.offer)] if session.offer else [])]

    def _released(self) -> list[Out]:
        """Updates that came before the client could know their session."""
        early, self._sessions.early = self._sessions.early, []
        return [out for message in early for out in self._updated(message)]

    # The client's files and terminals

    @property
    def _lends(self) -> bool:
        """Whether somebody can be asked to lend them to the agent, and the agent can take them."""
        return bool(self._sessions.abilities.tools) and self._welcome.stdio and self.settings.client_tools

    def _lends_nothing(self) -> None:
        self.lost("the client's files and terminals", "not lent: a v2 agent does not ask for them")

    def _session(self, message: Message) -> Session:
        return self._sessions.of(as_text(as_object(message.params).get("sessionId")))


def _gone(request_id: Id | UnsetType) -> Message:
    return refusal(request_id, INTERNAL_ERROR, "Internal error: the agent has ended")

"""A v2 client and a v1 agent as two lists of messages, with the edge between them; and judges for what the
client gets.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any, TypeAlias

import msgspec

from dragoman.dialect import EdgeSettings, Ledger, Message
from dragoman.dialect.message import Object, answer, as_object, decode, encode, notification, refusal, request
from dragoman.dialect.v2 import V2Client
from dragoman.schema import v2
from dragoman.schema.codec import examine
from dragoman.schema.v2.methods import METHODS
from dragoman.testing.pace import patience
from tests.interop.judges import VALIDATOR, Sent

UNIONS = (
    "CreateElicitationRequest",
    "CreateElicitationResponse",
    "SetSessionConfigOptionRequest",
)


Outs: TypeAlias = list[tuple[str, Any]]
"""Where messages go, and the messages: their content is whatever the test expects."""


class Play:
    """`client` and `agent` say something; what comes of it is given back and kept."""

    def __init__(self, **settings: Any) -> None:
        self.ledger = Ledger()
        self.edge = V2Client(EdgeSettings(**settings), self.ledger)
        self.to_client: list[Any] = []
        self.to_agent: list[Any] = []

    def client(self, message: Message) -> Outs:
        return self._sorted(self.edge.from_peer(message))

    def agent(self, message: Message) -> Outs:
        return self._sorted(self.edge.from_inside(message))

    def asks(self, request_id: Any, method: str, /, **params: Any) -> Outs:
        """The client asks."""
        return self.client(request(request_id, method, params))

    def answers(self, request_id: Any, /, **result: Any) -> Outs:
        """The agent answers."""
        return self.agent(answer(request_id, result))

    def fails(self, request_id: Any, code: int) -> Outs:
        return self.agent(refusal(request_id, code, "it failed"))

    def tells(self, kind: str, session_id: str = "s", /, **fields: Any) -> Outs:
        """The agent updates a session."""
        update = {"sessionUpdate": kind, **fields}
        return self.agent(notification("session/update", {"sessionId": session_id, "update": update}))

    def _sorted(self, outs: list[Any]) -> Outs:
        for toward, message in outs:
            said = decode(encode(message))
            assert said is not None
            (self.to_client if toward == "peer" else self.to_agent).append(said)
        return outs

    @property
    def noted(self) -> set[str]:
        return {entry.what for entry in self.ledger.entries}


AGENT: Object = {
    "protocolVersion": 1,
    "agentInfo": {"name": "agent", "version": "1"},
    "agentCapabilities": {
        "loadSession": True,
        "sessionCapabilities": {"resume": {}, "list": {}, "close": {}, "delete": {}},
        "auth": {"logout": {}},
    },
    "authMethods": [{"id": "key", "name": "Key"}],
}


def begun(
    *,
    capabilities: Object | None = None,
    new: Object | None = None,
    offers: Object | None = None,
    **settings: Any,
) -> Play:
    """A client with these `offers` that has met an agent and begun the session `s`."""
    play = Play(**settings)
    info = {"name": "client", "version": "1"}
    play.asks(0, "initialize", protocolVersion=2, info=info, capabilities=offers or {})
    can = AGENT if capabilities is None else {**AGENT, "agentCapabilities": capabilities}
    play.answers(0, **can)
    play.asks(1, "session/new", cwd="/home/ann")
    play.answers(1, sessionId="s", **(new or {}))
    return play


def shown(messages: Outs, toward: str = "peer") -> list[str]:
    """What goes one way, a word each: the kind of an update, the method of a request, or the answer's id."""
    return [_word(message) for way, message in messages if way == toward]


def _word(message: Message) -> str:
    if message.method == "session/update":
        update = as_object(message.params)["update"]
        return str(update.get("state") or update["sessionUpdate"])
    if message.is_answer:
        return f"{'error' if message.error is not msgspec.UNSET else 'answer'} {message.id}"
    return str(message.method)


def judged(sent: list[Message], asked: dict[Any, str]) -> list[Sent]:
    """Each frame that the client got, by the name of its definition in v2's schema. `asked` are the methods
    of the client's requests.
    """
    found = []
    for message in sent:
        assert message.jsonrpc == "2.0"
        if message.is_answer:
            found.append(_answered(message, asked))
            continue
        kind: Any = "request" if message.is_request else "notification"
        entry = METHODS.get(str(message.method), kind=kind, receiver="client")
        if entry is not None:
            found.append(Sent(_name(entry.params), str(message.method), message.params))
        else:
            assert str(message.method).startswith(("_", "$/")), message.method
    return found


def _answered(message: Message, asked: dict[Any, str]) -> Sent:
    if message.error is not msgspec.UNSET:
        return Sent("Error", str(asked.get(message.id)), message.error)
    entry = METHODS.get(asked[message.id], kind="request", receiver="agent")
    return Sent(_name(entry.result) if entry else None, asked[message.id], message.result)


def _name(kind: Any) -> str:
    found = [name for name in UNIONS if getattr(v2, name) is kind]
    return found[0] if found else str(kind.__name__)


def deviations(values: list[Sent]) -> list[tuple[Sent, Any]]:
    """What our own schema of v2, read strictly, has against each. Members that it does not know are no fault
    where v2 leaves a list open.
    """
    found = []
    for item in values:
        if item.definition is not None:
            _, odd = examine(json.dumps(item.value).encode(), getattr(v2, item.definition))
            found += [(item, one) for one in odd if one.kind != "unknown member"]
    return found


def refused_by_typescript(values: list[Sent]) -> list[tuple[Sent, dict[str, str]]]:
    """What the official validators refuse, or take only with something left out; all in one run."""
    known = [item for item in values if item.definition is not None]
    questions = [{"version": "v2", "def": item.definition, "value": item.value} for item in known]
    lines = "".join(json.dumps(question) + "\n" for question in questions)
    run = subprocess.run(
        ["node", VALIDATOR], input=lines, capture_output=True, text=True, check=True, timeout=patience(50)
    )
    verdicts = [json.loads(line) for line in run.stdout.splitlines()]
    pairs = zip(known, verdicts, strict=True)
    return [(item, verdict) for item, verdict in pairs if verdict["verdict"] != "ok"]

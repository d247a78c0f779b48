"""The terminals of a conversation: each with the request that created it, its uses, and its end."""

from __future__ import annotations

from msgspec import Struct

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.recording import Frame
from dragoman_check.timeline import session_of
from dragoman_check.values import text

CREATE, OUTPUT, WAIT = "terminal/create", "terminal/output", "terminal/wait_for_exit"
KILL, RELEASE = "terminal/kill", "terminal/release"
METHODS = (CREATE, OUTPUT, WAIT, KILL, RELEASE)


class ObservedTerminal(Struct):
    """One terminal of the client."""

    creation: Exchange
    id: str
    calls: list[Exchange]
    """All requests about it, in order."""

    @property
    def session(self) -> str:
        return session_of(self.creation)

    def of(self, *methods: str) -> list[Exchange]:
        return [call for call in self.calls if call.method in methods]

    @property
    def release(self) -> Exchange | None:
        """Return the first successful release."""
        return next((call for call in self.of(RELEASE) if has_succeeded(call)), None)

    @property
    def limit(self) -> int | None:
        limit = self.creation.params.get("outputByteLimit")
        return limit if type(limit) is int else None

    def exit(self) -> Frame | None:
        """Return the first answer with the end of the command."""
        for call in self.calls:
            has_exited = call.method == WAIT or call.result.get("exitStatus") is not None
            if call.has_result and has_exited and call.method in (WAIT, OUTPUT):
                return call.answer
        return None


def has_succeeded(exchange: Exchange) -> bool:
    """Whether it succeeded, with any result: some clients answer null."""
    return exchange.answer is not None and "result" in exchange.answer.message and not exchange.has_error


def observed_terminals(conversation: Conversation) -> list[ObservedTerminal]:
    """Return all created terminals, in order. A repeated id means the later one from then on."""
    return conversation.compute_once("consoles", lambda: _find_terminals(conversation))


def _find_terminals(conversation: Conversation) -> list[ObservedTerminal]:
    terminals: list[ObservedTerminal] = []
    by_name: dict[str, ObservedTerminal] = {}
    requests = conversation.calls(*METHODS, direction="to_client")
    events: list[tuple[int, bool, Exchange]] = [
        (request.request.number, False, request) for request in requests
    ]
    events += [(request.answer.number, True, request) for request in requests if request.answer is not None]
    for _, is_answer, exchange in sorted(events, key=lambda event: event[:2]):
        name: Json = (exchange.result if is_answer else exchange.params).get("terminalId")
        if exchange.method == CREATE and is_answer and text(name):
            by_name[name] = ObservedTerminal(exchange, name, [])
            terminals.append(by_name[name])
        elif exchange.method != CREATE and not is_answer and text(name) in by_name:
            by_name[name].calls.append(exchange)
    return terminals

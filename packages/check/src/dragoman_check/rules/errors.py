"""ERR: the meaning of error codes, and what an error must not reveal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman.wire.envelope import JsonObject
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.recording import Frame
from dragoman_check.replies import code_of, has_spoken, requests_to
from dragoman_check.rule import Observation, kept, observe, observe_each, rule
from dragoman_check.rules.envelope import errors

RPC_CODES = frozenset({-32700, -32600, -32601, -32602, -32603})
ACP_CODES = frozenset({-32000, -32002, -32022, -32042})
"""The protocol's codes: login required; not found; no common version; the user must first
visit an address.
"""
CANCELLED = -32800
NOT_FOUND = -32002

SHORTEST_SECRET = 8
"""The least characters of a secret: shorter texts appear in any sentence."""

_NO_SESSION = re.compile(
    r"(no such|unknown|invalid) session"
    r"|session(id)?\b.{0,60}\b(not found|unknown|does not exist|doesn't exist)",
    re.I,
)
_NO_FILE = re.compile(r"no such file|file not found|enoent|does not exist|doesn't exist", re.I)


@rule("ERR-01", fix="Use codes of 32 bits; those that the protocol defines, for what it defines them.")
def codes_are_numbers_of_32_bits(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        code = code_of(frame)
        return "" if type(code) is int and -(2**31) <= code < 2**31 else "error.code has more than 32 bits"

    yield from observe_each(
        (frame for frame in errors(conversation, side) if type(code_of(frame)) is int), why
    )


@rule(
    "ERR-03",
    side="agent",
    fix="Refuse a session that is not there with -32002, and its id in data.sessionId.",
)
def a_missing_session_has_its_own_code(conversation: Conversation) -> Iterator[Observation]:
    for request in requests_to(conversation, "agent"):
        session = request.params.get("sessionId")
        if not request.has_error or type(session) is not str:
            continue
        if request.code == NOT_FOUND:
            named_session = _data(request).get("sessionId", session)
            yield observe(
                named_session == session, request.answer, "data.sessionId is another session", request.request
            )
        elif _matches(_NO_SESSION, request):
            yield observe(
                False,
                request.answer,
                "the session does not exist, but the code is not -32002",
                request.request,
            )


@rule("ERR-03", side="client", fix="Refuse to read a file that is not there with -32002.")
def a_missing_file_has_its_own_code(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("fs/read_text_file", direction="to_client"):
        if call.code == NOT_FOUND:
            yield kept(call.answer)
        elif call.has_error and _matches(_NO_FILE, call):
            yield observe(
                False, call.answer, "the file does not exist, but the code is not -32002", call.request
            )


def _error(exchange: Exchange) -> JsonObject:
    error = exchange.answer.message.get("error") if exchange.answer is not None else None
    return error if type(error) is dict else {}


def _data(exchange: Exchange) -> JsonObject:
    data = _error(exchange).get("data")
    return data if type(data) is dict else {}


def _matches(pattern: re.Pattern[str], exchange: Exchange) -> bool:
    message = _error(exchange).get("message")
    return type(message) is str and bool(pattern.search(message))


@rule("ERR-04", fix="Take a code of your own from outside of -32768 to -32000.")
def reserved_codes_are_left_alone(conversation: Conversation, side: Side) -> Iterator[Observation]:
    def why(frame: Frame) -> str:
        code = code_of(frame)
        if not -32768 <= code <= -32000 or code in RPC_CODES | ACP_CODES | {CANCELLED}:
            return ""
        return f"code {code} is reserved, and means nothing"

    yield from observe_each(
        (frame for frame in errors(conversation, side) if type(code_of(frame)) is int), why
    )


@rule("ERR-05", side="client", fix="Show an error with a code that you do not know, and go on.")
def a_client_lives_with_unknown_codes(conversation: Conversation) -> Iterator[Observation]:
    status = conversation.recording.facts.get("exit")
    for call in conversation.calls(direction="to_agent"):
        is_known = type(call.code) is not int or call.code in RPC_CODES | ACP_CODES | {CANCELLED}
        if is_known or call.answer is None or call.method == "initialize":
            continue
        if has_spoken(conversation, "client", call.answer):
            yield kept(call.answer)
        elif type(status) is int and status < 0:
            yield observe(False, call.answer, "the client died of an error with a code that it does not know")


@rule("ERR-06", fix="Leave the values of params out of errors: some are secrets.")
def errors_repeat_no_secrets(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for request in requests_to(conversation, side):
        secrets = list(_secrets(request.params)) if request.has_error else []
        if secrets and request.answer is not None:
            leaks = any(secret.encode() in request.answer.raw for secret in secrets)
            yield observe(
                not leaks, request.answer, "the error repeats a value of env or headers", request.request
            )


def _secrets(params: JsonObject) -> Iterator[str]:
    """Values of environments and headers: of MCP servers, and of terminals."""
    servers = params.get("mcpServers")
    for owner in [params, *(servers if type(servers) is list else ())]:
        for name in ("env", "headers"):
            pairs = owner.get(name) if type(owner) is dict else None
            for pair in pairs if type(pairs) is list else ():
                value = pair.get("value") if type(pair) is dict else None
                if type(value) is str and len(value) >= SHORTEST_SECRET:
                    yield value

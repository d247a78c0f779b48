"""SES: the MCP servers that a client names for a session.

What the servers themselves saw is the fact `logs`: for each of them a list of the methods that it was called
with, `ended` at the end if it ended. Facts come from an examination; a file from elsewhere has none.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.rule import Observation, observe, rule_v1
from dragoman_check.timeline import BAD_PARAMS, is_fair, setup_requests
from dragoman_check.values import is_absolute, items, missing_member

TYPES = ("http", "sse", "acp")
"""Transports with a discriminator; one without is stdio."""


def entry_fault(entry: Json) -> str:
    """Return the mistake in an entry of mcpServers; empty if there is none."""
    kind = entry.get("type") if type(entry) is dict else None
    if kind == "acp":
        missing = missing_member(entry, name=str, serverId=str)
    elif kind in ("http", "sse"):
        missing = missing_member(entry, name=str, url=str, headers=list) or _pairs_fault(
            entry["headers"], "headers"
        )
    else:
        missing = missing_member(entry, name=str, command=str, args=list, env=list) or _stdio_fault(entry)
    return missing and f"{missing} of an MCP server is missing or wrong"


def _stdio_fault(entry: JsonObject) -> str:
    if not all(type(argument) is str for argument in entry["args"]):
        return "args"
    return _pairs_fault(entry["env"], "env")


def _pairs_fault(pairs: list[Json], name: str) -> str:
    return name if any(missing_member(pair, name=str, value=str) for pair in pairs) else ""


def _entries(exchange: Exchange) -> list[Json]:
    entries = exchange.params.get("mcpServers")
    return entries if type(entries) is list else []


@rule_v1("SES-12", side="client", fix="Send HTTP and SSE servers only to agents that advertise them.")
def remote_servers_are_for_agents_that_take_them(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        for entry in items(_entries(request)):
            if entry.get("type") in ("http", "sse"):
                can = conversation.agent_can("mcpCapabilities", entry["type"]) is True
                yield observe(
                    can, request.request, "an MCP server of a transport that the agent does not have"
                )


@rule_v1("SES-14", "SES-21", side="client", fix="Give each MCP server the members that its transport needs.")
def servers_have_the_shape_of_their_transport(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        for entry in _entries(request):
            fault = entry_fault(entry) or _odd_stdio(entry)
            yield observe(not fault, request.request, fault)


def _odd_stdio(entry: JsonObject) -> str:
    if entry.get("type") in TYPES:
        return ""
    if "type" in entry:
        return "an MCP server over stdio has no type"
    return "" if is_absolute(entry["command"]) else "the command of an MCP server is not absolute"


@rule_v1("SES-10", side="agent", fix="Start MCP servers over stdio and send them initialize.")
def servers_over_stdio_are_started(conversation: Conversation) -> Iterator[Observation]:
    logs = _logs(conversation)
    if logs and (setup := _setup_with_servers(conversation)) is not None:
        is_started = any("initialize" in log for log in logs)
        # Some start a server when its tools are needed, and an agent without a model never needs any.
        if is_started or setup.has_error or conversation.updates("tool_call"):
            yield observe(is_started, setup.request, "no MCP server over stdio was started", setup.answer)


@rule_v1("SES-11", side="agent", fix="Connect to every MCP server of the session.")
def all_servers_are_connected_to(conversation: Conversation) -> Iterator[Observation]:
    logs = _logs(conversation)
    setup = _setup_with_servers(conversation)
    if len(logs) > 1 and setup is not None and any("initialize" in log for log in logs):
        are_started = all("initialize" in log for log in logs)
        why = "an MCP server of several was not connected to"
        yield observe(are_started, setup.request, why, setup.answer)


def _logs(conversation: Conversation) -> list[list[Json]]:
    logs = conversation.recording.facts.get("logs")
    return [log for log in logs if type(log) is list] if type(logs) is list else []


def _setup_with_servers(conversation: Conversation) -> Exchange | None:
    return next((request for request in setup_requests(conversation) if _entries(request)), None)


@rule_v1("SES-13", side="agent", fix="Support MCP over HTTP and advertise mcpCapabilities.http.")
def servers_over_http_are_offered(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is not None and conversation.initialize.has_result:
        can = conversation.agent_can("mcpCapabilities", "http") is True
        yield observe(can, conversation.initialize.answer, "mcpCapabilities.http is not true")


@rule_v1(
    "SES-15",
    side="agent",
    fix="Refuse MCP servers of a transport that was not advertised with -32602.",
    is_reading=True,
)
def servers_of_another_transport_are_refused(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        missing = [
            entry
            for entry in items(_entries(request))
            if entry.get("type") in ("http", "sse")
            and conversation.agent_can("mcpCapabilities", entry["type"]) is not True
        ]
        if missing and is_fair(conversation, request):
            yield observe(
                request.code == BAD_PARAMS, request.request, "not refused with -32602", request.answer
            )


@rule_v1(
    "SES-16",
    side="agent",
    fix="Refuse a setup whose mcpServers hold a malformed entry with -32602.",
    is_reading=True,
)
def one_broken_server_fails_the_request(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        broken = [entry for entry in _entries(request) if entry_fault(entry)]
        if broken and is_fair(conversation, request):
            yield observe(
                request.code == BAD_PARAMS,
                request.request,
                "a malformed MCP server was let through",
                request.answer,
            )


@rule_v1(
    "SES-23",
    side="agent",
    fix="Look at type before the shape, and refuse types that are not known.",
    is_reading=True,
)
def a_server_of_an_unknown_type_is_refused(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        strange = [
            entry
            for entry in items(_entries(request))
            if type(entry.get("type")) is str and entry["type"] not in (*TYPES, "stdio")
        ]
        if strange and is_fair(conversation, request):
            yield observe(
                request.has_error,
                request.request,
                "an MCP server of an unknown type was accepted",
                request.answer,
            )

"""SES: how sessions are created, and that each has its own id and state."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.rule import Observation, observe, rule, rule_v1
from dragoman_check.rules.modes import mode_fault
from dragoman_check.rules.options import option_fault
from dragoman_check.timeline import (
    BAD_PARAMS,
    NO_METHOD,
    NOT_FOUND,
    announced_sessions,
    is_fair,
    is_in_stretch,
    is_open,
    is_ready,
    known_sessions,
    observe_survival,
    session_of,
    setup_requests,
    setups,
)
from dragoman_check.values import is_absolute, text

SCOPED = ("session/prompt", "session/set_mode", "session/set_config_option", "session/load", "session/resume")
"""Requests that need a session in use, or a stored one."""
CAPABILITIES = {"session/load": ("loadSession",), "session/resume": ("sessionCapabilities", "resume")}

_MISSING = re.compile(r"\bsession\b.*(not found|unknown|not exist)|(unknown|no such) session", re.IGNORECASE)


@rule_v1("SES-01", side="client", fix="Send session/new with cwd and a list of mcpServers.")
def a_new_session_has_its_folder_and_its_servers(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/new"):
        right = type(request.params.get("cwd")) is str and type(request.params.get("mcpServers")) is list
        yield observe(right, request.request, "cwd is not text, or mcpServers is not a list")


@rule("SES-02", side="client", fix="Make the path absolute before it is sent.")
def the_folder_of_a_session_is_absolute(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation):
        if text(request.params.get("cwd")):
            yield observe(is_absolute(request.params["cwd"]), request.request, "cwd is not absolute")


@rule_v1(
    "SES-03",
    side="agent",
    fix="Refuse session/new without mcpServers with -32602.",
    is_reading=True,
)
def missing_servers_are_refused(conversation: Conversation) -> Iterator[Observation]:
    for request in _requests_in_folders(conversation):
        if "mcpServers" not in request.params:
            why = "mcpServers was left out, and is not refused with -32602"
            yield observe(request.code == BAD_PARAMS, request.request, why, request.answer)


@rule_v1("SES-03", side="agent", fix="Read null for mcpServers as an empty list.")
def null_is_no_servers(conversation: Conversation) -> Iterator[Observation]:
    for request in _requests_in_folders(conversation):
        if request.params.get("mcpServers", "") is None:
            yield observe(request.has_result, request.request, "mcpServers null was refused", request.answer)


def _requests_in_folders(conversation: Conversation) -> list[Exchange]:
    return [
        request
        for request in setup_requests(conversation, "session/new")
        if is_fair(conversation, request) and is_absolute(request.params.get("cwd"))
    ]


@rule("SES-04", side="agent", fix="Give every session an id of its own.")
def every_session_has_an_id_of_its_own(conversation: Conversation) -> Iterator[Observation]:
    used: set[str] = set()
    for setup in setups(conversation):
        if setup.exchange.method in ("session/new", "session/fork"):
            right = bool(setup.session) and setup.session not in used
            yield observe(
                right, setup.exchange.answer, "sessionId is not text, is empty, or was given before"
            )
            used.add(setup.session)


@rule_v1("SES-09", side="agent", fix="Refuse a relative cwd with -32602.", is_reading=True)
def a_relative_folder_is_refused(conversation: Conversation) -> Iterator[Observation]:
    for request in setup_requests(conversation, "session/new"):
        if (
            is_fair(conversation, request)
            and text(request.params.get("cwd"))
            and not is_absolute(request.params["cwd"])
        ):
            yield observe(
                request.code == BAD_PARAMS,
                request.request,
                "a relative cwd is not refused with -32602",
                request.answer,
            )


@rule_v1("SES-17", side="agent", fix="Give modes and configOptions their shapes, or leave them out.")
def settings_of_a_new_session_are_whole(conversation: Conversation) -> Iterator[Observation]:
    yield from whole_settings(conversation, "session/new")


def whole_settings(conversation: Conversation, method: str) -> Iterator[Observation]:
    """Whether modes and options in the answers to a method are valid, if there are any."""
    for request in setup_requests(conversation, method):
        modes, options = request.result.get("modes"), request.result.get("configOptions")
        if modes is not None or options is not None:
            fault = "" if modes is None else mode_fault(modes)
            fault = fault or ("" if options is None else option_fault(options))
            yield observe(not fault, request.answer, fault)


@rule_v1("SES-19", side="agent", fix="Answer session/new before the first update of that session.")
def the_answer_comes_before_the_first_update(conversation: Conversation) -> Iterator[Observation]:
    for setup in setups(conversation):
        if setup.exchange.method == "session/new" and setup.session:
            updates = [frame for frame in conversation.updates() if session_of(frame) == setup.session]
            if updates and updates[0].number > setup.exchange.request.number:
                first, why = updates[0], "an update for a session not yet told"
                yield observe(first.number > setup.since, first, why, setup.exchange.answer)


@rule_v1("SES-20", side="agent", fix="Answer with -32002 and data.sessionId when a session is not in use.")
def a_session_that_is_not_in_use_is_not_found(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls(*SCOPED, direction="to_agent"):
        if is_fair(conversation, call) and call.code != NO_METHOD and _is_lost(conversation, call):
            right = call.code == NOT_FOUND and _session_in_error(call) == session_of(call)
            why = "data.sessionId is not set" if call.code == NOT_FOUND else "not answered with -32002"
            yield observe(right, call.request, f"an unknown session: {why}", call.answer)


def _is_lost(conversation: Conversation, exchange: Exchange) -> bool:
    session = session_of(exchange)
    if not session or (
        exchange.method == "session/prompt" and type(exchange.params.get("prompt")) is not list
    ):
        return False
    if exchange.method in CAPABILITIES:
        return conversation.agent_can(*CAPABILITIES[exchange.method]) not in (None, False) and is_missing(
            conversation, exchange
        )
    if is_in_stretch(
        conversation,
        exchange.request,
        "prompt of an unknown session",
        "mode of an unknown session",
        "option of an unknown session",
    ):
        return True  # also if a load of nobody was answered with success
    return is_open(
        conversation, session, exchange.request.number
    ) is False and session not in announced_sessions(conversation)


def is_missing(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether a load or resume names a missing session. Other connections have sessions too: only one that a
    test invented, or that the agent itself can't find, is surely missing.
    """
    error = exchange.answer.message.get("error") if exchange.answer is not None else None
    message = text(error.get("message")) if type(error) is dict else ""
    is_nobody = is_in_stretch(
        conversation, exchange.request, "load of an unknown session", "resume of an unknown session"
    )
    return is_nobody or exchange.code == NOT_FOUND or bool(_MISSING.search(message))


def _session_in_error(exchange: Exchange) -> str:
    error = exchange.answer.message.get("error") if exchange.answer is not None else None
    data = error.get("data") if type(error) is dict else None
    return text(data.get("sessionId")) if type(data) is dict else ""


@rule_v1("SES-22", side="client", fix="Ignore updates for sessions that were never made.")
def a_client_lives_with_updates_of_unknown_sessions(conversation: Conversation) -> Iterator[Observation]:
    known_ids = known_sessions(conversation) | {
        session_of(request) for request in setup_requests(conversation)
    }
    open_new = [request for request in setup_requests(conversation) if request.answer is not None]
    strange = [
        frame
        for frame in conversation.updates()
        if session_of(frame) not in known_ids
        and is_ready(conversation, frame)
        and not any(
            setup.request.number < frame.number < setup.answer.number for setup in open_new if setup.answer
        )
    ]
    yield from observe_survival(conversation, strange, "an update of a session that it does not know")

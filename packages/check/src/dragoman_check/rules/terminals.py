"""TERM: how an agent uses terminals, and the shape of a client's answers. `processes` judges the commands
themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import JsonObject
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.replies import client_capability_at
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.shapes import shape_errors
from dragoman_check.terminals import (
    CREATE,
    KILL,
    METHODS,
    OUTPUT,
    RELEASE,
    WAIT,
    ObservedTerminal,
    has_succeeded,
    observed_terminals,
)
from dragoman_check.timeline import BAD_PARAMS, session_of
from dragoman_check.values import is_absolute

UNOBSERVED: dict[str, str] = {
    "TERM-13": "what a client shows of a terminal is seen on its screen only",
}


def _calls(conversation: Conversation, *methods: str) -> list[Exchange]:
    return conversation.calls(*(methods or METHODS), direction="to_client")


@rule("TERM-01", side="agent", fix="Use terminals only if the client advertised terminal: true.")
def terminals_are_used_only_where_they_are_lent(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None:
        return
    for call in _calls(conversation):
        is_lent = client_capability_at(conversation, call.request, "terminal") is True
        yield observe(is_lent, call.request, "the client did not advertise terminal")
    for turn in conversation.turns:
        is_lent = client_capability_at(conversation, turn.exchange.request, "terminal") is True
        if not is_lent and turn.end is not None and turn.updates("tool_call", "tool_call_update"):
            yield kept(turn.end)  # it worked without


@rule(
    "TERM-03", side="agent", fix="Send sessionId and command; args and env as lists, cwd as an absolute path."
)
def a_terminal_is_asked_for_whole(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, CREATE):
        faults = [str(fault) for fault in shape_errors(call.request, conversation)]
        cwd = call.params.get("cwd")
        if type(cwd) is str and not is_absolute(cwd):
            faults.append("$.cwd is not absolute")
        yield observe(not faults, call.request, faults[0] if faults else "")


@rule("TERM-10", side="agent", fix="Release every terminal, also one that was killed or has ended.")
def every_terminal_is_released(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        releases = console.of(RELEASE)
        if releases:
            yield kept(releases[0].request, console.creation.request)
        elif _is_over(conversation, console):
            yield observe(False, console.creation.request, "this terminal is never released", console.exit())


def _is_over(conversation: Conversation, console: ObservedTerminal) -> bool:
    """Whether nothing needs it any more: command and turn have ended, or its session is closed."""
    creation = console.creation.request.number
    is_closed = any(
        call.has_result and session_of(call) == console.session and call.request.number > creation
        for call in conversation.calls("session/close", "session/delete", direction="to_agent")
    )
    turn = next(
        (
            turn
            for turn in conversation.turns
            if turn.session == console.session
            and turn.exchange.request.number < creation
            and (turn.end is None or creation < turn.end.number)
        ),
        None,
    )
    has_ended = console.exit() is not None or any(has_succeeded(call) for call in console.of(KILL))
    return is_closed or (has_ended and turn is not None and turn.end is not None)


@rule("TERM-06", side="client", fix="Answer terminal/output at once; with exitStatus only when it has ended.")
def output_says_what_there_is(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        exit_seen = console.exit()
        for call in console.of(OUTPUT):
            if not call.has_result:
                continue
            whole = type(call.result.get("output")) is str and type(call.result.get("truncated")) is bool
            is_late = exit_seen is not None and call.request.number > exit_seen.number
            status = call.result.get("exitStatus")
            right = whole and (status is None or type(status) is dict) and (status is not None or not is_late)
            yield observe(right, call.answer, _why_output(whole=whole), exit_seen)


def _why_output(*, whole: bool) -> str:
    return "exitStatus is missing or wrong" if whole else "output or truncated is missing or wrong"


@rule("TERM-07", side="client", fix="Answer terminal/wait_for_exit with exitCode and signal, not nested.")
def an_exit_is_told_flat(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, WAIT):
        result = call.answer.message.get("result") if call.answer is not None else None
        if has_succeeded(call):
            right = type(result) is dict and _is_status(result) and "exitStatus" not in result
            yield observe(right, call.answer, "exitCode and signal are not members of the result")


def _is_status(status: JsonObject) -> bool:
    code, signal = status.get("exitCode"), status.get("signal")
    return type(code) in (int, type(None)) and type(signal) in (str, type(None))


@rule("TERM-08", side="client", fix="Send an exitCode or a signal, and null for the other.")
def a_command_ends_in_one_way(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, WAIT, OUTPUT):
        status = call.result if call.method == WAIT else call.result.get("exitStatus")
        if call.has_result and type(status) is dict and _is_status(status):
            both = status.get("exitCode") is not None and status.get("signal") is not None
            yield observe(not both, call.answer, "exitCode and signal are both set")


@rule("TERM-16", side="client", fix="Answer terminal/kill and terminal/release with an empty object.")
def kill_and_release_are_answered_with_objects(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, KILL, RELEASE):
        if has_succeeded(call) and call.answer is not None:
            right = type(call.answer.message["result"]) is dict
            yield observe(right, call.answer, "the result is not an object")


@rule(
    "TERM-18", side="client", fix="Answer bad args, env, cwd and limits with -32602; take null for nothing."
)
def bad_members_of_a_terminal_are_refused(conversation: Conversation) -> Iterator[Observation]:
    for call in _calls(conversation, CREATE):
        if call.answer is None or type(call.params.get("command")) is not str:
            continue
        if _is_malformed(call.params):
            yield observe(call.code == BAD_PARAMS, call.answer, "not refused with -32602", call.request)
        elif any(call.params.get(name, 0) is None for name in ("args", "env")):
            yield observe(call.code != BAD_PARAMS, call.answer, "null was refused", call.request)


def _is_malformed(params: JsonObject) -> bool:
    args, env, limit = params.get("args"), params.get("env"), params.get("outputByteLimit")
    bad_args = args is not None and (type(args) is not list or any(type(arg) is not str for arg in args))
    bad_env = env is not None and (
        type(env) is not list or any(type(variable) is not dict for variable in env)
    )
    bad_limit = limit is not None and (type(limit) is not int or limit < 0)
    return bad_args or bad_env or bad_limit or type(params.get("cwd")) not in (str, type(None))

"""TERM: how an agent uses terminals, and the shape of what a client answers. What becomes of the commands
is judged in `processes`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.check.consoles import CREATE, KILL, METHODS, OUTPUT, RELEASE, WAIT, Console, consoles, succeeded
from dragoman.check.lives import BAD_PARAMS, session_of
from dragoman.check.offers import offered
from dragoman.check.paths import is_absolute
from dragoman.check.rule import Seen, kept_if, rule
from dragoman.check.shapes import shape_errors
from dragoman.check.story import Exchange, Story

UNOBSERVED: dict[str, str] = {
    "TERM-13": "what a client shows of a terminal is seen on its screen only",
}


def _calls(story: Story, *methods: str) -> list[Exchange]:
    return story.calls(*(methods or METHODS), direction="to_client")


@rule("TERM-01", side="agent", fix="Use terminals only if the client advertised terminal: true.")
def terminals_are_used_only_where_they_are_lent(story: Story) -> Iterator[Seen]:
    if story.initialize is None:
        return
    for one in _calls(story):
        is_lent = offered(story, one.request, "terminal") is True
        yield kept_if(is_lent, one.request, "the client did not advertise terminal")
    for turn in story.turns:
        is_lent = offered(story, turn.exchange.request, "terminal") is True
        if not is_lent and turn.end is not None and turn.updates("tool_call", "tool_call_update"):
            yield kept_if(True, turn.end, "")  # it worked without


@rule(
    "TERM-03", side="agent", fix="Send sessionId and command; args and env as lists, cwd as an absolute path."
)
def a_terminal_is_asked_for_whole(story: Story) -> Iterator[Seen]:
    for one in _calls(story, CREATE):
        faults = [str(fault) for fault in shape_errors(one.request, story)]
        cwd = one.params.get("cwd")
        if type(cwd) is str and not is_absolute(cwd):
            faults.append("$.cwd is not absolute")
        yield kept_if(not faults, one.request, faults[0] if faults else "")


@rule("TERM-10", side="agent", fix="Release every terminal, also one that was killed or has ended.")
def every_terminal_is_released(story: Story) -> Iterator[Seen]:
    for console in consoles(story):
        released = console.of(RELEASE)
        if released:
            yield kept_if(True, released[0].request, "", console.made.request)
        elif _is_over(story, console):
            yield kept_if(False, console.made.request, "this terminal is never released", console.exit())


def _is_over(story: Story, console: Console) -> bool:
    """Whether nothing needs it any more: command and turn have ended, or its session is closed."""
    made = console.made.request.number
    closed = any(
        one.has_result and session_of(one) == console.session and one.request.number > made
        for one in story.calls("session/close", "session/delete", direction="to_agent")
    )
    turn = next(
        (
            turn
            for turn in story.turns
            if turn.session == console.session
            and turn.exchange.request.number < made
            and (turn.end is None or made < turn.end.number)
        ),
        None,
    )
    has_ended = console.exit() is not None or any(succeeded(one) for one in console.of(KILL))
    return closed or (has_ended and turn is not None and turn.end is not None)


@rule("TERM-06", side="client", fix="Answer terminal/output at once; with exitStatus only when it has ended.")
def output_says_what_there_is(story: Story) -> Iterator[Seen]:
    for console in consoles(story):
        exit_seen = console.exit()
        for one in console.of(OUTPUT):
            if not one.has_result:
                continue
            whole = type(one.result.get("output")) is str and type(one.result.get("truncated")) is bool
            is_late = exit_seen is not None and one.request.number > exit_seen.number
            status = one.result.get("exitStatus")
            right = whole and (status is None or type(status) is dict) and (status is not None or not is_late)
            yield kept_if(right, one.answer, _why_output(whole=whole), exit_seen)


def _why_output(*, whole: bool) -> str:
    return "exitStatus is missing or wrong" if whole else "output or truncated is missing or wrong"


@rule("TERM-07", side="client", fix="Answer terminal/wait_for_exit with exitCode and signal, not nested.")
def an_exit_is_told_flat(story: Story) -> Iterator[Seen]:
    for one in _calls(story, WAIT):
        result = one.answer.message.get("result") if one.answer is not None else None
        if succeeded(one):
            right = type(result) is dict and _is_status(result) and "exitStatus" not in result
            yield kept_if(right, one.answer, "exitCode and signal are not members of the result")


def _is_status(status: dict[str, Any]) -> bool:
    code, signal = status.get("exitCode"), status.get("signal")
    return type(code) in (int, type(None)) and type(signal) in (str, type(None))


@rule("TERM-08", side="client", fix="Tell an exitCode or a signal, and null for the other.")
def a_command_ends_in_one_way(story: Story) -> Iterator[Seen]:
    for one in _calls(story, WAIT, OUTPUT):
        status = one.result if one.method == WAIT else one.result.get("exitStatus")
        if one.has_result and type(status) is dict and _is_status(status):
            both = status.get("exitCode") is not None and status.get("signal") is not None
            yield kept_if(not both, one.answer, "exitCode and signal are both told")


@rule("TERM-16", side="client", fix="Answer terminal/kill and terminal/release with an empty object.")
def kill_and_release_are_answered_with_objects(story: Story) -> Iterator[Seen]:
    for one in _calls(story, KILL, RELEASE):
        if succeeded(one) and one.answer is not None:
            right = type(one.answer.message["result"]) is dict
            yield kept_if(right, one.answer, "the result is no object")


@rule(
    "TERM-18", side="client", fix="Answer bad args, env, cwd and limits with -32602; take null for nothing."
)
def bad_members_of_a_terminal_are_refused(story: Story) -> Iterator[Seen]:
    for one in _calls(story, CREATE):
        if one.answer is None or type(one.params.get("command")) is not str:
            continue
        if _is_malformed(one.params):
            yield kept_if(one.code == BAD_PARAMS, one.answer, "not refused with -32602", one.request)
        elif any(one.params.get(name, 0) is None for name in ("args", "env")):
            yield kept_if(one.code != BAD_PARAMS, one.answer, "null was refused", one.request)


def _is_malformed(params: dict[str, Any]) -> bool:
    args, env, limit = params.get("args"), params.get("env"), params.get("outputByteLimit")
    bad_args = args is not None and (type(args) is not list or any(type(one) is not str for one in args))
    bad_env = env is not None and (type(env) is not list or any(type(one) is not dict for one in env))
    bad_limit = limit is not None and (type(limit) is not int or limit < 0)
    return bad_args or bad_env or bad_limit or type(params.get("cwd")) not in (str, type(None))

"""TERM: the commands that a client runs, from start to end.

Some things show only in an examination: a command in the stretch `terminal` prints the folder in which it
runs, and a variable that it was given; the fact `released process gone` says whether the one that was made in
`terminal to release early` has ended.
"""

from __future__ import annotations

from collections.abc import Iterator

from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule
from dragoman_check.rules.files import observe_answer
from dragoman_check.terminals import (
    KILL,
    METHODS,
    OUTPUT,
    WAIT,
    ObservedTerminal,
    has_succeeded,
    observed_terminals,
)
from dragoman_check.timeline import CANCELLED, has_clock, has_spoken_after, is_in_stretch, setup_at
from dragoman_check.values import is_same, items, normalize, text

QUICK = 2.0
SLOW = 5.0
"""Seconds: less than the first is immediate, more than the second is not."""
TELLING = 16
"""The characters at the beginning of an output by which it is recognised."""


@rule("TERM-02", side="client", fix="Answer terminal/create as soon as the command has begun.")
def a_terminal_is_there_at_once(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        request, answer = console.creation.request, console.creation.answer
        outputs = [call for call in console.of(OUTPUT) if call.has_result]
        ran_on = bool(outputs) and outputs[0].result.get("exitStatus") is None
        took = answer.at - request.at if answer is not None and has_clock(conversation) else None
        if ran_on or (took is not None and took < QUICK):
            yield kept(answer, request)
        elif took is not None and took > SLOW and outputs:
            yield observe(False, answer, "the terminal was named only when its command had ended", request)


@rule("TERM-02", side="client", fix="Answer terminal/create with a terminalId.")
def a_terminal_has_a_name(conversation: Conversation) -> Iterator[Observation]:
    for call in conversation.calls("terminal/create", direction="to_client"):
        if call.has_result:
            yield observe(
                bool(text(call.result.get("terminalId"))), call.answer, "there is no terminalId", call.request
            )


@rule("TERM-04", side="client", fix="Cut the beginning of the output, not its end, and set truncated.")
def the_beginning_is_cut(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        begins = ""
        for call in console.of(OUTPUT):
            output = text(call.result.get("output"))
            if call.has_result and call.result.get("truncated") is True:
                is_front = len(begins) >= TELLING and output.startswith(begins)
                yield observe(
                    not is_front, call.answer, "the output was truncated at its end, not at its beginning"
                )
            elif call.has_result:
                begins = begins or output[: TELLING * 4]


@rule(
    "TERM-05", side="client", fix="Cut the output between characters, and keep no more bytes than the limit."
)
def the_cut_is_between_characters(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        for call in console.of(OUTPUT):
            if console.limit is None or not call.has_result:
                continue
            output = text(call.result.get("output"))
            size = len(output.encode(errors="surrogatepass"))
            if size > console.limit:
                yield observe(False, call.answer, "more bytes than outputByteLimit", console.creation.request)
            elif call.result.get("truncated") is True and not output.isascii():
                is_broken = output.startswith("\ufffd")
                yield observe(not is_broken, call.answer, "the cut is in the middle of a character")


@rule(
    "TERM-09", side="client", fix="Keep a terminal after terminal/kill: its output and exit can be asked for."
)
def a_killed_terminal_can_be_asked(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        kill = next((call for call in console.of(KILL) if has_succeeded(call)), None)
        for call in console.of(OUTPUT, WAIT):
            if kill is not None and _comes_between(call, kill, console.release) and call.answer is not None:
                is_kept = has_succeeded(call) or call.code == CANCELLED
                yield observe(is_kept, call.answer, "refused after terminal/kill", kill.answer)


def _comes_between(exchange: Exchange, kill: Exchange, release: Exchange | None) -> bool:
    return _is_after(exchange, kill) and (release is None or exchange.request.number < release.request.number)


def _is_after(exchange: Exchange, earlier: Exchange) -> bool:
    return earlier.answer is not None and exchange.request.number > earlier.answer.number


@rule("TERM-11", side="client", fix="End the command when its terminal is released.")
def a_released_command_ends(conversation: Conversation) -> Iterator[Observation]:
    is_gone = conversation.recording.facts.get("released process gone")
    for console in observed_terminals(conversation):
        if console.release is None:
            continue
        if (
            is_in_stretch(conversation, console.creation.request, "terminal to release early")
            and type(is_gone) is bool
        ):
            yield observe(
                is_gone, console.release.answer, "the command ran on after its terminal was released"
            )
        for call in console.of(WAIT):
            if _was_open_at(call, console.release.request) and call.answer is not None:
                yield kept(call.answer, console.release.request)


def _was_open_at(exchange: Exchange, frame: Frame) -> bool:
    return exchange.request.number < frame.number and (
        exchange.answer is None or exchange.answer.number > frame.number
    )


@rule("TERM-12", side="client", fix="Refuse everything about a terminal that was released.")
def a_released_terminal_is_gone(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        for call in console.calls:
            later = console.release is not None and _is_after(call, console.release)
            if later and call.answer is not None and console.release is not None:
                yield observe(
                    call.has_error, call.answer, "answered after its release", console.release.request
                )


@rule("TERM-14", side="client", fix="Answer all who wait for a terminal, and tell its output meanwhile.")
def waiting_holds_nobody_up(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        waits = console.of(WAIT)
        for wait in waits:
            for call in console.calls:
                if call is not wait and call.method in (OUTPUT, WAIT) and _was_open_at(wait, call.request):
                    yield from _answered_together(conversation, wait, call)


def _answered_together(
    conversation: Conversation, waiting: Exchange, call: Exchange
) -> Iterator[Observation]:
    if call.answer is None:
        if waiting.answer is not None and has_spoken_after(conversation, waiting.answer, "client"):
            yield observe(False, call.request, "never answered while another one waited", waiting.request)
        return
    late = waiting.answer is not None and call.answer.number > waiting.answer.number
    slow = has_clock(conversation) and call.answer.at - call.request.at > SLOW
    held_up = call.method == OUTPUT and late and slow
    yield observe(not held_up, call.answer, "output was held up until the command had ended", waiting.request)


@rule("TERM-15", side="client", fix="Answer every request about a terminal, also about one that is over.")
def odd_requests_are_answered(conversation: Conversation) -> Iterator[Observation]:
    call_keys = {
        id(exchange)
        for console in observed_terminals(conversation)
        for exchange in (console.creation, *console.calls)
    }
    for call in conversation.calls(*METHODS, direction="to_client"):
        if id(call) not in call_keys:  # a command that could not be started, or a terminal that nobody made
            yield from observe_answer(conversation, call)
    for console in observed_terminals(conversation):
        exit_frame = console.exit()
        for call in console.calls:
            over = console.release is not None and _is_after(call, console.release)
            killed_late = (
                call.method == KILL and exit_frame is not None and call.request.number > exit_frame.number
            )
            if over or killed_late:
                yield from observe_answer(conversation, call)


@rule("TERM-17", side="client", fix="End a wait that was cancelled with -32800, or with its result.")
def a_cancelled_wait_ends(conversation: Conversation) -> Iterator[Observation]:
    cancels = conversation.notes("$/cancel_request", direction="to_client")
    for call in conversation.calls(WAIT, direction="to_client"):
        request_id = call.request.message.get("id")
        mine = [frame for frame in cancels if _names(frame, request_id) and _was_open_at(call, frame)]
        if mine and call.answer is not None:
            right = has_succeeded(call) or call.code == CANCELLED
            yield observe(right, call.answer, "ended with another error than -32800", mine[0])


def _names(frame: Frame, request_id: object) -> bool:
    named_id = frame.params.get("requestId")
    return type(named_id) is type(request_id) and named_id == request_id


@rule("TERM-19", side="client", fix="Run a command in the session's folder unless it names one; add its env.")
def a_command_runs_in_its_folder(conversation: Conversation) -> Iterator[Observation]:
    for console in observed_terminals(conversation):
        setup = setup_at(conversation, console.session, console.creation.request.number)
        prints_folder = is_in_stretch(
            conversation, console.creation.request, "terminal"
        ) or _prints_its_folder(console)
        lines = _printed_lines(console)
        if setup is None or not prints_folder or not lines:
            continue
        folder = text(console.creation.params.get("cwd")) or setup.cwd
        right = is_same(lines[0], folder) or _last(lines[0]) == _last(folder)  # links are resolved or not
        if is_in_stretch(conversation, console.creation.request, "terminal"):
            env_values = [text(item.get("value")) for item in items(console.creation.params.get("env"))]
            right = right and all(value in lines for value in env_values)
        yield observe(
            right,
            console.creation.request,
            "the command ran in another folder, or without its environment variables",
        )


def _prints_its_folder(console: ObservedTerminal) -> bool:
    return console.creation.params.get("command") == "pwd" and not console.creation.params.get("args")


def _printed_lines(console: ObservedTerminal) -> list[str]:
    """The output of a command, once it has ended."""
    last_outputs = [call for call in console.of(OUTPUT) if call.result.get("exitStatus") is not None]
    return text(last_outputs[-1].result.get("output")).split() if last_outputs else []


def _last(path: str) -> str:
    return normalize(path).rsplit("/", 1)[-1]

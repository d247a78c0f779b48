"""SES: every session works in its own folders."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from dragoman_check.conversation import Conversation, Exchange, ObservedTurn, is_update, update_of
from dragoman_check.memory import prompt_text
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, kept, observe, rule_v1
from dragoman_check.timeline import is_in_stretch, is_running_at, running_turns, session_of, setup_at, setups
from dragoman_check.values import ends_with, is_absolute, is_same, is_under, items, normalize, text

_FILE = re.compile(r"(?<![\w/\\.:~@-])(?:[\w-]+/)*[\w-]+\.[A-Za-z]\w{0,5}(?![\w/\\])")

CHANGES = ("edit", "delete", "move")
USES = ("read", *CHANGES)
"""Kinds of tools that open files; a searching tool may only name them."""


@rule_v1("SES-05", "SES-06", "SES-07", side="agent", fix="Resolve relative paths against the session's cwd.")
def files_that_a_prompt_names_are_looked_for_in_the_folder(
    conversation: Conversation,
) -> Iterator[Observation]:
    for turn in conversation.turns:
        setup = setup_at(conversation, turn.session, turn.exchange.request.number)
        if setup is None or not is_absolute(setup.cwd):
            continue
        paths = touched_paths(turn)
        for name in named_files(turn):
            places = [(frame, path) for frame, path in paths if ends_with(path, name)]
            # A folder may be a link to another: its own name tells that it is meant.
            there = f"{normalize(setup.cwd)}/{normalize(name)}"
            inside_folder = f"{normalize(setup.cwd).rsplit('/', 1)[-1]}/{name}"
            frames_inside = [
                frame for frame, path in places if is_same(path, there) or ends_with(path, inside_folder)
            ]
            if frames_inside:
                yield kept(frames_inside[0])
            elif places and not any(is_under(path, setup.folders) for _, path in places):
                yield observe(False, places[0][0], "a file that the prompt names was looked for elsewhere")


@rule_v1("SES-05", side="agent", fix="Start the session's commands in its cwd.")
def commands_run_in_the_folder(conversation: Conversation) -> Iterator[Observation]:
    """Check the stretch `run`, in which the agent was asked to run `pwd`."""
    for turn in conversation.turns:
        setup = setup_at(conversation, turn.session, turn.exchange.request.number)
        if (
            setup is None
            or not is_absolute(setup.cwd)
            or not is_in_stretch(conversation, turn.exchange.request, "run")
        ):
            continue
        for call in conversation.calls("terminal/output", direction="to_client"):
            output = text(call.result.get("output")).strip()
            if (
                session_of(call) == turn.session
                and is_running_at(turn, call.request.number)
                and is_absolute(output)
            ):
                right = is_same(output, setup.cwd) or is_under(output, setup.folders)
                yield observe(right, call.request, "a command was run in another folder", call.answer)


@rule_v1("SES-07", side="agent", fix="Let tools work on files in the session's cwd.")
def files_in_the_folder_can_be_used(conversation: Conversation) -> Iterator[Observation]:
    """Check the stretches `read` and `work`, in which the agent was asked to read an existing file."""
    lends = conversation.client_can("fs", "readTextFile") is True  # some have no other way to files
    for turn in conversation.turns:
        setup = setup_at(conversation, turn.session, turn.exchange.request.number)
        if setup is None or not is_absolute(setup.cwd):
            continue
        calls = [
            call for call in ended_calls(turn) if any(is_under(path, [setup.cwd]) for path in call.paths)
        ]
        successes = [tool_call for tool_call in calls if tool_call.is_success]
        is_asked = is_in_stretch(conversation, turn.exchange.request, "read", "work") and lends
        # A model may look for other files as well: only the one that the prompt names is surely there.
        named = [f"{setup.cwd}/{name}" for name in named_files(turn)]
        failures = [
            call
            for call in calls
            if is_asked and any(path in prompt_text(turn) or is_any(path, named) for path in call.paths)
        ]
        if successes or failures:
            yield observe(
                bool(successes), (successes or failures)[0].end, "a file in the folder could not be used"
            )


class FinishedToolCall(Struct):
    """A finished tool call, with its places."""

    end: Frame
    is_success: bool
    kind: str
    paths: list[str]


def is_any(path: str, others: list[str]) -> bool:
    return any(is_same(path, other) for other in others)


def ended_calls(turn: ObservedTurn) -> list[FinishedToolCall]:
    """Return the ended tool calls of a turn, with absolute paths."""
    kinds: dict[str, str] = {}
    paths: dict[str, list[str]] = {}
    ends: dict[str, Frame] = {}
    for frame in turn.updates("tool_call", "tool_call_update"):
        update = update_of(frame)
        call = text(update.get("toolCallId"))
        kinds[call] = text(update.get("kind")) or kinds.get(call, "")
        places = [text(place.get("path")) for place in items(update.get("locations"))]
        paths.setdefault(call, []).extend(path for path in places if is_absolute(path))
        if update.get("status") in ("completed", "failed"):
            ends[call] = frame
    return [
        FinishedToolCall(end, update_of(end)["status"] == "completed", kinds[call], paths[call])
        for call, end in ends.items()
        if paths[call]
    ]


def named_files(turn: ObservedTurn) -> list[str]:
    """Return relative names of files in the texts of a prompt."""
    names = [
        name
        for block in items(turn.exchange.params.get("prompt"))
        if block.get("type") == "text"
        for name in _FILE.findall(text(block.get("text")))
    ]
    return list(dict.fromkeys(names))


def touched_paths(turn: ObservedTurn) -> list[tuple[Frame, str]]:
    """Return paths that the agent read, wrote, or named."""
    paths: list[tuple[Frame, str]] = []
    for frame in turn.during:
        if frame.method in ("fs/read_text_file", "fs/write_text_file"):
            paths.append((frame, text(frame.params.get("path"))))
        elif is_update(frame, "tool_call", "tool_call_update"):
            paths += [(frame, text(place.get("path"))) for place in items(update_of(frame).get("locations"))]
    return [(frame, path) for frame, path in paths if is_absolute(path)]


def file_requests(conversation: Conversation) -> list[Exchange]:
    """Return the agent's requests for files with a usable path."""
    requests = conversation.calls("fs/read_text_file", "fs/write_text_file", direction="to_client")
    return [request for request in requests if is_absolute(request.params.get("path"))]


def was_allowed(conversation: Conversation, exchange: Exchange) -> bool:
    """Whether a person allowed a request: by a permission in this turn, or a link in the prompt."""
    path = text(exchange.params.get("path", exchange.params.get("cwd")))
    return may_use(conversation, session_of(exchange), path, exchange.request)


def may_use(conversation: Conversation, session: str, path: str, frame: Frame) -> bool:
    """Whether a person allowed the use of a path before a frame."""
    turns = running_turns(conversation, frame.number, session)
    if any(path in uri for turn in turns for uri in _links(turn)):
        return True
    start = turns[-1].exchange.request.number if turns else 0
    return any(
        start < question.request.number < frame.number
        and session_of(question) == session
        and type(question.result.get("outcome")) is dict
        and question.result["outcome"].get("outcome") == "selected"
        for question in conversation.calls("session/request_permission", direction="to_client")
    )


def _links(turn: ObservedTurn) -> Iterator[str]:
    for block in items(turn.exchange.params.get("prompt")):
        resource = block.get("resource")
        yield text(resource.get("uri") if type(resource) is dict else block.get("uri"))


@rule_v1("SES-08", side="agent", fix="Ask before a file outside of the session's folders is touched.")
def files_outside_of_the_folders_are_not_touched_unasked(conversation: Conversation) -> Iterator[Observation]:
    for request in file_requests(conversation):
        setup = setup_at(conversation, session_of(request), request.request.number)
        if setup is None or not all(map(is_absolute, setup.folders)):
            continue
        inside = is_under(request.params["path"], setup.folders)
        if inside or (request.has_result and not was_allowed(conversation, request)):
            yield observe(
                inside, request.request, "a file outside of the folders was touched without permission"
            )


@rule_v1("SES-08", side="agent", fix="Ask before a tool works outside of the session's folders.")
def tools_do_not_work_outside_of_the_folders_unasked(conversation: Conversation) -> Iterator[Observation]:
    """Check the stretches `stray` and `outside`, in which the agent was asked for a file outside all folders.
    Elsewhere only changes count: agents read their own files.
    """
    for turn in conversation.turns:
        setup = setup_at(conversation, turn.session, turn.exchange.request.number)
        if setup is None or not all(map(is_absolute, setup.folders)):
            continue
        is_asked = is_in_stretch(conversation, turn.exchange.request, "stray", "outside")
        for call in ended_calls(turn):
            away = [path for path in call.paths if not is_under(path, setup.folders)]
            if away and call.kind in (USES if is_asked else CHANGES):
                is_violation = call.is_success and not may_use(conversation, turn.session, away[0], call.end)
                yield observe(not is_violation, call.end, "a tool worked outside of the folders, unasked")


@rule_v1("SES-18", side="agent", fix="Keep the folders of sessions apart.")
def sessions_do_not_work_in_the_folders_of_others(conversation: Conversation) -> Iterator[Observation]:
    for request in [
        *file_requests(conversation),
        *conversation.calls("terminal/create", direction="to_client"),
    ]:
        path = text(request.params.get("path", request.params.get("cwd")))
        apart = _folders_of_others(conversation, request)
        if apart and is_absolute(path) and not was_allowed(conversation, request):
            yield observe(
                not is_under(path, apart), request.request, "the folder of another session was used"
            )


def _folders_of_others(conversation: Conversation, exchange: Exchange) -> list[str]:
    """Where other sessions work, as far as this one does not."""
    mine = setup_at(conversation, session_of(exchange), exchange.request.number)
    if mine is None:
        return []
    folders = {cwd.cwd for cwd in setups(conversation) if cwd.session != mine.session}
    return [
        cwd
        for cwd in folders
        if is_absolute(cwd)
        and not is_under(cwd, mine.folders)
        and not any(is_under(folder, [cwd]) for folder in mine.folders)
    ]

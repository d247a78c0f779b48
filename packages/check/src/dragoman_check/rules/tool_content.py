"""TOOL: the content of tool calls: text, diffs, terminals, and locations in files."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from dragoman.wire.envelope import Json, JsonObject
from dragoman_check.calls import contents, tool_call_objects
from dragoman_check.conversation import Conversation
from dragoman_check.recording import Frame
from dragoman_check.rule import Observation, observe, rule
from dragoman_check.timeline import session_of
from dragoman_check.values import is_absolute, items, text

UINT32 = range(2**32)

EXTENSIONS = ("terminal_output", "terminal-output")
"""Members of `_meta` by which clients request terminals that an agent runs itself."""


@rule("TOOL-11", side="agent", fix='Wrap what a call shows: {"type": "content", "content": {…}}.')
def content_is_wrapped(conversation: Conversation) -> Iterator[Observation]:
    for frame, item in contents(conversation):
        yield observe(
            _is_wrapped(item, conversation.version), frame, "an item of content is not of the three kinds"
        )
    for frame, tool_call in tool_call_objects(conversation):
        if type(tool_call.get("content")) not in (list, type(None)):
            yield observe(False, frame, "content is not a list")


def _is_wrapped(item: Json, version: int) -> bool:
    kind = item.get("type") if type(item) is dict else None
    if kind == "content":
        return type(item.get("content")) is dict and type(item["content"].get("type")) is str
    if kind == "terminal":
        return type(item.get("terminalId")) is str
    if kind == "diff":
        return True  # judged by itself
    return version >= 2 and type(kind) is str and kind not in ("text", "image", "audio", "resource")


@rule(
    "TOOL-12", side="agent", fix="Give a diff an absolute path, newText, and oldText unless the file is new."
)
def a_diff_is_whole(conversation: Conversation) -> Iterator[Observation]:
    for frame, item in contents(conversation):
        if type(item) is dict and item.get("type") == "diff":
            fault = _fault(item) if conversation.version < 2 else _fault_of_changes(item)
            yield observe(not fault, frame, f"a diff: {fault}")


def _fault(diff: JsonObject) -> str:
    if type(diff.get("path")) is not str:
        return "path is missing or no string"
    if not is_absolute(diff["path"]):
        return "path is not absolute"
    if type(diff.get("newText")) is not str:
        return "newText is missing or no string"
    return "" if type(diff.get("oldText")) in (str, type(None)) else "oldText is not a string"


def _fault_of_changes(diff: JsonObject) -> str:
    changes = diff.get("changes")
    if type(changes) is not list:
        return "changes is missing or no list"
    for change in items(changes):
        paths = [change.get("path")]
        if change.get("operation") in ("move", "copy"):
            paths.append(change.get("oldPath"))
        if not all(is_absolute(path) for path in paths):
            return "a path is missing or not absolute"
    return ""


class ShownTerminal(Struct):
    """The events of one terminal of the client."""

    creation: Frame | None = None
    first_shown: Frame | None = None
    """The first frame: with the rest of a call's content it may be shown again."""
    release: Frame | None = None


@rule(
    "TOOL-14",
    side="agent",
    fix="Show only terminals that terminal/create made, and show them before you release them.",
    versions=(1,),
)
def a_terminal_that_is_shown_was_made(conversation: Conversation) -> Iterator[Observation]:
    if conversation.initialize is None or _wants_foreign_terminals(conversation):
        return
    replayed_sessions = {session_of(call) for call in conversation.calls("session/load", "session/resume")}
    for terminal in _terminals(conversation).values():
        first, creation, release = terminal.first_shown, terminal.creation, terminal.release
        if first is None:
            continue
        if creation is not None and creation.number < first.number:
            right = release is None or first.number < release.number
            yield observe(right, first, "a terminal is shown after its release", release)
        elif session_of(first) not in replayed_sessions:
            yield observe(False, first, "a terminal is shown that terminal/create did not make")


def _terminals(conversation: Conversation) -> dict[str, ShownTerminal]:
    terminals: dict[str, ShownTerminal] = {}
    for frame, item in contents(conversation):
        if type(item) is dict and item.get("type") == "terminal" and type(item.get("terminalId")) is str:
            terminal = terminals.setdefault(item["terminalId"], ShownTerminal())
            terminal.first_shown = terminal.first_shown or frame
    for call in conversation.calls("terminal/create", "terminal/release", direction="to_client"):
        is_creation = call.method == "terminal/create"
        name = text((call.result if is_creation else call.params).get("terminalId"))
        terminal = terminals.setdefault(name, ShownTerminal())
        if is_creation:
            terminal.creation = terminal.creation or call.answer
        else:
            terminal.release = terminal.release or call.request
    return terminals


def _wants_foreign_terminals(conversation: Conversation) -> bool:
    meta = conversation.client_can("_meta")
    return type(meta) is dict and any(meta.get(name) for name in EXTENSIONS)


@rule("TOOL-16", side="agent", fix="Give locations an absolute path, and a line that counts from 1 if any.")
def locations_are_places(conversation: Conversation) -> Iterator[Observation]:
    for frame, tool_call in tool_call_objects(conversation):
        places = tool_call.get("locations")
        if places:
            fault = _fault_of_places(places, conversation.version)
            yield observe(not fault, frame, f"locations: {fault}")


def _fault_of_places(places: object, version: int) -> str:
    if type(places) is not list:
        return "no list"
    for place in places:
        if type(place) is not dict or type(place.get("path")) is not str:
            return "path is missing or no string"
        if not is_absolute(place["path"]):
            return "path is not absolute"
        line = place.get("line")
        if line is not None and (type(line) is not int or line not in UINT32 or (version >= 2 and not line)):
            return "line is not a line number"
    return ""

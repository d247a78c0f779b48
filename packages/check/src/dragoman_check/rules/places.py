"""RPC: numbers stay within their limits, paths are absolute, lines count from one."""

from __future__ import annotations

from collections.abc import Iterator

from dragoman.wire.envelope import Json
from dragoman_check.conversation import Conversation, Exchange
from dragoman_check.manifest import Side
from dragoman_check.replies import frames_from
from dragoman_check.rule import Observation, observe, rule
from dragoman_check.values import is_absolute
from dragoman_check.walks import BOUNDS, PATHS, noted_members


@rule("RPC-23", fix="Keep numbers within the bounds that the schema gives them.")
def numbers_keep_their_bounds(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, member in noted_members(conversation, side):
        # Only numbers: what else is wrong with a member is judged by its shape.
        if member.name in BOUNDS and type(member.value) in (int, float):
            least, largest = BOUNDS[member.name]
            whole = type(member.value) is int and least <= member.value <= largest
            yield observe(whole, frame, f"{member.path}.{member.name} is out of bounds")
    for frame in frames_from(conversation, side):
        message_id = frame.message.get("id")
        if type(message_id) is int and not -(2**63) <= message_id < 2**63:
            yield observe(False, frame, "id is not a 64-bit integer")


@rule("RPC-24", fix="Write every path as an absolute one.")
def paths_are_absolute(conversation: Conversation, side: Side) -> Iterator[Observation]:
    for frame, member in noted_members(conversation, side):
        if member.name not in PATHS:
            continue
        for path in member.value if type(member.value) is list else [member.value]:
            if type(path) is str:
                why = f"{member.path}.{member.name} is not an absolute path"
                yield observe(is_absolute(path), frame, why)


@rule("RPC-25", side="agent", fix="Count lines from 1.")
def lines_count_from_one(conversation: Conversation) -> Iterator[Observation]:
    for frame, member in noted_members(conversation, "agent"):
        if member.name == "line" and type(member.value) is int:
            why = f"{member.path}.line is below 1"
            yield observe(member.value >= 1, frame, why)


@rule("RPC-25", side="client", fix="Count lines from 1: line 1 is the first line of a file.")
def the_first_line_is_line_one(conversation: Conversation) -> Iterator[Observation]:
    """Compare a part of a file with the whole file, if only reads happened in between."""
    whole: dict[str, Exchange] = {}
    for call in conversation.calls("fs/read_text_file", direction="to_client"):
        path, text = call.params.get("path"), call.result.get("content")
        if type(path) is not str or type(text) is not str:
            continue
        before = whole.get(path)
        if call.params.get("line") is None and call.params.get("limit") is None:
            whole[path] = call
        elif (
            before is not None
            and type(call.params.get("line")) is int
            and _is_quiet(conversation, before, call)
        ):
            fine = _is_part(text, before.result["content"], call.params["line"], call.params.get("limit"))
            yield observe(
                fine, call.answer, "the lines are others than those that were asked for", before.answer
            )


def _is_quiet(conversation: Conversation, before: Exchange, after: Exchange) -> bool:
    """Whether nothing was done in between that may have changed a file."""
    between = conversation.frames[before.request.number : after.request.number - 1]
    return all(not frame.method or frame.method.startswith(("fs/read", "_")) for frame in between)


def _is_part(text: str, everything: str, line: int, limit: Json) -> bool:
    if line < 1 or type(limit) not in (int, type(None)):
        return True  # the agent's fault
    lines = everything.split("\n")[line - 1 :]
    expected_lines = lines if limit is None else lines[: max(0, limit)]
    return text.rstrip("\r\n") == "\n".join(expected_lines).rstrip("\r\n")

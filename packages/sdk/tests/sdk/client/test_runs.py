"""Frames that differ in one short text alone: what is read of their strings is what each frame says."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from dragoman.sdk.client.runs import SHORT, ChunkRun, UpdateFrame, find_run, run_reader
from tests.every import every

read_frames = run_reader(UpdateFrame)


def frame(text: object, *, session: str = "s", kind: str = "agent_message_chunk", **more: object) -> Any:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}
    return {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"sessionId": session, "update": update},
    }


def backwards(value: Any) -> Any:
    """The same with all members in the other order."""
    return {name: backwards(value[name]) for name in reversed(value)} if isinstance(value, dict) else value


WRITERS: tuple[Callable[[Any], bytes], ...] = (
    msgspec.json.encode,
    lambda value: json.dumps(value).encode(),
    lambda value: msgspec.json.encode(backwards(value)),
    lambda value: json.dumps(backwards(value), ensure_ascii=False, separators=(" , ", " : ")).encode(),
)


def block_of(frames: list[Any], write: Callable[[Any], bytes]) -> bytes:
    return b"".join(write(frame) + b"\n" for frame in frames)


def run_of(write: Callable[[Any], bytes]) -> ChunkRun:
    block = block_of([frame("first of them"), frame("second")], write)
    run = find_run(block, read_frames(block))
    assert run is not None
    return run


def updates_of(block: bytes) -> Any:
    try:
        return [read.params.update for read in read_frames(block)]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


TEXTS = ("a", "", "é 文 😀", '"', "\\", "\\\\", 'x","y', ',"q', "\n", "text", "s", '"?"', "\\u0041", "]")


@every(("write", "first", "second"), list(product(WRITERS, TEXTS, TEXTS)))
def test_strings_alone_say_what_the_frames_say(
    write: Callable[[Any], bytes], first: str, second: str
) -> None:
    block = block_of([frame(first), frame(second), frame("c")], write)
    updates = run_of(write).read(block)
    assert updates is None or updates == updates_of(block)
    assert updates is not None or "\\" in (first + second)[-1:] + first[-1:]
    found = find_run(block, read_frames(block))
    assert found is None or found.read(block) in (updates, updates_of(block))


RAW_TEXTS = st.lists(
    st.sampled_from([b"a", b'"', b"\\", b",", b"]", b"\\n", b"\n", b"\xff", b"\\ud800", b"\xc3\xa9", b'","'])
).map(b"".join)


@given(st.lists(RAW_TEXTS, min_size=1, max_size=5))
def test_whatever_stands_between_the_quotes_is_read_as_the_frames_are_or_not_at_all(
    texts: list[bytes],
) -> None:
    run = run_of(msgspec.json.encode)
    block = b"".join(run.head + text + run.tail for text in texts)
    updates = run.read(block)
    assert updates is None or updates == updates_of(block)


def test_a_text_that_ends_early_does_not_make_up_for_one_that_ends_late() -> None:
    run = run_of(msgspec.json.encode)
    texts = [b"z\\", b',"q']
    assert len(json.loads(b'["' + b'","'.join(texts) + b'"]')) == len(texts)
    assert run.read(b"".join(run.head + text + run.tail for text in texts)) is None


def test_frames_that_say_something_more_or_else_are_no_run() -> None:
    run = run_of(msgspec.json.encode)
    other: Any
    for other in (
        frame("x", session="t"),
        frame("x", kind="agent_thought_chunk"),
        frame("x", messageId="m"),
        frame("x", _meta={"a": 1}),
        frame(5),
        {},
    ):
        assert run.read(block_of([frame("a"), other, frame("b")], msgspec.json.encode)) is None
    assert run.read(block_of([frame("a")], msgspec.json.encode)[:-1]) is None
    assert run.read(b"") is None


def test_only_short_chunks_of_text_with_nothing_else_are_looked_for() -> None:
    for frames in (
        [frame("x", messageId="m")] * 2,
        [frame("x", _meta={"a": 1})] * 2,
        [frame("x" * SHORT)] * 2,
        [{**frame("x"), "params": {"sessionId": "s", "update": {"sessionUpdate": "plan", "entries": []}}}],
    ):
        block = block_of(frames, msgspec.json.encode)
        assert find_run(block, read_frames(block)) is None


def test_thoughts_are_a_run_too() -> None:
    block = block_of([frame(text, kind="agent_thought_chunk") for text in "ab"], msgspec.json.encode)
    run = find_run(block, read_frames(block))
    assert run is not None
    assert run.read(block) == updates_of(block)

"""What real agents and clients have sent: every frame is understood, nothing is lost, everything adds up.

Our own fixtures show the same deviations in small; `test_fixtures` plays them to our own two ends.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dragoman.schema import SchemaError, read, write
from dragoman.schema.method import MethodTable
from dragoman.schema.v1.methods import METHODS as V1
from dragoman.schema.v2.methods import METHODS as V2
from dragoman.wire import MalformedFrame
from tests.interop.recordings import (
    ELSEWHERE,
    FIXTURES,
    PARTIES,
    Books,
    Carried,
    conversations,
    messages,
)

RECORDINGS = sorted(ELSEWHERE.glob("*/*.ndjson"))
needs_recordings = pytest.mark.skipif(
    not RECORDINGS, reason="needs recordings of other people's programs in ../shared/wire"
)

# In this scene the recorded client sent nonsense, to see what would happen.
PROBE = "probe"

# What typed reading leaves out, as the published schema tells it to. Who only passes messages on reads none.
LOSSES = {
    ("codex-zed", "initialize"): "ways to log in of a type that no version of the schema has any more",
    ("crow2", "session/update"): "commands of an earlier draft of version 2, which had no type",
}

# What did not add up outside of that scene.
ODD = {("codex", "a cancel for a request that is not open"): "it takes back a question that was answered"}

each_recording = pytest.mark.parametrize(
    "path",
    [
        *(pytest.param(path, id=f"{path.parent.name}-{path.stem}") for path in RECORDINGS),
        *(pytest.param(path, id=path.stem) for path in sorted(FIXTURES.rglob("*.ndjson"))),
    ],
)


def table(path: Path) -> MethodTable:
    return V2 if "v2" in (path.parent.name.rpartition("-")[2], path.stem.rpartition("-")[2]) else V1


@needs_recordings
def test_the_recordings_are_not_empty() -> None:
    frames = [frame for path in RECORDINGS for talk in conversations(path) for frame in talk.frames]
    assert len(RECORDINGS) >= 18
    assert len(frames) > 3_000


@each_recording
def test_every_frame_is_an_envelope(path: Path) -> None:
    frames = [frame for talk in conversations(path) for frame in talk.frames]
    assert [f for f in frames if isinstance(f.envelope, MalformedFrame) and not f.verbatim] == []


@each_recording
def test_every_message_is_read_without_loss(path: Path) -> None:
    lost = [
        carried for talk in conversations(path) for carried in messages(talk) if loses(table(path), carried)
    ]
    assert [carried for carried in lost if (path.stem, carried.method) not in LOSSES] == []


def loses(methods: MethodTable, carried: Carried) -> bool:
    """Whether typed reading and writing changes what this means."""
    entry = methods.get(carried.method, kind=carried.kind, receiver=carried.receiver)
    if entry is None:
        return False  # nobody's method: nobody reads it
    try:
        message = read(carried.raw, entry.params if carried.part == "params" else entry.result)
    except SchemaError:
        return carried.frame.scene != PROBE
    # An answer without a required field may be null, which says as much as an empty object.
    return bool(json.loads(write(message)) != (json.loads(carried.raw) or {}))


@each_recording
def test_every_conversation_adds_up_for_both_sides(path: Path) -> None:
    for talk in conversations(path):
        for party in PARTIES:
            books = Books(party)
            for frame in talk.frames:
                books.walk(frame)
            odd = [(frame, why) for frame, why in books.odd if frame.scene != PROBE and not frame.verbatim]
            assert [item for item in odd if (path.stem, item[1]) not in ODD] == []
            answered = PROBE in {frame.scene for frame in talk.frames} or not books.connection.calls
            assert answered, f"{path.stem}: {party} waits for {books.connection.calls}"


@needs_recordings
def test_what_is_excused_is_still_there() -> None:
    """An excuse that nobody needs any more is one that hides the next mistake."""
    by_name = {path.stem: path for path in RECORDINGS if path.parent.name != "agents-v2" or "2" in path.stem}
    for stem, method in LOSSES:
        path = by_name[stem]
        lost = [c for talk in conversations(path) for c in messages(talk) if loses(table(path), c)]
        assert method in {carried.method for carried in lost}
    for stem, why in ODD:
        books = Books("client")
        for frame in (frame for talk in conversations(by_name[stem]) for frame in talk.frames):
            books.walk(frame)
        assert why in {found for _, found in books.odd}

"""Every frame that the reference shows: read, said in v1 as the official SDKs take it, and said again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.haven import names
from dragoman.schema.v1 import SessionUpdate
from tests.dialect.edges import Pair, bare
from tests.dialect.haven.frames import CONVERSATION, QUESTIONS, legacy
from tests.dialect.haven.reference import SEED, frames_of, listed
from tests.dialect.official import refused

needs_seed = pytest.mark.skipif(
    not SEED.is_file(), reason="the reference itself is not beside the repository"
)

ASKED = [frame["id"] for way, frame, _ in QUESTIONS if "method" in frame]


def legacy_conversation() -> list[tuple[str, Any, Any]]:
    """Without questions, which the older form cannot ask."""
    return [(way, legacy(way, haven), v1) for way, haven, v1 in CONVERSATION if haven.get("id") not in ASKED]


@pytest.mark.parametrize(
    ("dialect", "conversation"), [("haven", CONVERSATION), ("haven-legacy", legacy_conversation())]
)
def test_every_frame_means_the_same_in_v1_and_comes_back_as_it_was(
    dialect: str, conversation: list[tuple[str, Any, Any]], tmp_path: Path
) -> None:
    pair = Pair(dialect)
    spoken: list[tuple[str, Any]] = []
    for way, said, expected in conversation:
        between, heard = pair.carry(way, said)
        assert bare(between) == [expected]
        assert heard == [said]
        spoken += [(way, frame) for frame in between]
    assert refused(spoken, tmp_path, typescript=dialect == "haven") == []  # it would see the same twice
    assert {outcome for outcome, _ in pair.remarks} == {"repaired"}


@needs_seed
def test_every_frame_of_the_reference_itself_does_so_too(tmp_path: Path) -> None:
    pair = Pair("haven")
    spoken: list[tuple[str, Any]] = []
    found = frames_of(SEED.read_text("utf-8"))
    assert len(found) == 5
    for way, said in found:
        between, heard = pair.carry(way, said)
        assert heard == [said]
        spoken += [(way, frame) for frame in between]
    assert [frame.get("method") for _, frame in spoken] == [
        "session/request_permission",
        None,
        "initialize",
        "session/new",
        "session/prompt",
    ]
    assert refused(spoken, tmp_path, typescript=False) == []


@needs_seed
def test_the_words_of_the_reference_are_the_ones_that_we_know() -> None:
    text = SEED.read_text("utf-8")
    assert listed(text, r'sessionUpdate: "(\w+)"') == names.LISTED
    assert listed(text, r"(?m)^- `(\w+)` - ") == names.STOP_REASONS


def test_the_updates_of_v1_are_all_known() -> None:
    kinds: Any = SessionUpdate
    assert {kind.__struct_config__.tag for kind in kinds.__args__} == names.KNOWN

"""Every frame that the guide shows: read, said in v1 as the official SDKs take it, and said again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect.koog import names
from tests.dialect.edges import Pair, bare
from tests.dialect.koog.frames import CONVERSATION, KINDS, STATUSES, STOP_REASONS
from tests.dialect.koog.guide import SEED, frames_of, listed, wrong_and_right
from tests.dialect.official import refused

needs_seed = pytest.mark.skipif(not SEED.is_file(), reason="the guide itself is not beside the repository")


def test_every_frame_means_the_same_in_v1_and_comes_back_as_it_was(tmp_path: Path) -> None:
    pair = Pair("koog")
    spoken: list[tuple[str, Any]] = []
    for way, said, expected in CONVERSATION:
        between, heard = pair.carry(way, said)
        assert bare(between) == expected
        assert heard == [said]
        spoken += [(way, frame) for frame in between]
    assert refused(spoken, tmp_path) == []
    assert pair.remarks == [("repaired", names.TOOLS[0]), ("repaired", names.UNSAID[0])]


@needs_seed
def test_every_frame_of_the_guide_itself_does_so_too(tmp_path: Path) -> None:
    pair = Pair("koog")
    spoken: list[tuple[str, Any]] = []
    found = frames_of(SEED.read_text("utf-8"))
    assert len(found) == 13
    for way, said in found:
        between, heard = pair.carry(way, said)
        assert heard == [said]
        spoken += [(way, frame) for frame in between]
    assert refused(spoken, tmp_path, typescript=False) == []


@needs_seed
def test_the_form_that_the_guide_warns_of_is_read_as_the_one_that_it_wants() -> None:
    notes = [
        {"jsonrpc": "2.0", "method": "session/update", "params": params}
        for params in wrong_and_right(SEED.read_text("utf-8"))
    ]
    wrong, right = (bare(Pair("koog").carry("to_client", note)[0]) for note in notes)
    assert wrong == right != []


@needs_seed
def test_the_words_of_the_guide_are_the_ones_that_we_know() -> None:
    text = SEED.read_text("utf-8")
    assert listed(text, "**Tool Kinds:**") == set(KINDS)
    assert listed(text, "**Tool Call Statuses:**") == set(STATUSES)
    assert listed(text, "## Stop Reasons\n") == set(STOP_REASONS)
    shown = {
        frame["params"]["update"]["sessionUpdate"]
        for _, frame in frames_of(text)
        if "update" in str(frame.get("method"))
    }
    assert shown == names.SHOWN

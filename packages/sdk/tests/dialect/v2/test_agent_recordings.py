"""Whole conversations of v2 agents through the edge: what the client gets is v1, for both official SDKs."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.dialect.v2.agent_play import Play
from tests.interop.judges import Sent, _opened, refused_by_python, refused_by_typescript
from tests.interop.programs import needs_node
from tests.interop.recordings import ELSEWHERE, conversations

HERE = Path(__file__).parent
OURS = [HERE / "heron.ndjson", HERE / "ibis.ndjson"]
THEIRS = sorted((ELSEWHERE / "agents-v2").glob("*.ndjson"))

every_recording = pytest.mark.parametrize("path", [*OURS, *THEIRS], ids=lambda path: path.stem)


def plays(path: Path) -> list[Play]:
    return [Play(conversation) for conversation in conversations(path)]


def sent(play: Play) -> list[Sent]:
    asked: dict[tuple[str, Any], str] = {}
    found = []
    for way, frame in play.said:
        if "method" in frame and "id" in frame:
            asked[way, frame["id"]] = frame["method"]
        if way == "to_client":
            found.append(_opened(frame, way, asked))
    return [item for item in found if item.definition]


@every_recording
def test_what_the_client_gets_is_v1_and_what_the_agent_gets_was_recorded(path: Path) -> None:
    for play in plays(path):
        assert refused_by_python(sent(play)) == []
        assert play.changed == []


@every_recording
def test_each_request_of_the_client_is_answered_once(path: Path) -> None:
    for play in plays(path):
        asked = [
            frame["id"]
            for way, frame in play.said
            if way == "to_agent" and frame.get("method") and "id" in frame
        ]
        told = [frame["id"] for way, frame in play.said if way == "to_client" and "method" not in frame]
        assert Counter(told) == Counter(asked)


@needs_node
@pytest.mark.bound(30)
def test_the_validators_of_the_other_sdk_take_every_frame_as_it_is() -> None:
    values = [item for path in [*OURS, *THEIRS] for play in plays(path) for item in sent(play)]
    assert refused_by_typescript(values) == []
    assert len(values) > (300 if THEIRS else 50)


@pytest.mark.skipif(
    not THEIRS, reason="the recordings of other people's v2 agents are not beside the repository"
)
def test_of_their_conversations_hundreds_of_frames_reach_the_client() -> None:
    assert sum(len(play.said) for path in THEIRS for play in plays(path)) > 300


def test_the_prompts_are_not_told_again_but_a_loaded_conversation_is() -> None:
    (play,) = plays(OURS[0])
    updates = [
        frame["params"]["update"] for way, frame in play.said if frame.get("method") == "session/update"
    ]
    told = [
        update["content"]["text"] for update in updates if update["sessionUpdate"] == "user_message_chunk"
    ]
    assert told == ["What moves?"]


def test_what_was_lost_and_repaired_of_the_herons_conversation_is_known() -> None:
    (play,) = plays(OURS[0])
    assert {entry.what: entry.count for entry in play.ledger.entries} == HERON


HERON = {
    "a config option of a type that v1 does not know": 1,
    "a command of a type that v1 does not know": 2,
    "a plan entry that was cancelled": 1,
    "a kind of tool that v1 does not know": 1,
    "a tool call that is paused, cancelled or in a state of its own": 1,
    "a diff without both texts of its files": 2,
    "icons of a link": 1,
    "that a tool call can be cancelled alone": 1,
    "a title, name, input or output of a tool call cleared": 1,
    "a format of text that v1 does not know": 1,
    "a notice": 1,
    "an update of a kind that v1 does not know": 1,
}


def test_what_was_lost_and_repaired_of_the_ibiss_conversation_is_known() -> None:
    (play,) = plays(OURS[1])
    found = {entry.what: entry.count for entry in play.ledger.entries}
    assert found == {
        "a terminal of the agent": 2,
        "a tool call that is paused, cancelled or in a state of its own": 1,
        "content of a type that v1 does not know": 1,
    }

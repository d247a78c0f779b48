"""Every frame of crow's document: read, put into v1, taken by the official models, and said again in crow."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.dialect.crow.frames import FRAMES, Frame, update
from tests.dialect.crow.stage import Side, crow_agent, crow_client, judged
from tests.interop.judges import Sent, refused_by_python, refused_by_typescript
from tests.interop.programs import needs_node
from tests.interop.recordings import ELSEWHERE

DOCUMENTS = sorted((ELSEWHERE.parent / "seeds").glob("000_*.txt"))
CLIENTS = ("initialize", "session/new", "session/prompt", "session/load", "cancel")


class Walk:
    """One frame after the other, each through both edges: crow, v1, crow."""

    def __init__(self) -> None:
        self.requests: dict[Any, Frame] = {}
        self.v1: list[Sent] = []
        self.walked = 0

    def carry(self, frame: Frame) -> None:
        frame = update(frame) if "@type" in frame else frame
        client, agent = crow_client(), crow_agent()
        if frame.get("method") in CLIENTS:
            self.requests[frame["id"]] = frame
            back = self.asked(client, agent, frame)
        else:
            if "id" in frame:  # the edges must know what it answers
                self.asked(client, agent, self.requests[frame["id"]])
            back = self.answered(client, agent, frame)
        assert back == frame
        assert client.ledger.entries == agent.ledger.entries == []
        self.walked += 1

    def asked(self, client: Side, agent: Side, frame: Frame) -> Frame:
        outs = client.hear(frame)
        (canonical,) = [said for toward, said in outs if toward == "inside"]
        self.v1.append(judged(canonical))
        ((_, back),) = agent.take(canonical)
        if frame["method"] == "cancel":  # a request only in crow: answered at once, asked again under an id
            assert ("peer", {"jsonrpc": "2.0", "id": frame["id"], "result": {}}) in outs
            assert "id" not in canonical
            return {**back, "id": frame["id"]}
        return back

    def answered(self, client: Side, agent: Side, frame: Frame) -> Frame:
        ((_, canonical),) = agent.hear(frame)
        asked = self.requests.get(frame.get("id"), {}).get("method", "")
        self.v1.append(judged(canonical, asked))
        ((_, back),) = client.take(canonical)
        return back


def walked(frames: list[Frame]) -> Walk:
    walk = Walk()
    for frame in frames:
        walk.carry(frame)
    return walk


def documented() -> list[Frame]:
    """The frames of the document itself; what it leaves out of one with dots is left out."""
    text = "".join(path.read_text("utf-8") for path in DOCUMENTS)
    return [
        json.loads(block.replace("[...]", "[]")) for block in re.findall(r"```json\n(.*?)```", text, re.S)
    ]


def test_every_frame_comes_back_from_v1_as_it_was() -> None:
    assert walked(FRAMES).walked == len(FRAMES) == 17


def test_the_official_models_take_every_frame() -> None:
    values = walked(FRAMES).v1
    assert len(values) > 17
    assert refused_by_python(values) == []


@needs_node
def test_the_official_validators_take_every_frame_whole() -> None:
    assert refused_by_typescript(walked(FRAMES).v1) == []


@pytest.mark.skipif(not DOCUMENTS, reason="needs the document of crow beside the repository")
def test_the_document_itself_says_nothing_that_is_not_carried() -> None:
    walk = walked(documented())
    assert walk.walked == len(FRAMES)
    assert refused_by_python(walk.v1) == []


@pytest.mark.skipif(not DOCUMENTS, reason="needs the document of crow beside the repository")
def test_our_frames_have_the_shapes_of_the_documents() -> None:
    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: shape(inner) for name, inner in value.items()}
        return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__

    ours, theirs = [{**frame} for frame in FRAMES], documented()
    for frame in (*ours, *theirs):
        if "error" in frame:
            frame["error"] = {**frame["error"], "data": {"errors": []}}
    assert [shape(frame) for frame in ours] == [shape(frame) for frame in theirs]

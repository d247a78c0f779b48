"""Every example of the overview: read, said in v1 as the official SDKs take it, and said again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.dialect import EdgeSettings
from dragoman.dialect.originals import KEY
from tests.dialect.acpex.frames import EXAMPLES, SEED, Frame, Spoken, conversation, examples_of
from tests.dialect.edges import Pair, bare
from tests.dialect.official import refused

needs_seed = pytest.mark.skipif(not SEED.is_file(), reason="the overview itself is not beside the repository")


def carried(examples: list[Frame], dialect: str = "acpex") -> list[tuple[str, Frame, list[Any], list[Any]]]:
    """Each frame with where it goes, what it was in v1, and what the other side heard."""
    pair = Pair(dialect, EdgeSettings(credentials=True))
    return [(way, said, *pair.carry(way, said)) for way, said in conversation(examples)]


def v1_of(story: list[tuple[str, Frame, list[Any], list[Any]]]) -> list[Spoken]:
    return [(way, frame) for way, _, between, _ in story for frame in between]


def same_arguments(frame: Any) -> Any:
    """The frame with a tool's arguments parsed: how the JSON in the string was spaced means nothing."""
    copy = json.loads(json.dumps(frame))
    function = copy.get("params", {}).get("update", {}).get("content", {})
    if isinstance(function, dict) and "function" in function:
        function["function"]["arguments"] = json.loads(function["function"]["arguments"])
    return copy


def without_content(frame: Frame) -> Frame:
    return {**frame, "result": {**frame["result"], "content": []}}


def assert_comes_back(story: list[tuple[str, Frame, list[Any], list[Any]]]) -> None:
    for _, said, _, heard in story:
        if "content" in said.get("result", {}):  # what was not streamed is, and nothing is said twice
            assert heard[-1] == without_content(said)
            chunks = [frame["params"]["update"]["content"]["content"][0] for frame in heard[:-1]]
            assert chunks == said["result"]["content"]
        else:
            assert [same_arguments(frame) for frame in heard] == [same_arguments(said)]


def test_every_example_is_taken_by_the_official_models(tmp_path: Path) -> None:
    story = carried(EXAMPLES)
    assert len(EXAMPLES) == 29
    assert all(between for _, _, between, _ in story)
    assert refused(v1_of(story), tmp_path) == []


def test_every_example_comes_back_as_it_was() -> None:
    assert_comes_back(carried(EXAMPLES))


@needs_seed
def test_the_overview_has_the_examples_that_ours_are_made_after() -> None:
    theirs = examples_of(SEED.read_text("utf-8"))
    assert [shape(one) for one in theirs] == [shape(one) for one in EXAMPLES]


@needs_seed
def test_every_example_of_the_overview_itself_does_the_same(tmp_path: Path) -> None:
    story = carried(examples_of(SEED.read_text("utf-8")))
    assert refused(v1_of(story), tmp_path, typescript=False) == []
    assert_comes_back(story)


def test_what_was_converted_means_the_same_in_v1() -> None:
    found = [bare(frame) for _, _, between, _ in carried(EXAMPLES) for frame in between]
    updates = [frame["params"]["update"] for frame in found if frame.get("method") == "session/update"]
    assert updates[:4] == [
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "Hoo"}},
        {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": "First the nest."}},
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "The nest is built of "},
        },
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "The nest stands."}},
    ]
    assert updates[-3:] == [
        {
            "sessionUpdate": "tool_call",
            "toolCallId": "hoot-1",
            "title": "open_nest",
            "name": "open_nest",
            "rawInput": {"twig": "/lib/nest.ex"},
        },
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": "hoot-1",
            "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "defmodule Nest"}}],
            "rawOutput": "defmodule Nest",
        },
        {
            "sessionUpdate": "plan",
            "entries": [
                {"content": "1. Look around", "priority": "medium", "status": "pending"},
                {"content": "2. Fetch twigs", "priority": "medium", "status": "pending"},
            ],
        },
    ]
    prompts = [frame["params"]["prompt"] for frame in found if frame.get("method") == "session/prompt"]
    assert prompts == [
        [
            {"type": "text", "text": "Build a nest"},
            {
                "type": "resource_link",
                "uri": "file:///lib/nest.ex",
                "mimeType": "text/x-elixir",
                "name": "nest.ex",
            },
        ],
        [{"type": "text", "text": "Good morning"}],
        [{"type": "image", "mimeType": "image/webp", "data": "aW1n"}],
        [{"type": "audio", "mimeType": "audio/ogg", "data": "c25k"}],
        [
            {
                "type": "resource",
                "resource": {"uri": "file:///lib/owl.ex", "mimeType": "text/plain", "text": "hoot"},
            }
        ],
        [{"type": "resource_link", "uri": "file:///lib/barn.ex", "name": "barn.ex"}],
    ]
    assert [frame["error"]["code"] for frame in found if "error" in frame] == [-32000, -32000, -32002]
    assert [frame["result"]["stopReason"] for frame in found if "stopReason" in str(frame)] == ["end_turn"]


def test_no_secret_is_kept_in_an_original() -> None:
    for _, _, between, _ in carried(EXAMPLES):
        for frame in between:
            assert "owl-secret" not in json.dumps(originals(frame))


@pytest.mark.parametrize("dialect", ["acpex", "acpex-wire"])
def test_either_dialect_reads_the_examples(dialect: str, tmp_path: Path) -> None:
    assert refused(v1_of(carried(EXAMPLES, dialect)), tmp_path, typescript=False) == []


def originals(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [found for inner in value for found in originals(inner)]
    if not isinstance(value, dict):
        return []
    here = [value[KEY]] if KEY in value else []
    return here + [found for inner in value.values() for found in originals(inner)]


def shape(value: Any) -> Any:
    """The names in a value, without what they hold; lists by what is in them."""
    if isinstance(value, dict):
        return {name: shape(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [shape(inner) for inner in value][:2]
    return type(value).__name__

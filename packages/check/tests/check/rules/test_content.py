"""CONT: content blocks."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import agent
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing, update
from tests.every import every

TEXT = {"type": "text", "text": "hi"}
IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
AUDIO = {**IMAGE, "type": "audio"}
LINK = {"type": "resource_link", "uri": "file:///a", "name": "a"}
RESOURCE = {"type": "resource", "resource": {"uri": "file:///a", "text": "hi"}}


def chunk(block: Any) -> Talk:
    return Talk().new().add(update("s", "agent_message_chunk", content=block))


def tool(block: Any) -> Talk:
    content = [{"type": "content", "content": block}]
    return Talk().new().add(update("s", "tool_call", toolCallId="t", title="x", content=content))


def asked(block: Any) -> Talk:
    call = {"toolCallId": "t", "content": [{"type": "content", "content": block}]}
    return Talk().add(agent("session/request_permission", {"sessionId": "s", "toolCall": call}, id=1))


WRONG: list[tuple[str, Any]] = [
    ("CONT-01", {"type": "smell"}),
    ("CONT-01", {"text": "hi"}),
    ("CONT-01", "hi"),
    ("CONT-02", {"type": "text"}),
    ("CONT-02", {"type": "text", "text": 5}),
    ("CONT-04", {**IMAGE, "data": "not base64!"}),
    ("CONT-04", {"type": "audio", "data": "aGk="}),
    ("CONT-05", {"type": "resource_link", "uri": "file:///a"}),
    ("CONT-05", {**LINK, "size": "big"}),
    ("CONT-06", {"type": "resource", "uri": "file:///a"}),
    ("CONT-06", {"type": "resource", "resource": {"uri": "file:///a"}}),
    ("CONT-06", {"type": "resource", "resource": {"uri": "file:///a", "blob": "?"}}),
    ("CONT-10", {**TEXT, "annotations": 5}),
    ("CONT-10", {**TEXT, "annotations": {"audience": ["nobody"]}}),
    ("CONT-10", {**TEXT, "annotations": {"priority": "high"}}),
]
RIGHT: list[tuple[str, Any]] = [
    ("CONT-01", TEXT),
    ("CONT-02", TEXT),
    ("CONT-04", IMAGE),
    ("CONT-04", AUDIO),
    ("CONT-05", LINK),
    ("CONT-05", {**LINK, "size": 5, "title": None}),
    ("CONT-06", RESOURCE),
    ("CONT-10", {**TEXT, "annotations": {"audience": ["user"], "priority": 1}}),
]


@every(("requirement", "block"), RIGHT)
def test_a_right_block_is_right_everywhere(requirement: str, block: Any) -> None:
    for talk in (chunk(block), tool(block), asked(block)):
        keeps(requirement, talk)
    keeps(requirement, Talk().new().prompt("s", block), "client")


@every(("requirement", "block"), WRONG)
def test_a_wrong_block_is_wrong_everywhere(requirement: str, block: Any) -> None:
    for talk in (chunk(block), tool(block), asked(block)):
        breaks(requirement, talk)
    prompt = {"sessionId": "s", "prompt": [block]}
    breaks(requirement, Talk().new().call("session/prompt", prompt, code=-32602), "client")


def test_cont_01_a_kind_of_ones_own_is_not_judged() -> None:
    says_nothing("CONT-01", chunk({"type": "_mine"}))


@pytest.mark.parametrize(
    ("block", "name"), [(IMAGE, "image"), (AUDIO, "audio"), (RESOURCE, "embeddedContext")]
)
def test_cont_07_prompts_hold_what_the_agent_takes(block: Any, name: str) -> None:
    keeps("CONT-07", Talk({"promptCapabilities": {name: True}}).new().prompt("s", block), "client")
    breaks("CONT-07", Talk({}).new().prompt("s", block), "client")
    breaks("CONT-07", Talk({"promptCapabilities": {name: False}}).new().prompt("s", block), "client")
    says_nothing("CONT-07", Talk({}).new().prompt("s", TEXT), "client")


def test_cont_10_broken_annotations_do_no_harm() -> None:
    broken = {**TEXT, "annotations": {"audience": 5}}
    keeps("CONT-10", Talk().new().prompt("s", broken))
    breaks("CONT-10", Talk().new().prompt("s", broken, code=-32602))
    says_nothing("CONT-10", Talk().new().prompt("s", "hi", says("s", "hi")))

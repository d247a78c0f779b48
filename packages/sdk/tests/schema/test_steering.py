"""How an agent is steered, by what it says of itself; what is said to it; what its answer means."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from dragoman.schema import v1
from dragoman.schema.codec import strict_reader
from dragoman.schema.steering import (
    SteeringWay,
    announced_steering,
    read_steer_answer,
    restart_prompt,
    steer_call,
    steering_way,
)
from tests.every import every

BLOCK = Raw(b'{"type":"text","text":"left"}')


@every(
    ("introduction", "way"),
    [
        ({"_meta": {"steering": {"supported": True}}}, "steering"),
        ({"_meta": announced_steering()}, "steering"),
        ({"agentCapabilities": {"session": {"inject": {"modes": ["queue", "steer"]}}}}, "inject"),
        ({"agentCapabilities": {"sessionCapabilities": {"inject": {"modes": ["steer"]}}}}, "inject"),
        ({"agentCapabilities": {"session": {"inject": {"modes": ["queue"]}}}}, "restart"),
        ({"_meta": {"steering": {"supported": "yes"}}}, "restart"),
        ({"_meta": {"steering": True}, "agentCapabilities": []}, "restart"),
        ({}, "restart"),
    ],
)
def test_an_agent_is_steered_as_it_says(introduction: dict[str, Any], way: SteeringWay) -> None:
    assert steering_way(introduction) == way


def test_what_is_sent_has_the_shape_of_a_prompt() -> None:
    method, params = steer_call("steering", "s1", [BLOCK])
    assert method == "_session/steering"
    request = strict_reader(v1.PromptRequest)(params)
    assert [block.text for block in request.prompt] == ["left"]
    assert msgspec.json.decode(params)["_meta"] == {"steering": {"idleBehavior": "promptRequired"}}
    method, params = steer_call("inject", "s1", [BLOCK])
    text = {"type": "text", "text": "left"}
    assert (method, msgspec.json.decode(params)) == (
        "session/inject",
        {"sessionId": "s1", "mode": "steer", "content": [text]},
    )


@every(
    ("result", "answer"),
    [
        ({"outcome": "injected"}, "delivered"),
        ({"outcome": "startedNewTurn"}, "queued"),
        ({"outcome": "promptRequired", "reason": "noRunningTurn"}, "refused"),
        ({"outcome": "failed"}, "refused"),
        ({"outcome": ["injected"]}, "refused"),
        ({}, "refused"),
        (None, "refused"),
    ],
)
def test_only_an_agent_that_says_so_has_the_message(result: object, answer: str) -> None:
    assert read_steer_answer("steering", result, is_turn_open=True) == answer
    assert read_steer_answer("inject", result, is_turn_open=True) == "refused"


def test_an_injected_message_is_in_the_turn_only_while_that_runs() -> None:
    assert read_steer_answer("inject", {"messageId": "m1"}, is_turn_open=True) == "delivered"
    assert read_steer_answer("inject", {"messageId": "m1"}, is_turn_open=False) == "queued"


@every(
    ("first", "texts"),
    [
        ("Review src", ["Review src", "--", "left", "--", "slowly"]),
        ("/tmp/a is wrong", ["/tmp/a is wrong", "--", "left", "--", "slowly"]),
        ("/review src", ["left", "--", "slowly"]),
        ("/review", ["left", "--", "slowly"]),
    ],
)
def test_a_turn_begins_again_with_its_prompt_and_a_command_never_gets_a_message_as_its_argument(
    first: str, texts: list[str]
) -> None:
    prompt, *messages = [[v1.TextContent(text=text)] for text in (first, "left", "slowly")]
    blocks = restart_prompt(prompt, messages, v1.TextContent(text="--"))
    assert [block.text for block in blocks] == texts

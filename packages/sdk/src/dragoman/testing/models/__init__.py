"""Scripted models for tests of agents: a local HTTP server with fixed answers, in three vendors' formats.

    async with scripted_model([turn(call("read", path="a.py")), turn("It is empty.")]) as model:
        ...  # an agent with the base URL model.openai_url or model.anthropic_url
    assert model.requests[1].messages[-1].results[0].text == ""

docs/testing-models.md shows the rest.
"""

from dragoman.testing.models.requests import (
    Image,
    ModelMessage,
    ModelRequest,
    ToolDefinition,
    ToolResult,
    ToolUse,
)
from dragoman.testing.models.script import ModelScript
from dragoman.testing.models.server import NoTurnLeft, ScriptedModel, scripted_model
from dragoman.testing.models.turns import (
    ModelTurn,
    TokenUsage,
    begin,
    call,
    cut,
    endless,
    fail,
    garbage,
    hold,
    huge,
    refuse,
    say,
    think,
    turn,
    wait,
)

__all__ = [
    "Image",
    "ModelMessage",
    "ModelRequest",
    "ModelScript",
    "ModelTurn",
    "NoTurnLeft",
    "ScriptedModel",
    "TokenUsage",
    "ToolDefinition",
    "ToolResult",
    "ToolUse",
    "begin",
    "call",
    "cut",
    "endless",
    "fail",
    "garbage",
    "hold",
    "huge",
    "refuse",
    "say",
    "scripted_model",
    "think",
    "turn",
    "wait",
]

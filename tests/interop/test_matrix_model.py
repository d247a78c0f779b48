"""What the scripted model says to agents whose tools it has never seen."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.testing.models import ModelRequest, ToolDefinition
from dragoman.testing.models.turns import CallStep, HoldStep, TextStep
from tests.interop.matrix.model import (
    WORD,
    WRITTEN,
    answer,
    is_of_subagent,
    mark,
    shell_call,
    starter_call,
    write_call,
)


def tool(name: str, required: tuple[str, ...] = (), **properties: Any) -> ToolDefinition:
    return ToolDefinition(name, "", {"properties": properties, "required": list(required)})


def tools(*definitions: ToolDefinition) -> dict[str, ToolDefinition]:
    return {definition.name: definition for definition in definitions}


TEXT = {"type": "string"}


def test_a_file_is_written_with_the_tool_for_files_whatever_it_is_called() -> None:
    write = tool("WriteFile", ("path", "mode"), path=TEXT, content=TEXT, mode={"enum": ["overwrite"]})
    call = write_call(tools(tool("Bash", command=TEXT), write), "/a", "text")
    assert call == CallStep("WriteFile", {"path": "/a", "content": "text", "mode": "overwrite"})


@pytest.mark.parametrize(
    "schema", [{"anyOf": [{"type": "number"}, {"type": "null"}]}, {"type": ["string", "null"]}]
)
def test_a_parameter_that_is_required_and_may_be_null_is_null(schema: dict[str, Any]) -> None:
    call = shell_call(tools(tool("run_command", ("command", "timeout"), command=TEXT, timeout=schema)), "ls")
    assert call == CallStep("run_command", {"command": "ls", "timeout": None})


def test_a_file_that_is_written_may_be_new() -> None:
    flag = {"type": "boolean"}
    edit = tool("edit_file", ("path", "content", "create"), path=TEXT, content=TEXT, create=flag)
    call = write_call(tools(edit), "/a", "text")
    assert call == CallStep("edit_file", {"path": "/a", "content": "text", "create": True})


def test_a_tool_of_an_mcp_server_is_known_by_its_own_name() -> None:
    call = write_call(tools(tool("mcp__acp__Write", file_path=TEXT, content=TEXT)), "/a", "text")
    assert call == CallStep("mcp__acp__Write", {"file_path": "/a", "content": "text"})


def test_an_agent_is_started_with_the_tool_for_that_and_asks_for_the_word() -> None:
    task = tool("Task", ("prompt", "description"), prompt=TEXT, description=TEXT, subagent_type=TEXT)
    call = starter_call(tools(tool("Bash", command=TEXT), task))
    assert call is not None
    assert isinstance(call.arguments, dict)
    assert call.arguments["prompt"] == mark("say")
    assert call.arguments["subagent_type"] == "general-purpose"
    described = ToolDefinition("task", "- general: for everything", task.parameters)
    known = starter_call({"task": described})
    assert known is not None
    assert isinstance(known.arguments, dict)
    assert known.arguments["subagent_type"] == "general"
    assert starter_call(tools(tool("Bash", command=TEXT))) is None
    assert is_of_subagent(request(user(mark("say"))))
    assert not is_of_subagent(request(user(mark("delegate"))))


def test_without_a_tool_for_files_the_shell_writes() -> None:
    call = write_call(tools(tool("exec_command", cmd=TEXT, sandbox_permissions=TEXT)), "/a b", "it's")
    assert call is not None
    assert call.arguments == {
        "cmd": "printf %s 'it'\"'\"'s' > '/a b'",
        "sandbox_permissions": "require_escalated",
    }


def test_a_command_that_is_a_list_of_words_is_given_to_a_shell() -> None:
    call = shell_call(tools(tool("shell", command={"type": "array"})), "ls")
    assert call == CallStep("shell", {"command": ["bash", "-lc", "ls"]})
    assert shell_call(tools(tool("read", path=TEXT)), "ls") is None


def request(*messages: dict[str, Any], has_tools: bool = True) -> ModelRequest:
    schema = {"properties": {"file_path": TEXT, "content": TEXT}}
    offered = [{"name": "Write", "input_schema": schema}] if has_tools else []
    return ModelRequest("messages", "/v1/messages", {}, {"messages": list(messages), "tools": offered})


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def test_the_last_mark_decides_and_what_follows_its_call_is_done() -> None:
    asking = [user(mark("say")), user(mark("write", "/a"))]
    (call,) = answer(request(*asking)).steps
    assert call == CallStep("Write", {"file_path": "/a", "content": WRITTEN})
    use = {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "Write", "input": {}}]}
    assert answer(request(*asking, use)).steps == (TextStep(("Done.",)),)


def test_a_request_on_the_side_gets_a_word_and_no_call() -> None:
    assert answer(request(user(mark("write", "/a")), has_tools=False)).steps == (TextStep(("ok",)),)
    assert answer(request(user(mark("hold", "x")), has_tools=False)).steps == (TextStep(("ok",)),)
    assert answer(request(user("A title, please."))).steps == (TextStep(("ok",)),)


def test_an_agent_with_a_tool_for_the_end_of_its_turn_gets_the_text_as_a_call_of_it() -> None:
    schema = {"properties": {"result": TEXT, "command": TEXT}, "required": ["result"]}
    offered = [{"name": "attempt_completion", "input_schema": schema}]
    body = {"messages": [user(mark("say"))], "tools": offered}
    (call,) = answer(ModelRequest("messages", "/v1/messages", {}, body)).steps
    assert call == CallStep("attempt_completion", {"result": f"The word is {WORD}."})


def test_a_held_turn_stands_still_and_a_spoken_one_has_the_word() -> None:
    assert HoldStep("x") in answer(request(user(mark("hold", "x")))).steps
    assert WORD in str(answer(request(user(mark("say")))).steps)

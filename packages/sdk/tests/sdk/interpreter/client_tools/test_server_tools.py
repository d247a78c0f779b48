"""What a tool asks of the client, and what the agent gets to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dragoman.errors import ErrorAnswer
from dragoman.sdk.interpreter.client_tools.server import TOOLS, description, missing


class Client:
    """Answers by method and remembers what it was asked."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {name.replace("_", "/", 1): answer for name, answer in answers.items()}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.asked.append((method, params))
        answer = self.answers.get(method, {})
        if isinstance(answer, Exception):
            raise answer
        return answer() if isinstance(answer, Callable) else answer  # type: ignore[arg-type]


async def test_a_file_is_read_as_the_client_has_it() -> None:
    client = Client(fs_read_text_file={"content": "two\n"})
    arguments = {"path": "/pond/a", "line": 2, "limit": True, "colour": "red"}
    assert await TOOLS["read_text_file"](arguments, client.ask) == "two\n"
    assert client.asked == [("fs/read_text_file", {"path": "/pond/a", "line": 2})]


async def test_a_file_is_written_by_the_client() -> None:
    client = Client(fs_write_text_file=None)
    told = await TOOLS["write_text_file"]({"path": "/pond/a", "content": "x"}, client.ask)
    assert client.asked == [("fs/write_text_file", {"path": "/pond/a", "content": "x"})]
    assert told == "Wrote /pond/a"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ({"output": "fish\n", "exitStatus": {"exitCode": 0}}, "fish\n[exit code 0]"),
        (
            {"output": "fish", "truncated": True, "exitStatus": {"exitCode": 2}},
            "[the beginning is left out]\nfish\n[exit code 2]",
        ),
        ({"output": "", "exitStatus": {"exitCode": None, "signal": "SIGKILL"}}, "[ended by signal SIGKILL]"),
    ],
)
async def test_a_command_is_run_to_its_end_and_its_terminal_released(
    output: dict[str, Any], told: str
) -> None:
    client = Client(terminal_create={"terminalId": "t"}, terminal_output=output)
    arguments = {"command": "ls", "args": ["-l", 5], "env": {"A": "1", "B": 2}, "cwd": "/pond"}
    assert await TOOLS["run_command"](arguments, client.ask) == told
    created = {"command": "ls", "args": ["-l"], "env": [{"name": "A", "value": "1"}], "cwd": "/pond"}
    assert client.asked[0] == ("terminal/create", {**created, "outputByteLimit": 256 * 1024})
    ids = {"terminalId": "t"}
    assert client.asked[1:] == [
        ("terminal/wait_for_exit", ids),
        ("terminal/output", ids),
        ("terminal/release", ids),
    ]


async def test_a_terminal_is_released_also_when_the_command_is_not_waited_for() -> None:
    client = Client(terminal_create={"terminalId": "t"}, terminal_wait_for_exit=ErrorAnswer(-32603, "gone"))
    with pytest.raises(ErrorAnswer):
        await TOOLS["run_command"]({"command": "ls"}, client.ask)
    assert client.asked[-1] == ("terminal/release", {"terminalId": "t"})


@pytest.mark.parametrize("name", TOOLS)
def test_every_tool_says_what_it_needs(name: str) -> None:
    schema = description(name)["inputSchema"]
    assert set(schema["required"]) <= set(schema["properties"])
    assert missing(name, {}) == schema["required"][0]
    assert missing(name, dict.fromkeys(schema["required"], "x")) == ""

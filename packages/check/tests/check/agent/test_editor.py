from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from dragoman_check.agent.editor import ASK, REFUSALS, Editor
from dragoman_check.recording import Frame

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]


def request(method: str, **params: Any) -> Frame:
    raw = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return Frame(1, "to_client", 0.0, raw)


def never(frame: Frame, answer: dict[str, Any]) -> None:
    raise AssertionError("the answer came already")


def ask(editor: Editor, method: str, **params: Any) -> Any:
    return editor.answer(request(method, **params), never)


def test_permission_is_given_by_the_option_of_the_wanted_kind(tmp_path: Path) -> None:
    found = ask(Editor(tmp_path), ASK, options=OPTIONS)
    assert found == {"result": {"outcome": {"outcome": "selected", "optionId": "y"}}}


@pytest.mark.parametrize("choice", REFUSALS)
def test_no_refusal_selects_an_allowing_option(tmp_path: Path, choice: str) -> None:
    editor = Editor(tmp_path)
    editor.choice = choice
    assert '"y"' not in msgspec.json.encode(ask(editor, ASK, options=OPTIONS)).decode()


def test_without_a_fitting_option_the_question_is_cancelled(tmp_path: Path) -> None:
    for options in (OPTIONS[1:], [], None, "nonsense", [7]):
        found = ask(Editor(tmp_path), ASK, options=options)
        assert found == {"result": {"outcome": {"outcome": "cancelled"}}}


def test_unsaved_text_stands_above_the_file_until_it_is_written(tmp_path: Path) -> None:
    editor, path = Editor(tmp_path), str(tmp_path / "a.txt")
    Path(path).write_text("saved\n")
    editor.unsaved_texts[path] = "one\ntwo\nthree\n"
    assert ask(editor, "fs/read_text_file", path=path, line=2, limit=1) == {"result": {"content": "two\n"}}
    assert ask(editor, "fs/write_text_file", path=path, content="new\n") == {"result": {}}
    assert ask(editor, "fs/read_text_file", path=path) == {"result": {"content": "new\n"}}
    assert Path(path).read_text() == "new\n"


@pytest.mark.parametrize("path", ["/etc/hostname", "a.txt", "../x", "", None])
def test_files_outside_of_the_lent_folder_are_not_there(tmp_path: Path, path: Any) -> None:
    editor = Editor(tmp_path)
    for method in ("fs/read_text_file", "fs/write_text_file"):
        assert ask(editor, method, path=path, content="x")["error"]["code"] == -32002


def test_a_form_is_filled_with_values_that_fit(tmp_path: Path) -> None:
    fields = {
        "name": {"type": "string", "minLength": 3},
        "age": {"type": "integer", "minimum": 18},
        "sure": {"type": "boolean"},
        "color": {"type": "string", "enum": ["red", "blue"]},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
        "given": {"type": "string", "default": "d"},
    }
    found = ask(Editor(tmp_path), "elicitation/create", mode="form", requestedSchema={"properties": fields})
    content = {"name": "xxx", "age": 18, "sure": True, "color": "red", "size": "s", "given": "d"}
    assert found == {"result": {"action": "accept", "content": content}}


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_form_can_be_declined(tmp_path: Path, action: str) -> None:
    editor = Editor(tmp_path)
    editor.form = action
    assert ask(editor, "elicitation/create", mode="form") == {"result": {"action": action}}


def test_what_is_held_is_answered_when_it_is_released(tmp_path: Path) -> None:
    editor, answered = Editor(tmp_path), []
    editor.holding = frozenset({ASK})
    assert ask(editor, ASK, sessionId="s", options=OPTIONS) is None
    editor.release(lambda frame, answer: answered.append(answer), "another")
    assert answered == []
    editor.release(lambda frame, answer: answered.append(answer), "s")
    assert len(answered) == 1
    assert editor.held_requests == []


def test_a_method_that_no_client_has_is_not_found(tmp_path: Path) -> None:
    assert ask(Editor(tmp_path), "nope")["error"]["code"] == -32601


async def test_a_command_of_a_terminal_really_runs(tmp_path: Path) -> None:
    editor, ended = Editor(tmp_path), []
    made = ask(editor, "terminal/create", command="pwd && printf 123456 && exit 3", outputByteLimit=4)
    name = made["result"]["terminalId"]
    assert ask(editor, "terminal/output", terminalId="other")["error"]["code"] == -32002
    editor.answer(request("terminal/wait_for_exit", terminalId=name), lambda _, answer: ended.append(answer))
    terminal = editor.terminals[name]
    await terminal.wait()
    assert ended == [{"result": {"exitCode": 3, "signal": None}}]
    output = ask(editor, "terminal/output", terminalId=name)["result"]
    assert output == {"output": "3456", "truncated": True, "exitStatus": ended[0]["result"]}
    assert ask(editor, "terminal/release", terminalId=name) == {"result": {}}
    assert editor.terminals == {}
    await editor.aclose()


async def test_a_terminal_can_be_killed_and_its_arguments_are_no_shell_line(tmp_path: Path) -> None:
    editor = Editor(tmp_path)
    made = ask(editor, "terminal/create", command="sleep", args=["100"])
    name = made["result"]["terminalId"]
    assert ask(editor, "terminal/kill", terminalId=name) == {"result": {}}
    await editor.terminals[name].wait()
    assert ask(editor, "terminal/output", terminalId=name)["result"]["exitStatus"]["signal"] == "SIGKILL"
    await editor.aclose()


async def test_a_command_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    made = ask(Editor(tmp_path), "terminal/create", command="no-such-command", args=["x"])
    assert made["error"]["code"] == -32603

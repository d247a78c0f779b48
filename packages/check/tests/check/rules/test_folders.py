"""SES: folders."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_check.values import ends_with, is_absolute, is_same, is_under
from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.every import every

LENDS = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}


def read(path: str, session: str = "s", id: int = 900) -> tuple[Any, Any]:
    """The agent reads a file, and gets it."""
    asked = agent("fs/read_text_file", {"sessionId": session, "path": path}, id=id)
    return asked, client(id=id, result={"content": ""})


def allow() -> tuple[Any, Any]:
    asked = agent("session/request_permission", {"sessionId": "s", "toolCall": {}, "options": []}, id=800)
    return asked, client(id=800, result={"outcome": {"outcome": "selected", "optionId": "yes"}})


@pytest.mark.parametrize("requirement", ["SES-05", "SES-06", "SES-07"])
def test_relative_names_in_a_prompt_are_looked_for_in_the_folder(requirement: str) -> None:
    keeps(requirement, Talk(wants=LENDS).new("s").prompt("s", "look at app.py", *read("/w/app.py")))
    breaks(requirement, Talk(wants=LENDS).new("s").prompt("s", "look at app.py", *read("/home/app.py")))
    says_nothing(requirement, Talk().new("s").prompt("s", "look at app.py", *read("/w/sub/app.py")))
    says_nothing(requirement, Talk().new("s").prompt("s", "look at /x/app.py", *read("/x/app.py")))


def test_a_folder_may_be_a_link_to_another() -> None:
    linked = Talk().new("s", "/home/link/work").prompt("s", "see app.py", *read("/data/work/app.py"))
    keeps("SES-06", linked)


def test_ses_05_commands_run_in_the_folder() -> None:
    def ran(printed: str) -> Talk:
        output = agent("terminal/output", {"sessionId": "s", "terminalId": "t"}, id=5)
        answer = client(id=5, result={"output": printed, "truncated": False})
        return Talk().new("s").prompt("s", "run pwd", output, answer).mark("run", last=4)

    keeps("SES-05", ran("/w\n"))
    breaks("SES-05", ran("/somewhere\n"))
    says_nothing("SES-05", ran("hello"))


def test_ses_07_a_file_in_the_folder_can_be_used() -> None:
    def used(status: str, path: str = "/w/app.py") -> Talk:
        places = [{"path": path}]
        call = update("s", "tool_call", toolCallId="c", title="x", locations=places)
        end = update("s", "tool_call_update", toolCallId="c", status=status)
        return Talk(wants=LENDS).new("s").prompt("s", "Read /w/app.py.", call, end).mark("read", last=4)

    keeps("SES-07", used("completed"))
    breaks("SES-07", used("failed"))
    says_nothing("SES-07", used("failed", "/w/README.md"))  # a model may look for what is not there


def test_ses_08_files_outside_are_asked_for_first() -> None:
    keeps("SES-08", Talk().new("s").prompt("s", *read("/w/sub/../a")))
    breaks("SES-08", Talk().new("s").prompt("s", *read("/etc/passwd")))
    breaks("SES-08", Talk().new("s").prompt("s", *read("/w/../etc/passwd")))
    says_nothing("SES-08", Talk().new("s").prompt("s", *allow(), *read("/etc/passwd")))
    link = {"type": "resource_link", "uri": "file:///etc/passwd", "name": "p"}
    says_nothing("SES-08", Talk().new("s").prompt("s", link, *read("/etc/passwd")))
    keeps("SES-08", Talk().new("s", additionalDirectories=["/etc"]).prompt("s", *read("/etc/passwd")))


def worked(path: str, status: str, *frames: Any, kind: str = "read") -> tuple[Any, ...]:
    """A tool call at a place, and its end."""
    begun = update("s", "tool_call", toolCallId="c", title="x", kind=kind, locations=[{"path": path}])
    return (*frames, begun, update("s", "tool_call_update", toolCallId="c", status=status))


def test_ses_08_tools_do_not_work_outside_unasked() -> None:
    breaks("SES-08", Talk().new("s").prompt("s", *worked("/etc/x", "completed", kind="edit")))
    keeps("SES-08", Talk().new("s").prompt("s", *worked("/etc/x", "failed", kind="edit")))
    keeps("SES-08", Talk().new("s").prompt("s", *worked("/etc/x", "completed", *allow(), kind="edit")))
    says_nothing("SES-08", Talk().new("s").prompt("s", *worked("/etc/x", "completed")))
    breaks("SES-08", Talk().new("s").prompt("s", *worked("/etc/x", "completed")).mark("stray", last=4))


def test_ses_08_what_the_client_refuses_was_not_touched() -> None:
    asked, _ = read("/etc/passwd")
    refused = client(id=900, error={"code": -32602, "message": "No."})
    says_nothing("SES-08", Talk().new("s").prompt("s", asked, refused))


def test_ses_18_sessions_stay_in_their_folders() -> None:
    both = Talk().new("s", "/w").new("t", "/v")
    keeps("SES-18", both.prompt("s", *read("/w/a")))
    breaks("SES-18", Talk().new("s", "/w").new("t", "/v").prompt("s", *read("/v/a")))
    says_nothing("SES-18", Talk().new("s", "/w").new("t", "/w/sub").prompt("s", *read("/w/sub/a")))
    create = agent("terminal/create", {"sessionId": "s", "command": "ls", "cwd": "/v"}, id=9)
    breaks("SES-18", Talk().new("s", "/w").new("t", "/v").prompt("s", create))


@every(
    ("path", "expected"),
    [("/a", True), ("C:/a", True), ("\\\\host\\a", True), ("a", False), ("C:a", False), (5, False)],
)
def test_what_is_absolute_is_so_on_some_system(path: Any, expected: bool) -> None:
    assert is_absolute(path) is expected


def test_paths_are_compared_without_a_disk() -> None:
    assert is_same("/private/tmp/a/", "/tmp/a")
    assert is_same("C:\\A\\b", "c:/a/B")
    assert is_under("/a/b", ["/a"])
    assert is_under("/a", ["/"])
    assert not is_under("/ab", ["/a"])
    assert ends_with("/x/a/b.py", "a/b.py")
    assert not ends_with("/x/ab.py", "b.py")

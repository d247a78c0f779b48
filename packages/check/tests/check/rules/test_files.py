"""FS: files that a client lends."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.every import every

LENT = {"fs": {"readTextFile": True, "writeTextFile": True}}
READ, WRITE = "fs/read_text_file", "fs/write_text_file"
TEXT = "one\ntwo\nthree\n\nfive\n"
CALL = update("s", "tool_call", toolCallId="c", title="x", status="completed")


class Files(Talk):
    """A conversation in which the agent works with files."""

    def read(self, content: Any = TEXT, *, code: int = 0, path: Any = "/w/a", **more: Any) -> Files:
        self.ask(READ, {"sessionId": "s", "path": path, **more}, {"content": content}, code=code)
        return self

    def write(self, content: Any = TEXT, *, code: int = 0, path: Any = "/w/a") -> Files:
        self.ask(WRITE, {"sessionId": "s", "path": path, "content": content}, code=code)
        return self


def files(wants: Any = LENT) -> Files:
    talk = Files(wants=wants)
    talk.new("s")
    return talk


@pytest.mark.parametrize("wants", [{}, {"fs": {"readTextFile": "yes"}}, {"fs": {"writeTextFile": True}}])
def test_fs_01_a_file_is_asked_for_where_it_is_lent(wants: Any) -> None:
    keeps("FS-01", files().read().write())
    breaks("FS-01", files(wants).read())
    keeps("FS-01", files(wants).prompt("s", CALL))


def test_fs_01_holds_in_version_2_too() -> None:
    talk = Talk({"session": {}}, version=2).new("s")
    breaks("FS-01", talk.ask(READ, {"sessionId": "s", "path": "/w/a"}))


def test_fs_02_requests_are_whole() -> None:
    keeps("FS-02", files().read(line=1, limit=None).write())
    breaks("FS-02", files().read(line="1"))
    breaks("FS-02", files().read(path=None))
    breaks("FS-02", files().write(content=None))


def test_fs_03_paths_are_absolute() -> None:
    keeps("FS-03", files().read().read(path="C:\\a"))
    breaks("FS-03", files().read(path="a"))


@every(
    ("part", "right", "wrong"),
    [
        ({"line": 2, "limit": 2}, "two\nthree\n", "three\n\n"),
        ({"line": 3}, "three\n\nfive", "five\n"),
        ({"limit": 1}, "one", "one\ntwo"),
        ({"line": 3, "limit": 2}, "three\n", "three\nfive"),
    ],
)
def test_fs_05_lines_count_from_one(part: dict[str, int], right: str, wrong: str) -> None:
    keeps("FS-05", files().read().read(right, **part), "client")
    keeps("FS-05", files().write().read(right, **part), "client")
    breaks("FS-05", files().read().read(wrong, **part), "client")


def test_fs_05_says_nothing_of_a_file_that_may_have_changed() -> None:
    talk = files().read()
    talk.add(CALL)
    says_nothing("FS-05", talk.read("other", line=1, limit=1), "client")


def test_fs_06_odd_reads_are_answered() -> None:
    keeps("FS-06", files().read().read("", line=0).read("", line=99).read("", limit=0, code=-32602), "client")
    silent = files().add(agent(READ, {"sessionId": "s", "path": "/w/a", "line": 0}, id=5)).prompt("s")
    breaks("FS-06", silent, "client")


def test_fs_07_and_10_a_missing_file_is_not_found_and_can_be_written() -> None:
    talk = files().read(code=-32002).write()
    keeps("FS-07", talk, "client")
    keeps("FS-10", talk, "client")
    breaks("FS-10", files().read(code=-32603).write(), "client")
    says_nothing("FS-10", files().read().read(code=-32603).write(), "client")


def test_fs_07_to_12_what_an_examination_tries() -> None:
    keeps("FS-07", files().write().mark("write a file", last=2).facts(written=True), "client")
    breaks("FS-07", files().write().mark("write a file", last=2).facts(written=False), "client")
    breaks("FS-07", files().write(code=-32603).mark("write a file", last=2), "client")
    keeps("FS-08", files().write(code=-32603).mark("write into a missing folder", last=2), "client")
    keeps("FS-10", files().read(code=-32002).mark("read a missing file", last=2), "client")
    breaks("FS-10", files().read("").mark("read a missing file", last=2), "client")
    keeps("FS-12", files().read(code=-32603).mark("read what is not text", last=2), "client")
    breaks("FS-12", files().read("\ufffd").mark("read what is not text", last=2), "client")


def outside(*codes: int) -> Talk:
    talk = files()
    for code, name in zip(codes, ("read outside", "read through dots", "read through a link"), strict=True):
        talk.read(code=code).mark(name, last=2)
    return talk


def test_fs_11_who_keeps_files_closed_keeps_them_closed_to_detours() -> None:
    keeps("FS-11", outside(-32002, -32002, -32602), "client")
    breaks("FS-11", outside(-32002, 0, -32002), "client")
    says_nothing("FS-11", outside(0, 0, 0), "client")


def test_fs_09_a_write_is_answered_with_an_object_or_null() -> None:
    def answered(result: Any) -> Talk:
        write = agent(WRITE, {"sessionId": "s", "path": "/w/a", "content": ""}, id=5)
        return files().prompt("s", write, client(id=5, result=result))

    keeps("FS-09", answered({}), "client")
    keeps("FS-09", answered(None), "client")
    breaks("FS-09", answered(True), "client")
    keeps("FS-09", answered(None))
    says_nothing("FS-09", answered({}))


def test_fs_13_a_bad_line_is_refused() -> None:
    keeps("FS-13", files().read(line="x", code=-32602), "client")
    breaks("FS-13", files().read(limit=-1), "client")

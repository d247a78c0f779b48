"""RPC: numbers, paths and lines."""

from __future__ import annotations

from typing import Any

from dragoman_check.walks import BOUNDS
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.every import every


def located(**place: Any) -> Talk:
    call = {"toolCallId": "t", "title": "Reads", "locations": [{"path": "/w/a", **place}]}
    return Talk().new().add(update("s", "tool_call", **call))


def reading(line: Any, limit: Any, content: str) -> Talk:
    """The whole of a file, and then a part of it."""
    path = {"sessionId": "s", "path": "/w/a"}
    talk = Talk().ask("fs/read_text_file", path, {"content": "one\ntwo\nthree\n"}, id="a")
    return talk.ask("fs/read_text_file", {**path, "line": line, "limit": limit}, {"content": content}, id="b")


def test_rpc_23_numbers_keep_their_bounds() -> None:
    keeps("RPC-23", located(line=2**32 - 1))
    for wrong in (-1, 2**32, 1.5):
        breaks("RPC-23", located(line=wrong))
    keeps("RPC-23", located(rawInput={"line": -1}, line=1))


@every("name", sorted(BOUNDS))
def test_rpc_23_has_two_bounds_for_each_name(name: str) -> None:
    least, largest = BOUNDS[name]
    keeps("RPC-23", Talk().add(update("s", "usage_update", **{name: largest})))
    breaks("RPC-23", Talk().add(update("s", "usage_update", **{name: largest + 1})))
    breaks("RPC-23", Talk().add(update("s", "usage_update", **{name: least - 1})))


def test_rpc_24_paths_are_absolute() -> None:
    keeps("RPC-24", located())
    keeps("RPC-24", located(path="C:\\work\\a"))
    breaks("RPC-24", located(path="src/a"))
    keeps("RPC-24", Talk().new(), "client")
    breaks("RPC-24", Talk().new(cwd="src"), "client")
    breaks("RPC-24", Talk().new(additionalDirectories=["src"]), "client")


def test_rpc_25_lines_count_from_one() -> None:
    keeps("RPC-25", located(line=1))
    breaks("RPC-25", located(line=0))
    says_nothing("RPC-25", located(line=None))


def test_rpc_25_a_client_counts_from_one() -> None:
    keeps("RPC-25", reading(1, 1, "one\n"), "client")
    keeps("RPC-25", reading(2, None, "two\nthree\n"), "client")
    keeps("RPC-25", reading(9, 1, ""), "client")
    breaks("RPC-25", reading(1, 1, "two\n"), "client")
    breaks("RPC-25", reading(2, 2, "two\n"), "client")


def test_rpc_25_a_file_may_have_changed_meanwhile() -> None:
    path = {"sessionId": "s", "path": "/w/a"}
    talk = Talk().ask("fs/read_text_file", path, {"content": "one\n"}, id="a")
    talk.ask("terminal/create", {"sessionId": "s", "command": "sed"}, {"terminalId": "t"}, id="b")
    says_nothing("RPC-25", talk.ask("fs/read_text_file", {**path, "line": 1}, {"content": "1\n"}), "client")

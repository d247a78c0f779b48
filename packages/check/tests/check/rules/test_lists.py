"""LST: listings."""

from __future__ import annotations

import json
from typing import Any

from tests.check.conversations import agent
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.every import every

ITEM: dict[str, Any] = {"sessionId": "s", "cwd": "/w", "title": "x", "updatedAt": "2026-01-02T03:04:05Z"}


def listing(params: Any, *items: Any, talk: Talk | None = None, **more: Any) -> Talk:
    talk = Talk() if talk is None else talk
    return talk.call("session/list", params, {"sessions": list(items), **more})


def failing(params: Any, code: int = -32602) -> Talk:
    return Talk().call("session/list", params, code=code)


def test_lst_01_only_agents_that_can_list_are_asked_to() -> None:
    keeps("LST-01", listing({}), "client")
    breaks("LST-01", listing({}, talk=Talk({})), "client")


def test_lst_02_no_params_are_needed() -> None:
    keeps("LST-02", listing({}))
    breaks("LST-02", failing({}))


def test_lst_02_who_refuses_what_is_no_request_is_not_blamed() -> None:
    says_nothing("LST-02", failing(None, -32600))
    frames: list[dict[str, object]] = [
        {"id": 7, "method": "session/list", "params": {}},
        {"jsonrpc": "1.0", "id": 7, "method": "session/list", "params": {}},
        {"jsonrpc": "2.0", "id": 7, "method": "session/list", "params": None},
    ]
    for frame in frames:
        refused = agent(id=7, error={"code": -32600, "message": "Invalid Request"})
        says_nothing("LST-02", Talk().add(("to_agent", json.dumps(frame).encode()), refused))


def test_lst_03_there_is_a_list() -> None:
    keeps("LST-03", listing({}))
    breaks("LST-03", Talk().call("session/list", {}, {"sessions": None}))


def test_lst_04_no_match_is_an_empty_list() -> None:
    keeps("LST-04", listing({"cwd": "/x"}))
    breaks("LST-04", Talk().call("session/list", {"cwd": "/x"}, {"sessions": None}))
    breaks("LST-04", failing({"cwd": "/x"}, -32002))
    breaks("LST-04", failing({"cwd": "/x"}, -32603).mark("list nowhere", last=2))
    says_nothing("LST-04", failing({"cwd": "/x"}, -32603))


def test_lst_05_a_folder_filters() -> None:
    keeps("LST-05", listing({"cwd": "/w/"}, ITEM))
    breaks("LST-05", listing({"cwd": "/other"}, ITEM))


@every(
    "wrong",
    [{"sessionId": None}, {"cwd": "src"}, {"cwd": 5}, {"title": 5}, {"updatedAt": "yesterday"}],
)
def test_lst_06_listed_sessions_are_whole(wrong: dict[str, Any]) -> None:
    keeps("LST-06", listing({}, ITEM, {"sessionId": "t", "cwd": "/w"}))
    breaks("LST-06", listing({}, ITEM, {**ITEM, **wrong}))


def test_lst_07_a_listing_ends_without_a_cursor() -> None:
    first = listing({}, nextCursor="c")
    keeps("LST-07", listing({"cursor": "c"}, talk=first).new("s"), "client")
    breaks("LST-07", listing({"cursor": "c"}, talk=listing({})), "client")


def test_lst_08_a_cursor_comes_back_as_it_was() -> None:
    keeps("LST-08", listing({"cursor": "ü "}, talk=listing({}, nextCursor="ü ")), "client")
    breaks("LST-08", listing({"cursor": "ü"}, talk=listing({}, nextCursor="ü ")), "client")


def test_lst_09_garbage_is_no_cursor() -> None:
    keeps("LST-09", failing({"cursor": "garbage"}))
    breaks("LST-09", listing({"cursor": "garbage"}))
    says_nothing("LST-09", listing({"cursor": "c"}, talk=listing({}, nextCursor="c")))


def test_lst_10_pages_are_bounded() -> None:
    keeps("LST-10", listing({}, ITEM, nextCursor="c"))
    breaks("LST-10", listing({}, *[ITEM] * 1001))
    says_nothing("LST-10", listing({}, ITEM))


def test_lst_11_listed_roots_are_those_of_the_session() -> None:
    def made() -> Talk:
        return Talk().new("s", additionalDirectories=["/a", "/b"])

    keeps("LST-11", listing({}, {**ITEM, "additionalDirectories": ["/a", "/b"]}, talk=made()))
    breaks("LST-11", listing({}, {**ITEM, "additionalDirectories": ["/b", "/a"]}, talk=made()))
    breaks("LST-11", listing({}, {**ITEM, "additionalDirectories": ["a"]}))
    says_nothing("LST-11", listing({}, ITEM))


def test_lst_12_reported_roots_are_not_merged() -> None:
    def reported() -> Talk:
        first = listing({}, {**ITEM, "additionalDirectories": ["/a"]})
        return listing({}, {**ITEM, "additionalDirectories": ["/b"]}, talk=first)

    setup = {"sessionId": "s", "cwd": "/w", "mcpServers": []}
    keeps("LST-12", reported().call("session/load", {**setup, "additionalDirectories": ["/b"]}), "client")
    both = {**setup, "additionalDirectories": ["/a", "/b"]}
    breaks("LST-12", reported().call("session/load", both), "client")


def test_lst_13_listing_changes_nothing() -> None:
    folder = {"cwd": "/w"}
    keeps("LST-13", listing(folder, ITEM, talk=listing(folder, ITEM)))
    breaks("LST-13", listing(folder, talk=listing(folder, ITEM)))
    says_nothing("LST-13", listing(folder, ITEM, talk=listing(folder).new("s")))
    says_nothing("LST-13", listing({}, talk=listing({}, ITEM)))


def test_lst_14_what_is_told_about_a_session_is_what_changed() -> None:
    def info(**fields: Any) -> Talk:
        return Talk().new("s").add(update("s", "session_info_update", **fields))

    keeps("LST-14", info(title="x", updatedAt="2026-01-02T03:04:05+01:00"))
    keeps("LST-14", info(title=None))
    breaks("LST-14", info(title=5))
    breaks("LST-14", info(cwd="/w"))
    breaks("LST-14", info(updatedAt="now"))


def test_lst_16_a_title_that_was_told_is_listed() -> None:
    def told(title: Any) -> Talk:
        return Talk().new("s").add(update("s", "session_info_update", title=title))

    keeps("LST-16", listing({}, ITEM, talk=told("x")))
    breaks("LST-16", listing({}, ITEM, talk=told("y")))
    breaks("LST-16", listing({}, ITEM, talk=told(None)))
    keeps("LST-16", listing({}, {**ITEM, "title": None}, talk=told(None)))


def test_lst_17_a_client_lives_with_malformed_items() -> None:
    keeps("LST-17", listing({}, {}, ITEM).new("s"), "client")
    breaks("LST-17", listing({}, {}, ITEM).died(), "client")
    says_nothing("LST-17", listing({}, ITEM).new("s"), "client")

"""EXT: private methods, private members, and `_meta`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing

NEW: dict[str, Any] = {"cwd": "/w", "mcpServers": []}
HOSTILE = {"cwd": "/etc", "sessionId": "x", "mcpServers": 7}
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_ext_01_nothing_private_stands_at_the_root() -> None:
    keeps("EXT-01", Talk().new())
    keeps("EXT-01", Talk().new(result={"_meta": {"mine": 1}}))
    breaks("EXT-01", Talk().new(result={"mine": 1}))
    keeps("EXT-01", Talk().new(result={"models": {}}))
    breaks("EXT-01", Talk().new(mine=1), "client")
    keeps("EXT-01", Talk().new().add(agent("_mine/note", {"mine": 1})))


def test_ext_02_meta_is_an_object() -> None:
    for fine in ({}, None, {"a": 1}):
        keeps("EXT-02", Talk().new().add(says("s", "hi", _meta=fine)))
    breaks("EXT-02", Talk().new().add(says("s", "hi", _meta="x")))


def test_ext_02_meta_is_taken() -> None:
    for meta in (None, {"a": 1}):
        keeps("EXT-02", Talk().call("session/new", {**NEW, "_meta": meta}, {"sessionId": "s"}))
        breaks("EXT-02", Talk().call("session/new", {**NEW, "_meta": meta}, code=-32602))


def test_ext_03_trace_context_is_w3c() -> None:
    keeps("EXT-03", Talk().new().add(says("s", "hi", _meta={"traceparent": PARENT, "baggage": "a=b"})))
    for wrong in ("00-0-0-00", PARENT.upper(), 5, f"00-{'0' * 32}-b7ad6b7169203331-01"):
        breaks("EXT-03", Talk().new().add(says("s", "hi", _meta={"traceparent": wrong})))
    says_nothing("EXT-03", Talk().new().add(says("s", "hi", _meta={})))


@pytest.mark.parametrize("requirement", ["EXT-04", "EXT-05"])
def test_meta_changes_nothing(requirement: str) -> None:
    params = {**NEW, "_meta": HOSTILE}
    listed = {"sessionId": "s", "cwd": "/w"}
    made = Talk().call("session/new", params, {"sessionId": "s"})
    keeps(requirement, made.call("session/list", {}, {"sessions": [listed]}))
    breaks(requirement, Talk().call("session/new", params, {"sessionId": "x"}))
    breaks(requirement, Talk().new().call("session/new", params, code=-32602))
    says_nothing(requirement, Talk().call("session/new", params, code=-32602))  # it refuses every session
    moved = Talk().call("session/new", params, {"sessionId": "s"})
    breaks(requirement, moved.call("session/list", {}, {"sessions": [{**listed, "cwd": "/etc"}]}))
    says_nothing(requirement, Talk().call("session/new", {**NEW, "_meta": {"a": 1}}, code=-32602))


def test_ext_06_private_methods_begin_with_an_underscore() -> None:
    keeps("EXT-06", Talk().add(agent("_mine/note", {})))
    breaks("EXT-06", Talk().add(agent("mine/note", {})))
    says_nothing("EXT-06", Talk().new())


def test_ext_07_a_private_request_is_answered() -> None:
    keeps("EXT-07", Talk().call("_tck/x", {}, code=-32601))
    keeps("EXT-07", Talk().call("_mine/do", {}, {}))
    breaks("EXT-07", Talk().call("_tck/x", {}, code=-32603))
    breaks("EXT-07", Talk().call("_tck/x", {}, {}))
    breaks("EXT-07", Talk().begin("_tck/x", {}).call("session/list"))
    says_nothing("EXT-07", Talk().begin("_tck/x", {}))
    says_nothing("EXT-07", Talk().begin("_mine/do", {}).call("session/list"))


def test_ext_08_unknown_notifications_are_ignored() -> None:
    refusal = agent(id=None, error={"code": -32601, "message": "No."})
    for method in ("nope", "_tck/n"):
        keeps("EXT-08", Talk().tell(method, {}).call("session/list"))
        breaks("EXT-08", Talk().tell(method, {}).add(refusal).call("session/list"))
        says_nothing("EXT-08", Talk().tell(method, {}))
    answered = client(id=None, error={"code": -32601, "message": "No."})
    breaks("EXT-08", Talk().add(agent("_mine/note", {}), answered), "client")


def test_ext_11_malformed_meta_counts_as_absent() -> None:
    keeps("EXT-11", Talk().call("session/new", {**NEW, "_meta": "x"}, {"sessionId": "s"}))
    breaks("EXT-11", Talk().call("session/new", {**NEW, "_meta": "x"}, code=-32602))
    says_nothing("EXT-11", Talk().call("session/new", {**NEW, "_meta": None}, code=-32602))

"""INIT: what is offered, and whether it is kept to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing
from tests.every import every

LINK = {"type": "resource_link", "uri": "file:///w/a", "name": "a"}
READ = {"sessionId": "s", "path": "/w/a"}


@every("offer", [None, False, "yes", {"readTextFile": None}])
def test_init_12_an_agent_uses_what_the_client_offered(offer: Any) -> None:
    fine = {"fs": {"readTextFile": True}}
    keeps("INIT-12", Talk(wants=fine).ask("fs/read_text_file", READ, {"content": ""}))
    breaks("INIT-12", Talk(wants={"fs": offer}).ask("fs/read_text_file", READ, code=-32601))
    says_nothing("INIT-12", Talk().ask("session/request_permission", {}))


def test_init_12_a_client_uses_what_the_agent_offered() -> None:
    keeps("INIT-12", Talk().call("session/list"), "client")
    breaks("INIT-12", Talk({}).call("session/list", code=-32601), "client")
    breaks("INIT-12", Talk({"loadSession": False}).call("session/load", {}, code=-32601), "client")


def test_init_12_a_file_may_hold_several_connections() -> None:
    bare = Talk(wants={})
    again = {"protocolVersion": 1, "clientCapabilities": {"terminal": True}}
    hello = (client("initialize", again, id=1), agent(id=1, result={"protocolVersion": 1}))
    keeps("INIT-12", bare.add(*hello).ask("terminal/create", {}, {"terminalId": "t"}))


def test_init_13_any_combination_is_served() -> None:
    keeps("INIT-13", Talk())
    keeps("INIT-13", Talk().new(), "client")
    breaks("INIT-13", Talk().facts(exit=1), "client")
    says_nothing("INIT-13", Talk(), "client")


def test_init_14_an_object_means_yes_and_null_means_no() -> None:
    keeps("INIT-14", Talk({"sessionCapabilities": {"list": {}}}).call("session/list"), "client")
    breaks("INIT-14", Talk({"sessionCapabilities": {"list": None}}).call("session/list"), "client")
    says_nothing("INIT-14", Talk({"loadSession": True}).call("session/load", {}), "client")


def test_init_14_what_is_offered_is_there() -> None:
    keeps("INIT-14", Talk({"sessionCapabilities": {"list": {}}}).call("session/list"))
    breaks("INIT-14", Talk({"sessionCapabilities": {"list": {}}}).call("session/list", code=-32601))
    says_nothing("INIT-14", Talk({}).call("session/list", code=-32601))


def test_init_21_the_baseline_is_there() -> None:
    keeps("INIT-21", Talk().new().prompt())
    breaks("INIT-21", Talk().call("session/new", {}, code=-32601))
    breaks("INIT-21", Talk().new().prompt(code=-32601))


def test_init_22_and_cont_08_text_and_links_are_taken() -> None:
    for requirement, block in (("INIT-22", LINK), ("CONT-08", "hello")):
        keeps(requirement, Talk().new().prompt("s", block))
        breaks(requirement, Talk().new().prompt("s", block, code=-32602))
        says_nothing(requirement, Talk().new().prompt("s", block, code=-32603))
        says_nothing(requirement, Talk().prompt("other", block, code=-32602))
        closed = Talk().new().call("session/close", {"sessionId": "s"})
        says_nothing(requirement, closed.prompt("s", block, code=-32602))
        busy = Talk().new().begin_prompt("s", "slow")
        says_nothing(requirement, busy.prompt("s", block, code=-32602))
        lost = Talk().call("session/resume", {"sessionId": "s", "cwd": "/"}, {})
        says_nothing(requirement, lost.prompt("s", block, code=-32602))
        resumed = Talk().new().call("session/resume", {"sessionId": "s", "cwd": "/"}, {})
        breaks(requirement, resumed.prompt("s", block, code=-32602))


def test_init_22_a_refusal_because_of_a_picture_says_nothing() -> None:
    picture = {"type": "image", "data": "", "mimeType": "image/png"}
    says_nothing("INIT-22", Talk().new().prompt("s", LINK, picture, code=-32602))
    keeps("INIT-22", Talk().new().prompt("s", LINK, picture))


def test_init_23_every_client_can_be_asked() -> None:
    ask = {"sessionId": "s", "toolCall": {"toolCallId": "t"}, "options": []}
    outcome = {"outcome": {"outcome": "cancelled"}}
    keeps("INIT-23", Talk().ask("session/request_permission", ask, outcome), "client")
    breaks("INIT-23", Talk().ask("session/request_permission", ask, code=-32601), "client")


@pytest.mark.parametrize("requirement", ["INIT-25", "EXT-09"])
def test_additions_are_announced(requirement: str) -> None:
    keeps(requirement, Talk({"_meta": {"mine": {}}}).call("_mine/do", {}))
    breaks(requirement, Talk({}).call("_mine/do", {}))
    says_nothing(requirement, Talk({}).call("_mine/do", {}, code=-32601))
    says_nothing(requirement, Talk({}).call("_tck/x", {}))
    breaks(requirement, Talk().add(agent("_mine/do", {}, id=1)).ask("_mine/do", {}, {}), "client")


def test_init_26_load_is_a_flag_and_the_rest_are_objects() -> None:
    keeps("INIT-26", Talk())
    breaks("INIT-26", Talk({"loadSession": {}}))
    breaks("INIT-26", Talk({"sessionCapabilities": {"list": True}}))
    breaks("INIT-26", Talk({"sessionCapabilities": []}))

"""Each rule about servers: one reply that keeps it, one that breaks it, and silence without any."""

from __future__ import annotations

from typing import Any

from dragoman_check.recording import Recording
from dragoman_check.verdict import judge
from tests.check.conversations import agent, client, make_recording
from tests.every import every

OPENED = {"content-type": "application/json", "acp-connection-id": "c"}
STREAM = {"status": 200, "frames": [], "events": ["data: {}"]}
TAKEN = {"status": 202, "size": 0}


def status(name: str, right: int, wrong: int) -> tuple[dict[str, Any], dict[str, Any]]:
    return {name: {"status": right}}, {name: {"status": wrong}}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "HTTP-03": status("delete", 202, 405),
    "HTTP-05": (
        {"initialize": {"status": 200, "headers": OPENED}},
        {"initialize": {"status": 200, "headers": {"content-type": "application/json"}}},
    ),
    "HTTP-06": ({"prompt": TAKEN}, {"prompt": {"status": 200, "size": 20}}),
    "HTTP-09": status("plain text", 415, 200),
    "HTTP-10": status("accept json", 406, 200),
    "HTTP-11": status("get without connection", 400, 404),
    "HTTP-12": status("no session header", 400, 202),
    "HTTP-13": status("unknown session stream", 404, 200),
    "HTTP-14": (
        {"connection stream": STREAM, "session stream": STREAM, "prompt": {**TAKEN, "answered": 2}},
        {"connection stream": STREAM, "session stream": STREAM, "prompt": {**TAKEN, "answered": 0}},
    ),
    "HTTP-15": (
        {"connection stream": {**STREAM, "frames": [1]}, "session stream": STREAM},
        {"connection stream": {**STREAM, "frames": [2]}, "session stream": STREAM},
    ),
    "HTTP-16": status("batch", 501, 200),
    "HTTP-19": status("second reader", 409, 200),
    "HTTP-20": status("another session header", 400, 202),
    "HTTP-21": status("initialize again", 400, 200),
    "HTTP-22": ({"session stream": STREAM}, {"session stream": {"events": ["id: 1\ndata: {}"]}}),
    "HTTP-25": ({"load": {**TAKEN, "answered": 3}}, {"load": {**TAKEN, "answered": 4}}),
    "HTTP-28": (
        {"session stream": STREAM, "prompt": {**TAKEN, "answered": 3}},
        {"session stream": STREAM, "prompt": {**TAKEN, "answered": 0}},
    ),
    "HTTP-29": status("put", 405, 200),
    "HTTP-30": status("foreign origin", 403, 200),
    "WS-01": (
        {"upgrade": {"status": 101, "headers": OPENED}},
        {"upgrade": {"status": 101, "headers": {}}},
    ),
    "WS-08": (
        {"socket initialize again": {"error": -32600}},
        {"socket initialize under null": {"closed": 0}},
    ),
    "WS-09": ({"socket long id": {"closed": 1008}}, {"socket long id": {"closed": None}}),
    "WS-10": (
        {"socket session": {"closed": None}, "socket second session": {"closed": None}},
        {"socket session": {"closed": None}, "socket second session": {"closed": 1011}},
    ),
}


def recorded(replies: Any) -> Recording:
    update = agent("session/update", {"sessionId": "s", "update": {"sessionUpdate": "plan"}})
    made = agent(result={"sessionId": "s"}, id=1)
    refused = agent(error={"code": -32002, "message": "no"}, id=2)
    said = [client("x", id=1), update, made, refused]
    return make_recording(*said, facts={"endpoint": replies})


def verdict(requirement: str, replies: Any) -> tuple[int, int]:
    (found,) = judge([recorded(replies)], "server", only=[requirement])
    return found.places, found.broken


@every("requirement", CASES)
def test_a_reply_keeps_it_or_breaks_it(requirement: str) -> None:
    kept, broken = CASES[requirement]
    assert verdict(requirement, kept)[0] > 0
    assert verdict(requirement, kept)[1] == 0
    assert verdict(requirement, broken)[1] == 1
    assert verdict(requirement, {}) == (0, 0)


@every("replies", [None, 7, [], {"initialize": 7}, {"upgrade": {"status": "101"}}, {"load": {}}])
def test_odd_facts_stop_no_rule(replies: Any) -> None:
    assert judge([recorded(replies)], "server")

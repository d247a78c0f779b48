"""Frames against the schema of their method."""

from __future__ import annotations

from typing import Any

from dragoman_check.conversation import Conversation
from dragoman_check.shapes import read_frame, shape_errors
from tests.check.conversations import Said, agent, client, make_recording
from tests.every import every

NEW = {"cwd": "/w", "mcpServers": []}


def errors(*said: Said, version: Any = 1) -> list[str]:
    """What is wrong with the last frame, after a handshake."""
    first = (
        client("initialize", {"protocolVersion": 1}, id=0),
        agent(id=0, result={"protocolVersion": version}),
    )
    conversation = Conversation(make_recording(*first, *said))
    return [str(found) for found in shape_errors(conversation.frames[-1], conversation)]


def test_what_is_right_has_no_errors() -> None:
    assert errors(client("session/new", NEW, id=1)) == []
    assert errors(client("session/new", NEW, id=1), agent(id=1, result={"sessionId": "s"})) == []
    assert errors(client("session/list", id=1)) == []
    assert errors(client("session/new", {**NEW, "bogus": 1, "mcpServers": None}, id=1)) == []


@every(
    ("params", "wrong"),
    [
        ({"mcpServers": []}, "$.cwd is missing"),
        ({**NEW, "cwd": 5}, "$.cwd expected string, got number"),
        ([], "$ expected object, got array"),
        ({**NEW, "_meta": "x"}, "$._meta is of the wrong type"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(params: Any, wrong: str) -> None:
    assert errors(client("session/new", params, id=1)) == [wrong]


def test_results_are_judged_by_the_method_that_was_asked_for() -> None:
    asked = client("session/new", NEW, id=1)
    assert errors(asked, agent(id=1, result={})) == ["$.sessionId is missing"]
    assert errors(asked, agent(id=1, error={"code": 1, "message": "x"})) == []
    assert errors(agent(id=7, result={})) == []


def test_what_the_protocol_does_not_define_is_not_judged() -> None:
    assert errors(client("_mine/do", {"a": 1}, id=1)) == []
    assert errors(agent("session/new", {}, id=1)) == [], "not in this direction"


def test_each_version_has_its_own_shapes() -> None:
    login = client("auth/login", {}, id=1)
    assert errors(login, version=1) == []
    assert errors(login, version=2) == ["$.methodId is missing"]
    assert errors(login, version=99) == [], "whoever agrees on what does not exist speaks the first version"


def test_nothing_that_a_peer_said_is_repeated() -> None:
    secret = "do-not-tell"
    for params in ({**NEW, "cwd": [secret]}, {secret: 1}, {**NEW, "mcpServers": [{"name": secret}]}):
        assert secret not in "".join(errors(client("session/new", params, id=1)))


def test_a_reading_tells_what_is_refused_from_what_is_forgiven() -> None:
    conversation = Conversation(
        make_recording(client("session/new", {**NEW, "bogus": 1}, id=1), client("session/new", {}, id=2))
    )
    fine, bad = (read_frame(frame, conversation) for frame in conversation.frames)
    assert fine.refusal is None
    assert [(found.kind, found.name) for found in fine.forgiven] == [("unknown field", "bogus")]
    assert bad.refusal is not None

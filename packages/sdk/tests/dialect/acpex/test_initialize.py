"""`initialize`, both ways and in both forms."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.credentials import take_credentials
from tests.dialect.acpex.frames import AGENT_CAN, CLIENT_CAN, GREETING, INTRODUCTION
from tests.dialect.acpex.stage import BOTH, Frame, Stage
from tests.dialect.edges import bare
from tests.every import every

V1_GREETING: Frame = {
    "protocolVersion": 1,
    "clientCapabilities": {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
    "clientInfo": {"name": "Quill", "version": "0.3"},
}
V1_INTRODUCTION: Frame = {
    "protocolVersion": 1,
    "agentCapabilities": {
        "loadSession": True,
        "mcpCapabilities": {"http": True, "sse": False},
        "promptCapabilities": {"audio": True, "image": False, "embeddedContext": True},
    },
    "agentInfo": {"name": "Owl", "version": "7.1"},
    "authMethods": [{"id": "feather", "name": "A feather"}],
}
ALL_FIVE = dict.fromkeys(("create", "output", "waitForExit", "kill", "release"), True)


def greeted(params: Any, dialect: str = "acpex") -> tuple[Frame, Stage]:
    """What a v1 agent hears of a client's greeting."""
    client = Stage("client", dialect)
    return client.asked("initialize", params)["params"], client


def introduced(result: Any, dialect: str = "acpex") -> tuple[Frame, Stage]:
    """What a v1 client hears of an agent's introduction."""
    agent = Stage("agent", dialect)
    agent.asked("initialize", V1_GREETING, 9)
    ((_, answer),) = agent.hear({"id": 9, "result": result})
    read, announced = take_credentials(answer["result"])
    assert announced is (True if dialect == "acpex" else None)
    return read, agent


def test_a_terminal_is_offered_if_it_can_be_created_and_nothing_is_denied() -> None:
    found, client = greeted(GREETING)
    assert found["clientCapabilities"] == {
        "fs": {"readTextFile": True, "writeTextFile": True},
        "terminal": True,
    }
    assert client.lost == []
    assert client.repaired == ["terminal methods that the client does not name"]
    full, client = greeted({**GREETING, "capabilities": CLIENT_CAN})
    assert full["clientCapabilities"]["terminal"] is True
    assert full["clientCapabilities"]["fs"] == {"readTextFile": True, "writeTextFile": False}
    assert client.lost == []


def test_capabilities_in_snake_case_are_the_same() -> None:
    can = {"file_system": {"read_text_file": True}, "terminal": {"create": True, "wait_for_exit": False}}
    found, client = greeted({"protocolVersion": 1, "capabilities": can})
    assert found["clientCapabilities"] == {
        "fs": {"readTextFile": True, "writeTextFile": False},
        "terminal": False,
    }
    assert client.lost != [], "a method that is denied is denied in any spelling"


@every("missing", list(ALL_FIVE))
def test_one_denied_method_is_enough(missing: str) -> None:
    found, _ = greeted({"protocolVersion": 1, "capabilities": {"terminal": {**ALL_FIVE, missing: False}}})
    assert found["clientCapabilities"]["terminal"] is False


@every("dialect", BOTH)
@every(
    "params",
    [
        {"protocolVersion": 1, "clientCapabilities": {"fs": {"readTextFile": True}, "terminal": True}},
        {"protocolVersion": 1, "capabilities": {"fileSystem": {"readTextFile": True}, "terminal": ALL_FIVE}},
    ],
)
def test_both_forms_of_a_greeting_are_read(dialect: str, params: Any) -> None:
    found, _ = greeted(params, dialect)
    assert found["clientCapabilities"] == {
        "fs": {"readTextFile": True, "writeTextFile": False},
        "terminal": True,
    }


@every(
    ("given", "version"),
    [(1, 1), (2, 2), (1.0, 1), ("1.0", 1), ("one", 1), (None, 1), (-3, 1), (1e400, 1), (True, 1)],
)
def test_a_version_is_a_whole_number(given: Any, version: int) -> None:
    assert greeted({"protocolVersion": given})[0]["protocolVersion"] == version


def test_a_v1_greeting_is_said_in_the_overviews_words() -> None:
    agent = Stage("agent")
    offered = {**V1_GREETING["clientCapabilities"], "elicitation": {"form": {}}}
    asked = agent.asked("initialize", {**V1_GREETING, "clientCapabilities": offered})
    assert asked["params"] == {
        "protocolVersion": 1,
        "clientInfo": {"name": "Quill", "version": "0.3"},
        "capabilities": {
            "fileSystem": {"readTextFile": True, "writeTextFile": True},
            "terminal": ALL_FIVE,
        },
        "authenticationMethods": [],
    }
    assert agent.repaired == ["client capabilities without a name in the dialect"]


def test_a_v1_greeting_is_said_in_the_codes_words() -> None:
    agent = Stage("agent", "acpex-wire")
    assert agent.asked("initialize", V1_GREETING)["params"] == {
        "protocolVersion": 1,
        "clientCapabilities": V1_GREETING["clientCapabilities"],
        "_meta": {"clientInfo": {"name": "Quill", "version": "0.3"}},
    }
    assert agent.repaired == ["clientInfo"]


@every("dialect", BOTH)
@every("params", [GREETING, {"protocolVersion": 1, "clientCapabilities": {"sessions": {}}}])
def test_a_greeting_passes_to_an_agent_of_the_same_kind_as_it_was(dialect: str, params: Any) -> None:
    found, _ = greeted(params, dialect)
    heard = Stage("agent", dialect).asked("initialize", found)["params"]
    own = "capabilities" if dialect == "acpex" else "clientCapabilities"
    assert (heard == params) == (own in params)
    assert own in heard


def test_an_introduction_is_read() -> None:
    login = {"id": "feather", "name": "A feather", "type": "terminal", "args": ["rm"]}
    said = {**INTRODUCTION, "agentCapabilities": AGENT_CAN, "authenticationMethods": [login]}
    found, agent = introduced(said)
    assert bare(found) == V1_INTRODUCTION
    assert agent.lost == []


def test_an_introduction_in_the_codes_form_is_read() -> None:
    said = {
        "protocolVersion": 1,
        "agentCapabilities": {"loadSession": True, "promptCapabilities": {"image": True}},
        "authMethods": [],
        "_meta": {"name": "Owl", "version": "7.1"},
    }
    found, _ = introduced(said, "acpex-wire")
    assert found["agentInfo"] == {"name": "Owl", "version": "7.1"}
    assert found["agentCapabilities"]["loadSession"] is True
    assert found["agentCapabilities"]["promptCapabilities"]["image"] is True


def test_an_agent_that_takes_no_new_sessions_is_named() -> None:
    _, agent = introduced({**INTRODUCTION, "agentCapabilities": {"sessions": {"new": False, "load": True}}})
    assert agent.lost == ["sessions.new: false"]


@every(
    ("given", "v1"),
    [
        (["key"], [{"id": "key", "name": "key"}]),
        ([{"id": "key"}], [{"id": "key", "name": "key"}]),
        ([{"name": "no id"}, 7, {"id": 3}], []),
        ("key", []),
    ],
)
def test_logins_are_completed_or_left_out(given: Any, v1: Any) -> None:
    assert introduced({"protocolVersion": 1, "authenticationMethods": given})[0]["authMethods"] == v1


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        (
            "acpex",
            {
                "protocolVersion": 1,
                "agentCapabilities": AGENT_CAN,
                "meta": {"name": "Owl", "version": "7.1"},
                "authenticationMethods": [{"id": "feather", "name": "A feather"}],
            },
        ),
        (
            "acpex-wire",
            {
                "protocolVersion": 1,
                "agentCapabilities": V1_INTRODUCTION["agentCapabilities"],
                "_meta": {"name": "Owl", "version": "7.1"},
                "authMethods": [{"id": "feather", "name": "A feather"}],
            },
        ),
    ],
)
def test_a_v1_agent_introduces_itself_in_the_clients_words(dialect: str, said: Any) -> None:
    client = Stage("client", dialect)
    client.asked("initialize", GREETING, 3)
    more: Frame = {"sessionCapabilities": {"list": {}}}
    result = {**V1_INTRODUCTION, "agentCapabilities": {**V1_INTRODUCTION["agentCapabilities"], **more}}
    assert client.take({"id": 3, "result": result}) == [("peer", {"jsonrpc": "2.0", "id": 3, "result": said})]
    assert client.repaired[-1] == "agent capabilities without a name in the dialect"


def test_an_agent_without_a_name_is_called_unknown() -> None:
    client = Stage("client")
    client.asked("initialize", GREETING, 3)
    ((_, said),) = client.take({"id": 3, "result": {"protocolVersion": 1}})
    assert said["result"]["meta"] == {"name": "unknown", "version": "unknown"}
    assert said["result"]["agentCapabilities"]["sessions"] == {"new": True, "load": False}


@every("params", [None, [], "x", {"capabilities": []}, {"clientInfo": {"name": 3}}, {"_meta": []}])
def test_a_greeting_of_no_shape_is_still_one(params: Any) -> None:
    found, _ = greeted(params)
    assert bare(found) == {
        "protocolVersion": 1,
        "clientCapabilities": {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False},
    }


@every("result", [None, [], {}, {"agentCapabilities": [], "authMethods": {}, "meta": "Owl"}])
def test_an_introduction_of_no_shape_is_still_one(result: Any) -> None:
    assert bare(introduced(result)[0]) == {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": False,
            "mcpCapabilities": {"http": False, "sse": False},
            "promptCapabilities": {"audio": False, "image": False, "embeddedContext": False},
        },
        "authMethods": [],
    }

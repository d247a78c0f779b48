from __future__ import annotations

from typing import Any

from tests.dialect.crow.frames import INITIALIZE, WELCOME, Frame
from tests.dialect.crow.stage import Side, answer, crow_agent, crow_client, failure, judged, request
from tests.every import every
from tests.interop.judges import refused_by_python


def welcomed(side: Side, **changes: Any) -> Frame:
    """What a v1 client gets for a crow agent's answer."""
    side.take(request(1, "initialize", {"protocolVersion": 1}))
    ((_, said),) = side.hear(answer(1, {**WELCOME["result"], **changes}))
    assert refused_by_python([judged(said, "initialize")]) == []
    result: Frame = said["result"]
    return result


def test_a_crow_client_is_promised_what_a_v1_agent_can_do() -> None:
    side = crow_client()
    side.hear(INITIALIZE)
    able = {
        "promptCapabilities": {"embeddedContext": True},
        "mcpCapabilities": {"http": True},
        "loadSession": True,
    }
    info = {"name": "jay", "version": "1"}
    ((toward, said),) = side.take(
        answer(1, {"protocolVersion": 1, "agentCapabilities": able, "agentInfo": info})
    )
    assert toward == "peer"
    assert said["result"] == {
        "protocol_version": 1,
        "agent_capabilities": {
            "prompt_capabilities": {"text": True, "image": False, "resource": True},
            "mcp_capabilities": {"http": True, "sse": False},
            "load_session": True,
        },
        "agent_info": info,
    }
    assert side.ledger.entries == []


def test_what_crow_has_no_methods_for_is_not_promised() -> None:
    side = crow_client()
    side.hear(INITIALIZE)
    able = {"promptCapabilities": {"audio": True}, "sessionCapabilities": {"list": {}}}
    methods = [{"id": "key", "name": "Key"}]
    ((_, said),) = side.take(
        answer(1, {"protocolVersion": 1, "agentCapabilities": able, "authMethods": methods})
    )
    assert said["result"]["agent_capabilities"].keys() == WELCOME["result"]["agent_capabilities"].keys()
    assert said["result"]["agent_info"] == {"name": "unknown", "version": "unknown"}
    assert "auth_methods" not in said["result"]
    assert side.lost == ["ways to log in"]
    assert side.repaired == [
        "agent capabilities that crow does not name",
        "prompt capability audio",
        "an introduction without name or version",
    ]


def test_a_crow_client_is_never_asked_for_files_whatever_it_says() -> None:
    side = crow_client()
    params = {**INITIALIZE["params"], "client_capabilities": {"fs": {"read_text_file": True}}}
    ((_, said),) = side.hear({**INITIALIZE, "params": params})
    assert said["params"]["clientCapabilities"] == {}
    assert "client capabilities" in side.repaired


def test_a_crow_agent_is_told_who_the_client_is_and_nothing_that_it_could_not_use() -> None:
    side = crow_agent()
    able = {"fs": {"readTextFile": True}, "terminal": True}
    info = {"name": "wren", "version": "9"}
    hello = {"protocolVersion": 1, "clientCapabilities": able, "clientInfo": info}
    ((_, said),) = side.take(request(1, "initialize", hello))
    assert said["params"] == {"protocol_version": 1, "client_capabilities": {}, "client_info": info}
    assert side.repaired == ["client capabilities"]


def test_an_agent_that_takes_no_text_is_put_down_as_a_loss() -> None:
    side = crow_agent()
    able = {**WELCOME["result"]["agent_capabilities"], "prompt_capabilities": {"text": False}}
    result = welcomed(side, agent_capabilities=able)
    assert result["agentCapabilities"]["promptCapabilities"] == {
        "image": False,
        "audio": False,
        "embeddedContext": False,
    }
    assert side.lost == ["prompt capability text: false"]


def test_what_v1_has_no_place_for_comes_back_to_a_crow_client() -> None:
    side = crow_agent()
    result = welcomed(side, motto="nevermore")
    front = crow_client()
    front.hear(INITIALIZE)
    ((_, said),) = front.take(answer(1, result))
    assert said["result"] == {**WELCOME["result"], "motto": "nevermore"}


def test_a_secret_does_not_travel_in_the_original() -> None:
    assert "hush" not in str(welcomed(crow_agent(), api_token="hush"))


@every("version", ["1", None, True, -1, 1.5, 70_000])
def test_a_version_that_is_none_is_taken_for_the_first(version: Any) -> None:
    side = crow_agent()
    assert welcomed(side, protocol_version=version)["protocolVersion"] == 1
    assert "a protocol version that is not a number" in side.repaired


@every("odd", [None, 7, [], "x", {"name": 1}, {"name": "n"}])
def test_an_odd_introduction_is_left_out(odd: Any) -> None:
    assert "agentInfo" not in welcomed(crow_agent(), agent_info=odd)


@every("odd", [None, 7, [], "x"])
def test_a_welcome_that_is_none_becomes_an_error(odd: Any) -> None:
    side = crow_agent()
    side.take(request(1, "initialize", {"protocolVersion": 1}))
    ((toward, said),) = side.hear(answer(1, odd))
    assert (toward, said["error"]["code"]) == ("inside", -32603)
    assert side.lost == ["an answer that makes no sense"]


def test_an_error_stays_an_error() -> None:
    side = crow_client()
    side.hear(INITIALIZE)
    refused = failure(1, -32000, "Authentication required")
    assert side.take(refused) == [("peer", refused)]

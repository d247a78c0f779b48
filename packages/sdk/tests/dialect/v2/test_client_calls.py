"""What a v2 client asks of its agent, in v1, and what it is answered."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialect.message import Message, request
from tests.dialect.v2.client_play import AGENT, Outs, Play, begun, deviations, judged, shown
from tests.every import every
from tests.interop.judges import Sent, refused_by_python

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]}
MODEL = {
    "id": "model",
    "type": "select",
    "name": "Model",
    "currentValue": "big",
    "options": [{"value": "big", "name": "Big"}, {"value": "small", "name": "Small"}],
}
LOUD = {"id": "loud", "type": "boolean", "name": "Loud", "currentValue": False}


def inside(outs: Outs) -> list[Any]:
    return [message for way, message in outs if way == "inside"]


def offered(play: Play) -> dict[str, Any]:
    """The options that the client was last told of, with their values."""
    listed = play.to_client[-1].result["configOptions"]
    return {option["configId"]: option["currentValue"] for option in listed}


def test_a_new_session_lists_servers_as_v1_does() -> None:
    play = begun()
    servers = [
        {"type": "stdio", "name": "files", "command": "/bin/files", "env": None},
        {"type": "http", "name": "web", "url": "https://example.org/mcp"},
    ]
    (asked,) = inside(
        play.asks(2, "session/new", cwd="/work", mcpServers=servers, additionalDirectories=["/x"])
    )
    assert asked.params == {
        "cwd": "/work",
        "mcpServers": [
            {"name": "files", "command": "/bin/files", "args": [], "env": []},
            {"type": "http", "name": "web", "url": "https://example.org/mcp", "headers": []},
        ],
        "additionalDirectories": ["/x"],
    }
    assert refused_by_python([Sent("NewSessionRequest", "session/new", asked.params)]) == []


@every("kind", ["_pipe", "sse", None, 3])
def test_a_server_that_v1_would_take_for_another_is_refused(kind: Any) -> None:
    play = begun()
    server = {"type": kind, "name": "m", "command": "/m", "args": [], "env": []}
    assert shown(play.asks(2, "session/new", cwd="/", mcpServers=[server])) == ["error 2"]
    assert play.to_client[-1].error["code"] == -32602


def test_a_new_session_without_folder_is_refused() -> None:
    play = begun()
    assert shown(play.asks(2, "session/new")) == ["error 2"]
    assert shown(play.client(request(3, "session/new", [1]))) == ["error 3"]


def test_modes_are_offered_as_an_option() -> None:
    play = begun(new={"modes": MODES, "configOptions": [MODEL, LOUD], "models": {}})
    told = play.to_client[-1]
    assert offered(play) == {"model": "big", "loud": False, "mode": "ask"}
    assert told.result["configOptions"][2]["options"] == [
        {"value": "ask", "name": "Ask"},
        {"value": "do", "name": "Do"},
    ]
    assert deviations(judged([told], {1: "session/new"})) == []
    assert {"session modes", "a member that v2 has no place for"} <= play.noted


def test_modes_that_an_option_says_already_are_not_offered_twice() -> None:
    mode = {**MODEL, "id": "how", "category": "mode", "currentValue": "big"}
    play = begun(new={"modes": MODES, "configOptions": [mode]})
    assert offered(play) == {"how": "big"}


def test_an_option_called_mode_does_not_become_another() -> None:
    play = begun(new={"modes": MODES, "configOptions": [{**MODEL, "id": "mode"}]})
    assert offered(play) == {"mode": "big", "session-mode": "ask"}


def test_choosing_a_mode_sets_it() -> None:
    play = begun(new={"modes": MODES, "configOptions": [MODEL]})
    choice = {"sessionId": "s", "configId": "mode", "type": "id", "value": "do"}
    (asked,) = inside(play.asks(2, "session/set_config_option", **choice))
    assert (asked.method, asked.params) == ("session/set_mode", {"sessionId": "s", "modeId": "do"})
    play.answers(2)
    assert offered(play) == {"model": "big", "mode": "do"}


@pytest.mark.parametrize(
    ("config_id", "kind", "value"), [("model", "id", "small"), ("loud", "boolean", True)]
)
def test_choosing_an_option_sets_it(config_id: str, kind: str, value: Any) -> None:
    play = begun(new={"modes": MODES, "configOptions": [MODEL, LOUD]})
    choice = {"sessionId": "s", "configId": config_id, "type": kind, "value": value}
    (asked,) = inside(play.asks(2, "session/set_config_option", **choice))
    assert asked.params.get("type") == (None if kind == "id" else "boolean")
    assert refused_by_python([Sent("SetSessionConfigOptionRequest", "", asked.params)]) == []
    changed = [{**one, "currentValue": value} if one["id"] == config_id else one for one in (MODEL, LOUD)]
    play.answers(2, configOptions=changed)
    assert offered(play) == {"model": "big", "loud": False, "mode": "ask", config_id: value}


def test_an_agent_that_does_not_list_its_options_is_listed_for() -> None:
    play = begun(new={"configOptions": [MODEL]})
    play.asks(2, "session/set_config_option", sessionId="s", configId="model", type="id", value="small")
    play.answers(2)
    assert offered(play) == {"model": "small"}


def test_an_agent_without_options_has_no_such_option_and_not_no_such_method() -> None:
    play = begun(new={"modes": MODES})
    play.asks(2, "session/set_config_option", sessionId="s", configId="model", type="id", value="small")
    play.fails(2, -32601)
    assert play.to_client[-1].error["code"] == -32602


@every(
    "choice",
    [
        {"type": "_color", "value": "red"},
        {"value": "small"},
        {"type": "id", "value": True},
        {"type": "boolean", "value": "true"},
        {"type": "id", "value": "x", "configId": 3},
        {"type": "id", "value": "x", "sessionId": None},
    ],
)
def test_a_value_that_v1_cannot_hold_is_refused(choice: dict[str, Any]) -> None:
    play = begun()
    params = {"sessionId": "s", "configId": "model", **choice}
    assert shown(play.asks(2, "session/set_config_option", **params)) == ["error 2"]
    assert play.to_client[-1].error["code"] == -32602


def test_a_list_of_sessions_is_told_in_v2() -> None:
    play = begun()
    assert shown(play.asks(2, "session/list", cwd="/x"), "inside") == ["session/list"]
    sessions = [
        {"sessionId": "a", "cwd": "/x", "title": None, "updatedAt": "2026-02-03 04:05:06"},
        {"sessionId": "b", "cwd": "/x", "title": "B", "updatedAt": "2026-02-03T04:05:06.7Z", "size": 3},
        {"sessionId": "c"},
    ]
    play.answers(2, sessions=sessions, nextCursor="more", _meta={})
    assert play.to_client[-1].result == {
        "sessions": [
            {"sessionId": "a", "cwd": "/x", "updatedAt": "2026-02-03T04:05:06+00:00"},
            {"sessionId": "b", "cwd": "/x", "title": "B", "updatedAt": "2026-02-03T04:05:06.7Z"},
        ],
        "nextCursor": "more",
        "_meta": {},
    }


def test_sessions_of_an_agent_that_lists_none_are_those_of_this_connection() -> None:
    play = begun(capabilities={})
    play.tells("session_info_update", title="The first", updatedAt="2026-02-03T04:05:06Z")
    play.asks(2, "session/new", cwd="/elsewhere")
    play.answers(2, sessionId="t")
    play.asks(3, "session/list")
    first = {"sessionId": "s", "cwd": "/home/ann", "title": "The first", "updatedAt": "2026-02-03T04:05:06Z"}
    assert play.to_client[-1].result == {"sessions": [first, {"sessionId": "t", "cwd": "/elsewhere"}]}
    play.asks(4, "session/close", sessionId="s")
    play.asks(5, "session/list")
    assert [one["sessionId"] for one in play.to_client[-1].result["sessions"]] == ["t"]
    play.asks(6, "session/list", cwd="/home/ann")
    assert play.to_client[-1].result == {"sessions": []}
    assert "session/list at an agent without it" in play.noted


def test_a_session_is_deleted_where_that_is_offered() -> None:
    play = begun()
    assert shown(play.asks(2, "session/delete", sessionId="s"), "inside") == ["session/delete"]
    assert shown(play.answers(2)) == ["answer 2"]
    lacking = begun(capabilities={})
    lacking.asks(2, "session/delete", sessionId="s")
    assert lacking.to_client[-1].error["code"] == -32601


def test_a_login_is_named_to_the_agent() -> None:
    play = begun()
    (asked,) = inside(play.asks(2, "auth/login", methodId="key"))
    assert (asked.method, asked.params) == ("authenticate", {"methodId": "key"})
    play.answers(2, extra=1)
    assert play.to_client[-1].result == {}


@every("method_id", ["shell", "other", None, ["key"]])
def test_a_login_in_a_terminal_or_of_nobody_is_not_named_to_the_agent(method_id: Any) -> None:
    play = Play()
    play.asks(0, "initialize", protocolVersion=2, info={})
    login = {"id": "shell", "name": "Shell", "type": "terminal"}
    play.answers(0, **{**AGENT, "authMethods": [login, {"id": "key", "name": "Key"}]})
    assert shown(play.asks(2, "auth/login", methodId=method_id)) == ["error 2"]
    assert play.to_client[-1].error["code"] == -32602


def test_a_logout_is_asked_of_those_who_can() -> None:
    assert shown(begun().asks(2, "auth/logout"), "inside") == ["logout"]
    play = begun(capabilities={})
    play.asks(2, "auth/logout")
    assert play.to_client[-1].error["code"] == -32603
    assert "auth/logout at an agent without it" in play.noted


def test_an_agent_without_logins_has_no_logout() -> None:
    play = Play()
    play.asks(0, "initialize", protocolVersion=2, info={})
    play.answers(0, protocolVersion=1)
    play.asks(2, "auth/logout")
    assert play.to_client[-1].error["code"] == -32601


@every("method", ["authenticate", "logout", "session/load", "session/set_mode"])
def test_methods_that_only_v1_has_are_not_found(method: str) -> None:
    play = begun()
    assert shown(play.asks(2, method, sessionId="s")) == ["error 2"]
    assert play.to_client[-1].error["code"] == -32601


@pytest.mark.parametrize("method", ["tool_call/cancel", "terminal/cancel"])
def test_what_is_never_offered_cannot_be_cancelled_alone(method: str) -> None:
    play = begun()
    play.asks(2, method, sessionId="s")
    assert play.to_client[-1].error["code"] == -32602


def test_other_methods_are_the_agents_business() -> None:
    play = begun()
    for request_id, method in enumerate(["_vendor/ask", "session/status", "providers/list"], 10):
        assert shown(play.asks(request_id, method, sessionId="s"), "inside") == [method]
        play.answers(request_id, fine=True)
        assert play.to_client[-1].result == {"fine": True}
    assert shown(play.asks(20, "session/fork", sessionId="s", cwd="/"), "inside") == ["session/fork"]
    play.answers(20, sessionId="fork", modes=MODES)
    assert offered(play) == {"mode": "ask"}


@every("error", [None, {}, {"code": "x", "message": 3}, {"code": 10**12, "message": "m"}, [1]])
def test_an_error_that_is_none_becomes_one(error: Any) -> None:
    play = begun()
    play.asks(2, "session/list")
    play.agent(Message("2.0", 2, error=error))
    said = play.to_client[-1].error
    assert said["code"] == -32603
    assert type(said["message"]) is str


def test_an_agent_that_names_no_session_has_begun_none() -> None:
    play = begun()
    play.asks(2, "session/new", cwd="/")
    assert shown(play.answers(2, sessionId=7)) == ["error 2"]

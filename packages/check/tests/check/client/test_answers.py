from __future__ import annotations

from typing import Any

import msgspec

from dragoman_check.client.answers import CURSOR, StandInAnswers
from dragoman_check.client.profiles import LOGIN, PROFILES
from dragoman_check.recording import Frame
from tests.every import every

SETUP = {"cwd": "/project", "mcpServers": []}


class Agent:
    """The stand-in's answers, and what it tells beside."""

    def __init__(self, profile: str) -> None:
        self.told: list[tuple[str, Any]] = []
        self.answers = StandInAnswers(
            PROFILES[profile], tell=lambda session, update: self.told.append((session, update))
        )

    def call(self, method: str, **params: Any) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        frame = Frame(1, "to_agent", 0.0, msgspec.json.encode(message))
        answer = self.answers.answer(frame)
        self.answers.after(frame, answer)
        return answer.get("result", answer.get("error"))


def introduced(profile: str, **capabilities: Any) -> Agent:
    agent = Agent(profile)
    agent.call("initialize", protocolVersion=1, clientCapabilities=capabilities)
    return agent


def test_a_session_is_followed_by_updates_before_the_first_prompt() -> None:
    agent = introduced("full")
    session = agent.call("session/new", **SETUP)
    assert session["modes"]["currentModeId"] == "ask"
    assert [option["id"] for option in session["configOptions"]] == ["mode", "model"]
    assert [name for name, _ in agent.told] == [session["sessionId"]] * 2


def test_a_switch_is_offered_only_to_a_client_that_knows_switches() -> None:
    agent = introduced("full", session={"configOptions": {"boolean": {}}})
    options = agent.call("session/new", **SETUP)["configOptions"]
    assert [option["type"] for option in options] == ["select", "select", "boolean"]


def test_modes_and_options_are_one_state() -> None:
    agent = introduced("full")
    session = agent.call("session/new", **SETUP)["sessionId"]
    assert agent.call("session/set_mode", sessionId=session, modeId="code") == {}
    found = agent.call("session/set_config_option", sessionId=session, configId="model", value="large")
    assert [option["currentValue"] for option in found["configOptions"]] == ["code", "large"]


@every(
    ("method", "params", "code"),
    [
        ("session/set_mode", {"modeId": "dance"}, -32602),
        ("session/set_config_option", {"configId": "model", "value": "huge"}, -32602),
        ("session/set_config_option", {"configId": "terse", "value": "yes"}, -32602),
        ("session/set_mode", {"sessionId": "nobody's", "modeId": "ask"}, -32002),
        ("session/load", {"sessionId": "nobody's", **SETUP}, -32002),
        ("session/resume", {"sessionId": "nobody's", **SETUP}, -32002),
        ("session/list", {"cursor": "made up"}, -32602),
        ("dance", {}, -32601),
    ],
)
def test_what_cannot_be_is_refused(method: str, params: dict[str, Any], code: int) -> None:
    agent = introduced("full")
    session = agent.call("session/new", **SETUP)["sessionId"]
    assert agent.call(method, **{"sessionId": session, **params})["code"] == code


def test_a_list_has_two_pages_and_an_odd_cursor() -> None:
    agent = introduced("full")
    first = agent.call("session/list")
    second = agent.call("session/list", cursor=first["nextCursor"])
    assert first["nextCursor"] == CURSOR
    assert "nextCursor" not in second
    assert [one["sessionId"] for one in first["sessions"] + second["sessions"]] == ["stored-1", "stored-2"]


def test_a_loaded_session_is_told_from_its_beginning() -> None:
    agent = introduced("full")
    assert "modes" in agent.call("session/load", sessionId="stored-1", **SETUP)
    kinds = [update["sessionUpdate"] for _, update in agent.told]
    assert kinds[:2] == ["user_message_chunk", "agent_message_chunk"]


def test_what_was_closed_can_be_resumed_and_what_was_deleted_not_even_listed() -> None:
    agent = introduced("full")
    session = agent.call("session/new", **SETUP)["sessionId"]
    assert agent.call("session/close", sessionId=session) == {}
    assert agent.call("session/close", sessionId=session)["code"] == -32002
    assert "modes" in agent.call("session/resume", sessionId=session, **SETUP)
    agent.call("session/delete", sessionId="stored-2")
    assert agent.call("session/list", cursor=CURSOR)["sessions"][0]["sessionId"] == "stored-1"


def test_an_agent_behind_a_login_opens_no_session_before_it() -> None:
    agent = introduced("login")
    assert agent.call("session/new", **SETUP)["code"] == -32000
    assert agent.call("authenticate", methodId="unknown-kind")["code"] == -32602
    assert agent.call("session/new", **SETUP)["code"] == -32000
    assert agent.call("authenticate", methodId=LOGIN) == {}
    assert agent.call("session/new", **SETUP)["sessionId"]


def test_a_login_in_a_terminal_is_offered_only_to_whoever_has_one() -> None:
    def offered(**capabilities: Any) -> list[str]:
        found = Agent("login").call("initialize", protocolVersion=1, clientCapabilities=capabilities)
        return [method["id"] for method in found["authMethods"]]

    assert "terminal-login" not in offered()
    assert "terminal-login" in offered(auth={"terminal": True})


def test_a_bare_agent_offers_nothing_and_refuses_what_it_did_not_offer() -> None:
    agent = Agent("bare")
    assert agent.call("initialize", protocolVersion=1) == {"protocolVersion": 1}
    assert agent.call("logout")["code"] == -32601
    assert agent.call("session/new", **SETUP).keys() == {"sessionId"}

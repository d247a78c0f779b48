"""AUTH: what is offered to log in with, and what is done with it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman_check.manifest import Side
from dragoman_check.verdict import judge
from tests.check.conversations import Said, agent, client, make_recording
from tests.check.rules.talks import BROKEN
from tests.every import every

PLAIN = {"id": "key", "name": "A key"}
TERMINAL = {"id": "tty", "name": "In a terminal", "type": "terminal", "args": ["--login"]}
NEW = ("session/new", {"cwd": "/w", "mcpServers": []})
LOGIN_NEEDED = -32000


def talk(methods: Any, *calls: tuple[str, Any, Any], terminal: Any = True, logout: Any = None) -> list[Said]:
    """A handshake with these methods, and calls: method, params, and a result or the code of an error."""
    wants = {"protocolVersion": 1, "clientCapabilities": {"auth": {"terminal": terminal}}}
    can = {"protocolVersion": 1, "agentCapabilities": {"auth": {"logout": logout}}, "authMethods": methods}
    said = [client("initialize", wants, id=0), agent(id=0, result=can)]
    for number, (method, params, reply) in enumerate(calls, 1):
        error = {"code": reply, "message": "No."} if isinstance(reply, int) else reply
        half: dict[str, Any] = {"error": error} if "code" in error else {"result": error}
        said += [client(method, params, id=number), agent(id=number, **half)]
    return said


def login(method: str, reply: Any = None) -> tuple[str, Any, Any]:
    return "authenticate", {"methodId": method}, {} if reply is None else reply


def new(reply: Any) -> tuple[str, Any, Any]:
    return (*NEW, reply)


def status(requirement: str, said: list[Said], side: Side = "agent", **facts: Any) -> str:
    (verdict,) = judge([make_recording(*said, facts=facts)], side, only=[requirement])
    return verdict.status


def keeps(requirement: str, said: list[Said], side: Side = "agent", **facts: Any) -> None:
    assert status(requirement, said, side, **facts) == "passed"


def breaks(requirement: str, said: list[Said], side: Side = "agent", **facts: Any) -> None:
    assert status(requirement, said, side, **facts) in BROKEN


def says_nothing(requirement: str, said: list[Said], side: Side = "agent", **facts: Any) -> None:
    assert status(requirement, said, side, **facts) == "not exercised"


def test_auth_01_every_method_has_an_id_and_a_name() -> None:
    keeps("AUTH-01", talk([PLAIN, TERMINAL]))
    wrongs: list[Any] = [{"id": "x"}, {"name": "x"}, {"id": 5, "name": "x"}, "x", {"id": [], "name": {}}]
    for wrong in wrongs:
        breaks("AUTH-01", talk([PLAIN, wrong]))
    says_nothing("AUTH-01", talk([]))


def test_auth_03_a_terminal_login_is_for_clients_that_can_do_it() -> None:
    keeps("AUTH-03", talk([TERMINAL]))
    for wrong in (False, None, "yes"):
        breaks("AUTH-03", talk([TERMINAL], terminal=wrong))
    says_nothing("AUTH-03", talk([PLAIN], terminal=False))


def test_auth_05_only_offered_methods_are_used() -> None:
    keeps("AUTH-05", talk([PLAIN], login("key")), "client")
    keeps("AUTH-05", talk([{**PLAIN, "type": "agent"}], login("key")), "client")
    breaks("AUTH-05", talk([PLAIN], login("other")), "client")
    says_nothing("AUTH-05", talk([TERMINAL], login("tty")), "client")


@every(
    ("requirement", "entry"),
    [
        ("AUTH-06", TERMINAL),
        ("AUTH-24", {**PLAIN, "type": "oauth2"}),
        ("AUTH-25", {**TERMINAL, "args": 5}),
        ("AUTH-25", {"id": "tty", "type": "terminal"}),
    ],
)
def test_some_methods_are_never_passed_to_authenticate(requirement: str, entry: dict[str, Any]) -> None:
    breaks(requirement, talk([entry], login(entry["id"])), "client")
    keeps(requirement, talk([entry], new({"sessionId": "s"})), "client")
    says_nothing(requirement, talk([entry]), "client")


@pytest.mark.parametrize(("requirement", "method"), [("AUTH-07", "authenticate"), ("AUTH-18", "logout")])
def test_the_result_is_an_empty_object(requirement: str, method: str) -> None:
    keeps(requirement, talk([PLAIN], (method, {"methodId": "key"}, {})))
    keeps(requirement, talk([PLAIN], (method, {"methodId": "key"}, {"_meta": {}})))
    breaks(requirement, talk([PLAIN], (method, {"methodId": "key"}, {"ok": True})))
    says_nothing(requirement, talk([PLAIN], (method, {"methodId": "key"}, -32602)))


def test_auth_08_a_login_opens_the_gate() -> None:
    keeps("AUTH-08", talk([PLAIN], login("key"), new({"sessionId": "s"})))
    breaks("AUTH-08", talk([PLAIN], login("key"), new(LOGIN_NEEDED)))
    says_nothing("AUTH-08", talk([PLAIN], login("key", -32602), new(LOGIN_NEEDED)))


@pytest.mark.parametrize("requirement", ["AUTH-09", "ERR-02"])
def test_a_closed_gate_has_its_own_code(requirement: str) -> None:
    keeps(requirement, talk([PLAIN], new(LOGIN_NEEDED)))
    told = {"code": -32603, "message": "Authentication required"}
    breaks(requirement, talk([PLAIN], new(told)))
    breaks(requirement, talk([PLAIN], new(-32603), login("key"), new({"sessionId": "s"})))
    says_nothing(requirement, talk([PLAIN], new(-32603)))
    says_nothing(requirement, talk([PLAIN], login("key"), new(-32603), new({"sessionId": "s"})))


def test_auth_10_an_unknown_method_is_no_login() -> None:
    keeps("AUTH-10", talk([PLAIN], login("other", -32602)))
    breaks("AUTH-10", talk([PLAIN], login("other")))
    says_nothing("AUTH-10", talk([PLAIN], login("key")))


def test_auth_15_and_16_a_terminal_method_has_args_and_a_map() -> None:
    keeps("AUTH-15", talk([TERMINAL]))
    breaks("AUTH-15", talk([{**TERMINAL, "command": "/bin/agent"}]))
    keeps("AUTH-16", talk([{**TERMINAL, "env": {"A": "b"}}]))
    breaks("AUTH-16", talk([{**TERMINAL, "env": [{"name": "A", "value": "b"}]}]))
    breaks("AUTH-16", talk([{**TERMINAL, "env": {"A": 1}}]))


def test_auth_17_and_23_logout_is_for_who_has_it() -> None:
    keeps("AUTH-17", talk([], ("logout", {}, {}), logout={}), "client")
    breaks("AUTH-17", talk([], ("logout", {}, -32601)), "client")
    keeps("AUTH-23", talk([], ("logout", {}, -32601)))
    breaks("AUTH-23", talk([], ("logout", {}, {})))
    says_nothing("AUTH-23", talk([], ("logout", {}, {}), logout={}))


def test_auth_19_a_logout_closes_the_gate() -> None:
    opened = [new(LOGIN_NEEDED), login("key"), new({"sessionId": "s"}), ("logout", {}, {})]
    keeps("AUTH-19", talk([PLAIN], *opened, new(LOGIN_NEEDED), logout={}))
    breaks("AUTH-19", talk([PLAIN], *opened, new({"sessionId": "t"}), logout={}))
    says_nothing("AUTH-19", talk([PLAIN], ("logout", {}, {}), new({"sessionId": "t"}), logout={}))


def test_auth_21_a_client_lives_with_a_gate_that_closes() -> None:
    prompt = ("session/prompt", {"sessionId": "s", "prompt": []}, LOGIN_NEEDED)
    keeps("AUTH-21", talk([PLAIN], prompt, login("key")), "client")
    breaks("AUTH-21", talk([PLAIN], prompt), "client", exit=1)
    says_nothing("AUTH-21", talk([PLAIN], prompt), "client")


def test_auth_22_a_broken_method_is_left_out() -> None:
    keeps("AUTH-22", talk([{}, PLAIN], login("key")), "client")
    breaks("AUTH-22", talk([{}, PLAIN]), "client", exit=1)
    says_nothing("AUTH-22", talk([PLAIN], login("key")), "client")


def second(*methods: Any) -> list[Said]:
    """A handshake in version 2."""
    result = {"protocolVersion": 2, "capabilities": {}, "authMethods": list(methods)}
    return [client("initialize", {"protocolVersion": 2}, id=0), agent(id=0, result=result)]


@pytest.mark.parametrize(("kind", "verdict"), [("agent", "passed"), ("_mine", "passed"), ("mine", "failed")])
def test_auth_26_a_type_of_ones_own_begins_with_an_underscore(kind: str, verdict: str) -> None:
    assert status("AUTH-26", second({"methodId": "key", "name": "A key", "type": kind})) == verdict


@pytest.mark.parametrize(
    ("fields", "verdict"),
    [
        ({"args": ["--login"], "env": [{"name": "A", "value": "1"}]}, "passed"),
        ({"args": "--login"}, "failed"),
        ({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]}, "failed"),
        ({"env": [{"name": "A"}]}, "failed"),
    ],
)
def test_auth_27_a_terminal_method_can_be_run(fields: dict[str, Any], verdict: str) -> None:
    assert status("AUTH-27", second({"methodId": "t", "name": "T", "type": "terminal", **fields})) == verdict


def test_auth_28_every_method_has_an_id_of_its_own() -> None:
    assert status("AUTH-28", talk([PLAIN, TERMINAL])) == "passed"
    assert status("AUTH-28", talk([PLAIN, PLAIN])) in BROKEN


def test_auth_29_who_wants_a_login_offers_one() -> None:
    assert status("AUTH-29", talk([], new({"sessionId": "s"}))) == "passed"
    assert status("AUTH-29", talk([], new(LOGIN_NEEDED))) in BROKEN
    assert status("AUTH-29", talk([PLAIN], new(LOGIN_NEEDED))) == "not exercised"

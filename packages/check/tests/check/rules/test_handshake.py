"""INIT: who says what first, and which version comes out of it."""

from __future__ import annotations

from typing import Any

from dragoman_check.manifest import Side
from dragoman_check.verdict import judge
from tests.check.conversations import Said, agent, client, make_recording
from tests.check.rules.talks import BROKEN, Talk, breaks, keeps, says, says_nothing, update
from tests.every import every

FINE: dict[str, Any] = {
    "protocolVersion": 1,
    "clientCapabilities": {},
    "clientInfo": {"name": "c", "version": "1"},
}
ANSWER: dict[str, Any] = {
    "protocolVersion": 1,
    "agentCapabilities": {},
    "agentInfo": {"name": "a", "version": "1"},
}
NEW = client("session/new", {"cwd": "/w", "mcpServers": []}, id=2)


def shake(params: Any = None, result: Any = None, *, code: int = 0) -> tuple[Said, Said]:
    """A handshake: what is asked and what is answered."""
    reply = {"error": {"code": code, "message": "No."}} if code else {"result": result or ANSWER}
    return client("initialize", FINE if params is None else params, id=1), agent(id=1, **reply)


def status(requirement: str, *said: Said, side: Side = "agent", facts: Any = None) -> str:
    (verdict,) = judge([make_recording(*said, facts=facts)], side, only=[requirement])
    return verdict.status


def kept(requirement: str, *said: Said, side: Side = "agent", facts: Any = None) -> None:
    assert status(requirement, *said, side=side, facts=facts) == "passed"


def broken(requirement: str, *said: Said, side: Side = "agent", facts: Any = None) -> None:
    assert status(requirement, *said, side=side, facts=facts) in BROKEN


def silent(requirement: str, *said: Said, side: Side = "agent", facts: Any = None) -> None:
    assert status(requirement, *said, side=side, facts=facts) == "not exercised"


def test_init_01_nothing_is_asked_before_the_handshake_is_over() -> None:
    asked, answered = shake()
    kept("INIT-01", asked, answered, NEW, side="client")
    broken("INIT-01", asked, NEW, answered, side="client")
    broken("INIT-01", NEW, asked, answered, side="client")
    broken("INIT-01", NEW, side="client")
    silent("INIT-01", client("session/prompt", {}, id=8), side="client")


@every("wrong", ["1", 1.5, -1, 65536, None, True])
def test_init_02_and_16_a_version_is_a_whole_number(wrong: Any) -> None:
    kept("INIT-02", *shake(), side="client")
    broken("INIT-02", *shake({**FINE, "protocolVersion": wrong}), side="client")
    silent("INIT-16", *shake())
    kept("INIT-16", *shake({**FINE, "protocolVersion": wrong}, code=-32602))
    broken("INIT-16", *shake({**FINE, "protocolVersion": wrong}))
    broken("INIT-16", *shake({**FINE, "protocolVersion": wrong}, code=-32603))


def test_init_03_and_20_the_client_says_what_it_can() -> None:
    bare = {"protocolVersion": 1}
    kept("INIT-03", *shake(), side="client")
    broken("INIT-03", *shake({**bare, "clientCapabilities": []}), side="client")
    broken("INIT-03", *shake({**bare, "clientCapabilities": {"terminal": "yes"}}), side="client")
    kept("INIT-20", *shake(), side="client")
    broken("INIT-20", *shake(bare), side="client")


def test_init_04_and_10_both_say_who_they_are() -> None:
    for requirement, side, name in (("INIT-04", "client", "clientInfo"), ("INIT-10", "agent", "agentInfo")):
        at: Side = "client" if side == "client" else "agent"
        kept(requirement, *shake(), side=at)
        for info in (None, {}, {"name": "x"}, {"name": "", "version": "1"}):
            broken(requirement, *shake({**FINE, name: info}, {**ANSWER, name: info}), side=at)


def test_init_05_and_19_the_agent_answers_with_version_and_capabilities() -> None:
    kept("INIT-05", *shake())
    broken("INIT-05", *shake(result={"agentCapabilities": {}}))
    broken("INIT-05", *shake(result={**ANSWER, "protocolVersion": "1"}))
    broken("INIT-05", *shake(result={**ANSWER, "agentCapabilities": {"loadSession": "yes"}}))
    kept("INIT-19", *shake())
    broken("INIT-19", *shake(result={"protocolVersion": 1}))


@every(
    ("asked", "got", "requirement", "is_kept"),
    [
        (1, 1, "INIT-06", True),
        (1, 99, "INIT-06", False),
        (1, 0, "INIT-06", False),
        (2, 2, "INIT-07", False),
        (2, 1, "INIT-07", True),
        (65535, 1, "INIT-07", True),
        (65535, 65535, "INIT-07", False),
        (65535, 3, "INIT-07", False),
        (0, 1, "INIT-08", True),
        (0, 0, "INIT-08", False),
    ],
)
def test_versions_are_agreed_upon(asked: int, got: int, requirement: str, is_kept: bool) -> None:
    said = shake({**FINE, "protocolVersion": asked}, {**ANSWER, "protocolVersion": got})
    (kept if is_kept else broken)(requirement, *said)


def test_init_06_07_08_a_version_is_no_error() -> None:
    broken("INIT-06", *shake(code=-32603))
    broken("INIT-07", *shake({**FINE, "protocolVersion": 99}, code=-32602))
    kept("INIT-08", *shake({**FINE, "protocolVersion": 0}, code=-32022))


def test_init_06_a_refusal_of_malformed_capabilities_is_no_refusal_of_the_version() -> None:
    odd = {**FINE, "clientCapabilities": {"fs": []}}
    silent("INIT-06", *shake(odd, code=-32602))
    broken("INIT-15", *shake(odd, code=-32602))


def test_init_06_version_2_is_agreed_upon_in_its_own_words() -> None:
    second = {"protocolVersion": 2, "capabilities": {}, "info": {"name": "a", "version": "1"}}
    kept("INIT-06", *shake({**FINE, "protocolVersion": 2}, second))
    kept("INIT-05", *shake({**FINE, "protocolVersion": 2}, second))
    silent("INIT-05", *shake({**FINE, "protocolVersion": 2}, {**ANSWER, "protocolVersion": 2}))


def test_init_09_a_client_leaves_if_it_does_not_speak_the_version() -> None:
    said = shake(result={**ANSWER, "protocolVersion": 99})
    kept("INIT-09", *said, side="client")
    broken("INIT-09", *said, NEW, side="client")
    silent("INIT-09", *shake(), NEW, side="client")


def test_init_11_both_speak_the_agreed_version() -> None:
    keeps("INIT-11", Talk().new().add(says("s", "hi")))
    breaks("INIT-11", Talk().new().add(update("s", "state_update", state="idle")))
    breaks("INIT-11", Talk().call("auth/login", {"methodId": "x"}, code=-32601), "client")
    breaks("INIT-11", Talk({"session": {}}, version=2).call("session/load", {}, code=-32601), "client")


def test_init_15_malformed_capabilities_do_no_harm() -> None:
    odd = {**FINE, "clientCapabilities": {"terminal": "yes", "fs": []}}
    kept("INIT-15", *shake(odd))
    broken("INIT-15", *shake(odd, code=-32602))
    silent("INIT-15", *shake())
    strange = shake(result={**ANSWER, "agentCapabilities": {"sessionCapabilities": 7}})
    kept("INIT-15", *strange, NEW, side="client")
    broken("INIT-15", *strange, side="client", facts={"exit": 1})
    silent("INIT-15", *strange, side="client")


def test_init_17_nothing_is_done_before_the_handshake() -> None:
    error = {"code": -32600, "message": "No."}
    kept("INIT-17", NEW, agent(id=2, error=error), *shake())
    broken("INIT-17", NEW, agent(id=2, result={"sessionId": "s"}), *shake())
    silent("INIT-17", NEW, agent(id=2, error={**error, "code": -32000}), *shake())
    silent("INIT-17", *shake(), NEW, agent(id=2, result={"sessionId": "s"}))


def test_init_18_a_second_handshake_is_answered() -> None:
    keeps("INIT-18", Talk().call("initialize", FINE, code=-32600))
    keeps("INIT-18", Talk().call("initialize", FINE, ANSWER))
    breaks("INIT-18", Talk().begin("initialize", FINE).call("session/list"))
    says_nothing("INIT-18", Talk().call("session/list"))


def test_init_18_another_connection_in_the_same_file_is_no_second_handshake() -> None:
    silent("INIT-18", *shake(), *shake())

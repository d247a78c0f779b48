"""RPC: how a side takes what it is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing
from tests.every import every


def line(text: bytes) -> Said:
    return "to_agent", text


def refusal(code: int, request_id: Any = None) -> Said:
    return agent(id=request_id, error={"code": code, "message": "No."})


def test_rpc_09_unknown_methods_are_refused() -> None:
    keeps("RPC-09", Talk().call("nope/nope", {}, code=-32601))
    breaks("RPC-09", Talk().call("nope/nope", {}, code=-32603))
    breaks("RPC-09", Talk().call("nope/nope", {}, {}))
    breaks("RPC-09", Talk().begin("nope/nope", {}).call("session/list"))
    says_nothing("RPC-09", Talk().begin("nope/nope", {}))
    says_nothing("RPC-09", Talk().call("_mine/own", {}, {}))
    says_nothing("RPC-09", Talk().call("session/set_model", {}, code=-32602))


def test_rpc_09_binds_clients_too() -> None:
    keeps("RPC-09", Talk().ask("nope/nope", {}, code=-32601), "client")
    breaks("RPC-09", Talk().ask("nope/nope", {}, code=-32603), "client")


@every(
    ("requirement", "text", "code"),
    [
        ("RPC-10", b"{", -32700),
        ("RPC-11", b"42", -32600),
        ("RPC-11", b"{}", -32600),
        ("RPC-11", b'{"jsonrpc":"2.0","id":50,"method":5}', -32600),
        ("RPC-11", b'{"id":50,"method":"session/list"}', -32600),
        ("RPC-16", b"[]", -32600),
        ("RPC-16", b'[{"jsonrpc":"2.0","id":50,"method":"session/list"}]', -32600),
    ],
)
def test_lines_that_are_no_messages_are_refused(requirement: str, text: bytes, code: int) -> None:
    keeps(requirement, Talk().add(line(text), refusal(code)))
    breaks(requirement, Talk().add(line(text), refusal(-32603)))
    breaks(requirement, Talk().add(line(text)).call("session/list"))
    says_nothing(requirement, Talk().add(line(text)))
    died = Talk().add(line(text)).begin("session/list")
    says_nothing(requirement, died)
    breaks(requirement, died.facts(exit=1))


def test_rpc_10_is_about_what_no_reader_takes() -> None:
    mark, bytes_of_old = b"\xef\xbb\xbf%b", b'{"jsonrpc":"2.0","id":50,"method":"\xff"}'
    for request in (mark % b'{"jsonrpc":"2.0","id":50,"method":"session/list"}', bytes_of_old):
        for reply in (refusal(-32700), agent(id=50, result={})):
            talk = Talk().add(line(request), reply).call("session/list")
            says_nothing("RPC-10", talk)
            keeps("RPC-03", talk)
    says_nothing("RPC-10", Talk().add(line(b"  ")).call("session/list"))


def test_rpc_11_a_request_of_another_version_is_not_run() -> None:
    old = line(b'{"id":50,"method":"session/list"}')
    breaks("RPC-11", Talk().add(old, agent(id=50, result={})))
    keeps("RPC-11", Talk().add(old, refusal(-32600, 50)))


def test_rpc_16_no_entry_of_an_array_is_run() -> None:
    batch = line(b'[{"jsonrpc":"2.0","id":50,"method":"session/list"}]')
    breaks("RPC-16", Talk().add(batch, agent(id=50, result={})))
    breaks("RPC-16", Talk().add(batch, ("to_client", b'[{"jsonrpc":"2.0","id":50,"result":{}}]')))


def test_rpc_12_wrong_params_have_their_code() -> None:
    keeps("RPC-12", Talk().call("session/new", {}, code=-32602))
    breaks("RPC-12", Talk().call("session/new", {}, code=-32603))
    breaks("RPC-12", Talk().call("session/new", ["/w", []], code=-32600))
    says_nothing("RPC-12", Talk().call("session/new", {}, code=-32000))
    says_nothing("RPC-12", Talk().call("session/new", {"cwd": "/w", "mcpServers": []}, code=-32603))


def test_rpc_13_and_14_the_connection_stays() -> None:
    failed = Talk().call("session/list", code=-32603)
    for requirement in ("RPC-13", "RPC-14"):
        keeps(requirement, Talk().call("session/list", code=-32603).call("session/list"))
        says_nothing(requirement, failed)
    dead = failed.begin("session/list").facts(exit=1)
    breaks("RPC-13", dead)
    breaks("RPC-14", dead)


@pytest.mark.parametrize("stray", [{"result": {}}, {"result": 1, "error": {"code": 1, "message": "x"}}, {}])
def test_rpc_15_answers_to_nothing_are_dropped(stray: dict[str, Any]) -> None:
    keeps("RPC-15", Talk().add(client(id=4711, **stray)).call("session/list"))
    breaks("RPC-15", Talk().add(client(id=4711, **stray), refusal(-32600)).call("session/list"))
    breaks("RPC-15", Talk().add(client(id=4711, **stray), refusal(-32600, 4711)).call("session/list"))
    says_nothing("RPC-15", Talk().add(client(id=4711, **stray)))


def test_rpc_18_params_may_be_absent() -> None:
    for absent in (client("session/list", id=5), client("session/list", None, id=5)):
        keeps("RPC-18", Talk().add(absent, agent(id=5, result={"sessions": []})))
        breaks("RPC-18", Talk().add(absent, refusal(-32602, 5)))
        says_nothing("RPC-18", Talk().add(absent, refusal(-32601, 5)))


def test_rpc_21_unknown_members_are_ignored() -> None:
    new = {"cwd": "/w", "mcpServers": [], "bogus": 1}
    keeps("RPC-21", Talk().call("session/new", new, {"sessionId": "s"}))
    breaks("RPC-21", Talk().new().call("session/new", new, code=-32602))
    says_nothing("RPC-21", Talk().call("session/new", new, code=-32602))  # it refuses every session
    says_nothing("RPC-21", Talk().call("session/new", {**new, "cwd": "src"}, code=-32602))

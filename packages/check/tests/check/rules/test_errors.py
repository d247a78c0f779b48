"""ERR: codes, and what errors tell."""

from __future__ import annotations

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing

SECRET = "sk-do-not-tell-anybody"
LOAD = {"sessionId": "gone", "cwd": "/w", "mcpServers": []}


def test_err_01_codes_have_32_bits() -> None:
    keeps("ERR-01", Talk().call("session/list", code=-32601))
    keeps("ERR-01", Talk().call("session/list", code=7))
    breaks("ERR-01", Talk().call("session/list", code=2**31))


def test_err_03_a_missing_session_has_its_own_code() -> None:
    keeps("ERR-03", Talk().call("session/load", LOAD, code=-32002, data={"sessionId": "gone"}))
    keeps("ERR-03", Talk().call("session/load", LOAD, code=-32002))
    breaks("ERR-03", Talk().call("session/load", LOAD, code=-32002, data={"sessionId": "other"}))
    for text in ("Session not found", "Session gone not found", "Unknown session: gone"):
        breaks("ERR-03", Talk().call("session/load", LOAD, code=-32603, message=text))
    says_nothing("ERR-03", Talk().call("session/load", LOAD, code=-32603))


def test_err_03_a_missing_file_has_its_own_code() -> None:
    ask = {"sessionId": "s", "path": "/w/a"}
    keeps("ERR-03", Talk().ask("fs/read_text_file", ask, code=-32002), "client")
    says_nothing("ERR-03", Talk().ask("fs/read_text_file", ask, code=-32603), "client")
    told = {"code": -32603, "message": "ENOENT: no such file or directory"}
    breaks("ERR-03", Talk().add(agent("fs/read_text_file", ask, id=7), client(id=7, error=told)), "client")


def test_err_04_reserved_codes_are_left_alone() -> None:
    for fine in (-32601, -32000, -32002, -32800, -31999, 1):
        keeps("ERR-04", Talk().call("session/list", code=fine))
    for wrong in (-32001, -32099, -32500):
        breaks("ERR-04", Talk().call("session/list", code=wrong))


def test_err_05_a_client_lives_with_unknown_codes() -> None:
    keeps("ERR-05", Talk().new().prompt(code=-31999).prompt(), "client")
    breaks("ERR-05", Talk().new().prompt(code=-31999).facts(exit=-11), "client")
    says_nothing("ERR-05", Talk().new().prompt(code=-31999).facts(exit=1), "client")
    says_nothing("ERR-05", Talk().new().prompt(code=-32603).prompt(), "client")


def test_err_06_errors_repeat_no_secrets() -> None:
    server = {"name": "a", "command": "/bin/a", "args": 5, "env": [{"name": "T", "value": SECRET}]}
    params = {"cwd": "/w", "mcpServers": [server]}
    keeps("ERR-06", Talk().call("session/new", params, code=-32602, data={"at": "mcpServers[0].args"}))
    breaks("ERR-06", Talk().call("session/new", params, code=-32602, data={"input": [server]}))
    says_nothing("ERR-06", Talk().call("session/new", {**params, "mcpServers": []}, code=-32602))


def test_err_06_binds_clients_too() -> None:
    create = {"sessionId": "s", "command": "x", "env": [{"name": "T", "value": SECRET}]}
    keeps("ERR-06", Talk().ask("terminal/create", create, code=-32603), "client")
    told = {"code": -32603, "message": "No.", "data": create}
    breaks("ERR-06", Talk().add(agent("terminal/create", create, id=7), client(id=7, error=told)), "client")

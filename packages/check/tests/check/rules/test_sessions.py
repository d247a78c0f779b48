"""SES: sessions."""

from __future__ import annotations

from tests.check.rules.talks import Talk, breaks, keeps, says, says_nothing

NOT_FOUND = -32002
BAD = -32602


def test_ses_01_and_02_a_new_session_has_an_absolute_folder_and_servers() -> None:
    for requirement in ("SES-01", "SES-02"):
        keeps(requirement, Talk().new("s"), "client")
    breaks("SES-01", Talk().new("s", mcpServers=None), "client")
    breaks("SES-01", Talk().new("s", 5), "client")
    breaks("SES-02", Talk().new("s", "src"), "client")
    keeps("SES-02", Talk().new("s", "C:\\work"), "client")


def test_ses_03_missing_servers_are_refused_and_null_is_none() -> None:
    without = {"cwd": "/w"}
    keeps("SES-03", Talk().call("session/new", without, code=BAD))
    breaks("SES-03", Talk().call("session/new", without, {"sessionId": "s"}))
    keeps("SES-03", Talk().new("s", mcpServers=None))
    breaks("SES-03", Talk().call("session/new", {**without, "mcpServers": None}, code=BAD))
    says_nothing("SES-03", Talk().call("session/new", without, code=-32000))


def test_ses_04_every_session_has_an_id_of_its_own() -> None:
    keeps("SES-04", Talk().new("a").new("b"))
    breaks("SES-04", Talk().new("a").new("a"))
    breaks("SES-04", Talk().new(""))


def test_ses_09_a_relative_folder_is_refused() -> None:
    keeps("SES-09", Talk().call("session/new", {"cwd": "src", "mcpServers": []}, code=BAD))
    breaks("SES-09", Talk().new("s", "src"))


def test_ses_17_settings_are_whole_where_there_are_any() -> None:
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}
    keeps("SES-17", Talk().new("s", result={"modes": modes}))
    breaks("SES-17", Talk().new("s", result={"modes": {"currentModeId": "a"}}))
    breaks("SES-17", Talk().new("s", result={"configOptions": [{"id": "a"}]}))
    says_nothing("SES-17", Talk().new("s"))


def test_ses_19_the_answer_comes_before_the_first_update() -> None:
    new = {"cwd": "/w", "mcpServers": []}
    keeps("SES-19", Talk().new("s").add(says("s", "hi")))
    breaks("SES-19", Talk().begin("session/new", new).add(says("s", "hi")).answer({"sessionId": "s"}))


def test_ses_20_a_session_that_is_not_in_use_is_not_found() -> None:
    params = {"sessionId": "x", "prompt": []}
    data = {"sessionId": "x"}
    keeps("SES-20", Talk().call("session/prompt", params, code=NOT_FOUND, data=data))
    breaks("SES-20", Talk().call("session/prompt", params, code=NOT_FOUND))
    breaks("SES-20", Talk().prompt("x"))
    says_nothing("SES-20", Talk().new("s").prompt("s"))
    says_nothing("SES-20", Talk().call("session/prompt", params, code=-32000))
    load = {"sessionId": "x", "cwd": "/w", "mcpServers": []}
    breaks(
        "SES-20", Talk().call("session/load", load, code=-32603).mark("load of an unknown session", last=2)
    )
    says_nothing("SES-20", Talk().call("session/load", load, code=-32603))


def test_ses_20_who_loads_nobody_does_not_know_him_either() -> None:
    load = {"sessionId": "x", "cwd": "/w", "mcpServers": []}
    unaware = Talk({}).call("session/load", load).mark("load of an unknown session", last=2)
    says_nothing("SES-20", unaware)
    breaks("SES-20", unaware.prompt("x").mark("prompt of an unknown session", last=2))


def test_ses_20_a_closed_session_is_not_in_use() -> None:
    closed = Talk().new("s").call("session/close", {"sessionId": "s"})
    breaks("SES-20", closed.prompt("s"))


def test_ses_22_a_client_lives_with_updates_of_unknown_sessions() -> None:
    keeps("SES-22", Talk().new("s").add(says("x", "hi")).prompt("s"), "client")
    asked = Talk().new("s").add(says("x", "hi")).begin("session/list")
    asked.said.pop()  # the client is gone; the agent asks in vain
    asked.said.append(("to_client", b'{"jsonrpc":"2.0","id":7,"method":"session/request_permission"}'))
    breaks("SES-22", asked, "client")

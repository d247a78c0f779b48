"""CMD: slash commands."""

from __future__ import annotations

from typing import Any

from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update

WEB: dict[str, Any] = {"name": "web", "description": "Searches.", "input": {"hint": "what"}}
NEW = {"cwd": "/w", "mcpServers": []}


def offering(*commands: Any) -> Talk:
    return Talk().new("s").add(update("s", "available_commands_update", availableCommands=list(commands)))


def test_cmd_01_commands_are_announced_after_the_session_was_made() -> None:
    keeps("CMD-01", offering(WEB))
    early = update("s", "available_commands_update", availableCommands=[])
    breaks("CMD-01", Talk().begin("session/new", NEW).add(early).answer({"sessionId": "s"}))


def test_cmd_02_commands_are_whole() -> None:
    keeps("CMD-02", offering(WEB, {"name": "x", "description": "", "input": None}))
    wrongs: list[Any] = [{"name": None}, {"description": 5}, {"input": {}}, {"input": "text"}]
    for wrong in wrongs:
        breaks("CMD-02", offering({**WEB, **wrong}))
    breaks("CMD-02", Talk().new("s").add(update("s", "available_commands_update")))


def test_cmd_04_a_command_is_a_prompt() -> None:
    keeps("CMD-04", offering(WEB).prompt("s", "/web dragons"), "client")
    breaks("CMD-04", offering(WEB).prompt("s", "web dragons").mark("command", last=2), "client")
    says_nothing("CMD-04", offering(WEB).prompt("s", "/website"), "client")


def test_cmd_05_a_command_is_recognised() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    keeps("CMD-05", offering(WEB).prompt("s", "/web dragons", image))
    breaks("CMD-05", offering(WEB).prompt("s", "/web", image, code=-32602))
    says_nothing("CMD-05", offering(WEB).prompt("s", "/web", code=-32603))


def test_cmd_05_names_with_blanks_are_commands_too() -> None:
    keeps("CMD-05", offering({**WEB, "name": "memory show"}).prompt("s", "/memory show"))


def test_cmd_06_an_unknown_command_is_text() -> None:
    keeps("CMD-06", offering(WEB).prompt("s", "/nobodys command"))
    breaks("CMD-06", offering(WEB).prompt("s", "/nobodys", code=-32602))
    says_nothing("CMD-06", offering(WEB).prompt("s", "/usr/bin is a folder"))


def test_cmd_07_names_have_no_slash() -> None:
    keeps("CMD-07", offering(WEB))
    breaks("CMD-07", offering({**WEB, "name": "/web"}))

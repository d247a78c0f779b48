"""Terminals of an agent as text."""

from __future__ import annotations

from base64 import b64encode

from dragoman.dialect.shown_terminal import KEPT
from dragoman.dialect.v2.agent_calls import V2Terminal
from tests.dialect.v2.to_v1.told import Told


def data(said: bytes) -> str:
    return b64encode(said).decode()


def test_a_character_that_was_cut_in_two_is_whole() -> None:
    terminal, told = V2Terminal(), Told()
    whole = "🐟".encode()
    terminal.add(data(whole[:2]), told)
    terminal.add(data(whole[2:]), told)
    assert terminal.text() == "```console\n🐟\n```"


def test_escapes_are_not_shown() -> None:
    terminal = V2Terminal()
    terminal.add(data(b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07ok\x1b(B\x07\r\nnext"), Told())
    assert terminal.text() == "```console\nred ok\nnext\n```"


def test_an_upsert_replaces_the_output_and_keeps_what_it_does_not_name() -> None:
    terminal, told = V2Terminal(), Told()
    terminal.update({"command": "ls"}, told)
    terminal.add(data(b"old"), told)
    terminal.update({"output": {"data": data(b"new")}}, told)
    terminal.update({"exitStatus": {"signal": "SIGTERM", "exitCode": None}}, told)
    assert terminal.text() == "```console\n$ ls\nnew\n[ended by signal SIGTERM]\n```"
    terminal.update({"output": None, "exitStatus": None, "command": None}, told)
    assert terminal.is_empty


def test_what_is_no_base64_is_named() -> None:
    terminal, told = V2Terminal(), Told()
    for wrong in ("***", 5, None, "a"):
        terminal.add(wrong, told)
    assert set(told.losses) == {"terminal output that is not base64"}
    assert len(told.losses) == 2  # nothing at all is an empty chunk


def test_only_the_end_of_a_very_long_output_is_kept() -> None:
    terminal, told = V2Terminal(), Told()
    terminal.add(data(b"x" * KEPT + b"end"), told)
    text = terminal.text()
    assert len(text) < KEPT + 100
    assert "[…]\n" in text
    assert text.endswith("end\n```")
    assert told.losses == ["terminal output beyond 256 KiB"]


def test_it_says_when_it_has_grown_enough() -> None:
    terminal, told = V2Terminal(), Told()
    assert [terminal.has_grown] == [False]
    terminal.add(data(b"x" * 80), told)
    assert [terminal.has_grown] == [True]
    terminal.text()
    terminal.add(data(b"x"), told)
    assert (terminal.has_grown, terminal.unsent) == (False, 1)
    terminal.add(data(b"x" * 20), told)
    assert terminal.has_grown

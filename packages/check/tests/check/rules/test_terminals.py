"""TERM: how terminals are used, and the shape of what is answered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check.conversations import agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing, update
from tests.every import every

LENT = {"terminal": True}
CALL = update("s", "tool_call", toolCallId="c", title="x", status="completed")
DONE = {"exitCode": 0, "signal": None}


class Console(Talk):
    """A conversation in which the agent uses a terminal."""

    number = 100

    def do(
        self, what: str, result: Any = None, *, code: int = 0, terminal: Any = "t", **more: Any
    ) -> Console:
        """A request about a terminal and its answer."""
        self.number += 1
        params = {"sessionId": "s", "terminalId": terminal, **more}
        self.ask(f"terminal/{what}", params, result, code=code, id=self.number)
        return self

    def made(self, result: Any = None, *, code: int = 0, **more: Any) -> Console:
        self.number += 1
        params = {"sessionId": "s", "command": "ls", **more}
        self.ask("terminal/create", params, result or {"terminalId": "t"}, code=code, id=self.number)
        return self

    def output(self, text: Any = "x", *, status: Any = None, **more: Any) -> Console:
        told = {"output": text, "truncated": False, **more}
        return self.do("output", told if status is None else {**told, "exitStatus": status})


def console(wants: Any = LENT) -> Console:
    talk = Console(wants=wants)
    talk.new("s")
    return talk


def running() -> Console:
    """In a turn that is not over."""
    talk = console()
    talk.begin_prompt("s", "a")
    return talk


@pytest.mark.parametrize("wants", [{}, {"terminal": False}, {"terminal": "yes"}])
def test_term_01_terminals_are_used_where_they_are_lent(wants: Any) -> None:
    keeps("TERM-01", console().made().do("release"))
    breaks("TERM-01", console(wants).made())
    keeps("TERM-01", console(wants).prompt("s", CALL))


@every(
    "wrong", [{"command": None}, {"args": "x"}, {"env": {"A": "b"}}, {"cwd": "w"}, {"outputByteLimit": -1}]
)
def test_term_03_a_terminal_is_asked_for_whole(wrong: dict[str, Any]) -> None:
    more: dict[str, Any] = {
        "args": ["-l"],
        "env": [{"name": "A", "value": "b"}],
        "cwd": "/w",
        "outputByteLimit": 10,
    }
    keeps("TERM-03", console().made(**more))
    breaks("TERM-03", console().made(**wrong))


def test_term_10_a_terminal_is_released() -> None:
    keeps(
        "TERM-10", running().made().do("wait_for_exit", DONE).do("release").answer({"stopReason": "end_turn"})
    )
    breaks("TERM-10", running().made().do("wait_for_exit", DONE).answer({"stopReason": "end_turn"}))
    breaks("TERM-10", running().made().do("kill").answer({"stopReason": "end_turn"}))
    says_nothing("TERM-10", running().made().answer({"stopReason": "end_turn"}))
    breaks("TERM-10", console().made().call("session/close", {"sessionId": "s"}))


def test_term_06_output_says_what_there_is() -> None:
    keeps("TERM-06", console().made().output().do("wait_for_exit", DONE).output(status=DONE), "client")
    breaks("TERM-06", console().made().output(5), "client")
    breaks("TERM-06", console().made().output(truncated=None), "client")
    breaks("TERM-06", console().made().do("wait_for_exit", DONE).output(), "client")


@pytest.mark.parametrize("wrong", [{"exitStatus": DONE}, {"exitCode": "0"}, {"signal": 9}])
def test_term_07_an_exit_is_told_flat(wrong: dict[str, Any]) -> None:
    keeps("TERM-07", console().made().do("wait_for_exit", DONE), "client")
    breaks("TERM-07", console().made().do("wait_for_exit", wrong), "client")


def test_term_08_a_command_ends_by_a_code_or_a_signal() -> None:
    killed = {"exitCode": None, "signal": "SIGKILL"}
    keeps("TERM-08", console().made().do("wait_for_exit", killed).output(status=killed), "client")
    breaks("TERM-08", console().made().do("wait_for_exit", {**killed, "exitCode": 137}), "client")


def test_term_16_results_are_objects() -> None:
    def released(result: Any) -> Talk:
        frame = agent("terminal/release", {"sessionId": "s", "terminalId": "t"}, id=5)
        return console().made().add(frame, client(id=5, result=result))

    keeps("TERM-16", released({}), "client")
    breaks("TERM-16", released(None), "client")


@every("wrong", [{"args": "x"}, {"env": 5}, {"cwd": 5}, {"outputByteLimit": "x"}])
def test_term_18_bad_members_are_refused(wrong: dict[str, Any]) -> None:
    keeps("TERM-18", console().made(code=-32602, **wrong), "client")
    breaks("TERM-18", console().made(**wrong), "client")
    keeps("TERM-18", console().made(args=None, env=None), "client")
    breaks("TERM-18", console().made(code=-32602, args=None), "client")

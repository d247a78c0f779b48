"""TERM: what becomes of commands."""

from __future__ import annotations

from typing import Any

from tests.check.conversations import Said, agent, client
from tests.check.rules.talks import Talk, breaks, keeps, says_nothing
from tests.check.rules.test_terminals import DONE, Console, console
from tests.every import every

WHERE = {"sessionId": "s", "terminalId": "t"}


def wait(id: int = 60) -> Said:
    return agent("terminal/wait_for_exit", WHERE, id=id)


def output(id: int = 61) -> Said:
    return agent("terminal/output", WHERE, id=id)


def slowly_made(seconds: float) -> Console:
    talk = console()
    talk.add(agent("terminal/create", {"sessionId": "s", "command": "ls"}, id=50)).wait(seconds)
    talk.add(client(id=50, result={"terminalId": "t"}))
    return talk


def test_term_02_a_terminal_is_there_at_once() -> None:
    keeps("TERM-02", slowly_made(0.5), "client")
    keeps("TERM-02", slowly_made(8.0).output(), "client")  # it had not ended: somebody was asked
    breaks("TERM-02", slowly_made(8.0).output(status=DONE), "client")
    breaks("TERM-02", console().made({"id": "t"}), "client")


def test_term_04_the_beginning_is_cut() -> None:
    begin = "0123456789abcdefghij"
    keeps("TERM-04", console().made().output(begin).output("xyz", truncated=True), "client")
    breaks("TERM-04", console().made().output(begin).output(begin + "x", truncated=True), "client")


def test_term_05_the_cut_is_between_characters() -> None:
    keeps("TERM-05", console().made(outputByteLimit=5).output("\u00e9\u00e9", truncated=True), "client")
    breaks("TERM-05", console().made(outputByteLimit=5).output("\ufffd\u00e9", truncated=True), "client")
    breaks("TERM-05", console().made(outputByteLimit=3).output("\u00e9\u00e9", truncated=True), "client")


def test_term_09_a_killed_terminal_can_be_asked() -> None:
    keeps("TERM-09", console().made().do("kill").output(status=DONE).do("wait_for_exit", DONE), "client")
    breaks("TERM-09", console().made().do("kill").do("output", code=-32002), "client")


def test_term_11_a_released_command_ends() -> None:
    def released(gone: Any) -> Talk:
        talk = console().made()
        talk.mark("terminal to release early", last=2)
        return talk.do("release").facts(**{"released process gone": gone})

    keeps("TERM-11", released(True), "client")
    breaks("TERM-11", released(False), "client")
    says_nothing("TERM-11", released(None), "client")


def test_term_11_who_waits_learns_of_a_release() -> None:
    talk = console().made()
    talk.add(wait())
    keeps("TERM-11", talk.do("release").add(client(id=60, result=DONE)), "client")


@every("what", ["output", "wait_for_exit", "kill", "release"])
def test_term_12_a_released_terminal_is_gone(what: str) -> None:
    keeps("TERM-12", console().made().do("release").do(what, code=-32002), "client")
    breaks("TERM-12", console().made().do("release").do(what), "client")


def test_term_12_an_id_may_be_given_again() -> None:
    says_nothing("TERM-12", console().made().do("release").made().output(), "client")


def test_term_14_waiting_holds_nobody_up() -> None:
    quick = client(id=61, result={"output": "", "truncated": False})
    done = client(id=60, result=DONE)
    keeps("TERM-14", console().made().add(wait(), output(), quick, done), "client")
    keeps("TERM-14", console().made().add(wait(), wait(62), done, client(id=62, result=DONE)), "client")
    breaks("TERM-14", console().made().add(wait(), output()).wait(9.0).add(done, quick), "client")
    breaks("TERM-14", console().made().add(wait(), wait(62), done).prompt("s"), "client")


def test_term_15_odd_requests_are_answered() -> None:
    keeps("TERM-15", console().made(code=-32603), "client")
    keeps("TERM-15", console().made().do("wait_for_exit", DONE).do("kill"), "client")
    keeps("TERM-15", console().do("output", code=-32002, terminal="nobody's"), "client")
    silent = console().made().do("release").add(agent("terminal/release", WHERE, id=5)).prompt("s")
    breaks("TERM-15", silent, "client")


def test_term_17_a_cancelled_wait_ends() -> None:
    def ended(**body: Any) -> Talk:
        cancel = agent("$/cancel_request", {"requestId": 60})
        return console().made().add(wait(), cancel, client(id=60, **body))

    keeps("TERM-17", ended(error={"code": -32800, "message": "No."}), "client")
    keeps("TERM-17", ended(result=DONE), "client")
    breaks("TERM-17", ended(error={"code": -32603, "message": "No."}), "client")


def test_term_19_a_command_runs_in_the_folder_of_its_session() -> None:
    def printed(text: str, **more: Any) -> Talk:
        return console().made(**{"command": "pwd", **more}).output(text, status=DONE)

    keeps("TERM-19", printed("/w\n"), "client")
    keeps("TERM-19", printed("/w/inner\n", cwd="/w/inner"), "client")
    breaks("TERM-19", printed("/home/me\n"), "client")
    says_nothing("TERM-19", printed("/home/me\n", command="ls"), "client")


def test_term_19_a_command_gets_its_variables() -> None:
    def printed(text: str) -> Talk:
        talk = console().made(command="python", env=[{"name": "A", "value": "here"}])
        talk.mark("terminal", last=2)
        return talk.output(text, status=DONE)

    keeps("TERM-19", printed("/w\nhere\n"), "client")
    breaks("TERM-19", printed("/w\nNone\n"), "client")

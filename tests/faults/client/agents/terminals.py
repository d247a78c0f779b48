"""Agents that use the client's terminals, rightly and wrongly."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from tests.faults.client.agents.bare import SESSION, Agent, Message, at, main, usual

PROMPT = "session/prompt"
STUBBORN = "trap '' TERM HUP INT; sleep 300 & sleep 300; sleep 300"


class Terminals:
    """Terminals of the client; `note` keeps answers under the id of a fault."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.work = os.path.join(os.path.dirname(agent.report), "work")

    def create(self, command: Any, *args: Any, session: str = SESSION, **more: Any) -> Message:
        params = {"sessionId": session, "command": command, "args": list(args), "cwd": self.work, **more}
        return self.agent.call("terminal/create", params)

    def start(self, command: str, *args: str, **more: Any) -> str:
        return str(self.create(command, *args, **more)["result"]["terminalId"])

    def do(self, what: str, terminal: Any, session: str = SESSION) -> Message:
        return self.agent.call(f"terminal/{what}", {"sessionId": session, "terminalId": terminal})

    def run(self, command: str, *args: str, **more: Any) -> dict[str, Any]:
        terminal = self.start(command, *args, **more)
        ended = self.do("wait_for_exit", terminal)["result"]
        output = self.do("output", terminal)["result"]
        self.do("release", terminal)
        return {"ended": ended, **output}

    def note(self, name: str, fact: Any) -> None:
        self.agent.note(**{name: fact})


def code(answer: Message) -> Any:
    return answer.get("error", {}).get("code")


@at(PROMPT, "terminals")
def try_everything(agent: Agent, request: Message) -> None:
    terminals = Terminals(agent)
    _shell(terminals)
    _output(terminals)
    _wrong(terminals)
    _order(terminals)
    usual(agent, request)


def _shell(terminals: Terminals) -> None:
    evil = ["; touch evil-1", "$(touch evil-2)", "`touch evil-3`", "| touch evil-4", "> evil-5", "a\nb", "*"]
    terminals.note("CTE-01", terminals.run("printf", "[%s]", *evil))
    terminals.note("CTE-02", terminals.create("no-such-program; touch evil-6", "x"))
    terminals.note("CTE-X06", terminals.run("env"))
    terminals.note("CTE-X12", terminals.run("cat"))
    terminals.note("CTE-X15", terminals.run("pwd"))


def _output(terminals: Terminals) -> None:
    many = "import sys; sys.stdout.write('é😀漢' * 1_000_000)"
    terminals.note("CTE-04", terminals.run(sys.executable, "-c", many, outputByteLimit=1000))
    raw = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 3)"
    terminals.note("CTE-X09", terminals.run(sys.executable, "-c", raw))
    for limit in (0, -1, 2**70, "many", None):
        answer = terminals.create("echo", "x", outputByteLimit=limit)
        terminals.note("CTE-X10", answer.get("error", {}).get("code", "made"))
    signalled = "import os; os.kill(os.getpid(), 9)"
    terminals.note("CTE-X11", terminals.run(sys.executable, "-c", signalled)["ended"])


def _wrong(terminals: Terminals) -> None:
    tried = {"relative": "work", "missing": f"{terminals.work}/no-folder", "file": terminals.agent.report}
    for name, cwd in tried.items():
        terminals.note("CTE-10", [name, terminals.create("true", cwd=cwd)])
    terminals.note("CTE-10", ["command", terminals.create("no-such-program")])
    for cwd in ("/", "/etc", f"{terminals.work}/..", f"{terminals.work}/link-out"):
        terminals.note("CTE-X08", code(terminals.create("true", cwd=cwd)))
    for env in (
        [{"name": "A=B", "value": "x"}],
        [{"name": "", "value": "x"}],
        [{"name": "A", "value": "\0"}],
        "A=B",
    ):
        terminals.note("CTE-X07", code(terminals.create("true", env=env)))
    for command in ("", "\0", None, 5, ["true"]):
        terminals.note("CTE-X13", code(terminals.create(command)))
    terminals.note("CTE-X14", code(terminals.create("true", session="s-2")))


def _order(terminals: Terminals) -> None:
    terminal = terminals.start("sleep", "300")
    actions = ("output", "wait_for_exit", "kill", "release")
    terminals.note("CTE-11", [code(terminals.do(what, terminal, "s-2")) for what in actions])
    terminals.note(
        "CTE-X03", [code(terminals.do(what, name)) for what in actions for name in ("?", "", 5, None)]
    )
    killed = terminals.do("kill", terminal)
    ended = terminals.do("wait_for_exit", terminal)["result"]
    again = [
        code(terminals.do(what, terminal)) for what in ("kill", "output", "release", "release", "output")
    ]
    terminals.note("CTE-X02", [code(killed), ended, again])
    ids = [terminals.start("true") for _ in range(40)]
    ends = [terminals.do("wait_for_exit", one)["result"].get("exitCode") for one in ids]
    terminals.note("CTE-X04", [ends, [code(terminals.do("release", one)) for one in ids]])


@at(PROMPT, "CTE-05")
def endless_output(agent: Agent, request: Message) -> None:
    terminals = Terminals(agent)
    agent.note_memory("before")
    terminal = terminals.start("yes", "a line that never ends")
    time.sleep(2)  # without a bound, this would be gigabytes, and much on a slow machine, too
    output = terminals.do("output", terminal)["result"]
    agent.note(truncated=output["truncated"], size=len(output["output"]))
    agent.note(released=code(terminals.do("release", terminal)))
    usual(agent, request)


@at(PROMPT, "CTE-07", "CTE-X05")
def release_a_family(agent: Agent, request: Message) -> None:
    from dragoman.testing.pace import patience  # the others do without what this imports

    terminals = Terminals(agent)
    daemon = "setsid sh -c 'trap \"\" TERM HUP; sleep 300' </dev/null >/dev/null 2>&1 & "
    has_daemon = sys.argv[1] == "CTE-X05"
    terminal = terminals.start("sh", "-c", (daemon if has_daemon else "") + STUBBORN)
    deadline = time.monotonic() + patience(8)
    while (alive := len(_in_workspace(terminals.work))) < 3 + has_daemon and time.monotonic() < deadline:
        time.sleep(0.02)
    agent.note(alive=alive)
    agent.note(released=code(terminals.do("release", terminal)))
    deadline = time.monotonic() + patience(5)
    while (left := _in_workspace(terminals.work)) and time.monotonic() < deadline:
        time.sleep(0.02)
    agent.note(left=len(left))
    usual(agent, request)


def _in_workspace(folder: str) -> list[int]:
    """The processes that work there, but for us, the client, and those who are done."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            here = os.readlink(f"/proc/{name}/cwd")
        except OSError:
            continue
        if here == folder and int(name) not in (os.getpid(), os.getppid()):
            found.append(int(name))
    return found


@at(PROMPT, "CTE-08", "CTE-X01", "CTE-X16")
def leave_it_running(agent: Agent, request: Message) -> None:
    Terminals(agent).start("sh", "-c", STUBBORN)
    agent.note(working=True)
    if sys.argv[1] == "CTE-X01":
        os.kill(os.getpid(), 9)
    if sys.argv[1] == "CTE-X16":
        time.sleep(60)
    usual(agent, request)


@at(PROMPT, "CTE-X17")
def wait_and_kill_at_once(agent: Agent, request: Message) -> None:
    terminals = Terminals(agent)
    for _ in range(20):
        terminal = terminals.start("sleep", "300")
        params = {"sessionId": SESSION, "terminalId": terminal}
        for n, what in enumerate(("wait_for_exit", "output", "kill", "wait_for_exit", "release", "output")):
            agent.send({"jsonrpc": "2.0", "id": n, "method": f"terminal/{what}", "params": params})
        agent.note(ids=sorted(answer["id"] for answer in agent.answers(6)))
    usual(agent, request)


@at(PROMPT, "CTE-X18")
def no_rights(agent: Agent, request: Message) -> None:
    agent.note(refused=code(Terminals(agent).create("touch", "evil")))
    usual(agent, request)


if __name__ == "__main__":
    main()

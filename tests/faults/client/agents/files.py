"""Agents that want files which are not theirs, and those which are, in odd ways."""

from __future__ import annotations

import os
import threading
from typing import Any

from tests.faults.client.agents.bare import SESSION, Agent, Message, at, main, usual

PROMPT = "session/prompt"


class Asker:
    """Reads and writes through the client; what it gets is noted under a name."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.place = os.path.dirname(agent.report)
        self.work = os.path.join(self.place, "work")
        self.outside = os.path.join(self.place, "outside")

    def read(self, name: str, *paths: Any, session: Any = SESSION, **more: Any) -> None:
        for path in paths:
            params = {"sessionId": session, "path": path, **more}
            self._note(name, self.agent.call("fs/read_text_file", params))

    def write(
        self, name: str, *paths: Any, session: Any = SESSION, content: Any = "EVIL", **more: Any
    ) -> None:
        for path in paths:
            params = {"sessionId": session, "path": path, "content": content, **more}
            self._note(name, self.agent.call("fs/write_text_file", params))

    def _note(self, name: str, answer: Message) -> None:
        self.agent.note(**{name: {key: answer[key] for key in ("result", "error") if key in answer}})


@at(PROMPT, "files")
def try_everything(agent: Agent, request: Message) -> None:
    asker = Asker(agent)
    _read_outside(asker)
    _read_oddly(asker)
    _write_outside(asker)
    _write_inside(asker)
    usual(agent, request)


def _read_outside(asker: Asker) -> None:
    work, outside = asker.work, asker.outside
    asker.read("CFS-00", f"{work}/inside.txt")
    asker.read("CFS-01", f"{outside}/secret.txt", "/etc/passwd")
    asker.read("CFS-03", f"{work}/link-to-file")
    asker.read("CFS-04", f"{work}/link-to-folder/secret.txt")
    asker.read("CFS-12", "/proc/self/environ", f"/proc/{os.getppid()}/environ", "/proc/self/mem")
    asker.read("CFS-X01", f"{work}/../outside/secret.txt", f"{work}/deep/../../outside/secret.txt")
    asker.read("CFS-X02", f"{work}-twin/secret.txt", f"{work}twin", f"{work}/.")
    asker.read("CFS-X03", "inside.txt", "./inside.txt", "../outside/secret.txt")
    asker.read("CFS-X05", "/dev/zero", "/dev/stdin", "/dev/tty", f"{work}/device")
    asker.read("CFS-X07", f"{work}/loop", f"{work}/loop/inside.txt")
    asker.read("CFS-X14", f"file://{work}/inside.txt", f"FILE://{outside}/secret.txt")
    asker.read("CFS-X17", f"{work}/dangling")
    asker.read("CFS-X18", "~/secret.txt", "$HOME/secret.txt", "~root/.bashrc")
    asker.read("CFS-X19", f"/proc/self/root{outside}/secret.txt", f"/proc/self/cwd/{outside}/secret.txt")
    asker.read("CFS-X23", f"{work}/chain-1")


def _read_oddly(asker: Asker) -> None:
    work = asker.work
    asker.read("CFS-09", f"{work}/inside.txt\0", "\0", f"{work}/\0/x")
    asker.read("CFS-10", f"{work}/fifo")
    asker.read("CFS-15", f"{work}/nothing.txt")
    asker.read("CFS-16", work, f"{work}/deep")
    asker.read("CFS-18", f"{work}/inside.txt", session="s-2")
    asker.read("CFS-18", f"{work}/inside.txt", session="")
    meta = {"path": f"{asker.outside}/secret.txt", "sessionId": "s-2"}
    asker.read("CFS-19", f"{work}/inside.txt", _meta=meta)
    asker.read("CFS-X04", "", "/", "/" * 5000, f"{work}/{'x' * 100_000}", f"{work}/a\nb", 5, None, [work])
    for bounds in ({"line": -1}, {"limit": -1}, {"line": "1"}, {"line": 2**70}, {"limit": 1.5}):
        asker.read("CFS-X08", f"{work}/inside.txt", **bounds)
    asker.read("CFS-X09", f"{work}/latin.txt", f"{work}/binary.bin")
    asker.read("CFS-X10", f"{work}/socket")
    asker.read("CFS-X24", f"{work}/no-rights.txt")


def _write_outside(asker: Asker) -> None:
    work, outside = asker.work, asker.outside
    asker.write("CFS-06", f"{work}/link-to-file", f"{work}/link-to-folder/secret.txt")
    asker.write("CFS-07", f"{work}/dangling", f"{work}/link-to-folder/new.txt")
    asker.write("CFS-X06", "/proc/self/comm", work, f"{work}/deep", "/dev/null", f"{work}/fifo")
    asker.write("CFS-X15", f"{work}/inside.txt", session="s-2")
    asker.write("CFS-X20", f"{outside}/new.txt", f"{work}/../outside/new.txt", f"{work}/../new/new.txt")
    asker.write("CFS-X22", f"{work}/inside.txt", content=5)
    asker.write("CFS-X22", f"{work}/inside.txt", content=None)


def _write_inside(asker: Asker) -> None:
    text = "one\r\ntwo \U0001f600\r\n\u2028three\n"
    asker.write("CFS-21", f"{asker.work}/written.txt", content=text)
    asker.read("CFS-21", f"{asker.work}/written.txt")
    asker.write("CFS-X12", f"{asker.work}/new/folder/file.txt", content="deep")
    asker.write("CFS-X25", f"{asker.work}/surrogate.txt", content="x\ud800y")


@at(PROMPT, "CFS-13")
def one_line_of_a_large_file(agent: Agent, request: Message) -> None:
    asker = Asker(agent)
    agent.note_memory("before")
    asker.read("CFS-13", f"{asker.work}/large.txt", line=3, limit=1)
    asker.read("CFS-X26", f"{asker.work}/large.txt")
    usual(agent, request)


@at(PROMPT, "CFS-X16")
def many_at_once(agent: Agent, request: Message) -> None:
    path = os.path.join(os.path.dirname(agent.report), "work", "inside.txt")
    params = {"sessionId": SESSION, "path": path}
    for n in range(400):
        agent.send({"jsonrpc": "2.0", "id": n, "method": "fs/read_text_file", "params": params})
    answers = agent.answers(400)
    agent.note(answered=sorted(answer["id"] for answer in answers))
    agent.note(wrong=[answer for answer in answers if "result" not in answer][:3])
    agent.note_memory("before")
    Asker(agent).write("large", f"{os.path.dirname(path)}/large.txt", content="y" * (20 * 1024 * 1024))
    usual(agent, request)


@at(PROMPT, "CFS-X11")
def swap_while_it_reads(agent: Agent, request: Message) -> None:
    asker, stop = Asker(agent), threading.Event()
    target, link, folder = f"{asker.work}/swap", f"{asker.work}/swap-link", f"{asker.work}/swap-folder"
    os.mkdir(folder)
    with open(f"{folder}/secret.txt", "w") as file:
        file.write("inside")
    os.symlink(asker.outside, link)
    os.symlink(folder, target)

    def swap() -> None:
        while not stop.is_set():
            for goal in (link, folder):
                os.symlink(os.readlink(link) if goal == link else goal, f"{target}-new")
                os.replace(f"{target}-new", target)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    writes = set()
    for _ in range(120):
        params = {"sessionId": SESSION, "path": f"{target}/secret.txt"}
        answer = agent.call("fs/read_text_file", params)
        seen.add(answer.get("result", {}).get("content", "refused"))
        planted = {**params, "path": f"{target}/planted.txt", "content": "EVIL"}
        writes.add("refused" if "error" in agent.call("fs/write_text_file", planted) else "written")
    stop.set()
    swapping.join()
    agent.note(writes=sorted(writes))
    agent.note(seen=sorted(seen))
    usual(agent, request)


if __name__ == "__main__":
    main()

"""A small folder for one named case: what was done to it, and what is right to say of each line."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fork_server import CommandForks
from tests.lab_memory.judge import Answer, BlameFailed, blame
from tests.lab_memory.stage import Stage

Right = str | frozenset[str]
"""One answer that is right, or several."""

PERSON = "person"
UNKNOWN = "unknown"
UNSEEN = frozenset({PERSON, UNKNOWN})
"""For what nobody watched, and for what cannot be told apart: anything but a turn."""


def agent(prompt: str) -> str:
    return f"agent: {prompt}"


def command(prompt: str) -> str:
    return f"command: {prompt}"


def said(answer: Answer) -> str:
    return f"{answer.by}: {answer.prompt}" if answer.by in ("agent", "command") else answer.by


def text_of(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


@dataclass
class Scene:
    stage: Stage
    failures: list[str] = field(default_factory=list)
    _turns: int = 0

    # What people do.

    def write(self, path: str, *lines: str) -> None:
        self.stage.write({path: {"text": text_of(lines)}})

    def delete(self, path: str) -> None:
        self.stage.write({path: None})

    def lines(self, path: str) -> list[str]:
        return (self.stage.folder / path).read_text(encoding="utf-8").splitlines()

    def change(self, path: str, change: Callable[[list[str]], list[str]]) -> None:
        self.write(path, *change(self.lines(path)))

    def commit(self, title: str = "Work") -> str:
        return self.stage.commit(title)

    def git(self, *words: str) -> str:
        return self.stage.git(*words)

    # What turns do.

    def lent(self, path: str, *lines: str) -> dict[str, Any]:
        """A step: the whole file through the client."""
        place = self.stage.folder / path
        old = place.read_text(encoding="utf-8") if place.is_file() else ""
        return {"do": "lent", "path": path, "text": text_of(lines), "shown": [old, text_of(lines)]}

    def own(self, path: str, *lines: str) -> dict[str, Any]:
        """A step: the whole file by the agent's own hand."""
        step = self.lent(path, *lines)
        return {
            "do": "own",
            "act": {"writes": {path: {"text": step["text"]}}},
            "shown": {path: step["shown"]},
        }

    def turn(self, session: str, *steps: Mapping[str, Any]) -> str:
        """One turn of this session; its prompt."""
        self._turns += 1
        return self.stage.ask(session, f"{session}-{self._turns}", "Work on it", steps)

    def turns_at_once(self, *turns: tuple[str, Sequence[Mapping[str, Any]]]) -> list[str]:
        """Turns of several sessions that run together; their prompts."""
        with ThreadPoolExecutor(len(turns)) as pool:
            running: list[Future[str]] = []
            for session, steps in turns:
                self._turns += 1
                name = f"{session}-{self._turns}"
                running.append(pool.submit(self.stage.ask, session, name, "Work on it", steps))
            return [turn.result() for turn in running]

    def turn_with_person(
        self, session: str, steps: Sequence[Mapping[str, Any]], act: Callable[[], None]
    ) -> str:
        """One turn that stops behind its steps until the person has acted."""
        mark, go = (str(self.stage.root / f"{word}-{self._turns}") for word in ("mark", "go"))
        person = threading.Thread(target=_act_at, args=(mark, act, go))
        person.start()
        try:
            return self.turn(session, *steps, {"do": "mark", "path": mark}, {"do": "until", "path": go})
        finally:
            person.join()

    # What is right.

    def expect(self, path: str, *right: Right, folder: Path | None = None) -> None:
        """An answer for each line of the file."""
        try:
            answers = blame(self.stage, path, folder=folder)
        except (BlameFailed, ValueError, KeyError) as error:
            self.failures.append(str(error))
            return
        if len(answers) != len(right):
            self.failures.append(f"{path} has {len(right)} lines, {len(answers)} were answered")
        for number, (answer, allowed) in enumerate(zip(answers, right, strict=False), start=1):
            choices = {allowed} if isinstance(allowed, str) else allowed
            if said(answer) not in choices:
                wanted = " or ".join(sorted(choices))
                self.failures.append(f"{path}:{number} is said to be of {said(answer)!r}, it is of {wanted}")

    def expect_sound(self, *words: str) -> None:
        """A command that may refuse, but neither break down nor hang."""
        done: subprocess.CompletedProcess[bytes] = self.stage.dragoman(*words)
        if b"Traceback" in done.stderr or done.returncode < 0:
            self.failures.append(f"{' '.join(words)} broke down: {done.stderr.decode()[-500:]}")

    def expect_true(self, holds: object, what: str) -> None:
        if not holds:
            self.failures.append(what)


def _act_at(mark: str, act: Callable[[], None], go: str) -> None:
    until = time.monotonic() + 60
    while not Path(mark).exists() and time.monotonic() < until:
        time.sleep(0.01)
    act()
    Path(go).touch()


SCENES: dict[str, Callable[[Scene], None]] = {}
"""Every named case."""


def scene(play: Callable[[Scene], None]) -> Callable[[Scene], None]:
    SCENES[play.__name__] = play
    return play


def play_scene(name: str, root: Path, forks: CommandForks) -> list[str]:
    """What went wrong in this case."""
    stage = Stage(root / name, forks)
    played = Scene(stage)
    stage.git("init", "-q", "-b", "main")
    stage.write({".gitignore": {"text": ".env\nbuild/\n"}})
    stage.commit("Begin")
    SCENES[name](played)
    return played.failures

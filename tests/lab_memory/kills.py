"""A run that is killed with its turn at a moment chosen by chance, again and again, in one folder.

Each line of a killed turn has the number of its trial in its name, so the disk itself says what had been
written when the kill came. It is right to give such a line to its turn, or to call it unknown; and a person
who types after the kill must never find an agent at the own line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.lab_memory.judge import Answer, blame
from tests.lab_memory.model import Chance
from tests.lab_memory.rewinds import difference, has_rewind
from tests.lab_memory.stage import Entry, Stage

STEPS = 30


def killed_script(trial: int, before: str, note: str) -> list[dict[str, Any]]:
    """A turn of many small writes, through us and by the agent's own hand in turn."""
    lines = before.splitlines()
    steps: list[dict[str, Any]] = [{"do": "note", "path": note}]
    for place in range(STEPS):
        old = "".join(f"{line}\n" for line in lines)
        lines.append(f"killed_{trial}_{place} = 1")
        text = "".join(f"{line}\n" for line in lines)
        if place % 2:
            steps.append(
                {"do": "own", "act": {"writes": {"app.py": {"text": text}}}, "shown": {"app.py": [old, text]}}
            )
        else:
            steps.append({"do": "lent", "path": "app.py", "text": text, "shown": [old, text]})
        steps.append({"do": "wait", "seconds": 0.01})
    return steps


class Kills:
    def __init__(self, stage: Stage, chance: Chance) -> None:
        self._stage = stage
        self._chance = chance
        self._file = stage.folder / "app.py"
        self._prompts: dict[str, str] = {}
        self._states: dict[int, dict[str, Entry]] = {}
        self._span = 3.0
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self, count: int) -> None:
        stage = self._stage
        stage.git("init", "-q", "-b", "main")
        stage.write({"app.py": {"text": "begun = 0\n"}})
        stage.commit("Begin")
        self._whole(0)
        for trial in range(1, count + 1):
            self._killed(trial)
            self._type(trial)
            self._whole(trial)
        self._judge()

    def _text(self) -> str:
        return self._file.read_text(encoding="utf-8")

    def _type(self, trial: int) -> None:
        self._stage.write({"app.py": {"text": self._text() + f"typed_{trial} = 1\n"}})

    def _whole(self, trial: int) -> None:
        """A turn that nobody kills."""
        text = self._text()
        step = {"do": "lent", "path": "app.py", "text": text + f"whole_{trial} = 1\n"}
        self._states[trial] = self._stage.state()
        self._prompts[f"whole_{trial}"] = self._stage.ask(
            "lab-1", f"whole-{trial}", "Go on", [{**step, "shown": ["", f"whole_{trial} = 1\n"]}]
        )

    def _killed(self, trial: int) -> None:
        name, note = f"killed-{trial}", self._stage.root / f"agent-{trial}"
        prompt = self._prompts[f"killed_{trial}"] = f"Write much (task {name})"
        self._stage.script(name, killed_script(trial, self._text(), str(note)))
        words = self._stage.run_words("lab-1", prompt)
        begin = time.monotonic()
        run = subprocess.Popen(
            [sys.executable, "-m", "dragoman", *words],
            cwd=self._stage.folder,
            env=self._stage.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # Most of a short run is its start: four of five kills come after the agent's first act.
        if self._chance.happens(0.8):
            while not note.exists() and run.poll() is None and time.monotonic() < begin + 60:
                time.sleep(0.005)
        delay = self._chance.between(0, 1000) / 1000
        with suppress(subprocess.TimeoutExpired):
            run.wait(delay)
        was_running = run.poll() is None
        self.counts["killed" if was_running else "ended before"] += 1
        run.kill()
        if run.wait() and not was_running:
            self.failures.append(f"{prompt!r} ended with status {run.returncode} before it was killed")
        self._await_agent(note)

    def _await_agent(self, note: Path) -> None:
        """The agent ends when its client has gone."""
        until = time.monotonic() + 20
        while not note.exists() and time.monotonic() < until - 19:
            time.sleep(0.05)  # it may still find its prompt in the pipe
        while note.exists() and _is_alive(int(note.read_text() or "0")):
            if time.monotonic() > until:
                self.failures.append("an agent outlived its killed client by 20 s")
                return
            time.sleep(0.02)

    def _judge(self) -> None:
        lines = self._text().splitlines()
        answers = blame(self._stage, "app.py")
        for line, answer in zip(lines, answers, strict=True):
            self._judge_line(line.partition(" ")[0], answer)
        if has_rewind(self._stage):
            self._rewind(lines, answers)

    def _judge_line(self, name: str, answer: Answer) -> None:
        is_turns = answer.by in ("agent", "command")
        key = "_".join(name.split("_")[:2])
        if name.startswith(("typed", "begun")):
            kind, is_good = "people's lines", not is_turns
        elif name.startswith("whole"):
            kind, is_good = "lines of whole turns", is_turns and answer.prompt == self._prompts[key]
        else:
            kind = "lines of killed turns"
            is_good = answer.by == "unknown" or (is_turns and answer.prompt == self._prompts[key])
            self.counts["lines of killed turns unknown"] += answer.by == "unknown"
        self.counts[kind] += 1
        if not is_good:
            self.counts[f"{kind} wrong"] += 1
            self.failures.append(f"after kills, {name} is said to be of {answer}")

    def _rewind(self, lines: list[str], answers: list[Answer]) -> None:
        """To whole turns, by the names that blame gave them."""
        stage = self._stage
        there = stage.state()
        for line, answer in zip(lines, answers, strict=True):
            whole = re.match(r"whole_(\d+) ", line)
            if whole is None or answer.session is None or answer.turn is None:
                continue
            self.counts["rewinds after kills"] += 1
            stage.dragoman("rewind", answer.session, "--to", str(answer.turn), "--force")
            wrong = difference(stage.state(), self._states[int(whole[1])])
            stage.dragoman("rewind", "--undo")
            wrong = wrong or difference(stage.state(), there)
            if wrong:
                self.failures.append(f"after kills, the rewind to {whole[0]}and back: {wrong}")


def _is_alive(pid: int) -> bool:
    """Whether it runs; one that has ended and was not waited for does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        with suppress(ProcessLookupError):
            os.kill(pid, 0)
            return not os.path.isdir("/proc/self")
        return False


def kills(stage: Stage, seed: int, count: int, say: Callable[[str], None]) -> list[str]:
    """That many kills; what failed."""
    trial = Kills(stage, Chance(seed))
    trial.run(count)
    say(", ".join(f"{number} {what}" for what, number in trial.counts.items()))
    return trial.failures

"""The real folder of a world: people write in it, git keeps it, and `dragoman run` does the turns.

Its home is its own, so that history and store of a run are found in one place, and nothing of this machine's
user is in it.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.fork_server import CommandForks
from tests.lab_memory.apply import apply
from tests.lab_memory.model import Code, rendered
from tests.lab_memory.world import Step, Thing, Turn

AGENT = Path(__file__).with_name("agent.py")
IGNORED = ".env\nbuild/\n"
MODULES = ("dragoman_app.apps.run.command", "dragoman_app.apps.run.drive")
"""What the server of the forks has imported when a lab begins."""

Entry = tuple[str, int, str]
"""Kind, mode and digest of what is at a path."""


def thing_of(thing: Thing) -> dict[str, Any] | None:
    if thing.target is not None:
        return {"link": thing.target}
    if thing.data is None:
        return None
    return {"bytes": base64.b64encode(thing.data).decode(), "mode": thing.mode}


def act_of(step: Step) -> dict[str, Any]:
    """The step as `apply` takes it."""
    writes: dict[str, Any] = {
        edit.path: None if edit.content is None else {"text": edit.content} for edit in step.edits
    }
    writes |= {path: thing_of(thing) for path, thing in step.things}
    return {"writes": writes, "renames": [list(pair) for pair in step.renames]}


def script_of(turn: Turn) -> list[dict[str, Any]]:
    """The turn as the agent reads it. Some diffs show the whole file, as after a tool that writes."""
    steps: list[dict[str, Any]] = []
    for step in turn.steps:
        if step.way == "review":
            steps.append({"do": "review", "paths": [edit.path for edit in step.edits]})
            continue
        shown = {}
        for place, edit in enumerate(step.edits, start=turn.number):
            whole = ("" if edit.before is None else rendered(edit.before), edit.content or "")
            shown[edit.path] = list(edit.shown if edit.shown is not None and place % 2 else whole)
        if step.way == "lent":
            steps += [
                {"do": "lent", "path": edit.path, "text": edit.content, "shown": shown[edit.path]}
                for edit in step.edits
            ]
            if step.things:
                steps.append({"do": "own", "act": act_of(Step("own", things=step.things))})
        else:
            steps.append({"do": step.way, "act": act_of(step), "shown": shown})
    return steps


class TurnFailed(AssertionError):
    """A turn did not end as it should: what the lab would measure after it is not what it says."""


class Stage:
    def __init__(self, root: Path, forks: CommandForks) -> None:
        self.root = root
        self.folder = root / "work"
        self.home = root / "home"
        self.scripts = root / "scripts"
        self._forks = forks
        self._begun: set[str] = set()
        for folder in (self.folder, self.home, self.scripts):
            folder.mkdir(parents=True)
        self.environment = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{
                f"GIT_{who}_{what}": value
                for who in ("AUTHOR", "COMMITTER")
                for what, value in PERSON.items()
            },
        }

    # What people do.

    def begin(self, code: Code) -> None:
        """A repository with its first commit."""
        self.git("init", "-q", "-b", "main")
        self.write({".gitignore": {"text": IGNORED}, **{p: {"text": rendered(code[p])} for p in code}})
        self.commit("Begin")

    def write(self, writes: Mapping[str, Any], renames: Iterable[tuple[str, str]] = ()) -> None:
        here = Path.cwd()
        os.chdir(self.folder)
        try:
            apply({"writes": dict(writes), "renames": [list(pair) for pair in renames]})
        finally:
            os.chdir(here)

    def do(self, step: Step) -> None:
        act = act_of(step)
        self.write(act["writes"], act["renames"])

    def git(self, *words: str, given: str | None = None, folder: Path | None = None) -> str:
        command = ["git", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null", *words]
        done = subprocess.run(
            command,
            cwd=folder or self.folder,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise AssertionError(f"git {' '.join(words)}: {done.stderr}{done.stdout}")
        return done.stdout

    def commit(self, title: str) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", title)
        return self.git("rev-parse", "HEAD").strip()

    # Turns, and other commands of ours.

    def dragoman(
        self, *words: str, timeout: float = 120, folder: Path | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return self._forks.run(
            words, given=None, cwd=folder or self.folder, env=self.environment, timeout=timeout
        )

    def run_words(self, session: str, prompt: str, *, folder: Path | None = None) -> list[str]:
        """The words of the command for one turn, whose script is written."""
        place = folder or self.folder
        agent = shlex.join([sys.executable, "-I", "-S", str(AGENT), str(self.scripts), session])
        known = ["--session", session] if f"{place}:{session}" in self._begun else []
        self._begun.add(f"{place}:{session}")
        return ["run", "--agent", agent, "--approve", "all", "--format", "json", *known, prompt]

    def script(self, name: str, steps: Sequence[Mapping[str, Any]]) -> None:
        (self.scripts / f"{name}.json").write_text(json.dumps(steps), encoding="utf-8")

    def ask(self, session: str, name: str, words: str, steps: Sequence[Mapping[str, Any]]) -> str:
        """One turn of this session that does these steps; its prompt."""
        prompt = f"{words} (task {name})"
        self.script(name, steps)
        self.end(self.dragoman(*self.run_words(session, prompt)), prompt)
        return prompt

    def play(self, turn: Turn) -> None:
        name = f"{turn.session}-{turn.number}"
        self.script(name, script_of(turn))
        self.end(self.dragoman(*self.run_words(session_name(turn.session), turn.prompt)), turn.prompt)

    def end(self, done: subprocess.CompletedProcess[bytes], prompt: str) -> None:
        if done.returncode:
            said = (done.stderr + done.stdout).decode(errors="replace")
            raise TurnFailed(f"the turn {prompt!r} ended with status {done.returncode}:\n{said[-3000:]}")

    # What is there.

    def state(self) -> dict[str, Entry]:
        """All that is in the folder but git's, byte for byte."""
        found: dict[str, Entry] = {}
        for folder, names, files in os.walk(self.folder):
            if ".git" in names:
                names.remove(".git")
            linked = [name for name in names if os.path.islink(f"{folder}/{name}")]
            for name in [*files, *linked]:
                path = os.path.join(folder, name)
                found[os.path.relpath(path, self.folder)] = entry_of(path)
        return found

    def differences(self, code: Code) -> list[str]:
        """Files that are not what the model says. Whoever finds one must not go on measuring."""
        found = []
        for path, file in code.items():
            place = self.folder / path
            if not place.is_file() or place.read_text(encoding="utf-8") != rendered(file):
                found.append(path)
        there = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*.py")}
        return found + sorted(there - set(code))

    def refs(self) -> str:
        """Everything of git that a rewind must not touch: the head, all refs, the index."""
        return (
            (self.folder / ".git/HEAD").read_text(encoding="utf-8")
            + self.git("for-each-ref", "--format=%(refname) %(objectname)")
            + self.git("ls-files", "-s")
        )


PERSON = {"NAME": "A Person", "EMAIL": "person@lab.example", "DATE": "2026-01-02T03:04:05Z"}


def session_name(number: int) -> str:
    return f"lab-{number}"


def entry_of(path: str) -> Entry:
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        return "link", 0, os.readlink(path)
    with open(path, "rb") as file:
        return "file", stat.S_IMODE(found.st_mode), hashlib.sha256(file.read()).hexdigest()


def is_kept_apart(path: str) -> bool:
    """Whether it is secret or ignored: its bytes are nobody's to keep, so a rewind leaves it as it is."""
    return path == ".env" or path.startswith("build/")

"""The great examination: one world, played for real, asked before and after the upheaval of its history.

After each step of the upheaval the folder is compared with the model: a lab whose truth is wrong ends there.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.lab_memory.control import TranscriptBlame, transcripts
from tests.lab_memory.judge import Answer, Figures, examine, goals, has_blame, judge, texts, worse
from tests.lab_memory.model import Code, Line, formatted_rows, rows
from tests.lab_memory.sizes import Reference
from tests.lab_memory.stage import Entry, Stage
from tests.lab_memory.world import OLD, World

Say = Callable[[str], None]
Act = Callable[[], None]


def _nothing() -> None:
    """What most worlds have in addition."""


class LabBroken(AssertionError):
    """The folder is not what the model says: no figure of this run means anything."""


@dataclass
class Lab:
    """A world on a stage. `say` gets a line now and then; `rewinding` comes before the upheaval."""

    world: World
    stage: Stage
    say: Say
    reference: Reference | None = None
    tables: list[tuple[list[Figures], Figures | None]] = field(default_factory=list)
    """Each examination: the controls, and blame if there is one."""
    failures: list[str] = field(default_factory=list)
    states: dict[tuple[int, int], dict[str, Entry]] = field(default_factory=dict)
    """What was in the folder before each turn."""
    seconds: float = 0.0
    _controls: dict[str, TranscriptBlame] = field(default_factory=dict)
    _commits: dict[str, str] = field(default_factory=dict)

    def play(self, *, before: Act = _nothing, amid: Act = _nothing) -> None:
        """All rounds of the world. `before` and `amid` are acts of a person: ahead of the first turn, and
        behind half of them.
        """
        self.stage.begin(self.world.start)
        before()
        self.stage.git("branch", "colleague")
        begin = time.perf_counter()
        for place, turn_round in enumerate(self.world.rounds):
            turn = turn_round.turn
            self._commit(turn_round.commits[0])
            self.states[turn.session, turn.number] = self.stage.state()
            if self.reference is not None:
                self.reference.keep(self.stage)
            self.stage.play(turn)
            self._commit(turn_round.commits[1])
            for step in turn_round.people:
                self.stage.do(step)
            if place == len(self.world.rounds) // 2:
                amid()
            self._commit(turn_round.commits[2])
            if place % 50 == 49:
                self.say(f"{place + 1} turns in {time.perf_counter() - begin:.0f} s")
        self.seconds = time.perf_counter() - begin
        self._hold(self.world.before)

    def _commit(self, title: str | None) -> None:
        if title is not None:
            self._commits[title] = self.stage.commit(title)

    def _hold(self, code: Code) -> None:
        wrong = self.stage.differences(code)
        if wrong:
            raise LabBroken(f"not what the model says: {', '.join(wrong[:5])}")

    def ask(self, name: str, code: Mapping[str, Sequence[Line]], *, least: float) -> None:
        """One row of the table, and its control."""
        prompts = self.world.prompts()
        # Three hundred exports take a minute, and only turns add to them. The one turn of the upheaval shows
        # no diff.
        if not self._controls:
            found = transcripts(self.stage)
            self._controls["transcript alone"] = TranscriptBlame(found)
            self._controls["transcript, new lines alone"] = TranscriptBlame(found, is_careful=True)
        controls = []
        for kind, control in self._controls.items():
            guesses = {}
            for path, lines in code.items():
                told = control.blame(str(self.stage.folder / path), texts(lines))
                guesses[path] = [Answer(by, prompt) for by, prompt in told]
            controls.append(judge(f"{name}, {kind}", code, guesses, prompts))
        figures = None
        if has_blame(self.stage):
            figures = examine(self.stage, name, code, prompts)
            self.failures += goals(figures, least=least)
            for control_figures in controls:
                self.failures += worse(control_figures, figures)
        self.tables.append((controls, figures))
        self.say((figures or controls[0]).row())

    def upheave(self) -> None:
        """What happens to histories: picked, rebased, squashed, moved, renamed, formatted."""
        stage, plan = self.stage, self.world.upheaval
        stage.git("checkout", "-q", "-b", "release", self._commits[plan.release])
        for title in plan.picks:
            stage.git("cherry-pick", self._commits[title])
        self._hold(plan.released)
        self.ask("cherry-picked to a branch", all_rows(plan.released), least=0.95)
        stage.git("checkout", "-q", "colleague")
        assert plan.colleague.content is not None
        stage.write({OLD: {"text": plan.colleague.content}})
        stage.commit("A colleague's work")
        stage.git("checkout", "-q", "main")
        stage.git("rebase", "-q", "colleague")
        self._hold(plan.rebased)
        self.ask("rebased", all_rows(plan.rebased), least=0.95)
        stage.git("reset", "-q", "--soft", "colleague")
        stage.git("commit", "-q", "-m", "Everything at once")
        stage.git("branch", "-D", "release")
        stage.git("reflog", "expire", "--expire=now", "--all")
        stage.git("gc", "-q", "--prune=now")
        self.ask("squashed, old commits gone", all_rows(plan.rebased), least=0.95)
        for move in plan.moves:
            stage.write({edit.path: {"text": edit.content} for edit in move})
        for old, new in plan.renames:
            (stage.folder / new).parent.mkdir(exist_ok=True)
            stage.git("mv", old, new)
        stage.commit("Moved and renamed")
        self._hold(plan.after)
        self.ask("moved and renamed", all_rows(plan.after), least=0.95)
        formatted = self._format(plan.after)
        self.ask("formatted", formatted, least=0.95)
        stage.ask("lab-1", "after-1", "Look at everything once more", [{"do": "review", "paths": [OLD]}])
        self.ask("a turn later", formatted, least=0.95)

    def _format(self, code: Code) -> dict[str, list[Line]]:
        paths = [str(self.stage.folder / path) for path in code]
        subprocess.run([ruff(), "format", "--isolated", "--no-cache", "--quiet", *paths], check=True)
        found = {}
        for path, file in code.items():
            found[path] = formatted_rows(file, (self.stage.folder / path).read_text(encoding="utf-8"))
        self.stage.commit("Formatted")
        return found


def all_rows(code: Code) -> dict[str, list[Line]]:
    return {path: list(rows(file)) for path, file in code.items()}


def ruff() -> str:
    """The formatter of this checkout."""
    return str(Path(sys.executable).with_name("ruff"))

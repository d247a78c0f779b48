"""What the matrix looks for, and what it found: pure data and its judgement.

An effect is something that somebody outside of the conversation can see: a file, a process, a text. A
verdict is `yes`, `no` with the evidence, `not offered` when the program does not claim it, or `not tried`
when something before it failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from tests.interop.matrix.catalogue import UntriedProgram
from tests.interop.matrix.model import WORD

Verdict: TypeAlias = Literal["yes", "no", "not offered", "not tried"]

EVIDENCE_LIMIT = 400
"""Characters of evidence: enough for an error or a frame's head."""

AGENT_EFFECTS = {
    "start": "it starts and opens a session",
    "text": "text of the model arrives",
    "write": "a file is written after permission",
    "deny": "no file is written when permission is refused",
    "command": "a command is run",
    "cancel": "cancel ends the turn",
    "stop": "cancel ends the process of a running command",
    "subagent": "an agent that it starts works for it",
    "steer": "what is said while a turn runs is read in that turn",
    "load": "a stored session is loaded by a new process",
    "resume": "a new process goes on with a session without telling it again",
    "end": "no process is left behind",
    "hub": "text and a permitted file through the hub",
    "kill": "`kill -9` of the hub while it works: its session is there at the next hub, and goes on",
    "sandbox": "in the sandbox it answers and writes its file, and nothing outside of its folder",
    "v2": "the same in the second version of the protocol",
}

CLIENT_EFFECTS = {
    "text": "text of our agent arrives",
    "write": "our agent may write after the client's permission",
    "end": "no process is left behind",
    "hub": "text through the hub",
}


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict on one effect, with the reason for a `no`."""

    verdict: Verdict
    evidence: str = ""

    def without(self, places: Mapping[str, str]) -> Finding:
        """The same with names in place of folders, which are others on every machine."""
        evidence = self.evidence
        for folder, name in places.items():
            evidence = evidence.replace(folder, name)
        return Finding(verdict=self.verdict, evidence=evidence)


class MatrixRow(msgspec.Struct, frozen=True, kw_only=True):
    """One program with everything that was found out about it."""

    name: str
    title: str
    package: str
    version: str
    date: str
    system: str = ""
    hash: str = ""
    """Of the package that was installed; empty if it is another one on every system."""
    note: str = ""
    install: Finding
    effects: dict[str, Finding] = {}

    @property
    def is_usable(self) -> bool:
        """Whether it was installed, started, and answered."""
        return all(name in self.effects and self.effects[name].verdict == "yes" for name in ("start", "text"))

    @property
    def count(self) -> tuple[int, int]:
        """How many effects are there, and how many were looked for and are offered."""
        verdicts = [finding.verdict for finding in self.effects.values()]
        return verdicts.count("yes"), verdicts.count("yes") + verdicts.count("no")


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """The whole table, as it is kept in JSON."""

    schema: int = 1
    dragoman: str = ""
    agents: list[MatrixRow] = []
    clients: list[MatrixRow] = []
    untried: list[UntriedProgram] = []
    changes: dict[str, list[str]] = {}
    """What the last run found otherwise than the one before, by the name of the program."""

    def merge(self, newer: Matrix, *, order: list[str]) -> Matrix:
        """This table with the rows of a newer run in place of its own, in this order; others are dropped."""
        return Matrix(
            dragoman=newer.dragoman,
            agents=_merge_rows(self.agents, newer.agents, order),
            clients=_merge_rows(self.clients, newer.clients, order),
            untried=newer.untried,
            changes=_changes(self, newer),
        )

    def annotate(self, notes: Mapping[str, str], *, untried: Iterable[UntriedProgram]) -> Matrix:
        """The same findings with these notes by name, and these programs that were not tried."""
        agents, clients = (
            [replace(row, note=notes.get(row.name, "")) for row in rows]
            for rows in (self.agents, self.clients)
        )
        return replace(self, agents=agents, clients=clients, untried=list(untried))


class TurnWitness(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen of one turn that should have changed a file."""

    stop_reason: str
    questions: int
    """How often permission was asked for."""
    is_written: bool
    tools: tuple[str, ...] = ()
    """The tools that the model was offered."""
    last_frame: str = ""


def yes() -> Finding:
    return Finding(verdict="yes")


def no(evidence: str) -> Finding:
    """A `no`; the evidence is cut to a size that a table can bear."""
    text = " ".join(evidence.split())
    return Finding(
        verdict="no", evidence=text if len(text) <= EVIDENCE_LIMIT else f"{text[: EVIDENCE_LIMIT - 1]}…"
    )


def judge_write(seen: TurnWitness) -> Finding:
    """A file is written, and not before somebody was asked."""
    if not seen.is_written:
        return no(f"no file; {_story(seen)}")
    return yes() if seen.questions else no(f"written without permission; {_story(seen)}")


def judge_denied(seen: TurnWitness) -> Finding:
    """A refusal is obeyed; whoever did not ask was not refused."""
    if seen.is_written:
        how = "in spite of the refusal" if seen.questions else "without permission"
        return no(f"written {how}; {_story(seen)}")
    return yes() if seen.questions else no(f"permission was not asked for; {_story(seen)}")


def judge_command(seen: TurnWitness) -> Finding:
    """A command had its effect; whether permission is asked for commands is the agent's choice."""
    return yes() if seen.is_written else no(f"the command had no effect; {_story(seen)}")


def judge_cancel(stop_reason: str, *, hung_up: bool) -> Finding:
    """A cancelled turn says so, and the model is not asked any more."""
    if stop_reason != "cancelled":
        return no(f"the answer to session/prompt has the stop reason {stop_reason!r}")
    return yes() if hung_up else no("the turn ended, but the request to the model went on")


def judge_stop(stop_reason: str, *, is_gone: bool, seconds: float) -> Finding:
    """A running command does not outlive the turn that was cancelled."""
    if not is_gone:
        return no(f"the command still ran {seconds:g} s after the cancel (stop reason {stop_reason!r})")
    return yes() if stop_reason == "cancelled" else no(f"ended, with the stop reason {stop_reason!r}")


def judge_steered(outcome: str, text: str) -> Finding:
    """The turn that ran says what it was told meanwhile."""
    if outcome != "delivered":
        return no(f"the message was {outcome.replace('_', ' ')}, and not taken into the running turn")
    return yes() if WORD in text else no(f"it took the message, and the turn said {text!r}")


def judge_subagent(stop_reason: str, *, is_asked: bool, text: str) -> Finding:
    """The model was asked by the agent that was started, and the turn ended well."""
    if not is_asked:
        return no(f"no agent was started; the turn said {text!r}")
    return yes() if stop_reason == "end_turn" else no(f"the turn ended with {stop_reason!r}")


def judge_resumed(text: str, *, knows: bool) -> Finding:
    """The session goes on, and the model is told what was said before."""
    if WORD not in text:
        return no(f"the turn after the resume said {text!r}")
    return yes() if knows else no("the turn after the resume knew nothing of what was said before")


def judge_killed(text: str, *, left: Iterable[str]) -> Finding:
    """The session goes on at the next hub, and what worked for the killed one is gone."""
    if WORD not in text:
        return no(f"the turn after the kill said {text!r}")
    names = "; ".join(left)
    return no(f"still running: {names}") if names else yes()


def _story(seen: TurnWitness) -> str:
    parts = [f"stop reason {seen.stop_reason!r}", f"{seen.questions} questions"]
    if seen.tools:
        parts.append(f"tools offered: {', '.join(seen.tools)}")
    if seen.last_frame:
        parts.append(f"last frame: {seen.last_frame}")
    return "; ".join(parts)


def _changes(older: Matrix, newer: Matrix) -> dict[str, list[str]]:
    """What differs in rows that were tried anew; what the run before said of the others stays."""
    before = {row.name: row for row in (*older.agents, *older.clients)}
    found = {row.name: _differences(before.get(row.name), row) for row in (*newer.agents, *newer.clients)}
    found = {name: lines for name, lines in found.items() if lines}
    tried = {row.name for row in (*newer.agents, *newer.clients)}
    kept = {name: lines for name, lines in older.changes.items() if name not in tried}
    return {**kept, **found}


def _differences(older: MatrixRow | None, newer: MatrixRow) -> list[str]:
    if older is None:
        return ["is tried for the first time"]
    lines = [f"{older.version} became {newer.version}"] if older.version != newer.version else []
    if older.install.verdict != newer.install.verdict:
        lines.append(f"installation: {older.install.verdict}, now {newer.install.verdict}")
    for name, finding in newer.effects.items():
        verdict = older.effects[name].verdict if name in older.effects else "not tried"
        if verdict not in ("not tried", finding.verdict):
            lines.append(f"{name}: {verdict}, now {finding.verdict}")
    return lines


def _merge_rows(older: list[MatrixRow], newer: list[MatrixRow], order: list[str]) -> list[MatrixRow]:
    rows = {row.name: row for row in (*older, *newer)}
    return [rows[name] for name in order if name in rows]

"""The way back, many times: to the state before a turn chosen by chance, and from there again.

The states are those that the lab saw before each turn. Secret and ignored files are nobody's to keep: a
rewind leaves them as they are. Outside the folder lies a canary, and the folder has traps that lead to it:
what was a file before a turn is a link to the canary afterwards.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.lab_memory.judge import blame
from tests.lab_memory.lab import Lab
from tests.lab_memory.model import Chance, rows
from tests.lab_memory.stage import Entry, Stage, is_kept_apart, session_name
from tests.lab_memory.world import World

State = Mapping[str, Entry]
TRAPS = ("trap.txt", "trap/inner.txt")


class NoAddress(AssertionError):
    """What `blame` says of a turn names none that `rewind` could go to."""


def has_rewind(stage: Stage) -> bool:
    return stage.dragoman("rewind", "--help").returncode == 0


class OutOfBounds(AssertionError):
    """Something outside the folder was touched: no further rewind is tried."""


@dataclass
class Canary:
    """Files outside the folder that nobody may touch."""

    stage: Stage

    def place(self) -> None:
        outside = self.stage.root / "outside"
        outside.mkdir()
        for name in ("canary.txt", "inner.txt"):
            (outside / name).write_text("sings\n", encoding="utf-8")
        self.stage.write({path: {"text": "a plain file\n"} for path in TRAPS})

    def spring(self) -> None:
        """A person replaces files by links to the canary, and writes a large file."""
        outside = str(self.stage.root / "outside")
        self.stage.write(dict.fromkeys(TRAPS))
        (self.stage.folder / "trap").rmdir()
        self.stage.write({"trap.txt": {"link": f"{outside}/canary.txt"}, "trap": {"link": outside}})
        (self.stage.folder / "large.bin").write_bytes(os.urandom(1024) * 6 * 1024)

    def sings(self) -> bool:
        outside = self.stage.root / "outside"
        names = sorted(os.listdir(outside))
        texts = {(outside / name).read_text(encoding="utf-8") for name in names}
        return names == ["canary.txt", "inner.txt"] and texts == {"sings\n"}


def kept(state: State) -> dict[str, Entry]:
    return {path: entry for path, entry in state.items() if not is_kept_apart(path)}


def apart(state: State) -> dict[str, Entry]:
    return {path: entry for path, entry in state.items() if is_kept_apart(path)}


def difference(found: State, wanted: State) -> str:
    """The first paths that are not as they should be; empty if all are."""
    paths = sorted(path for path in {*found, *wanted} if found.get(path) != wanted.get(path))
    told = [
        f"{path} is {found.get(path, 'missing')}, not {wanted.get(path, 'missing')}" for path in paths[:3]
    ]
    return f"{len(paths)} paths: " + "; ".join(told) if paths else ""


@dataclass
class Rewinds:
    """Many rewinds of one world that was played."""

    lab: Lab
    canary: Canary
    chance: Chance
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def run(self, count: int, *, typed: float = 0.05) -> None:
        """Until that many more were undone; `typed` is the share before which a person has written."""
        addresses = self._addresses()
        turns = sorted(self.lab.states)
        enough = self.counts["undone"] + count
        while self.counts["undone"] < enough:
            place = self.chance.pick(turns)
            if self.chance.happens(typed):
                self._typed_line(addresses[place], self.counts["rewinds"])
            self._once(place, addresses[place])

    def _addresses(self) -> dict[tuple[int, int], tuple[str, int]]:
        """What names each turn in the words of `blame`: its session, by one of two names, and a number."""
        stage, world = self.lab.stage, self.lab.world
        listed = stage.dragoman("sessions", "--json", "list", "--limit", "0")
        streams = _streams(listed.stdout)
        order = [(r.turn.session, r.turn.number) for r in world.rounds]
        firsts = {session: streams[order.index((session, 1))] for session, _ in order}
        ways: list[Callable[[int, int, int], tuple[str, int]]] = [
            lambda place, session, number: (session_name(session), number),
            lambda place, session, number: (firsts[session], number),
            lambda place, session, number: (streams[place], 1),
            lambda place, session, number: (streams[place], number),
        ]
        told = self._told_addresses()
        for way in ways:
            found = {key: way(place, *key) for place, key in enumerate(order)}
            if told and all(found[key] == address for key, address in told.items()):
                return found
        raise NoAddress(f"blame names turns in a way that the lab does not know: {list(told.items())[:5]}")

    def _told_addresses(self) -> dict[tuple[int, int], tuple[str, int]]:
        prompts = self.lab.world.prompts()
        told: dict[tuple[int, int], tuple[str, int]] = {}
        for path, file in self.lab.world.before.items():
            for line, answer in zip(rows(file), blame(self.lab.stage, path), strict=True):
                key = (line.origin.session, line.origin.turn)
                is_right = line.origin.is_of_turn and answer.prompt == prompts[key]
                if is_right and answer.session is not None and answer.turn is not None:
                    told[key] = (answer.session, answer.turn)
        return told

    def _typed_line(self, address: tuple[str, int], number: int) -> None:
        """What a person wrote since the last turn is not lost without a word: refused, or still there."""
        stage = self.lab.stage
        text = f"typed_by_hand = {number}\n"
        stage.write({"src/by_hand.py": {"text": text}})
        there = stage.state()
        done = stage.dragoman("rewind", address[0], "--to", str(address[1]))
        self.counts["without --force"] += 1
        path = stage.folder / "src/by_hand.py"
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            self.failures.append(f"a rewind to {address} without --force lost what a person had written")
        elif done.returncode and (wrong := difference(stage.state(), there)):
            self.failures.append(f"a refused rewind to {address} changed {wrong}")
        elif not done.returncode:
            stage.dragoman("rewind", "--undo")
        stage.write({"src/by_hand.py": None})

    def _once(self, place: tuple[int, int], address: tuple[str, int]) -> None:
        stage = self.lab.stage
        there, refs = stage.state(), stage.refs()
        words = ("rewind", address[0], "--to", str(address[1]))
        if self.chance.happens(0.05):
            self.counts["dry runs"] += 1
            self._command(*words, "--dry-run")
            self._compare(f"a dry run to {place}", stage.state(), there)
        self.counts["rewinds"] += 1
        self._command(*words, "--force")
        after = stage.state()
        self._compare(f"the rewind to {place}", kept(after), kept(self.lab.states[place]))
        self._compare(f"the rewind to {place}, secret files", apart(after), apart(there))
        if self.chance.happens(0.7):
            self.counts["undone"] += 1
            self._command("rewind", "--undo")
            self._compare(f"the way back from {place}", stage.state(), there)
        if stage.refs() != refs:
            self.failures.append(f"the rewind to {place} touched the index or a ref of git")
        if not self.canary.sings():
            self.failures.append(f"the rewind to {place} reached out of the folder")
            raise OutOfBounds(self.failures[-1])

    def _command(self, *words: str) -> None:
        done = self.lab.stage.dragoman(*words)
        if done.returncode:
            self.failures.append(
                f"{' '.join(words)}: status {done.returncode}: {done.stderr.decode()[-300:]}"
            )

    def _compare(self, what: str, found: State, wanted: State) -> None:
        wrong = difference(found, wanted)
        if wrong:
            self.failures.append(f"{what}: {wrong}")


def _streams(listed: bytes) -> list[str]:
    found = sorted(json.loads(listed)["sessions"], key=lambda row: row["created"])
    return [row["stream"] for row in found]


def prepared(world: World, stage: Stage, say: Callable[[str], None]) -> Rewinds:
    """The world, played, with the canary and its traps."""
    lab, canary = Lab(world, stage, say), Canary(stage)
    lab.play(before=canary.place, amid=canary.spring)
    return Rewinds(lab, canary, Chance(world.seed))


def rewinds(world: World, stage: Stage, count: int, say: Callable[[str], None]) -> list[str]:
    """Plays the world, then goes back that often; what failed."""
    if not has_rewind(stage):
        return ["there is no `dragoman rewind` yet: no rewind was tried"]
    trial = prepared(world, stage, say)
    trial.run(count)
    say(
        ", ".join(f"{count} {what}" for what, count in trial.counts.items())
        + f", {len(trial.failures)} failed"
    )
    return trial.failures

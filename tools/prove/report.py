"""What is known of mistakes: outcomes that are kept between runs, explanations, and the table."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from prove.mutants import Mutant
from prove.trial import NO_IMPORT, NOTICED, SURVIVED, Outcome

_TYPICAL = 20.0
"""Seconds for one mistake, where nothing is known yet."""

Key = tuple[str, str, str, str, str]


def key_of(mutant: Mutant) -> Key:
    """The place of a mistake by its text, which stays when lines move."""
    return mutant.path, mutant.within, mutant.operator, mutant.before, mutant.after


def explanations(file: Path) -> dict[Key, str]:
    """Why a mistake changes nothing."""
    content = tomllib.loads(file.read_text("utf-8")) if file.exists() else {}
    return {
        (entry["path"], entry["within"], entry["operator"], entry["before"], entry["after"]): entry["why"]
        for entry in content.get("equivalent", [])
    }


class Kept:
    """Outcomes of one state of the checkout, a line each, so that a run that was stopped goes on."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)
        lines = file.read_text("utf-8").splitlines() if file.exists() else []
        rows = [json.loads(line) for line in lines if line.endswith("}")]
        found = [Outcome(**{**row, "mutant": Mutant(**row["mutant"])}) for row in rows]
        self.outcomes = {outcome.mutant: outcome for outcome in found}

    def add(self, outcome: Outcome) -> None:
        self.outcomes[outcome.mutant] = outcome
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(outcome)) + "\n")

    def seconds_each(self) -> float:
        seconds = [outcome.seconds for outcome in self.outcomes.values()]
        return sum(seconds) / len(seconds) if seconds else _TYPICAL


def table(outcomes: Sequence[Outcome], explained: Mapping[Key, str]) -> dict[str, dict[str, int]]:
    """Counts by area. What cannot be imported is drawn, but counts for nothing."""
    areas = [*dict.fromkeys(outcome.mutant.area for outcome in outcomes), "all"]
    rows = {area: Counter[str]() for area in areas}
    for outcome in outcomes:
        kind = outcome.kind
        if kind == SURVIVED and key_of(outcome.mutant) in explained:
            kind = "explained"
        for area in (outcome.mutant.area, "all"):
            rows[area]["drawn"] += 1
            rows[area][kind] += 1
    names = ("drawn", NO_IMPORT, NOTICED, "explained", SURVIVED)
    return {area: {name: row[name] for name in names} for area, row in rows.items()}


def shown(rows: Mapping[str, Mapping[str, int]]) -> str:
    names = [*next(iter(rows.values()))]
    lines = ["", f"| area | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    lines += [f"| {area} | {' | '.join(str(row[name]) for name in names)} |" for area, row in rows.items()]
    last = rows["all"]
    able = last["drawn"] - last[NO_IMPORT]
    share = 100 * last[SURVIVED] / able if able else 0.0
    return "\n".join([*lines, "", f"{last[SURVIVED]} of {able} that can be imported survived: {share:.1f} %"])

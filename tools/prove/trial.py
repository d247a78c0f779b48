"""One mistake is made in a copy of the checkout, and the tests that could notice it are run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from prove.mutants import Mutant, mutated
from prove.reach import ReachMap
from quick import nearest_tests

SECONDS = 60.0
"""How much of tests is run for one mistake, by what they took before."""

MOST_FILES = 6
"""Files of the nearest tests that are run when no test that reaches the line has noticed."""

_PATIENCE = 4.0
"""Tests with a mistake may take so many times as long before they count as hanging."""

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a mistake. `noticed_by` is a test, or how the run ended; empty if it survived."""

    mutant: Mutant
    noticed_by: str
    tried: int


class Bench:
    """A copy of the checkout with room for one mistake at a time."""

    def __init__(self, folder: Path, python: Path, reach: ReachMap, imports: dict[str, set[str]]) -> None:
        self._folder = folder
        self._python = python
        self._reach = reach
        self._imports = imports

    def try_mutant(self, mutant: Mutant) -> Outcome:
        source = self._folder / mutant.path
        text = source.read_text("utf-8")
        source.write_text(mutated(text, mutant), "utf-8")
        try:
            tried = 0
            for tests in (self._reaching(mutant), self._nearest(mutant)):
                tried += len(tests)
                if tests and (noticed_by := self._run(tests)):
                    return Outcome(mutant=mutant, noticed_by=noticed_by, tried=tried)
            return Outcome(mutant=mutant, noticed_by="", tried=tried)
        finally:
            source.write_text(text, "utf-8")

    def _reaching(self, mutant: Mutant) -> list[str]:
        chosen: list[str] = []
        left = SECONDS
        for test in self._reach.tests(mutant.path, mutant.line, mutant.last_line):
            left -= self._reach.seconds.get(test, 0.0)
            if left < 0 and chosen:
                break
            chosen.append(test)
        return chosen

    def _nearest(self, mutant: Mutant) -> list[str]:
        files, _ = nearest_tests([mutant.path], self._imports, root=self._folder)
        # Those about the whole house see every file and no mistake.
        return [file for file in files if "/" in file.removeprefix("tests/")][:MOST_FILES]

    def _run(self, tests: Sequence[str]) -> str:
        command = [str(self._python), "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider"]
        environment = {**os.environ, "HYPOTHESIS_PROFILE": "ci", "PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTEST_ADDOPTS", None)
        process = subprocess.Popen(
            [*command, *tests],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            output = process.communicate(timeout=SECONDS * _PATIENCE)[0].decode("utf-8", "replace")
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return "the tests hang"
        if process.returncode in (0, 5):  # 5: no test was found
            return ""
        failed = _FAILED.search(output)
        return failed[1] if failed else f"pytest ended with {process.returncode}"

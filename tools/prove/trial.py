"""One mistake is made in a copy of the checkout, and the tests that could notice it are run.

A test has noticed that fails twice with the mistake (`twice`) and not without it. That it passes without the
mistake is asked at the end, of all tests at once (`unsound`). A mistake that keeps its module from being
imported is a kind of its own: every test would notice it, so it says nothing of any.
"""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import time
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from prove.mutants import Mutant, mutated
from prove.reach import ReachMap
from quick import nearest_tests

SECONDS = 60.0
"""How much of tests is run for one mistake, by what they took before."""

MOST_FILES = 6
"""Files of the nearest tests that are run when no test that reaches the line has noticed."""

HANGS = 15
"""Seconds after which a test hangs where nothing else ends it; a busy machine gives it more."""

_PATIENCE = 4.0
"""A run may take so many times as long as its tests took before. One that takes longer noticed nothing."""

NOTICED, NO_IMPORT, SURVIVED = "noticed", "no import", "survived"

_TOOLS = Path(__file__).parent.parent

_AT_IMPORT = "ERROR collecting "

_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_STARTED = re.compile(r"^(\S+\.py::.+?)(?: (?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|\+\+\+).*)?$", re.MULTILINE)
_GONE = re.compile(r"^ERROR: not found: (.+?)$", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a mistake. `noticed_by` is a test; empty if it survived."""

    mutant: Mutant
    kind: str
    noticed_by: str
    tried: int
    seconds: float
    confirmed: bool = False


class Bench:
    """A copy of the checkout with room for one mistake at a time."""

    def __init__(self, folder: Path, python: Path, reach: ReachMap, imports: dict[str, set[str]]) -> None:
        self._folder = folder
        self._python = python
        self._reach = reach
        self._imports = imports
        self._process: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def try_mutant(self, mutant: Mutant, without: Collection[str] = ()) -> Outcome:
        """`without`: tests that do not count, because they fail where there is no mistake."""
        begin = time.monotonic()
        source = self._folder / mutant.path
        text, times = source.read_text("utf-8"), source.stat()
        source.write_text(mutated(text, mutant), "utf-8")
        tried = 0
        kind, noticed_by = SURVIVED, ""
        try:
            for tests in (self._reaching(mutant), self._nearest(mutant)):
                tests = [test for test in tests if test not in without]
                tried += len(tests)
                kind, noticed_by = self._verdict(tests, without)
                if kind != SURVIVED:
                    break
        finally:
            source.write_text(text, "utf-8")
            os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))  # its bytecode holds again
        return Outcome(
            mutant=mutant,
            kind=kind,
            noticed_by=noticed_by,
            tried=tried,
            seconds=round(time.monotonic() - begin, 1),
        )

    def unsound(self, outcomes: Iterable[Outcome]) -> set[str]:
        """Tests that noticed something and fail without a mistake, too, on sources that are printed alike."""
        noticed = [outcome for outcome in outcomes if outcome.kind == NOTICED]
        texts = {path: (self._folder / path).read_text("utf-8") for path in {o.mutant.path for o in noticed}}
        tests = sorted({outcome.noticed_by for outcome in noticed})
        try:
            for path, text in texts.items():
                (self._folder / path).write_text(ast.unparse(ast.parse(text)), "utf-8")
            doubted = set[str]()
            for start in range(0, len(tests), 40):
                doubted.update(self._failed(tests[start : start + 40], "--maxfail=1000"))
            return {test for test in doubted if self._failed([test])}
        finally:
            for path, text in texts.items():
                (self._folder / path).write_text(text, "utf-8")

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
        mirror = f"/{Path(mutant.path).parent.name}/test_{Path(mutant.path).stem}"
        near = sorted(file for file in self._imports if f"{mirror}_" in file or f"{mirror}." in file)
        # Those about the whole house see every file and no mistake; simulations take a minute.
        found = [file for file in files if "/" in file.removeprefix("tests/") and "/simulate/" not in file]
        # What only child processes run has no mirror: those of its folder.
        room = sorted(file for file in self._imports if f"/{Path(mutant.path).parent.name}/test_" in file)
        return list(dict.fromkeys([*near, *found] or room))[:MOST_FILES]

    def _verdict(self, tests: Sequence[str], without: Collection[str]) -> tuple[str, str]:
        if not tests:
            return SURVIVED, ""
        left_out = [argument for test in without for argument in ("--deselect", test)]
        if failed := self._failed(tests, *left_out):
            test = failed[0]
            if test == _AT_IMPORT:
                return NO_IMPORT, ""
            return NOTICED, test
        return SURVIVED, ""

    def _failed(self, tests: Sequence[str], *options: str) -> list[str]:
        """The tests that failed or hung. Empty if the time was over."""
        expected = sum(self._reach.seconds.get(test, SECONDS if "::" not in test else 1.0) for test in tests)
        plugins = ["-p", "no:cacheprovider", "-p", "prove.twice"]
        command = [str(self._python), "-u", "-m", "pytest", "-x", "-v", "--no-header", *plugins]
        environment = {
            **os.environ,
            "HYPOTHESIS_PROFILE": "ci",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": str(_TOOLS),
        }
        environment.pop("PYTEST_ADDOPTS", None)
        process = subprocess.Popen(
            [*command, f"--timeout={HANGS}", *options, *tests],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self._process = process
        try:
            output = process.communicate(timeout=10 * HANGS + expected * _PATIENCE)[0].decode(
                "utf-8", "replace"
            )
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return []
        finally:
            self._process = None
        if gone := _GONE.findall(output):  # since the map was made
            left = [test for test in tests if not any(name.strip().endswith(test) for name in gone)]
            return self._failed(left, *options) if left and len(left) < len(tests) else []
        if process.returncode in (0, 5):  # 5: no test was found
            return []
        if failed := [test for test in _FAILED.findall(output) if "::" in test]:
            return failed
        if _AT_IMPORT in output or process.returncode == 4:  # 4: what all tests need
            return [_AT_IMPORT]
        # Without a summary the last test that began ended the run: it hung, or the process died.
        return [test.strip() for test in _STARTED.findall(output)[-1:]]

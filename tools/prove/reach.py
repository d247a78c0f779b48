"""Which tests reach which lines: a plugin of pytest that notes it, and the map that is made of its notes.

    python -m pytest -p prove.reach --reach FILE TESTS…

Lines that run while a module is imported belong to no test. What child processes do is not seen: mistakes
there are tried with the nearest tests.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator, Sequence
from pathlib import Path

import coverage
import pytest

MOST_FILES = 12
"""Files of the tests that are kept for a line: to import one costs more than most tests."""

MOST_TESTS = 60
"""Tests that are kept for a line: those of its mirror first, then the quickest of each file in turn."""


class Watch:
    def __init__(self, target: Path, patterns: Sequence[str]) -> None:
        self._target = target
        self._coverage = coverage.Coverage(data_file=None, include=list(patterns))
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()

    def pytest_collection_finish(self) -> None:
        self._coverage.start()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration
        if report.failed:
            self._failed.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        data = self._coverage.get_data()
        lines: dict[str, dict[int, list[str]]] = {}
        for path in data.measured_files():
            reached = data.contexts_by_lineno(path)
            lines[path] = {line: [test for test in tests if test] for line, tests in reached.items()}
        note = {"seconds": self._seconds, "failed": sorted(self._failed), "lines": lines}
        self._target.write_text(json.dumps(note), "utf-8")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--reach", help="the file that gets what was reached")
    parser.addoption("--reach-in", action="append", default=[], help="a folder or file whose lines count")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.reach:
        places = [Path(place).resolve() for place in config.option.reach_in]
        patterns = [str(place) if place.suffix == ".py" else f"{place}/**" for place in places]
        config.pluginmanager.register(Watch(Path(config.option.reach), patterns))


class ReachMap:
    """Tests by the line that they reach: the mirror's first, then the quickest of each file in turn."""

    def __init__(self, notes: Sequence[Path], root: Path) -> None:
        self.seconds: dict[str, float] = {}
        self.failed: set[str] = set()
        """Those that failed without a mistake: they notice nothing."""
        self._tests: dict[tuple[str, int], list[str]] = {}
        for note in notes:
            content = json.loads(note.read_text("utf-8"))
            self.seconds |= content["seconds"]
            self.failed |= set(content.get("failed", ()))
            for path, lines in content["lines"].items():
                name = Path(path).relative_to(root).as_posix()
                for line, tests in lines.items():
                    self._tests.setdefault((name, int(line)), []).extend(tests)
        for (path, _), tests in self._tests.items():
            mirror = f"/test_{Path(path).stem}"
            tests[:] = dict.fromkeys(tests)
            tests.sort(key=lambda test: self.seconds.get(test, 0.0))
            before = Counter[str]()
            order: dict[str, tuple[bool, int]] = {}
            for test in tests:
                file = test.partition("::")[0]
                order[test] = (mirror not in file, before[file])
                before[file] += 1
            tests.sort(key=order.__getitem__)
            files = list(dict.fromkeys(test.partition("::")[0] for test in tests))[:MOST_FILES]
            tests[:] = [test for test in tests if test.partition("::")[0] in files][:MOST_TESTS]

    def tests(self, path: str, first: int, last: int) -> list[str]:
        """Those that reach one of the lines."""
        found = {test: None for line in range(first, last + 1) for test in self._tests.get((path, line), ())}
        return list(found)

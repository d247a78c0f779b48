"""Names every failure when it happens, and ends a run in which nothing happens any more.

`tools/run_tests.py` loads this into pytest. In a parallel run the controller alone reports. A worker that
hangs can leave the controller waiting for ever for tests that nobody runs: after `QUIET` seconds without any
report, the tests under way are named with the time they have taken, and the run ends as failed.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from dragoman.testing.pace import patience

QUIET = 600.0
"""Seconds, on a quiet machine. The longest test that reports nothing meanwhile takes five minutes."""

LOOK_EVERY = 1.0
"""Seconds."""

STUCK = 9
"""The exit status of a run that was ended for being stuck; pytest's own are 0 to 6."""


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Progress(config), "dragoman-progress")


class Progress:
    """What the controller of a run has heard, and when it last heard something."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._running: dict[str, float] = {}
        self._last = time.monotonic()
        self._over = threading.Event()

    def pytest_sessionstart(self) -> None:
        threading.Thread(target=self._watch, daemon=True, name="progress").start()

    def pytest_sessionfinish(self) -> None:
        self._over.set()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._last = self._running[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self._last = time.monotonic()
        self._running.pop(nodeid, None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._last = time.monotonic()
        if report.failed:
            self._say(f"\nFAILED {report.nodeid} ({report.when}): {reason(report)}")

    def _say(self, line: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(line, red=True)
            reporter.flush()

    def _watch(self) -> None:
        while not self._over.wait(LOOK_EVERY):
            now = time.monotonic()
            if now - self._last > patience(QUIET):
                capture = self._config.pluginmanager.getplugin("capturemanager")
                if capture is not None:
                    capture.suspend_global_capture()
                print(f"\nSTUCK: no test began or ended for {now - self._last:.0f} s. Under way:")
                for nodeid, began in self._running.items():
                    print(f"  {nodeid} since {now - began:.0f} s")
                sys.stdout.flush()
                os._exit(STUCK)


def reason(report: pytest.TestReport) -> str:
    """The last line of the failure: what was raised."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr)
    lines = [line for line in text.splitlines() if line.strip()]
    return (lines[0] if crash is not None else lines[-1])[:300] if lines else "no reason given"

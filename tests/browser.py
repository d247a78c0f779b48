"""A real browser for the tests of pages: Chromium as Debian packages it.

The headless build draws the same pages for a third of the processor time, and shows no notifications.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

HEADLESS = ("chromium-headless-shell",)
WHOLE = ("chromium", "chromium-browser")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    # All pages in one process: a process for each compiles and warms up everything anew.
    *("--renderer-process-limit=1", "--disable-site-isolation-trials"),
]


@contextmanager
def open_browser(*flags: str, is_whole: bool = False) -> Iterator[Any]:
    with open_driver() as driver, launch(driver, *flags, is_whole=is_whole) as browser:
        yield browser


@contextmanager
def open_driver() -> Iterator[Any]:
    """What launches browsers. While it is open, no loop of asyncio can run in the same thread."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with api.sync_playwright() as driver:
        yield driver


@contextmanager
def launch(driver: Any, *flags: str, is_whole: bool = False) -> Iterator[Any]:
    programs = WHOLE if is_whole else HEADLESS + WHOLE
    chromium = next(filter(None, map(shutil.which, programs)), None)
    if chromium is None:
        pytest.skip("no Chromium is installed (apt-get install chromium)")
    browser = driver.chromium.launch(executable_path=chromium, args=[*FLAGS, *flags])
    yield browser
    browser.close()

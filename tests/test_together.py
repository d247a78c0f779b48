"""Tests that run at the same time are still tests of their own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SETTINGS = """[pytest]
asyncio_default_fixture_loop_scope = function
markers =
    bound(seconds): how long
    timeout(seconds): how long at most
"""

FIVE = """
import asyncio
import pytest
from tests.together import SideBySide

together = SideBySide(3)
arrived = 0
all_here = asyncio.Event()

@pytest.mark.parametrize("name", ["good", "bad", "slow"])
@together
@pytest.mark.bound(4)
async def test_of_three(name, tmp_path):
    global arrived
    (tmp_path / "mine").write_text(name)
    arrived += 1
    if arrived == 3:
        all_here.set()
    await all_here.wait()
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    assert name != "bad"

@together
def test_in_a_thread(tmp_path):
    assert tmp_path.is_dir()

@together
@pytest.mark.bound(0.1)
async def test_that_never_ends():
    await asyncio.Event().wait()
"""


def test_each_keeps_its_own_end(pytester: pytest.Pytester) -> None:
    pytester.makeini(SETTINGS)
    pytester.makepyfile(FIVE)
    result = pytester.runpytest("-p", "no:cacheprovider", "-p", "no:dragoman", "-v")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.re_match_lines_random(
        [r".*test_of_three\[bad\] FAILED.*", r".*test_that_never_ends FAILED.*"]
    )


LEAKY = """
import asyncio
from tests.together import SideBySide

together = SideBySide()

@together
async def test_that_leaves_a_task():
    asyncio.create_task(asyncio.Event().wait(), name="left")
"""


def test_a_task_left_behind_is_a_failure(pytester: pytest.Pytester) -> None:
    pytester.makeini(SETTINGS)
    pytester.makepyfile(LEAKY)
    result = pytester.runpytest("-p", "no:cacheprovider", "-p", "no:dragoman")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*tasks left behind: left*"])

"""Tests that mostly wait, at the same time.

    together = SideBySide()

    @pytest.mark.parametrize("signal", [...])
    @together
    async def test_a_signal_ends_it(signal: int, tmp_path: Path) -> None: ...

All tests of the group run when the first of them is wanted, a few at a time; each keeps its own id, its own
folder, its own bound in time, and its own failure. They may use parameters and `tmp_path`, nothing else: what
is shared with a neighbour is no longer tried alone. What they wait for must be their own processes, never the
machine: a test that needs the processor for itself does not belong here. A test that is no coroutine runs in
a thread, and brings its own deadlines.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from dragoman.testing.pace import deadline

BOUND = 5.0
"""Seconds for each test, as for every async test; `@pytest.mark.bound` says otherwise."""

ALL_OF_THEM = 600
"""Seconds for the group. The first of its tests seems to take as long as all of them."""


class SideBySide:
    """A group of tests, usually one for a module. Four at once where they wait, two where they compute: what
    has a deadline must meet it on a machine with two processors and much to do.
    """

    def __init__(self, at_once: int = 4) -> None:
        self._at_once = at_once
        self._ends: dict[str, BaseException | None] = {}

    def __call__(self, body: Callable[..., Awaitable[None] | None]) -> Callable[..., None]:
        names = [name for name in inspect.signature(body).parameters if name != "tmp_path"]

        @functools.wraps(body)
        def look(request: pytest.FixtureRequest, **_: object) -> None:
            if request.node.nodeid not in self._ends:
                asyncio.run(self._run(request))
            if (error := self._ends[request.node.nodeid]) is not None:
                raise error

        kind = inspect.Parameter.KEYWORD_ONLY
        wanted = [inspect.Parameter(name, kind) for name in ("request", *names)]
        look.__signature__ = inspect.Signature(wanted)  # type: ignore[attr-defined]
        look.together = (self, body, names)  # type: ignore[attr-defined]
        marked: Callable[..., None] = pytest.mark.timeout(ALL_OF_THEM)(look)
        return marked

    async def _run(self, request: pytest.FixtureRequest) -> None:
        """Every test of the group that was not deselected. One that fails does not end the others."""
        places = request.getfixturevalue("tmp_path_factory")
        free = asyncio.Semaphore(self._at_once)
        items = [item for item in request.session.items if self._is_ours(item)]
        async with asyncio.TaskGroup() as tasks:
            for item in items:
                tasks.create_task(self._try(item, free, places))
        left = asyncio.all_tasks() - {asyncio.current_task()}
        if left:
            names = ", ".join(sorted(task.get_name() for task in left))
            self._ends |= dict.fromkeys(self._ends, AssertionError(f"tasks left behind: {names}"))

    def _is_ours(self, item: pytest.Item) -> bool:
        return isinstance(item, pytest.Function) and getattr(item.obj, "together", (None,))[0] is self

    async def _try(self, item: Any, free: asyncio.Semaphore, places: pytest.TempPathFactory) -> None:
        _, body, names = item.obj.together
        given = {name: item.callspec.params[name] for name in names}
        if "tmp_path" in inspect.signature(body).parameters:
            given["tmp_path"] = places.mktemp(item.originalname[:30])
        marker = item.get_closest_marker("bound")
        error: BaseException | None = None
        async with free:
            try:
                if inspect.iscoroutinefunction(body):
                    async with deadline(marker.args[0] if marker else BOUND):
                        await body(**given)
                else:
                    await asyncio.to_thread(body, **given)
            except (Exception, pytest.fail.Exception, pytest.skip.Exception) as raised:  # noqa: BLE001 its own test tells
                error = raised
        self._ends[item.nodeid] = error

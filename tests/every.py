"""One test over many cases, where a test for each would cost more than what it tries.

    @every(("line", "expected"), LINES)
    def test_a_line_is_read(line: str, expected: str) -> None: ...

It is written as `pytest.mark.parametrize` is. Every case is tried, also behind one that fails; the failure
names each that failed, with its own traceback. For tests that compute for a moment and share nothing: a case
gets no folder and no fixture of its own, and none can skip.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet

ALL_OF_THEM = 600
"""Seconds for all cases of a test, on a machine with much else to do; alone they take a few."""

SHOWN = 20
"""Failures with their traceback; all of them are named."""


def every(
    names: str | tuple[str, ...],
    cases: Iterable[Any],
    *,
    ids: Callable[[Any], str] | Iterable[str] | None = None,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run the test once with each case; `ids` names the cases, else they are shown as they are."""
    rows = list(cases)
    assert not any(isinstance(row, ParameterSet) for row in rows), "cases are named by `ids`"
    labels = [repr(row) for row in rows] if ids is None else _labels(rows, ids)
    wanted = (names,) if isinstance(names, str) else names

    def decorate(body: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(body)
        def run(**fixtures: object) -> None:
            assert rows, "there is nothing to try"
            failed: dict[str, Exception] = {}
            for label, row in zip(labels, rows, strict=True):
                given = dict(zip(wanted, (row,) if isinstance(names, str) else row, strict=True))
                try:
                    body(**fixtures, **given)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 the others are tried too
                    failed[label] = _named(error, label)
            if failed:
                told = f"{len(failed)} of {len(rows)} failed: {', '.join(failed)}"
                raise ExceptionGroup(told, list(failed.values())[:SHOWN])

        signature = inspect.signature(body)
        kept = [one for name, one in signature.parameters.items() if name not in wanted]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        bounded: Callable[..., None] = pytest.mark.timeout(ALL_OF_THEM)(run)
        return bounded

    return decorate


def _labels(rows: list[Any], ids: Callable[[Any], str] | Iterable[str]) -> list[str]:
    return [ids(row) for row in rows] if callable(ids) else [str(label) for label in ids]


def _named(error: BaseException, label: str) -> Exception:
    if not isinstance(error, Exception):  # pytest's own outcomes fit into no group
        error = AssertionError(str(error)).with_traceback(error.__traceback__)
    error.add_note(f"case: {label}")
    return error

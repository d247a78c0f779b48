"""A plugin of pytest that runs a failed test a second time: what passes then has not failed.

A test that fails now and then, as on a busy machine, has noticed no mistake. Many mistakes make tests wait
for ever: on a busy machine these are given less time than `make test` gives them.
"""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol

from dragoman.testing import pace

PACE = 4.0
"""How much longer than on a quiet machine a test may take."""


def pytest_configure() -> None:
    pace.LONGEST = PACE


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    if any(report.failed for report in reports):
        item._initrequest()  # type: ignore[attr-defined]
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True

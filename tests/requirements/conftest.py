"""The recordings that the tests here look at."""

from __future__ import annotations

import pytest

from tests.requirements.heard import Recording
from tests.requirements.recording import recorded
from tests.workers import folder_of_run


def _recording(agent: str, factory: pytest.TempPathFactory) -> Recording:
    return recorded(agent, folder_of_run(factory.getbasetemp()) / "requirements")


@pytest.fixture(scope="session", params=["review", "code"])
def heard(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Both agents, one after the other."""
    return _recording(request.param, tmp_path_factory)


@pytest.fixture(scope="session")
def reviewer(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return _recording("review", tmp_path_factory)


@pytest.fixture(scope="session")
def coder(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return _recording("code", tmp_path_factory)

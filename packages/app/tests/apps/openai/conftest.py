"""What the tests of this folder share: servers in a thread, and an agent that waits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from tests.apps.gateway.stage import make_gateway
from tests.apps.openai.stage import BenchAgent, OpenaiStage, official_client


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def stage() -> Iterator[OpenaiStage]:
    with OpenaiStage().running() as stage:
        yield stage


@pytest.fixture(scope="module")
def bench_agent() -> BenchAgent:
    return BenchAgent()


@pytest.fixture(scope="module")
def bench(stage: OpenaiStage, bench_agent: BenchAgent, folder: Path) -> Iterator[openai.OpenAI]:
    url = stage.serve(lambda: make_gateway(folder, agent=bench_agent.agent, most_sessions=4), folder)
    with official_client(url) as client:
        yield client

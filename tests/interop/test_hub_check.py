"""Our own examiner in front of a hub: nothing is found that the agent behind it has not to answer for."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from dragoman.testing.pace import patience
from tests.forks import DRAGOMAN
from tests.hub.outside.process import ROOT, HubProcess, running_hub

pytestmark = pytest.mark.timeout(150)

FOUND = ("failed", "warned")


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubProcess]:
    with running_hub(tmp_path_factory.mktemp("hub")) as one:
        yield one


def findings(hub: HubProcess, *words: str) -> dict[str, str]:
    """Requirement → status, of everything that is wrong."""
    run = subprocess.run(
        [*DRAGOMAN, "check", *words],
        cwd=ROOT,
        env=hub.env,
        capture_output=True,
        text=True,
        timeout=patience(120),
    )
    assert run.stdout, run.stderr
    report: dict[str, Any] = json.loads(run.stdout)
    assert report["counts"]["passed"] > 0
    return {
        verdict["requirement"]: verdict["status"]
        for part in report["parts"]
        for verdict in part["verdicts"]
        if verdict["status"] in FOUND
    }


def test_the_endpoint_of_a_hub_is_as_the_protocol_says(hub: HubProcess) -> None:
    header = f"Authorization: Bearer {hub.token}"
    place = f"http://{hub.place}/acp?agent=review"
    words = ["--header", header, "--cwd", str(hub.work), "--format", "json", place]
    assert findings(hub, "endpoint", *words) == {}


def test_an_agent_behind_a_hub_is_as_it_is_before_it(hub: HubProcess) -> None:
    token = hub.folder / "token"
    token.write_text(hub.token)
    connect = [*DRAGOMAN, "connect", "--token-file", str(token), f"ws://{hub.place}/acp?agent=review"]
    scenes = [word for name in SCENES for word in ("--scene", name)]
    settings = ["--quiet", *scenes, "--cwd", str(hub.work), "--format", "json", "--"]
    assert findings(hub, "agent", *settings, *connect) == {}


SCENES = ("closes", "lists", "again")
"""Enough to see the hub in front of the agent, and no more: each scene starts a process or two."""

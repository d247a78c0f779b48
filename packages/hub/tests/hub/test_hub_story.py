"""The story that every client tells every agent over stdio, told over the network: the end is the same."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from dragoman_hub.gate.admission import new_token
from tests.forks import DRAGOMAN
from tests.interop.programs import AGENTS, CLIENTS, ROOT, needs_node, tell
from tests.interop.test_story import FUTURE, ORDERS, STORY


@contextmanager
def served(agent: list[str], token: Path) -> Iterator[dict[str, str]]:
    """The addresses by their schemes."""
    token.write_text(new_token())
    words = [*DRAGOMAN, "serve", "--token-file", str(token), "--", *agent]
    with subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        addresses = [process.stdout.readline().strip() for _ in range(2)]
        try:
            yield {address.partition(":")[0]: address for address in addresses}
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(patience(10))


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("client", "scheme"), [("ours", "http"), pytest.param("typescript", "ws", marks=needs_node)]
)
def test_the_story_comes_to_the_same_end_over_the_network(client: str, scheme: str, tmp_path: Path) -> None:
    token = tmp_path / "token"
    with served(AGENTS["ours"], token) as addresses:
        front = [*DRAGOMAN, "connect", "--token-file", str(token), addresses[scheme]]
        report = tell(CLIENTS[client], "story", list(ORDERS), front)
    assert report.pop("unknown", [FUTURE]) == [FUTURE]
    assert report == STORY

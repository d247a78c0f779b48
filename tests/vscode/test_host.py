"""The part of the extension that runs in VS Code's extension host, with a real hub at the other end."""

from __future__ import annotations

import subprocess

from dragoman.testing.pace import patience
from tests.vscode.conftest import TESTS


def test_the_extension_connects_decides_stops_shows_changes_and_finds_a_killed_hub_again(
    node: list[str], host_environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [*node, str(TESTS / "all.mjs")],
        env=host_environment,
        capture_output=True,
        text=True,
        timeout=patience(60),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "# pass 0" not in done.stdout

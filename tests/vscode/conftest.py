"""The extension, built once, and how its host is run with node."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from dragoman.testing.pace import patience
from tests import forks

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "build" / "vscode"
TESTS = ROOT / "build" / "vscode-tests"
SCRIPT = Path(__file__).parent / "agent.script"


@pytest.fixture(scope="session")
def node() -> list[str]:
    """The command of node, with WebSocket as the host of VS Code has it. Builds what it will run."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed")
    if not (ROOT / "packages/hub/web/node_modules/esbuild").is_dir():
        pytest.skip("the tools of the page are not installed (npm ci in packages/hub/web)")
    if not (ROOT / "vscode").is_dir():
        pytest.skip("the extension is not part of this archive")
    for options in ([], ["--tests"]):
        subprocess.run([program, "vscode/build.mjs", *options], cwd=ROOT, check=True, timeout=patience(60))
    has_socket = subprocess.run(
        [program, "-e", "process.exit(globalThis.WebSocket ? 0 : 1)"], timeout=patience(20)
    )
    return [program] if has_socket.returncode == 0 else [program, "--experimental-websocket", "--no-warnings"]


@pytest.fixture(scope="session")
def host_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the programs of `vscode/test` read from their environment."""
    return {
        **os.environ,
        "DRAGOMAN_PYTHON": str(forks.interpreter(tmp_path_factory.mktemp("bin"))),
        "DRAGOMAN_SCRIPT": str(SCRIPT),
        "DRAGOMAN_EXTENSION": str(EXTENSION),
    }

"""What a start waits for is not imported before: on each side, the next process is started first."""

from __future__ import annotations

import subprocess
import sys

from tests.every import every


def modules_of(*names: str) -> set[str]:
    """What is imported in a process that has imported these."""
    code = f"import sys, {', '.join(names)}; print(*sys.modules)"
    finished = subprocess.run([sys.executable, "-Ic", code], capture_output=True, text=True, check=True)
    return set(finished.stdout.split())


STARTS = [
    # The client program is started, and connects while the rest is imported.
    (("dragoman_app.cli.ssh",), {"asyncio", "zipfile", "dragoman_hub.remote.bundle", "dragoman_local.known"}),
    # The agent host is started.
    (
        ("dragoman_hub.remote.bootstrap", "dragoman_hub.remote.attach"),
        {"asyncio", "hashlib", "msgspec", "shutil", "tempfile", "zipfile"},
    ),
    # The agent is started, and the lender is imported meanwhile.
    (("dragoman_hub.remote.lending_host",), {"dragoman.schema", "dragoman_local.workspace", "dragoman.sdk"}),
]


@every(("names", "later"), STARTS)
def test_a_start_imports_nothing_that_can_wait(names: tuple[str, ...], later: set[str]) -> None:
    assert modules_of(*names) & later == set()

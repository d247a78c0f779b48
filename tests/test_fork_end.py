"""A fork leaves alone at its end what it shares, and does all else that an interpreter does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dragoman.testing.pace import patience

PROGRAM = """
import atexit, os, sys, types
from tests import fork_end

class Noted:
    def __init__(self, name):
        self.name, self.write = name, os.write

    def __del__(self):
        self.write(1, self.name.encode() + b" cleared\\n")

shared = sys.modules["shared"] = types.ModuleType("shared")
shared.value = Noted("shared")
del shared
if pid := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
own = sys.modules["own"] = types.ModuleType("own")
own.value = Noted("own")
del own
value = Noted("main")
atexit.register(os.write, 1, b"at exit\\n")
sys.stdout.write("buffered\\n")
sys.exit(3)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only there is forked")
def test_a_fork_clears_what_is_its_own_and_not_what_it_shares() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=patience(20),
        check=False,
    )
    assert (done.returncode, done.stderr) == (3, "")
    *own, last = done.stdout.splitlines()
    assert sorted(own) == ["at exit", "buffered", "main cleared", "own cleared"]
    assert last == "shared cleared", "by the process that forked"

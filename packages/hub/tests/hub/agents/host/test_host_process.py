import io
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman_hub.agents.host.host_process import order_of


def test_the_command_line_says_what_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"KEY": "value"}')))
    options = ["--linger", "0.5", "--buffer", "1024", "--cwd", "/usr", "--env", "stdin"]
    options += ["--lease", "12345.5", "--lease-linger", "7"]
    order = order_of(["/run/a.sock", *options, "--", "agent", "--", "--linger", "9"])
    assert (order.socket, order.cwd, order.env) == (Path("/run/a.sock"), "/usr", {"KEY": "value"})
    assert (order.linger, order.buffer) == (0.5, 1024)
    assert (order.lease, order.lease_linger) == (12345.5, 7.0)
    assert order.command == ["agent", "--", "--linger", "9"]


def test_without_options_the_agent_gets_what_the_agent_host_has() -> None:
    order = order_of(["a.sock", "--", "agent"])
    assert (order.cwd, order.env, order.linger, order.buffer) == (None, None, 60.0, 64 * 1024 * 1024)
    assert (order.lease, order.lease_linger) == (None, 20.0)


def test_an_agent_host_is_small_because_it_imports_little() -> None:
    """Whatever these bring along is paid for once per agent."""
    show = "import sys, dragoman_hub.agents.host.__main__; print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", show], capture_output=True, check=True, text=True)
    ours = [name for name in shown.stdout.split() if name.startswith("dragoman")]
    rooms = {".".join(name.split(".")[:2]) for name in ours} - {"dragoman"}
    assert rooms == {
        "dragoman.decoders",
        "dragoman.errors",
        "dragoman_hub",
        "dragoman_hub.agents",
        "dragoman.transport",
        "dragoman.system",
        "dragoman.wire",
    }

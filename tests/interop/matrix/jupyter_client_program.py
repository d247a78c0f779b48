"""A client of one prompt: a kernel for Jupyter, asked as a notebook asks it. It allows every permission.

Arguments: the prompt, and the agent's command.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

SECONDS = 60


def main() -> None:
    """One cell."""
    prompt, program, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "agent"
        spec.mkdir()
        argv = [sys.executable, "-m", "agent_client_kernel", "-f", "{connection_file}"]
        text = json.dumps({"argv": argv, "display_name": "agent", "language": "agent"})
        (spec / "kernel.json").write_text(text)
        manager = KernelManager(
            kernel_name="agent", kernel_spec_manager=KernelSpecManager(kernel_dirs=[folder])
        )
        manager.start_kernel(
            env={**os.environ, "ACP_AGENT_COMMAND": program, "ACP_AGENT_ARGS": " ".join(words)}
        )
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=SECONDS)
            client.execute_interactive(prompt, timeout=SECONDS, output_hook=show)
        finally:
            client.stop_channels()
            manager.shutdown_kernel()


def show(message: dict[str, Any]) -> None:
    """What the cell shows, as text."""
    content = message["content"]
    sys.stdout.write(content.get("text") or content.get("data", {}).get("text/plain", ""))


main()

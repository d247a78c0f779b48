"""Stands between a client and its agent and writes down every frame.

Arguments: a file, and the agent's command. Each line of the file is one frame with its direction. A frame is
written down before it is passed on, so what a peer has seen is in the file. It knows nothing of the protocol
but its lines.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from typing import IO


def copy(source: int, target: IO[bytes], direction: str, journal: IO[str]) -> None:
    """Until the source ends; then the target ends too."""
    rest = b""
    while chunk := os.read(source, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            journal.write(json.dumps({"direction": direction, "frame": line.decode()}) + "\n")
        try:
            target.write(chunk)
            target.flush()
        except BrokenPipeError:
            return  # nobody listens any more; the other direction ends by itself
    target.close()


def main() -> int:
    path, *command = sys.argv[1:]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    with open(path, "a", buffering=1, encoding="utf-8") as journal:
        to_agent = (sys.stdin.fileno(), child.stdin, "to_agent", journal)
        threading.Thread(target=copy, args=to_agent, daemon=True).start()
        copy(child.stdout.fileno(), sys.stdout.buffer, "to_client", journal)
        return child.wait()


if __name__ == "__main__":
    # Not through the interpreter's own end: a thread may still wait for input that nobody sends.
    os._exit(main())

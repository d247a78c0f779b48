"""The plain byte copy: a relay that reads and writes blocks and looks at nothing."""

from __future__ import annotations

import os
import subprocess
import sys

from peers.raw.frames import BLOCK, write_all


def main(command: list[str]) -> None:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        source = process.stdout.fileno()
        while data := os.read(source, BLOCK):
            write_all(1, data)


if __name__ == "__main__":
    main(sys.argv[1:])

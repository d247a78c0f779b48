"""`dragoman chat` with somebody who looks at its event loop: how late is a clock that should strike every so
often, and how much of that time did the program itself use? Arguments: the file for the figures, then those
of `dragoman chat`.

Written when it ends, as JSON: `stalls`, each a moment, how many seconds late the clock struck then, and the
seconds of CPU since it struck before: on a busy machine only these are the program's own.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from dragoman_app.cli import main
from dragoman_app.tui import app

EVERY = 0.005
WORTH = 0.005
"""Seconds; less than that is what a loop that does something useful looks like."""

stalls: list[tuple[float, float, float]] = []


class Watched(app.ChatApp):
    def on_mount(self) -> None:  # beside the one that it has: Textual calls those of all classes
        self._strike(time.monotonic(), time.thread_time())

    def _strike(self, due: float, used: float) -> None:
        now, spent = time.monotonic(), time.thread_time()
        if now - due > WORTH:
            stalls.append((due, now - due, spent - used))
        asyncio.get_running_loop().call_later(EVERY, self._strike, now + EVERY, spent)


if __name__ == "__main__":
    app.ChatApp = Watched  # type: ignore[misc]
    status = main(["chat", *sys.argv[2:]])
    Path(sys.argv[1]).write_text(json.dumps({"stalls": stalls}))
    sys.exit(status)

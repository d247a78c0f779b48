"""`dragoman tap`: a prefix for any agent's command that writes down everything, and changes nothing."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

from dragoman.apps.console import say
from dragoman.apps.files import explain_error
from dragoman.cli.tap_attach import attach
from dragoman.errors import SpawnFailed
from dragoman.sdk.proxy.target import stderr_writer
from dragoman.trace.tap.hiding import Hiding
from dragoman.trace.tap.recorder import TapRecorder, taps_folder
from dragoman.trace.tap.tap import tap
from dragoman.transport.stdio import claim_stdio

MEGABYTE = 1_000_000


def run(chosen: argparse.Namespace) -> int:
    if chosen.command[0] == "attach" and "--" not in sys.argv:
        return attach(chosen.command[1:], folder=chosen.folder)

    stdio = claim_stdio()
    hiding = None if chosen.no_redact else Hiding(os.environ)
    try:
        recorder = _recorder(chosen, hiding)
    except OSError as error:
        say(f"dragoman tap: {explain_error(error, act='write')}", file=sys.stderr)
        return 2
    if chosen.live:
        say(f"dragoman tap: to look on: dragoman tap attach {recorder.path}", file=sys.stderr)
    try:
        status = asyncio.run(_tap(chosen, recorder, stdio.read_fd, stdio.write_fd))
    except SpawnFailed as error:
        say(f"dragoman tap: {error}", file=sys.stderr)
        return 127
    finally:
        recorder.close(
            last_words=None if hiding is None else lambda: {"event": "redacted", "count": hiding.count}
        )
        if recorder.unwritten:
            say(f"dragoman tap: {recorder.unwritten} bytes could not be written", file=sys.stderr)
    return status if status >= 0 else 128 - status


async def _tap(chosen: argparse.Namespace, recorder: TapRecorder, stdin: int, stdout: int) -> int:
    return await tap(
        chosen.command,
        stdin=stdin,
        stdout=stdout,
        show=stderr_writer() or (lambda _: None),
        recorder=recorder,
        guard=chosen.guard,
    )


def _recorder(chosen: argparse.Namespace, hiding: Hiding | None) -> TapRecorder:
    path = Path(chosen.record) if chosen.record else _unused(chosen)
    name = " ".join(chosen.command[:1])
    return TapRecorder(path, name=name, hiding=hiding, full=int(chosen.max_size * MEGABYTE), keep=chosen.keep)


def _unused(chosen: argparse.Namespace) -> Path:
    folder = taps_folder(chosen.folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"{Path(chosen.command[0]).name}-{moment}-{os.getpid()}.ndjson"

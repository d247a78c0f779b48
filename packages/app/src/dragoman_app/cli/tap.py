"""`dragoman tap`: a prefix for any agent's command that writes down everything, and changes nothing."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from pathlib import Path

from dragoman.errors import SpawnFailed
from dragoman.transport.file_outlet import stderr_writer
from dragoman.transport.stdio import claim_stdio
from dragoman_app.apps.console import MISTAKEN, ErrorStatus, say
from dragoman_app.cli.tap_attach import attach
from dragoman_check.trace.tap.recorder import TapRecorder, taps_folder
from dragoman_check.trace.tap.secrets import SecretFilter
from dragoman_check.trace.tap.tap import tap

MEGABYTE = 1_000_000


def run(args: argparse.Namespace) -> int:
    if args.command[0] == "attach" and "--" not in sys.argv:
        return attach(args.command[1:], folder=args.folder)

    stdio = claim_stdio()
    secrets = None if args.no_redact else SecretFilter(os.environ)
    with ErrorStatus(OSError, status=MISTAKEN, act="write"):
        recorder = _recorder(args, secrets)
    if args.live:
        say(f"dragoman tap: watch it: dragoman tap attach {recorder.path}", file=sys.stderr)
    try:
        with ErrorStatus(SpawnFailed, status=127):
            status = asyncio.run(_tap(args, recorder, stdio.read_fd, stdio.write_fd))
    finally:
        recorder.close(
            last_words=None if secrets is None else lambda: {"event": "redacted", "count": secrets.count}
        )
        if recorder.unwritten:
            say(f"dragoman tap: {recorder.unwritten} bytes could not be written", file=sys.stderr)
    return status if status >= 0 else 128 - status


async def _tap(args: argparse.Namespace, recorder: TapRecorder, stdin: int, stdout: int) -> int:
    return await tap(
        args.command,
        stdin=stdin,
        stdout=stdout,
        show=stderr_writer() or (lambda _: None),
        recorder=recorder,
        guard=args.guard,
    )


def _recorder(args: argparse.Namespace, secrets: SecretFilter | None) -> TapRecorder:
    path = Path(args.record) if args.record else _new_path(args)
    name = " ".join(args.command[:1])
    return TapRecorder(path, name=name, secrets=secrets, full=int(args.max_size * MEGABYTE), keep=args.keep)


def _new_path(args: argparse.Namespace) -> Path:
    folder = taps_folder(args.folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    moment = time.strftime("%Y%m%d-%H%M%S")
    return folder / f"{Path(args.command[0]).name}-{moment}-{os.getpid()}.ndjson"

"""`dragoman check stand-in`: the agent for a client under test."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from dragoman.errors import LocalMistake
from dragoman.transport.stdio import claim_stdio
from dragoman_app.apps.console import MISTAKEN, ErrorStatus
from dragoman_check.client.profiles import PROFILES
from dragoman_check.client.standin import StandIn
from dragoman_check.client.turn import Patience
from dragoman_check.trace.tap.recorder import TapRecorder

LARGEST = 1 << 40
"""The most bytes of a recording: one connection is one file."""


def run(args: argparse.Namespace) -> int:
    if args.profile not in PROFILES:
        raise LocalMistake(f"unknown profile {args.profile!r}")
    with ErrorStatus(OSError, status=MISTAKEN, act="write"):
        recorder = recorder_for(Path(args.record))
    try:
        asyncio.run(_play(args, recorder))
    finally:
        recorder.note({"event": "fact", "name": "over", "value": True})
        recorder.close()
    return 0


async def _play(args: argparse.Namespace, recorder: TapRecorder) -> None:
    transport = claim_stdio().open()
    patience = Patience(args.timeout, people=args.people)
    stand_in = StandIn(transport, recorder, PROFILES[args.profile], patience=patience)

    ending: list[asyncio.Task[None]] = []

    def asked_to_end() -> None:
        ending.append(asyncio.ensure_future(stand_in.ask_to_end()))

    if sys.platform != "win32":
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked_to_end)
    await stand_in.run()
    await asyncio.gather(*ending)


def recorder_for(path: Path) -> TapRecorder:
    """Return a recorder with the first free name: a client may start its agent again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        free = path if number == 1 else path.with_name(f"{path.stem}.{number}{path.suffix}")
        try:
            return TapRecorder(free, name="dragoman check client", secrets=None, full=LARGEST, keep=1)
        except FileExistsError:
            number += 1

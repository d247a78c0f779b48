"""`dragoman chaos`: an agent with deliberate faults, and the shortest script that makes a test fail."""

from __future__ import annotations

import argparse
import asyncio
import shlex
import sys
from pathlib import Path

import msgspec

from dragoman.errors import LocalMistake, SpawnFailed
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.transport.file_outlet import stderr_writer
from dragoman.transport.process import spawn
from dragoman.transport.stdio import claim_stdio
from dragoman_app.apps.console import MISTAKEN, CommandFailed, ErrorStatus, say
from dragoman_check.trace.chaos.faults import (
    ChaosFault,
    FaultScript,
    Plan,
    RandomFaults,
    read_script,
    shrink,
    write_script,
)
from dragoman_check.trace.chaos.relay import Chaos


def run(args: argparse.Namespace) -> int:
    not_script = ErrorStatus(msgspec.MsgspecError, status=MISTAKEN, before=f"{args.script} is not a script: ")
    with ErrorStatus(OSError, status=MISTAKEN), not_script:
        faults = read_script(Path(args.script).read_bytes()) if args.script else []
    if args.shrink:
        if not args.script:
            raise LocalMistake("--shrink needs --script FILE, which --save FILE writes")
        return asyncio.run(_shrink(args, faults))
    plan: Plan = FaultScript(faults) if args.script else RandomFaults(args.seed, args.profile)
    with ErrorStatus(SpawnFailed, status=127):
        struck = _relay(args.command, plan)
    if args.save:
        Path(args.save).write_bytes(write_script(struck))
    say(f"dragoman chaos: {len(struck)} faults struck", file=sys.stderr)
    return 0


def _relay(command: list[str], plan: Plan) -> list[ChaosFault]:
    stdio = claim_stdio()

    async def relay(leaving: ShutdownSignals) -> list[ChaosFault]:
        leaving.listen()
        agent = spawn(command, on_stderr=stderr_writer())
        async with Chaos(stdio.open(), agent, plan, kill=agent.tree.kill) as chaos:
            await first_of(chaos.wait_ended(), leaving.end_event.wait())
            leaving.begin()
        return chaos.struck

    with ShutdownSignals() as leaving:
        return asyncio.run(relay(leaving))


async def _shrink(args: argparse.Namespace, faults: list[ChaosFault]) -> int:
    script = Path(args.script)
    shortest = script.with_suffix(f".min{script.suffix}")
    runs = 0

    async def fails(candidate: list[ChaosFault]) -> bool:
        nonlocal runs
        runs += 1
        shortest.write_bytes(write_script(candidate))
        words = [sys.executable, "-m", "dragoman", "chaos", "--script", str(shortest), "--", *args.command]
        line = args.shrink.replace("{agent}", shlex.quote(shlex.join(words)))
        process = await asyncio.create_subprocess_shell(line, stdout=sys.stderr.fileno())
        has_failed = await process.wait() != 0
        say(
            f"dragoman chaos: {len(candidate)} faults: {'fails' if has_failed else 'passes'}", file=sys.stderr
        )
        return has_failed

    if not await fails(faults):
        shortest.unlink(missing_ok=True)
        raise CommandFailed("the test passes with this script, so there is nothing to shrink")
    remaining = await shrink(faults, fails)
    shortest.write_bytes(write_script(remaining))
    say(f"{shortest}: {len(remaining)} of {len(faults)} faults, after {runs} runs")
    return 0

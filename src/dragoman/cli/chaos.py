"""`dragoman chaos`: an agent with faults on purpose, and the shortest script that makes a test fail."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say
from dragoman.cli.files import explain_error

if TYPE_CHECKING:
    from dragoman.trace.chaos.faults import ChaosFault, Plan

EPILOG = """profiles:
  network   frames come late, in halves, or not for a while
  process   the agent stalls, and dies
  peer      a sloppy agent: answers missing or failed, updates doubled, late, unknown, in floods

examples:
  dragoman chaos --seed 7 -- my-agent --acp
  dragoman chaos --profile peer --seed 3 --save faults.ndjson -- my-agent --acp
  dragoman chaos --script faults.ndjson -- my-agent --acp
  dragoman chaos --script faults.ndjson --shrink "pytest -q test_client.py --agent {agent}" -- my-agent --acp

The same seed gives the same faults to the same conversation. --save writes down those that struck; --script
does them again. --shrink runs a test command with {agent} put for this agent under chaos, and leaves out
faults as long as the test fails: what is left is written over the script with .min before its suffix.

exit status: 0 when the conversation ended; with --shrink 0 if a shorter script was found, 1 if the test does
not fail, 2 if the command line makes no sense; 127 if the agent could not be started.
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    chaos = commands.add_parser(
        "chaos",
        help="run an agent with faults on purpose",
        description="Run an agent with faults on purpose.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    chaos.fill = _fill


def _fill(chaos: argparse.ArgumentParser) -> None:
    chaos.add_argument("--seed", type=int, default=1, metavar="N")
    chaos.add_argument("--profile", choices=("network", "process", "peer"), default="network")
    chaos.add_argument("--save", metavar="FILE", help="write down the faults that struck")
    chaos.add_argument("--script", metavar="FILE", help="do these faults instead of those of a seed")
    chaos.add_argument("--shrink", metavar="TEST", help="find the shortest script that makes this test fail")
    chaos.add_argument("command", metavar="COMMAND", nargs="+", help="the agent's command, after --")
    chaos.set_defaults(run=_run)


def _run(chosen: argparse.Namespace) -> int:
    import asyncio
    from pathlib import Path

    import msgspec

    from dragoman.errors import SpawnFailed
    from dragoman.trace.chaos.faults import Scripted, Seeded, read_script, write_script

    try:
        faults = read_script(Path(chosen.script).read_bytes()) if chosen.script else []
    except OSError as error:
        say(f"dragoman chaos: {explain_error(error)}", file=sys.stderr)
        return 2
    except msgspec.MsgspecError as error:
        say(f"dragoman chaos: {chosen.script} is no script: {error}", file=sys.stderr)
        return 2
    if chosen.shrink:
        if not chosen.script:
            print("dragoman chaos: --shrink needs --script FILE, which --save FILE writes", file=sys.stderr)
            return 2
        return asyncio.run(_shrink(chosen, faults))
    plan: Plan = Scripted(faults) if chosen.script else Seeded(chosen.seed, chosen.profile)
    try:
        struck = _relay(chosen.command, plan)
    except SpawnFailed as error:
        say(f"dragoman chaos: {error}", file=sys.stderr)
        return 127
    if chosen.save:
        Path(chosen.save).write_bytes(write_script(struck))
    say(f"dragoman chaos: {len(struck)} faults struck", file=sys.stderr)
    return 0


def _relay(command: list[str], plan: Plan) -> list[ChaosFault]:
    import asyncio

    from dragoman.sdk.proxy.target import shown
    from dragoman.sdk.shutdown import ShutdownSignals, first_of
    from dragoman.trace.chaos.relay import Chaos
    from dragoman.transport.process import spawn
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()

    async def relay(leaving: ShutdownSignals) -> list[ChaosFault]:
        leaving.listen()
        agent = spawn(command, on_stderr=shown())
        async with Chaos(stdio.open(), agent, plan, kill=agent.tree.kill) as chaos:
            await first_of(chaos.wait_ended(), leaving.asked.wait())
            leaving.begin()
        return chaos.struck

    with ShutdownSignals() as leaving:
        return asyncio.run(relay(leaving))


async def _shrink(chosen: argparse.Namespace, faults: list[ChaosFault]) -> int:
    import asyncio
    import shlex
    from pathlib import Path

    from dragoman.trace.chaos.faults import shrink, write_script

    script = Path(chosen.script)
    shortest = script.with_suffix(f".min{script.suffix}")
    runs = 0

    async def fails(tried: list[ChaosFault]) -> bool:
        nonlocal runs
        runs += 1
        shortest.write_bytes(write_script(tried))
        words = [sys.executable, "-m", "dragoman", "chaos", "--script", str(shortest), "--", *chosen.command]
        line = chosen.shrink.replace("{agent}", shlex.quote(shlex.join(words)))
        process = await asyncio.create_subprocess_shell(line, stdout=sys.stderr.fileno())
        failed = await process.wait() != 0
        say(f"dragoman chaos: {len(tried)} faults: {'fails' if failed else 'passes'}", file=sys.stderr)
        return failed

    if not await fails(faults):
        shortest.unlink(missing_ok=True)
        print("dragoman chaos: the test does not fail under this script", file=sys.stderr)
        return 1
    left = await shrink(faults, fails)
    shortest.write_bytes(write_script(left))
    say(f"{shortest}: {len(left)} of {len(faults)} faults, after {runs} runs")
    return 0

"""`dragoman replay`: serves a recording again, as its agent or as its client."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from dragoman.errors import BadTranscript, LinkClosed, LocalMistake, SpawnFailed
from dragoman.sdk.shutdown import ShutdownSignals, first_of
from dragoman.text.sanitize import sanitize_line
from dragoman.transport.process import spawn
from dragoman.transport.stdio import claim_stdio
from dragoman_app.apps.console import MISTAKEN, ErrorStatus, say, say_json
from dragoman_app.cli.recordings import read_entries
from dragoman_check.trace.compare.meaning import compare
from dragoman_check.trace.replay.agent import ReplayedAgent
from dragoman_check.trace.replay.cassette import Cassette, Match
from dragoman_check.trace.replay.client import AgentSilent, ReplayedClient
from dragoman_local.journal.contract import Entry


def run(args: argparse.Namespace) -> int:
    speed = {"real": "1", "fast": "0"}.get(args.speed, args.speed)
    if (args.party == "client") != bool(args.command) or not speed.replace(".", "", 1).isdigit():
        what = (
            "the agent's command is missing after --" if args.party == "client" else "--as client is missing"
        )
        raise LocalMistake(f"{what}; --speed must be real, fast or a number")
    with ErrorStatus(OSError, BadTranscript, status=MISTAKEN):
        entries = read_entries(args.recording)
    if args.party == "client":
        return asyncio.run(_play_client(args, entries, os.path.abspath(args.cwd or ".")))
    _serve(entries, args.match, float(speed))
    return 0


def _serve(entries: list[Entry], match: Match, speed: float) -> None:
    stdio = claim_stdio()

    async def serve(leaving: ShutdownSignals) -> None:
        leaving.listen()
        agent = ReplayedAgent(Cassette(entries), stdio.open(), match=match, speed=speed)
        agent.start()
        await first_of(agent.over.wait(), leaving.end_event.wait())
        await agent.aclose()
        for method in sorted(set(agent.unknown)):
            say(f"dragoman replay: the recording has no such request: {method}", file=sys.stderr)

    with ShutdownSignals() as leaving:
        asyncio.run(serve(leaving))


async def _play_client(args: argparse.Namespace, entries: list[Entry], cwd: str) -> int:
    with ErrorStatus(SpawnFailed, status=127):
        transport = spawn(args.command)
    client = ReplayedClient(entries, transport, cwd=cwd, patience=args.timeout)
    try:
        with ErrorStatus(AgentSilent, LinkClosed, status=9):
            await client.play()
    finally:
        await transport.aclose()
    differences = compare(entries, client.entries)
    if args.json:
        say_json({"same": not differences, "differences": differences})
    else:
        for difference in differences:
            say(f"{difference.side} {sanitize_line(difference.line)}")
    return 1 if differences else 0

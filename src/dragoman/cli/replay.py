"""`dragoman replay`: a recording served again, as its agent or as its client."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from dragoman.cli.console import say, say_json
from dragoman.text.sanitize import sanitize_line

if TYPE_CHECKING:
    from dragoman.journal.contract import Entry

EPILOG = """examples:
  dragoman replay session.ndjson                        an agent for any editor, that does the same again
  dragoman run "say hello" --agent "dragoman replay session.ndjson"
  dragoman replay session.ndjson --speed real
  dragoman replay session.ndjson --as client -- my-agent --acp

As an agent, it answers each request as the recorded agent answered the one most like it: the same params
(--match exact), else the same words and structure (shape, the default), else the next one of its method
(order). As a client, it makes the recorded requests to a live agent and says what is different now.

exit status (--as client):
    0  the agent behaved as recorded
    1  it behaved differently
    2  the file cannot be read, or the command line makes no sense
    9  the agent ended, or left a request unanswered
  127  the agent could not be started
"""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    replay = commands.add_parser(
        "replay",
        help="serve a recording as an agent, or play its client to a live agent",
        description="Serve a recording as an agent, or play its client to a live agent.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    replay.fill = _fill
    replay.splits = True


def _fill(replay: argparse.ArgumentParser) -> None:
    replay.add_argument("recording", metavar="FILE", help="a recording: ours, another's, or plain frames")
    replay.add_argument("--match", choices=("exact", "shape", "order"), default="shape")
    replay.add_argument("--speed", metavar="N", default="fast", help="real, fast (no waits), or a factor")
    replay.add_argument("--as", dest="party", choices=("agent", "client"), default="agent")
    replay.add_argument("--timeout", metavar="S", type=float, default=60.0, help="for each answer (60)")
    replay.add_argument("--cwd", metavar="DIR", help="the folder that stands for the recorded one (this one)")
    replay.add_argument("--json", action="store_true", help="the differences as JSON")
    replay.set_defaults(run=_run, command=[])


def _run(chosen: argparse.Namespace) -> int:
    import asyncio

    from dragoman.cli.files import explain_error
    from dragoman.cli.recordings import read_entries
    from dragoman.errors import BadTranscript

    speed = {"real": "1", "fast": "0"}.get(chosen.speed, chosen.speed)
    if (chosen.party == "client") != bool(chosen.command) or not speed.replace(".", "", 1).isdigit():
        what = "name an agent after --" if chosen.party == "client" else "a command belongs to --as client"
        say(f"dragoman replay: {what}; --speed takes real, fast or a number", file=sys.stderr)
        return 2
    try:
        entries = read_entries(chosen.recording)
    except (OSError, BadTranscript) as error:
        say(f"dragoman replay: {explain_error(error)}", file=sys.stderr)
        return 2
    if chosen.party == "client":
        return asyncio.run(_play_client(chosen, entries, os.path.abspath(chosen.cwd or ".")))
    _serve(entries, chosen.match, float(speed))
    return 0


def _serve(entries: list[Entry], match: Any, speed: float) -> None:
    import asyncio

    from dragoman.sdk.shutdown import ShutdownSignals, first_of
    from dragoman.trace.replay.agent import ReplayedAgent
    from dragoman.trace.replay.cassette import Cassette
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()

    async def serve(leaving: ShutdownSignals) -> None:
        leaving.listen()
        agent = ReplayedAgent(Cassette(entries), stdio.open(), match=match, speed=speed)
        agent.start()
        await first_of(agent.over.wait(), leaving.asked.wait())
        await agent.aclose()
        for method in sorted(set(agent.unknown)):
            say(f"dragoman replay: the recording holds no such request: {method}", file=sys.stderr)

    with ShutdownSignals() as leaving:
        asyncio.run(serve(leaving))


async def _play_client(chosen: argparse.Namespace, entries: list[Entry], cwd: str) -> int:
    import msgspec

    from dragoman.errors import LinkClosed, SpawnFailed
    from dragoman.trace.compare.meaning import compare
    from dragoman.trace.replay.client import AgentSilent, ReplayedClient
    from dragoman.transport.process import spawn

    try:
        transport = spawn(chosen.command)
    except SpawnFailed as error:
        say(f"dragoman replay: {error}", file=sys.stderr)
        return 127
    client = ReplayedClient(entries, transport, cwd=cwd, patience=chosen.timeout)
    try:
        await client.play()
    except (AgentSilent, LinkClosed) as error:
        say(f"dragoman replay: {error}", file=sys.stderr)
        return 9
    finally:
        await transport.aclose()
    found = compare(entries, client.entries)
    if chosen.json:
        say_json(msgspec.json.encode({"same": not found, "differences": found}))
    else:
        for one in found:
            say(f"{one.side} {sanitize_line(one.line)}")
    return 1 if found else 0

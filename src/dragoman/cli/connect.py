"""`dragoman connect`: a server on the network as a stdio agent, so that any editor can use it."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from dragoman.cli.console import say

EPILOG = """examples:
  DRAGOMAN_TOKEN=… dragoman connect ws://127.0.0.1:8765/acp
  dragoman connect --token-file ~/.config/dragoman/token https://agents.example/acp
  dragoman connect --agent review --give-up 600 wss://agents.example/acp

Put it where an editor wants the command of an agent. What the server says is passed on as it is, and back.
When the connection to a hub breaks, it is opened again, and everything goes on where it was: the editor
notices a pause. A server that is no hub has nothing to go on with; its end is the end.
The token is read from DRAGOMAN_TOKEN or from --token-file, never from the command line, which everybody on
this machine can read.

exit status:
    0  the editor hung up
    2  the command line makes no sense
    8  the server refused the token
    9  the server ended the connection, was gone for longer than --give-up, or was never reached
"""

REFUSED, GONE = 8, 9

LAST_WORDS = 0.5
"""Seconds that the server gets for its last words when the editor has hung up."""


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    connect = commands.add_parser(
        "connect",
        help="a server on the network as an agent for any editor",
        description="A server on the network as an agent for any editor.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    connect.fill = _fill


def _fill(connect: argparse.ArgumentParser) -> None:
    connect.add_argument("url", metavar="URL", help="ws://, wss://, http:// or https://")
    connect.add_argument("--token-file", metavar="FILE", help="a file that holds the token and nothing else")
    connect.add_argument("--agent", metavar="NAME", help="the agent of the hub; else its default")
    connect.add_argument(
        "--give-up",
        metavar="SECONDS",
        type=_seconds,
        help="end when the server is gone for so long; else it is waited for as long as the editor is there",
    )
    connect.set_defaults(run=_run)


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise ValueError(text)
    return seconds


_seconds.__name__ = "number of seconds"  # for argparse's own words


def _run(chosen: argparse.Namespace) -> int:
    import asyncio

    from dragoman.cli.tokens import authorization
    from dragoman.errors import LocalMistake
    from dragoman.transport.address import RemoteAddress, parse_address

    try:
        if not isinstance(parse_address(chosen.url), RemoteAddress):
            raise LocalMistake(f"{chosen.url!r} is no address of a server: give ws://… or https://…")
        headers = authorization(chosen.token_file)
    except LocalMistake as error:
        say(f"dragoman connect: {error}", file=sys.stderr)
        return 2
    from dragoman.sdk.shutdown import ShutdownSignals
    from dragoman.transport.stdio import claim_stdio

    stdio = claim_stdio()
    with ShutdownSignals() as leaving:
        return asyncio.run(_join(chosen, headers, stdio, leaving))


async def _join(chosen: argparse.Namespace, headers: dict[str, str], stdio: Any, leaving: Any) -> int:
    from dragoman.sdk.interpreting.conversation import InterpretedConversation
    from dragoman.sdk.resuming import resuming
    from dragoman.sdk.shutdown import first_of

    leaving.listen()
    server = resuming(
        chosen.url, headers=headers, agent=chosen.agent, give_up=chosen.give_up, on_notice=Progress()
    )
    async with InterpretedConversation(stdio.open(), server, quirks=False) as joined:
        await first_of(joined.wait_ended(), leaving.asked.wait())
        # An editor that leaves at once still wants to know whether anybody was there.
        await first_of(server.tried.wait(), leaving.asked.wait())
        leaving.begin()
        left = joined.agent_ended
        await joined.aclose(grace=LAST_WORDS)
    return _outcome(chosen.url, left, server)


def _outcome(url: str, left: str | None, server: Any) -> int:
    """Say why it ended, if it was not the editor's wish."""
    from dragoman.sdk.resuming.opening import is_refusal

    if left is None:
        return GONE if server.unreached else 0
    if is_refusal(left):
        say(f"dragoman connect: {left}: is the token right? See --token-file", file=sys.stderr)
        return REFUSED
    say(f"dragoman connect: {url} ended the connection: {left}", file=sys.stderr)
    return GONE


class Progress:
    """Says how it stands with the connection, when that changes: the first of many attempts, and the last."""

    def __init__(self) -> None:
        self._reason: str | None = None
        self._was_there = False

    def __call__(self, notice: Any) -> None:
        if notice.kind == "back":
            self._say(f"{'back' if self._was_there else 'connected'} after {notice.seconds:.1f} s")
            self._reason = None
        elif notice.reason != self._reason:
            self._reason, self._was_there = notice.reason, notice.kind == "lost"
            what = "connection lost" if self._was_there else "no connection"
            self._say(f"{what} ({notice.reason}), trying again in {notice.seconds:.1f} s")

    def _say(self, text: str) -> None:
        say(f"dragoman connect: {text}", file=sys.stderr, flush=True)
